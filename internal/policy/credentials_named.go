package policy

import "strings"

// NamedCredentials are the files that variables of environ name by their form:
// what Scrub removes for its name, and ends in _FILE or _PATH, names a file that
// holds a secret (DB_PASSWORD_FILE, AWS_WEB_IDENTITY_TOKEN_FILE). Those of keep
// (EnvRules.Keep) name none. Variables that Credentials knows are left to it.
func NamedCredentials(environ, keep []string) (out []PathRule) {
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(value, "/") || !plainName(name) {
			continue
		}
		upper := envUpper(name)
		if !strings.HasSuffix(upper, "_FILE") && !strings.HasSuffix(upper, "_PATH") {
			continue
		}
		if _, rule := envNameRule(upper); rule == "" || rule == "env:socket" || envMatchAny(keep, name) || movesCredentials(name) {
			continue
		}
		if path := named(value); path != "" && IsClean(path) {
			out = append(out, NamedSecret(path, "credentials that "+name+" names"))
		}
	}
	return out
}

// NamedSecret hides one file because a variable or a setting names it.
func NamedSecret(path, what string) PathRule {
	r := hiddenRule(path, what, true)
	r.single = true
	return r
}

// movesCredentials reports whether a variable is one of envSecrets.
func movesCredentials(name string) bool {
	for i := range envSecrets {
		if envSecrets[i].name == name {
			return true
		}
	}
	return false
}

// plainName reports whether a variable's name can stand in a sentence.
func plainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != ""
}
