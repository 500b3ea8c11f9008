package config

import "strings"

// Kind is the form of a key's value.
type Kind uint8

const (
	Bool     Kind = iota // true or false
	Word                 // one of Key.Words
	Proxy                // env, none, or http://[user:password@]host:port
	Address              // none, or an http or https address
	Folders              // list of folders: absolute, ~/…, or in the project's file relative to the project
	Places               // list of files and folders: absolute, ~/…, or relative to the workspace
	Hosts                // list of host rules
	Ports                // list of port numbers, 1 to 65535
	Names                // list of variable names, in which * stands for any text
	Commands             // list of command patterns
	Programs             // list of absolute paths of programs
	Chords               // list of keys of the keyboard
)

// single reports whether one value is set, not a list.
func (k Kind) single() bool { return k <= Address }

// Effect is which way a key moves the boundary.
type Effect uint8

const (
	// Steers: neither way; or whichever, so that nobody else may set it.
	Steers Effect = iota
	// Widens: every entry allows more.
	Widens
	// Tightens: every entry allows less.
	Tightens
	// Ordered: Key.Words are sorted, the strictest first.
	Ordered
)

// Source says what a project's file may do with a key.
type Source uint8

const (
	// NotProject: the key is ignored in a project's file, trusted or not.
	NotProject Source = iota
	// Project: a trusted project may set it; one that is not trusted only
	// where that tightens.
	Project
)

// Key is one setting: a row of the table that drives reading, merging, the
// documentation and the schema.
type Key struct {
	Table, Name string
	Kind        Kind
	Words       []string // of a Word or Bool; for Ordered the strictest first
	Default     string   // "" for an empty list
	Row         string   // of the specification
	Env         string   // the variable that sets it; "" for none
	Effect      Effect
	From        Source
	Example     string // a value as TOML
	Doc         string
}

// Path is the key's full name, as sandbox.default_tier.
func (k *Key) Path() string { return k.Table + "." + k.Name }

// The keys by number; the order is that of the documentation.
const (
	keyEnabled = iota
	keyTier
	keyAllowedPaths
	keyAllowed
	keyDenied
	keyDefaults
	keyLocalPorts
	keyPrivate
	keyExclude
	keyEscape
	keyEnvKeep
	keyEnvDrop
	keyProtect
	keyUnprotect
	keyHidden
	keyTmp
	keyCaches
	keyGuard
	keyLauncher
	keyPrecheck
	keyInstall
	keyPresets
	keySearch
	keyProxy
	keyUpstream
	keyMode
	keyRunAllow
	keyRunAsk
	keyRunDeny
	keyCycleTier
	keyPrefix
	keyShowSandbox
	keyShowQuestions
	keyShowNetwork
	keyShowDenied
	keyShowPolicy
	keyShowTasks
	keyShowConfig
	keyShowHelp
	numKeys
)

// tables are the headers a file may have.
var tables = [...]struct{ name, doc string }{
	{"sandbox", "What sandboxed commands may do."},
	{"sandbox.proxy", "How connections leave."},
	{"permissions", "Whether a command runs at all. Of the rules that match a command the strictest holds, whichever file it stands in."},
	{"keybindings", "Keys of the session, by action. The strongest layer that names an action replaces its keys; an empty list leaves only its letter after the prefix."},
}

