package policy

import "strings"

// Name is a file or folder name that a sandboxed command must not write
// (SPEC F2), or may write and is reported for (F3).
type Name struct {
	// Path is relative and may have several elements; what lies below it
	// counts as well. Letters in any case match.
	Path string
	// What it is, in the words of a person.
	What string
	// Lift is the id by which the user's own settings lift it. "" for names
	// that are only watched.
	Lift string
	// Deep: watched at any depth of a writable folder, not only at its root.
	Deep bool
}

const (
	agentSettings = "agent settings"
	shellStartup  = "shell start-up file"
	gitSettings   = "git settings"
)

// protectedNames are entries at the root of a writable folder, and in the
// home, that make programs outside the sandbox run code or change their
// permissions: bawn's own folder, the agents' settings, every file that bash,
// zsh, fish, sh and ksh read by themselves. Deeper ones of the agents and
// shells are watched. Git's control files come from gitdir and the guard:
// their place depends on the pointers, or on what a folder holds.
var protectedNames = [...]Name{
	{".bawn", "bawn's settings", "bawn", false},
	{".mcp.json", agentSettings, "agent", true},
	{".claude/settings.json", agentSettings, "agent", true},
	{".claude/settings.local.json", agentSettings, "agent", true},
	{".claude/hooks", agentSettings, "agent", true},
	{".codex", agentSettings, "agent", true},
	{".gemini", agentSettings, "agent", true},
	{".cursor", agentSettings, "agent", true},
	{".opencode", agentSettings, "agent", true},
	{"opencode.json", agentSettings, "agent", true},
	{"opencode.jsonc", agentSettings, "agent", true},
	{".copilot", agentSettings, "agent", true},
	{".github/hooks", agentSettings, "agent", true},
	{".agents/plugins", agentSettings, "agent", true},
	{"crush.json", agentSettings, "agent", true},
	{".crush.json", agentSettings, "agent", true},
	{".bashrc", shellStartup, "shell", true},
	{".bash_profile", shellStartup, "shell", true},
	{".bash_login", shellStartup, "shell", true},
	{".bash_logout", shellStartup, "shell", true},
	{".bash_aliases", shellStartup, "shell", true},
	{".bash_completion", shellStartup, "shell", true},
	{".inputrc", shellStartup, "shell", true}, // binds keys to commands
	{".profile", shellStartup, "shell", true},
	{".zshenv", shellStartup, "shell", true},
	{".zshrc", shellStartup, "shell", true},
	{".zprofile", shellStartup, "shell", true},
	{".zlogin", shellStartup, "shell", true},
	{".zlogout", shellStartup, "shell", true},
	// Compiled by zcompile: zsh takes a newer one instead of the text.
	{".zshenv.zwc", shellStartup, "shell", true},
	{".zshrc.zwc", shellStartup, "shell", true},
	{".zprofile.zwc", shellStartup, "shell", true},
	{".zlogin.zwc", shellStartup, "shell", true},
	{".zlogout.zwc", shellStartup, "shell", true},
	{".kshrc", shellStartup, "shell", true},
	{".mkshrc", shellStartup, "shell", true},
	{".shrc", shellStartup, "shell", true},
	{".shinit", shellStartup, "shell", true},
	{".config/fish", shellStartup, "shell", false},
	{".local/share/fish", shellStartup, "shell", false},
	{".config/git", gitSettings, "git.settings", false},
	{".gitconfig", gitSettings, "git.settings", false},
}

