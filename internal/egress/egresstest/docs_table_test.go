//go:build linux

package egresstest

// example is what is done with a command of the docs. The zero value: it is run
// as it stands and ends with 0.
type example struct {
	setup string      // shell text before it, outside
	env   []string    // besides the desk's
	run   []string    // what is run in its place, where it holds places for words
	code  int         // how it ends
	says  string      // part of what it writes
	until string      // it goes on by itself: shell text that is true when it works; $OUT is its output. It is ended then
	keys  [][2]string // it is run on a terminal: texts to wait for, and what is typed then
	skip  string      // why it is not run here
}

const (
	notHere = "it builds or tests the whole repository, or is the run of this test itself"
	// stageOne leaves a staged run.
	stageOne = "bawn run -q --stage -- sh -c 'echo x >staged-one'"
	asked    = "Answer and Enter [y/N]:"
)

// docsExamples are the commands of the docs that need more than to be run.
var docsExamples = map[string]example{
	// README.md
	`go run ./cmd/bawn run -- sh -c 'date > hello.txt && echo "workspace: written"; date > ~/blocked.txt; cat /etc/shadow; ls ~/.ssh'`: {
		run:  []string{`bawn run -- sh -c 'date > hello.txt && echo "workspace: written"; date > ~/blocked.txt; cat /etc/shadow; ls ~/.ssh'`},
		code: 2,
	},
	"make test":              {skip: notHere},
	"make bench":             {skip: notHere},
	"make lint":              {skip: notHere},
	"make build":             {skip: notHere},
	"make soak":              {skip: notHere},
	"make fuzz FUZZTIME=20m": {skip: notHere},
	"bawn [flags]": {
		run: []string{"bawn"}, keys: [][2]string{{"0 allowed", "/quit\r"}},
	},
	"bawn wrap -- AGENT [ARG…]": {
		run: []string{"bawn wrap -- claude words"}, keys: [][2]string{{"claude is here: words", "bye\r"}},
	},
	"bawn wrap --stage -- AGENT": {
		run: []string{"bawn wrap --stage -- claude words"}, keys: [][2]string{{"claude is here: words", "bye\r"}},
	},
	"bawn run [flags] -- CMD [ARG…]": {
		run: []string{"bawn run -q -- echo ran", "bawn -- echo ran", "bawn run -c 'echo ran'"}, says: "ran\n",
	},
	"bawn check read|write PATH":        {run: []string{"bawn check read /etc/passwd", "bawn check write x"}, says: "allow"},
	"bawn check connect HOST[:PORT]":    {run: []string{"bawn check connect github.com", "bawn check connect github.com:443"}, says: "allow"},
	"bawn check run [-c TEXT | -- CMD]": {run: []string{"bawn check run -c 'ls | wc'", "bawn check run -- ls"}, says: "allow"},
	"bawn setup AGENT":                  {run: []string{"bawn setup claude"}, says: "a command ran in the sandbox"},
	"bawn mcp":                          {keys: [][2]string{{"this serves an agent", "\x04"}}},
	"bawn run --stage -- CMD":           {run: []string{"bawn run --stage -- sh -c 'echo x >y' && bawn discard"}, says: "staged as"},
	"bawn learn -- CMD":                 {run: []string{"bawn learn -- true"}, says: "needs nothing more"},
	"bawn doctor":                       {says: "auto uses the native launcher"},
	"bawn trust":                        {says: "has no settings of its own"},
	"bawn run --no-prompt -- curl -sS https://example.org/": {code: 125},
	"bawn run --no-prompt -- sh fetch.sh":                   {code: 56},
	"bawn run --allow-domain db.example.org:5432 -- psql -h db.example.org": {
		env: []string{"PGSSLMODE=disable", "PGGSSENCMODE=disable", "PGUSER=me", "PGDATABASE=x"},
	},
	"bawn run --publish 8080 -- python3 -m http.server 8080": {until: "curl -sf -o /dev/null http://127.0.0.1:8080/package.json", code: 143},
	"bawn run --allow-local-port 5432 -- ./integration-test": {says: "answered"},
	"bawn watch -- go test ./...":                            {until: `grep -q "^go test" "$OUT"`, code: 143},
	"bawn run -- docker ps":                                  {keys: [][2]string{{asked, "y\r"}, {"CONTAINER ID", ""}}},
	"bawn run -c 'docker ps | sh'":                           {code: 127, says: "CONTAINER"}, // its output is no command
	"bawn run -c 'cd lib && git push --force'":               {code: 125, says: "deny"},
	`bawn run -- sh -c 'git init -q lib; git -C lib config user.name me; git -C lib config core.fsmonitor ./x; cp Makefile lib; exit 1'`: {code: 1},

	// docs/commands.md
	"bawn check run -- docker ps": {setup: "mkdir -p ~/.config/bawn; printf '[sandbox]\\nexclude = [\"docker *\"]\\n' >~/.config/bawn/config.toml", code: 2},

	// docs/log.md
	"bawn log":                      {setup: "bawn run -q -- true; bawn run -q --no-prompt -- sh fetch.sh || true"},
	"bawn log --host example.com":   {},
	"bawn log show [ID]":            {run: []string{"bawn log show", "bawn log show last"}, says: "sh fetch.sh"},
	"bawn log follow":               {until: `grep -q fetch.sh "$OUT"`, code: 0},
	"bawn log export FORMAT [-o F]": {run: []string{"bawn log export jsonl", "bawn log export csv", "bawn log export markdown", "bawn log export html", "bawn log export jsonl -o F && cat F"}, says: "fetch.sh"},

	// docs/staged.md, and help
	"bawn run --stage -- npm run codemod": {run: []string{"bawn run --stage -- sh -c 'mkdir -p src; echo x >src/app.js; echo >>package.json; echo x >y'"}, says: "staged as"},
	"bawn keep --diff [ID] [PATH…]":       {run: []string{"bawn keep --diff", "bawn keep --diff package.json"}, says: "package.json"},
	"bawn keep [ID] [PATH…]":              {run: []string{"bawn keep package.json"}, says: "kept"},
	"bawn keep --force PATH":              {setup: "mkdir -p src; echo mine >src/app.js", run: []string{"bawn keep --force src/app.js"}, says: "kept"},
	"bawn keep --force src/app.js":        {setup: "bawn run -q --stage -- sh -c 'echo z >src/app.js'; echo mine >src/app.js", says: "kept"},
	"bawn discard [ID]":                   {setup: stageOne, run: []string{"bawn discard && while bawn discard; do :; done"}, says: "discarded"},
	"bawn discard":                        {setup: stageOne, run: []string{"bawn discard && while bawn discard; do :; done"}, says: "discarded"},
	"bawn discard 3f9a": {
		setup: stageOne, run: []string{`bawn discard $(bawn keep --list | sed -n '2s/ .*//p')`}, says: "discarded",
	},

	// docs/learn.md, and help
	"bawn learn -- make release":                    {skip: "no such release is here: TestLearn_HostAndFolder"},
	"bawn learn -- make test":                       {run: []string{"bawn learn -- make a.out"}, says: "needs nothing more"},
	"bawn learn --print -- ./build.sh > bawn.patch": {setup: "printf '#!/bin/sh\\n' >build.sh; chmod +x build.sh"},

	// docs/mcp.md, and help
	"bawn mcp -C ~/src/project --test-command 'make check'": {setup: "mkdir -p ~/src/project"},

	// docs/import.md
	"bawn import codex -o ~/.config/bawn/config.toml": {setup: "rm -rf ~/.config/bawn"},

	// docs/agents.md, and help
	"bawn setup claude --check":   {setup: "bawn setup claude"},
	"bawn setup claude --project": {},

	// CONTRIBUTING.md
	// help
	"bawn run --sandbox read-only -- grep -r TODO .":  {says: "TODO"},
	"bawn wrap -- claude":                             {keys: [][2]string{{"claude is here", "bye\r"}}},
	"bawn wrap --tier airlock -- codex":               {keys: [][2]string{{"codex is here", "bye\r"}}},
	"bawn --plain":                                    {keys: [][2]string{{"network asks\n>", "/quit\r"}}},
	"bawn --tier airlock -C ~/src/unknown":            {keys: [][2]string{{"airlock", "/quit\r"}}},
	"bawn watch -C web -c 'npm run lint && npm test'": {until: `grep -q "^tested" "$OUT"`, code: 143},
	"bawn check write .git/config":                    {code: 1},
	"bawn check --tier airlock write ~/.npm":          {code: 1},
}