// keys is the table; nothing about a key is written anywhere else.
var keys = [numKeys]Key{
	keyEnabled: {"sandbox", "enabled", Bool, []string{"true", "false"}, "false", "T2", "BAWN_SANDBOX", Ordered, Project, `true`,
		"Switch the sandbox on for agents that bawn is attached to. `bawn run` is sandboxed anyway."},
	keyTier: {"sandbox", "default_tier", Word, []string{"airlock", "guarded", "open"}, "guarded", "T4", "BAWN_DEFAULT_TIER", Ordered, Project, `"guarded"`,
		"The tier to start in: `airlock`, `guarded` or `open`. Without a terminal a wider one than `guarded` is not applied."},
	keyAllowedPaths: {"sandbox", "allowed_paths", Folders, nil, "", "F6", "BAWN_ALLOW_PATHS", Widens, Project, `["~/shared/fixtures"]`,
		"More folders that guarded commands may write. One that overlaps a credential location is left out with a warning."},
	keyAllowed: {"sandbox", "allowed_domains", Hosts, nil, "", "N1", "BAWN_ALLOW_DOMAINS", Widens, Project, `["example.com", "*.internal.example", "db.example:5432"]`,
		"Hosts that guarded commands may reach, besides the defaults. A table without this key means the defaults, never everything; `[\"*\"]` is everything."},
	keyDenied: {"sandbox", "denied_domains", Hosts, nil, "", "N5", "BAWN_DENY_DOMAINS", Tightens, Project, `["tracking.example"]`,
		"Hosts that may never be reached. They win over every allowed one."},
	keyDefaults: {"sandbox", "default_domains", Bool, []string{"false", "true"}, "true", "N5", "BAWN_DEFAULT_DOMAINS", Ordered, Project, `false`,
		"Whether the package registries and code hosts that bawn knows are allowed."},
	keyLocalPorts: {"sandbox", "allowed_local_ports", Ports, nil, "", "N4", "BAWN_ALLOW_LOCAL_PORTS", Widens, Project, `[5432]`,
		"Ports of the host's own loopback that guarded commands may reach."},
	keyPrivate: {"sandbox", "allow_private", Hosts, nil, "", "N6", "BAWN_ALLOW_PRIVATE", Widens, Project, `["intra.example"]`,
		"Hosts whose names may lead to private addresses."},
	keyExclude: {"sandbox", "exclude", Commands, nil, "", "C3", "BAWN_EXCLUDE", Widens, NotProject, `["docker compose *", "make deploy"]`,
		"Single plain commands that run outside the sandbox, once approved: a bare program name and its first words; `*` at the end stands for any arguments."},
	keyEscape: {"sandbox", "escape_hatch_binaries", Programs, nil, "", "C4", "BAWN_ESCAPE_HATCH_BINARIES", Widens, NotProject, `["/usr/local/bin/deploy"]`,
		"Programs that, called by this absolute path, run with full permissions and without a question."},
	keyEnvKeep: {"sandbox", "env_keep", Names, nil, "", "E1", "BAWN_ENV_KEEP", Widens, Project, `["NPM_TOKEN"]`,
		"Variables that commands see although they look like credentials. The file that one names (`DB_PASSWORD_FILE`) is not hidden then."},
	keyEnvDrop: {"sandbox", "env_drop", Names, nil, "", "E1", "BAWN_ENV_DROP", Tightens, Project, `["COMPANY_*"]`,
		"Variables that commands do not see. Wins over `env_keep`."},
	keyProtect: {"sandbox", "protect", Places, nil, "", "F2", "BAWN_PROTECT", Tightens, Project, `["deploy", ".husky"]`,
		"Files and folders that stay read-only inside writable ones. A project that is not trusted can name those in it only."},
	keyUnprotect: {"sandbox", "unprotect", Places, nil, "", "F2", "BAWN_UNPROTECT", Widens, NotProject, `["git.hooks", ".claude/settings.json"]`,
		"Protected names to make writable again: paths, or for every place one of `git.hooks`, `git.config` (`git.config:core.editor` is one key), `git.pointer`, `git.layout`, `git.target`, `git.settings`, `shell`, `agent` and `bawn` (a file of that name is `./shell`). `protect` wins."},
	keyHidden: {"sandbox", "hidden", Places, nil, "", "F4", "BAWN_HIDDEN", Tightens, Project, `["secrets", "~/letters"]`,
		"More files and folders that commands can neither read nor write. A project that is not trusted can name those in it only."},
	keyTmp: {"sandbox", "tmp", Word, []string{"private", "host"}, "private", "F5", "BAWN_TMP", Ordered, Project, `"private"`,
		"Where temporary files go: into a `private` folder, or the `host`'s."},
	keyCaches: {"sandbox", "caches", Word, []string{"private", "shared"}, "shared", "F1", "BAWN_CACHES", Ordered, Project, `"shared"`,
		"Whether guarded commands write the tools' caches themselves (`shared`) or a `private` layer over them, so that they cannot poison later builds outside."},
	keyGuard: {"sandbox", "guard", Word, []string{"on", "off"}, "on", "F2", "BAWN_GUARD", Ordered, NotProject, `"on"`,
		"Whether protected names that do not exist yet are guarded too."},
	keyLauncher: {"sandbox", "launcher", Word, []string{"auto", "native", "bwrap"}, "auto", "C8", "BAWN_LAUNCHER", Steers, NotProject, `"auto"`,
		"Who makes the sandbox on Linux: bawn itself (`native`), the system's bubblewrap (`bwrap`), or whichever works (`auto`)."},
	keyPrecheck: {"sandbox", "precheck", Word, []string{"strict", "default"}, "default", "C2", "BAWN_PRECHECK", Ordered, Project, `"strict"`,
		"How much is refused by the command's text alone: what the boundary would certainly block (`default`), or any absolute path outside the writable ones too (`strict`)."},
	keyInstall: {"sandbox", "install_profile", Word, []string{"on", "auto", "off"}, "auto", "F9", "BAWN_INSTALL_PROFILE", Ordered, Project, `"auto"`,
		"Whether package installs get their narrower profile: always (`on`), never in guarded (`off`), or unless a file written by hand sets `allowed_paths` or `allowed_domains` (`auto`)."},
	keyPresets: {"sandbox", "presets", Bool, []string{"false", "true"}, "true", "F4", "BAWN_PRESETS", Ordered, Project, `false`,
		"Whether `bawn wrap` gives an agent that it knows what that agent keeps for itself: its own settings, state, credentials and hosts (`bawn wrap --print-preset AGENT`)."},
	keySearch: {"sandbox", "search", Address, nil, "none", "N8", "", Steers, NotProject, `"https://search.example.com/search"`,
		"Where `bawn mcp`'s `web_search` asks: a service that answers `?q=…&format=json` as SearXNG does, or `none`. Its host must be allowed like any other."},
	keyProxy: {"sandbox.proxy", "enabled", Bool, []string{"false", "true"}, "true", "N9", "BAWN_PROXY", Ordered, Project, `false`,
		"Whether guarded commands have a way out at all."},
	keyUpstream: {"sandbox.proxy", "upstream", Proxy, nil, "env", "N12", "BAWN_UPSTREAM", Steers, NotProject, `"http://proxy.example:3128"`,
		"The proxy through which bawn itself connects: the one in the environment (`env`), `none`, or a URL."},
	keyMode: {"permissions", "mode", Word, []string{"ask", "auto", "bypass"}, "ask", "C1", "BAWN_PERMISSION_MODE", Ordered, NotProject, `"ask"`,
		"Whether commands without a rule are asked about (`ask`), run if they are sandboxed (`auto`), or run (`bypass`)."},
	keyRunAllow: {"permissions", "allow", Commands, nil, "", "C1", "", Widens, Project, `["go test *"]`,
		"Commands that run without a question."},
	keyRunAsk: {"permissions", "ask", Commands, nil, "", "C1", "", Tightens, Project, `["git push *"]`,
		"Commands that are asked about, except in `bypass`."},
	keyRunDeny: {"permissions", "deny", Commands, nil, "", "C1", "", Tightens, Project, `["terraform apply *"]`,
		"Commands that do not run."},
	keyCycleTier: {"keybindings", "cycle_sandbox_tier", Chords, nil, "alt+s", "T3", "", Steers, NotProject, `["alt+s", "f6"]`,
		"Go to the next tier."},
	keyPrefix: {"keybindings", "prefix", Chords, nil, "ctrl+\\", "T3", "", Steers, NotProject, `["ctrl+\\"]`,
		"Comes before the letter of every other action, also while a program has the screen: s cycles the tier, h shows the letters. For terminals that send no Alt keys."},
	keyShowSandbox: {"keybindings", "show_sandbox", Chords, nil, "", "T5", "", Steers, NotProject, `["f5"]`,
		"Show the tiers, to pick one."},
	keyShowQuestions: {"keybindings", "show_questions", Chords, nil, "", "T5", "", Steers, NotProject, `["alt+q"]`,
		"Show the questions that wait for an answer."},
	keyShowNetwork: {"keybindings", "show_network", Chords, nil, "", "T5", "", Steers, NotProject, `["alt+n"]`,
		"Show connections as they happen."},
	keyShowDenied: {"keybindings", "show_denied", Chords, nil, "", "T5", "", Steers, NotProject, `["f8"]`,
		"Show what was refused."},
	keyShowPolicy: {"keybindings", "show_policy", Chords, nil, "", "T5", "", Steers, NotProject, `["f9"]`,
		"Show the rules that hold."},
	keyShowTasks: {"keybindings", "show_tasks", Chords, nil, "", "T5", "", Steers, NotProject, `["alt+t"]`,
		"Show the commands of the session."},
	keyShowConfig: {"keybindings", "show_config", Chords, nil, "", "T5", "", Steers, NotProject, `["f2"]`,
		"Show the settings of the session."},
	keyShowHelp: {"keybindings", "show_help", Chords, nil, "", "T5", "", Steers, NotProject, `["f1"]`,
		"Show the help."},
}