// watchedNames run code outside later but are ordinary work.
var watchedNames = [...]Name{
	{".vscode", "editor settings and tasks", "", true},
	{".idea", "editor settings and tasks", "", true},
	{".devcontainer", "development container", "", true},
	{".zed", "editor settings and tasks", "", true},
	{".exrc", "editor settings and tasks", "", true},
	{".nvimrc", "editor settings and tasks", "", true},
	{".nvim.lua", "editor settings and tasks", "", true},
	{".dir-locals.el", "editor settings and tasks", "", true},
	{".claude/agents", "agent instructions with hooks", "", true},
	{".claude/commands", "agent instructions with hooks", "", true},
	{".claude/skills", "agent instructions with hooks", "", true},
	{".hg/hgrc", "mercurial settings", "", true},
	{".hg/hgrc-not-shared", "mercurial settings", "", true},
	{".hg/sharedpath", "mercurial settings", "", true}, // whose hgrc counts
	{".jj/repo/config.toml", "jujutsu settings", "", true},
	{".gdbinit", "debugger start-up", "", true},
	{".lldbinit", "debugger start-up", "", true},
	{".envrc", "direnv environment", "", true},
	{".husky", "git hook scripts", "", true},
	{".githooks", "git hook scripts", "", true},
	{"lefthook.yml", "git hook scripts", "", true},
	{".lefthook.yml", "git hook scripts", "", true},
	{".pre-commit-config.yaml", "git hook scripts", "", true},
	{".gitattributes", "git filters in use", "", true},
	{".gitmodules", "git submodules", "", true},
	{"package.json", "package scripts", "", true},
	{".npmrc", "package manager settings", "", true},
	{".yarnrc.yml", "package manager settings", "", true},
	{".pnpmfile.cjs", "package manager settings", "", true},
	{"mise.toml", "tool versions and tasks", "", true},
	{".mise.toml", "tool versions and tasks", "", true},
	{".tool-versions", "tool versions and tasks", "", true},
	{"makefile", "build steps", "", true},
	{"gnumakefile", "build steps", "", true},
	{"justfile", "build steps", "", true},
	{"taskfile.yml", "build steps", "", true},
	{"rakefile", "build steps", "", true},
	{"build.rs", "build steps", "", true},
	{".cargo/config.toml", "build settings", "", true},
	{"setup.py", "build steps", "", true},
	{"conftest.py", "test set-up", "", true},
	{"sitecustomize.py", "interpreter start-up", "", true},
	{".github/workflows", "continuous integration", "", true},
}

// ProtectedNames lists the names that stay unwritable at the root of a
// writable folder. The caller must not change it.
func ProtectedNames() []Name { return protectedNames[:] }

// WatchedNames lists the names that are written freely and reported. The
// caller must not change it.
func WatchedNames() []Name { return watchedNames[:] }

// Protected lists the places at the root of dir that stay read-only although
// dir is writable. Whether each exists is for the caller to find out.
func Protected(dir string) []PathRule {
	out := make([]PathRule, len(protectedNames))
	for i, p := range protectedNames {
		out[i] = ProtectRule(dir+"/"+p.Path, p.What)
	}
	return out
}

// ProtectRule makes path read-only inside a writable folder.
func ProtectRule(path, what string) PathRule {
	return PathRule{Path: path, Access: ReadOnly, kind: kindProtect, what: what}
}

// NameRule is the reason for which a name is refused: id is what the user's
// own settings lift.
func NameRule(id, text string) Rule {
	return Rule{
		ID:   "name:" + id,
		Text: text + ": a change would run code or widen permissions outside the sandbox",
		Lift: NameLift(id),
	}
}

// KeepPrefix begins the names of the files that `bawn keep` writes beside their
// place: what is judged in them must be what gets the name.
const KeepPrefix = ".bawn-keep-"

// KeepRule is why they are not a command's.
var KeepRule = Rule{ID: "name:keep", Text: "a name that bawn keep writes under", Lift: "use a name that does not begin with " + KeepPrefix}

// NameLift is the way out of a refusal that these ids lift together.
func NameLift(ids ...string) string {
	return `make the change outside the sandbox, or unprotect "` + strings.Join(ids, `", "`) + `" in ` + UserFile
}

// WatchRule is the reason for which a written name is reported.
func WatchRule(what string) Rule {
	return Rule{ID: "watch:" + strings.ReplaceAll(what, " ", "-"), Text: what + ": it runs outside the sandbox later"}
}
