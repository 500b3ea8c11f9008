package policy

// MacOS are the folders that macOS has for one user's temporary files and
// caches (confstr's DARWIN_USER_TEMP_DIR and DARWIN_USER_CACHE_DIR), by their
// real paths.
type MacOS struct{ Temp, Cache string }

// MacOS are the folders of the system that the policy was made for; empty
// elsewhere.
func (p Policy) MacOS() MacOS { return p.macOS }

// rules are those for the system's own places. Nothing can be mounted there,
// so the host's folders are seen as they are: a run gets a temporary folder of
// its own beside them.
func (m *MacOS) rules(temp TempMode, by Origin) []PathRule {
	rs := []PathRule{
		FixedRule("/", ReadOnly, "root", "the system is read-only in the sandbox"),
		FixedRule("/dev", ReadOnly, "devices", "only harmless devices are open"),
	}
	for _, d := range devices {
		if d != "full" { // macOS has none
			rs = append(rs, FixedRule("/dev/"+d, ReadWrite, "devices", "a harmless device"))
		}
	}
	access, text := ReadOnly, "each run has a temporary folder of its own, which TMPDIR names"
	if temp == HostTemp {
		access, text = ReadWrite, "the host's temp folder"
	}
	for _, d := range [...]string{"/private/tmp", "/private/var/tmp", m.Temp, m.Cache} {
		if IsClean(d) && d != "/" {
			rs = append(rs, FixedRule(d, access, "temp", text).From(by))
		}
	}
	return rs
}

// wide names the folders that a user shares with the whole system there.
func (m *MacOS) wide(dir string) bool {
	switch dir {
	case "/private", "/private/tmp", "/private/etc", "/private/var", "/private/var/tmp", "/private/var/folders",
		"/System", "/Library", "/Applications", "/Users", "/Volumes", m.Temp, m.Cache, Parent(m.Temp):
		return true
	}
	return false
}

// macSecrets are places below a home that only macOS has.
var macSecrets = [...]place{
	{"Library/Keychains", false, "keychains"},
	{"Library/Cookies", false, "browser cookies"},
	{"Library/HTTPStorages", false, "cookies of applications"},
	{"Library/Safari", false, "browser profiles"},
	{"Library/Mail", false, "mails"},
	{"Library/Messages", false, "messages"},
	{"Library/Accounts", false, "account credentials"},
	{"Library/IdentityServices", false, "account credentials"},
	{"Library/Containers", false, "data of applications"},
	{"Library/Group Containers", false, "data of applications"},
	{"Library/Thunderbird", false, "mail profiles"},
	{"Library/Application Support/Google/Chrome", false, "browser profiles"},
	{"Library/Application Support/Google/Chrome Beta", false, "browser profiles"},
	{"Library/Application Support/Google/Chrome Canary", false, "browser profiles"},
	{"Library/Application Support/Chromium", false, "browser profiles"},
	{"Library/Application Support/BraveSoftware", false, "browser profiles"},
	{"Library/Application Support/Microsoft Edge", false, "browser profiles"},
	{"Library/Application Support/Vivaldi", false, "browser profiles"},
	{"Library/Application Support/com.operasoftware.Opera", false, "browser profiles"},
	{"Library/Application Support/Arc", false, "browser profiles"},
	{"Library/Application Support/Firefox", false, "browser profiles"},
	{"Library/Application Support/LibreWolf", false, "browser profiles"},
	{"Library/Application Support/zen", false, "browser profiles"},
	{"Library/Application Support/AddressBook", false, "contacts"},
	{"Library/Application Support/com.apple.TCC", false, "permissions of applications"},
	{"Library/Application Support/1Password", false, "password stores"},
	{"Library/Application Support/Bitwarden", false, "password stores"},
	{"Library/Application Support/Bitwarden CLI", false, "password stores"},
	{"Library/Application Support/Slack", false, "chat sessions"},
	{"Library/Application Support/discord", false, "chat sessions"},
	{"Library/Application Support/Signal", false, "chat data"},
	{"Library/Application Support/Claude", false, "agent sessions"},
	{"Library/Application Support/Cursor", false, "Cursor sessions"},
	{"Library/Application Support/Code/User/globalStorage", false, "editor session data"},
	{"Library/Application Support/io.datasette.llm", false, "llm keys"},
	{"Library/Application Support/pypoetry/auth.toml", true, "Poetry credentials"},
	{"Library/Preferences/pypoetry/auth.toml", true, "Poetry credentials"},
	{"Library/Application Support/com.vercel.cli", false, "Vercel credentials"},
	{"Library/Caches/Google/Chrome", false, "browser caches"},
	{"Library/Caches/Chromium", false, "browser caches"},
	{"Library/Caches/BraveSoftware", false, "browser caches"},
	{"Library/Caches/Microsoft Edge", false, "browser caches"},
	{"Library/Caches/Firefox", false, "browser caches"},
	{"Library/Caches/com.apple.Safari", false, "browser caches"},
	{"Library/Caches/com.apple.HomeKit", false, "keys of devices"},
}

// macSystemSecrets are those of the system.
var macSystemSecrets = [...]place{
	{"/Library/Keychains", false, "keychains"},
	{"/private/var/db/dslocal", false, "password hashes"},
	{"/private/etc/master.passwd", true, "password hashes"},
	{"/private/var/db/sudo", false, "privilege tickets"},
}

// MacCredentials lists the credential places that macOS has besides those of
// Credentials.
func MacCredentials(homes []string) []PathRule {
	var out []PathRule
	for _, h := range homes {
		for _, p := range macSecrets {
			if path := h + "/" + p.path; IsClean(path) {
				out = append(out, hiddenRule(path, p.what, p.file))
			}
		}
	}
	for _, p := range macSystemSecrets {
		out = append(out, hiddenRule(p.path, p.what, p.file))
	}
	return out
}

// MacCaches lists the caches that macOS has besides those of Caches: its cache
// folder, where Go, pip and yarn keep theirs, and pnpm's store.
func MacCaches(home string) []PathRule {
	cache := func(sub, id, tool string) PathRule {
		return PathRule{Path: home + "/" + sub, Access: ReadWrite, kind: kindCache, id: id, what: tool}
	}
	return []PathRule{cache("Library/Caches", "platform", "macOS"), cache("Library/pnpm/store", "pnpm", "pnpm")}
}