// otherVariables begin like the ones that set keys and mean something else.
var otherVariables = [...]string{"BAWN_SANDBOXED", "BAWN_TIER", "BAWN_LOG", "BAWN_STAGE", "BAWN_SESSION"}

// Keys returns the table.
func Keys() []Key { return append([]Key(nil), keys[:]...) }

// Tables returns the tables' names with what they are about.
func Tables() [][2]string {
	out := make([][2]string, len(tables))
	for i, t := range tables {
		out[i] = [2]string{t.name, t.doc}
	}
	return out
}

// findKey returns the number of a key by its full name, or -1.
func findKey(path string) int {
	for i := range keys {
		if t := keys[i].Table; strings.HasPrefix(path, t) && len(path) > len(t) && path[len(t)] == '.' && path[len(t)+1:] == keys[i].Name {
			return i
		}
	}
	return -1
}

func isTable(path string) bool {
	for _, t := range tables {
		if t.name == path {
			return true
		}
	}
	return false
}

// limit is how many entries a list may have in one file. Each place or folder
// is a mount of every sandbox.
func (k *Key) limit() int {
	if k.Kind == Hosts {
		return 1 << 20
	}
	return 500
}

// rank is a value's place among the words, the strictest 0; -1 if it is none.
func (k *Key) rank(text string) int {
	for i, w := range k.Words {
		if w == text {
			return i
		}
	}
	return -1
}
