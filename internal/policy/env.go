package policy

import (
	"fmt"
	"strings"
)

// EnvRules says which variables of the caller's environment a sandboxed
// command may see. The zero value is the defaults: whatever looks like a
// credential, or leads to one, is removed.
//
// Keep and Drop hold names or globs, in which only * is special; they match
// without regard to case. Drop wins over Keep, Keep wins over every default
// but the one about bawn's own variables.
type EnvRules struct{ Keep, Drop []string }

// DroppedVar is one removed variable and why. It never holds the value. Name
// is empty where the entry has none, or where the name is itself a credential.
type DroppedVar struct {
	Name   string
	Reason string // for people
	Rule   string // for programs: stable, as env:name:*_TOKEN or env:socket
}

// EnvUserDrop is the rule of what Drop names.
const EnvUserDrop = "env:user-drop"

// Scrub splits environ (entries as of os.Environ) into what a command may see
// and what it may not. Order and bytes of kept entries are untouched. Of a
// name that occurs twice each entry is judged by itself, so it does not matter
// which one the command's getenv would find.
//
// Variables of the loader and of interpreters (LD_PRELOAD, BASH_ENV,
// NODE_OPTIONS) stay: they act inside only, where the same walls stand. Nothing
// that runs outside may be given this environment.
func (r EnvRules) Scrub(environ []string) (kept []string, dropped []DroppedVar) {
	kept = make([]string, 0, len(environ))
	gitSet := false
	for _, entry := range environ {
		d, drop := r.judge(entry)
		if !drop {
			kept = append(kept, entry)
			continue
		}
		dropped = append(dropped, d)
		gitSet = gitSet || strings.HasPrefix(d.Name, "GIT_CONFIG_VALUE_") || strings.HasPrefix(d.Name, "GIT_CONFIG_KEY_")
	}
	if !gitSet {
		return kept, dropped
	}
	// git refuses to run at all if GIT_CONFIG_COUNT promises a pair that is
	// not there; without the count it ignores the pairs.
	out := kept[:0]
	for _, entry := range kept {
		if strings.HasPrefix(entry, "GIT_CONFIG_COUNT=") && !envMatchAny(r.Keep, "GIT_CONFIG_COUNT") {
			dropped = append(dropped, DroppedVar{"GIT_CONFIG_COUNT", "counts git settings of which one was removed", "env:git-config"})
			continue
		}
		out = append(out, entry)
	}
	clear(kept[len(out):])
	return out, dropped
}

// judge decides one entry; the order of the checks is the order of precedence.
func (r EnvRules) judge(entry string) (DroppedVar, bool) {
	name, value, ok := strings.Cut(entry, "=")
	switch {
	case !ok:
		return DroppedVar{"", "malformed: no = in the entry", "env:malformed"}, true
	case name == "":
		return DroppedVar{"", "malformed: no name before the =", "env:malformed"}, true
	}
	// A name is shown to people, so it must not be a secret itself: a line
	// such as https://u:pw@host/?a=b has one before its first =.
	if len(name) > 8 && envFindSecret(name).rule != "" {
		return DroppedVar{"", "malformed: the name holds a secret, so it is not shown", "env:malformed"}, true
	}
	if strings.IndexByte(entry, 0) >= 0 {
		return DroppedVar{envShownName(name), "malformed: a NUL byte in the entry", "env:malformed"}, true
	}
	upper := envUpper(name)
	if strings.HasPrefix(upper, "BAWN_") {
		return DroppedVar{name, "steers bawn itself", "env:bawn"}, true
	}
	if envMatchAny(r.Drop, name) {
		return DroppedVar{name, "removed by env_drop", EnvUserDrop}, true
	}
	if envMatchAny(r.Keep, name) {
		return DroppedVar{}, false
	}
	if reason, rule := envNameRule(upper); rule != "" {
		if reason == envHiddenHere && !strings.HasSuffix(upper, "_PROFILE") && len(namedAll(name, value)) == 0 {
			reason = "points to credentials" // by no absolute path: what it names is not hidden
		}
		return DroppedVar{name, reason, rule}, true
	}
	if envPwd(upper, value) {
		reason, rule := envSecret.say("*_PWD", "*_PWD")
		return DroppedVar{name, reason, rule}, true
	}
	f := envFindSecret(value)
	if f.rule == "" && strings.HasSuffix(upper, "_PROXY") {
		f = envFindProxyPassword(value)
	}
	if f.rule == "" {
		f = envFindBase64(value)
	}
	if f.rule != "" {
		return DroppedVar{name, f.reason(), f.rule}, true
	}
	return DroppedVar{}, false
}

