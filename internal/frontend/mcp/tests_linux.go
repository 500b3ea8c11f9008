package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/session"
	"bawn/internal/shell/plain"
)

// suite is how a kind of project runs its tests: all, and those of a filter.
type suite struct {
	file   string
	all    string
	filter func(words string) string
}

func after(text string) func(string) string {
	return func(f string) string { return text + " " + f }
}

// suites are tried in this order; the first whose file is there decides.
func suites() []suite {
	return []suite{
		{"go.mod", "go test ./...", func(f string) string { return "go test ./... -run " + f }},
		{"Cargo.toml", "cargo test", after("cargo test")},
		{"pnpm-lock.yaml", "pnpm test", after("pnpm test --")},
		{"yarn.lock", "yarn test", after("yarn test")},
		{"bun.lock", "bun test", after("bun test -t")},
		{"bun.lockb", "bun test", after("bun test -t")},
		{"deno.json", "deno test", after("deno test --filter")},
		{"package.json", "npm test", after("npm test --")},
		{"uv.lock", "uv run pytest", after("uv run pytest -k")},
		{"pytest.ini", "python3 -m pytest", after("python3 -m pytest -k")},
		{"pyproject.toml", "python3 -m pytest", after("python3 -m pytest -k")},
		{"setup.py", "python3 -m pytest", after("python3 -m pytest -k")},
		{"tox.ini", "python3 -m pytest", after("python3 -m pytest -k")},
		{"pom.xml", "mvn -q test", func(f string) string { return "mvn -q test -Dtest=" + f }},
		{"build.gradle", "gradle test", after("gradle test --tests")},
		{"build.gradle.kts", "gradle test", after("gradle test --tests")},
		{"mix.exs", "mix test", after("mix test")},
		{"Gemfile", "bundle exec rake test", nil},
		{"Makefile", "make test", nil},
		{"makefile", "make test", nil},
		{"GNUmakefile", "make test", nil},
	}
}

// testText is the shell text that runs the tests of a folder.
func testText(dir, configured, filter string) (string, error) {
	word := plain.Quote([]string{filter})
	if configured != "" {
		if filter == "" {
			return configured, nil
		}
		// Behind a comment it would be lost, behind a line feed a command.
		text := strings.TrimSpace(configured)
		if strings.ContainsAny(text, "\n#;|") || strings.HasSuffix(text, "&") {
			return "", fmt.Errorf("a filter is put behind the command, and %q is more than one, or has a comment: write the filter into it", text)
		}
		return text + " " + word, nil
	}
	for _, s := range suites() {
		if st, err := os.Lstat(filepath.Join(dir, s.file)); err != nil || st.IsDir() {
			continue
		}
		switch {
		case filter == "":
			return s.all, nil
		case s.filter == nil:
			return "", errors.New(s.all + " takes no filter; give the command")
		}
		return s.filter(word), nil
	}
	var names []string
	for _, s := range suites() {
		names = append(names, s.file)
	}
	return "", errors.New("no way to run tests was found (" + strings.Join(names, ", ") + "); give the command")
}

type testsIn struct {
	Command   string `json:"command,omitempty" jsonschema:"shell text that runs the tests (default: what the workspace's files say)"`
	Filter    string `json:"filter,omitempty" jsonschema:"only tests of that name or pattern, as the tool takes it"`
	TimeoutMS int64  `json:"timeout_ms,omitempty" jsonschema:"default: 600000"`
}

func (s *server) runTests(ctx context.Context, req *protocol.Request, in testsIn) (*protocol.Result, RunResult, error) {
	configured := s.o.TestCommand
	if in.Command != "" {
		configured = in.Command
	}
	text, err := testText(s.o.Workspace, configured, in.Filter)
	if err != nil && req.State == "" { // else its run goes on, whatever became of the files
		return nil, RunResult{}, err
	}
	if in.TimeoutMS == 0 {
		in.TimeoutMS = maxWait.Milliseconds()
	}
	most, err := limit(in.TimeoutMS, false)
	if err != nil {
		return nil, RunResult{}, err
	}
	return s.shell(ctx, req, start{Start: session.Start{Text: text}, name: text, limit: most, kept: true}, false)
}