// docsTexts are the blocks that are no commands: their first line, and what
// holds them or why nothing does.
var docsTexts = map[string]string{
	"files, environment, flags ─ config.Load ─▶ config.Config      one value: layers added up, clamped, every entry with its origin": "a drawing",
	"~/.config/bawn/config.toml:2:1: unknown key sandbox.alowed_domains; did you mean allowed_domains?":                              "TestDocs_ErrorMessage",
	`{"version":1,"run":"94cb913f3e7faace","command":"make","code":2,"denials":[{"kind":"write","target":"/ws/.git/hooks/x",`:        "the report: TestReport",
}

// docsFiles are on every desk: in the workspace, in the home, and programs that
// stand for those that are not here.
var docsFiles = map[string]string{
	"package.json":     `{"name": "shop", "version": "1.0.0", "scripts": {"test": "echo tested", "codemod": "mkdir -p src; echo new >src/app.js; echo new >other.js; echo new >third.js; echo >>package.json"}}`,
	"build.sh":         "#!/bin/sh\necho built\n",
	"web/package.json": `{"name": "web", "version": "1.0.0", "scripts": {"test": "echo tested", "lint": "echo linted"}}`,
	"Makefile":         "a.out:\n\t@printf '#!/bin/sh\\necho built\\n' >a.out; chmod +x a.out # TODO\ntest:\n\t@echo tested\n",
	"fetch.sh":         "curl -sS https://example.org/\n",
	"integration-test": "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/5432 && printf '\\0\\0\\0\\10\\0\\3\\0\\0' >&3 && read -r -n1 -u3 && echo answered\n",
	"fence.jsonc":      fenceSettings,

	"~/.ssh/id_ed25519":        "key",
	"~/.npm/x":                 "x",
	"~/src/unknown/Makefile":   "all:\n\t@echo made\n",
	"~/.claude/settings.json":  `{"permissions": {"deny": ["Bash(curl *)"]}}`,
	"~/.codex/config.toml":     "sandbox_mode = \"workspace-write\"\n",
	"~/shared/fixtures/README": "x",

	"bin/docker": "#!/bin/sh\necho CONTAINER ID\n",
	"bin/claude": "#!/bin/sh\necho claude is here: \"$@\"\nread -r line\n",
	"bin/codex":  "#!/bin/sh\necho codex is here\nread -r line\n",
	"bin/fence":  "#!/bin/sh\ncat <<'E'\n" + fenceSettings + "E\n",
	"bin/go":     "#!/bin/sh\necho go \"$@\"\n",
}

const fenceSettings = `{
  // what a user of fence has
  "network": {"allowedDomains": ["github.com"]}
}
`