// envPwd tells a password, SMTP_PWD=x, from a working folder, BUILD_PWD=/x.
func envPwd(upper, value string) bool {
	if !strings.HasSuffix(upper, "_PWD") || value == "" {
		return false
	}
	return !strings.ContainsRune("/.~$", rune(value[0])) && !(len(value) > 2 && value[1] == ':' && value[2] == '\\')
}

// envShownName is the name up to a NUL byte.
func envShownName(name string) string {
	name, _, _ = strings.Cut(name, "\x00")
	return name
}

// Validate reports the first entry that could never do what its author meant.
func (r EnvRules) Validate() error {
	for _, e := range r.Keep {
		if err := envValidEntry("env_keep", e); err != nil {
			return err
		}
		if strings.HasPrefix(envUpper(e), "BAWN_") {
			return fmt.Errorf("env_keep entry %q: variables named BAWN_… steer bawn and are never kept; remove the entry", e)
		}
	}
	for _, e := range r.Drop {
		if err := envValidEntry("env_drop", e); err != nil {
			return err
		}
	}
	return nil
}

func envValidEntry(key, e string) error {
	bad := func(what, out string) error {
		// The entry is cut at its =: what follows may be a secret.
		shown, _, cut := strings.Cut(e, "=")
		if cut {
			shown += "=…"
		}
		return fmt.Errorf("%s entry %q: %s; %s", key, shown, what, out)
	}
	switch {
	case e == "":
		return bad("a name may not be empty", "remove it, or write * to match every variable")
	case strings.IndexByte(e, '=') >= 0:
		return bad("a name may not contain =", "write the variable's name alone, without a value")
	case strings.IndexByte(e, 0) >= 0:
		return bad("a name may not contain a NUL byte", "write the variable's name alone")
	case strings.ContainsAny(e, "?[]"):
		return bad("only * is a wildcard in names", "use *, or write one entry for each name")
	case e[0] == '$':
		return bad("a name does not begin with $", "write the name alone, as in HOME")
	case strings.TrimSpace(e) != e:
		return bad("a name may not begin or end with space", "remove the space")
	case strings.ContainsAny(e, " \t,"):
		return bad("this is more than one name", "write one entry for each name")
	}
	return nil
}

// envMatchAny reports whether one of the globs matches the name.
func envMatchAny(globs []string, name string) bool {
	for _, g := range globs {
		if envGlobMatch(g, name) {
			return true
		}
	}
	return false
}

// envGlobMatch matches a glob whose only special byte is *, ignoring ASCII
// case. It goes back to the last * alone, so time is at most len(glob)*len(name).
func envGlobMatch(glob, name string) bool {
	g, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, n
			g++
		case g < len(glob) && envUpperByte(glob[g]) == envUpperByte(name[n]):
			g++
			n++
		case star >= 0:
			mark++
			g, n = star+1, mark
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}

func envUpperByte(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// envUpper is s in ASCII upper case; other bytes, valid text or not, stay. It
// allocates only if something changes.
func envUpper(s string) string {
	for i := 0; i < len(s); i++ {
		if 'a' <= s[i] && s[i] <= 'z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = envUpperByte(b[i])
			}
			return string(b)
		}
	}
	return s
}
