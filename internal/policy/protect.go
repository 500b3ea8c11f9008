package policy

// protectedNames are entries at the root of a writable folder that make
// programs outside the sandbox run code or change their permissions (SPEC
// F2): bawn's own folder, the agents' settings, shell start-up files.
// Git's control files come from gitdir: their place depends on the pointers.
var protectedNames = [...]struct{ name, what string }{
	{".bawn", "bawn's settings"},
	{".mcp.json", "agent settings"},
	{".claude/settings.json", "agent settings"},
	{".claude/settings.local.json", "agent settings"},
	{".claude/hooks", "agent settings"},
	{".codex", "agent settings"},
	{".gemini", "agent settings"},
	{".cursor", "agent settings"},
	{".opencode", "agent settings"},
	{"opencode.json", "agent settings"},
	{"opencode.jsonc", "agent settings"},
	{".bashrc", "shell start-up file"},
	{".bash_profile", "shell start-up file"},
	{".bash_login", "shell start-up file"},
	{".bash_logout", "shell start-up file"},
	{".bash_aliases", "shell start-up file"},
	{".profile", "shell start-up file"},
	{".zshenv", "shell start-up file"},
	{".zshrc", "shell start-up file"},
	{".zprofile", "shell start-up file"},
	{".zlogin", "shell start-up file"},
	{".zlogout", "shell start-up file"},
	{".kshrc", "shell start-up file"},
	{".mkshrc", "shell start-up file"},
	{".shrc", "shell start-up file"},
	{".config/fish", "shell start-up file"},
	{".config/git", "git settings"},
	{".gitconfig", "git settings"},
}

// Protected lists the places at the root of dir that stay read-only although
// dir is writable. Whether each exists is for the caller to find out.
func Protected(dir string) []PathRule {
	out := make([]PathRule, len(protectedNames))
	for i, p := range protectedNames {
		out[i] = ProtectRule(dir+"/"+p.name, p.what)
	}
	return out
}

// ProtectRule makes path read-only inside a writable folder.
func ProtectRule(path, what string) PathRule {
	return PathRule{Path: path, Access: ReadOnly, kind: kindProtect, what: what}
}
