package gitdir

import (
	"fmt"
	"strconv"
	"strings"
)

// Vetting is what VetConfig cannot know from the text. The zero value is the
// strictest.
type Vetting struct {
	// Old is the file as it is: an entry that is there with the same value
	// passes, so that what the user has set does not stop everything else.
	Old []Entry
	// Worktree says whether core.worktree may have this value.
	Worktree func(value string) bool
	// Local says whether a remote may be this path of the machine. Without a
	// slash it may be a remote's name.
	Local func(path string) bool
	// Lifted says whether the user lifted section.key, in lower case and
	// without the subsection.
	Lifted func(key string) bool

	named map[string]bool // remotes that the text gives an address
}

// RefusedKey is one entry for which VetConfig refuses a text.
type RefusedKey struct {
	Line int
	Name string // as git config --list prints it
	Key  string // section.key in lower case, without a subsection: what a user lifts
	Why  string
}

// KeysError names the entries for which VetConfig refuses a text: the first
// few of them.
type KeysError struct {
	Keys []RefusedKey
	More int // entries that are not named
}

const (
	maxKeys  = 5  // entries that are named
	maxShown = 80 // bytes of one name
)

func (e *KeysError) Error() string {
	var b strings.Builder
	b.WriteString("git config ")
	for i, k := range e.Keys {
		if i > 0 {
			b.WriteString("; ")
		}
		name := strconv.QuoteToASCII(k.Name) // a subsection is any text
		if len(name) > maxShown {
			name = name[:maxShown-4] + `..."`
		}
		fmt.Fprintf(&b, "line %d: %s %s", k.Line, name, k.Why)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// VetConfig says whether a command may write text as a git config file: each
// entry must be in a list of keys that run nothing, read no further config
// and lead git to no place that the command may fill unseen. It returns a
// KeysError, a SyntaxError for a text that git would not read, or an error
// that wraps ErrLimit.
func VetConfig(text []byte, v Vetting) error {
	if len(text) > maxConfig {
		return fmt.Errorf("git config larger than %d bytes: %w", maxConfig, ErrLimit)
	}
	entries, err := parseConfig(text)
	if err != nil {
		return fmt.Errorf("git config: %w", err)
	}
	old := make(map[string]struct{}, len(v.Old))
	for i := range v.Old {
		old[v.Old[i].identity()] = struct{}{}
	}
	v.named = map[string]bool{}
	for i := range entries {
		if e := &entries[i]; e.Section == "remote" && e.Sub && e.Key == "url" {
			v.named[e.Subsection] = true
		}
	}
	var refused KeysError
	for i := range entries {
		e := &entries[i]
		if _, ok := old[e.identity()]; ok {
			continue
		}
		key := e.Section + "." + e.Key
		if v.Lifted != nil && v.Lifted(key) {
			continue
		}
		switch why := v.refuse(e); {
		case why == "":
		case len(refused.Keys) < maxKeys:
			refused.Keys = append(refused.Keys, RefusedKey{Line: e.Line, Name: e.Name(), Key: key, Why: why})
		default:
			refused.More++
		}
	}
	if len(refused.Keys) > 0 {
		return &refused
	}
	return nil
}

// VetSequencer says whether a command may write text as sequencer/opts, from
// which git takes how a cherry-pick or revert goes on. The strategy is the end
// of a program's name: "x/y" is one in the working folder.
func VetSequencer(text []byte) error {
	entries, err := parseConfig(text)
	if err != nil {
		return fmt.Errorf("options of git's sequencer: %w", err)
	}
	for i := range entries {
		e := &entries[i]
		if e.Section != "options" || e.Sub || e.Key == "strategy" && !isWord(e.Value, "ort recursive resolve octopus ours subtree") {
			return &KeysError{Keys: []RefusedKey{{Line: e.Line, Name: e.Name(), Key: e.Section + "." + e.Key, Why: "is not git's own"}}}
		}
	}
	return nil
}

func (e *Entry) identity() string {
	if e.NoValue {
		return e.Name()
	}
	return e.Name() + "\x00" + e.Value
}

// valueKind is what a value of an allowed key must be.
type valueKind uint8

const (
	text     valueKind = iota // anything: git only compares or prints it
	boolean                   // git's spellings, or no value
	number                    // digits, a sign, a unit
	oneOf                     // one of the words
	boolOr                    // a boolean or one of the words
	remote                    // a remote's name or address
	relative                  // the same, or relative to the outer repository's address
	worktree                  // for Vetting.Worktree
)

// harmless is the list of keys that VetConfig lets through. Two-level keys
// have sub false and do not allow a subsection: diff.renames is harmless,
// diff.NAME.textconv is not. A key "" is any.
var harmless = [...]struct {
	section, key string
	sub          bool
	kind         valueKind
	words        string
}{
	{"core", "repositoryformatversion", false, number, ""},
	{"core", "filemode", false, boolean, ""},
	{"core", "bare", false, boolean, ""},
	{"core", "logallrefupdates", false, boolOr, "always"},
	{"core", "ignorecase", false, boolean, ""},
	{"core", "precomposeunicode", false, boolean, ""},
	{"core", "symlinks", false, boolean, ""},
	{"core", "autocrlf", false, boolOr, "input"},
	{"core", "eol", false, oneOf, "lf crlf native"},
	{"core", "safecrlf", false, boolOr, "warn"},
	{"core", "sparsecheckout", false, boolean, ""},
	{"core", "sparsecheckoutcone", false, boolean, ""},
	{"core", "untrackedcache", false, boolOr, "keep"},
	{"core", "splitindex", false, boolean, ""},
	{"core", "preloadindex", false, boolean, ""},
	{"core", "quotepath", false, boolean, ""},
	{"core", "abbrev", false, text, ""},
	{"core", "trustctime", false, boolean, ""},
	{"core", "checkstat", false, oneOf, "default minimal"},
	{"core", "commitgraph", false, boolean, ""},
	{"core", "multipackindex", false, boolean, ""},
	{"core", "compression", false, number, ""},
	{"core", "bigfilethreshold", false, number, ""},
	{"core", "longpaths", false, boolean, ""},
	{"core", "worktree", false, worktree, ""},
	{"core", "fsmonitor", false, oneOf, "false no off 0"}, // any other value is a program
	{"user", "name", false, text, ""},
	{"user", "email", false, text, ""},
	{"user", "signingkey", false, text, ""},
	{"user", "useconfigonly", false, boolean, ""},
	{"author", "name", false, text, ""},
	{"author", "email", false, text, ""},
	{"committer", "name", false, text, ""},
	{"committer", "email", false, text, ""},
	{"remote", "url", true, remote, ""},
	{"remote", "pushurl", true, remote, ""},
	{"remote", "fetch", true, text, ""},
	{"remote", "push", true, text, ""},
	{"remote", "mirror", true, boolOr, "fetch push"},
	{"remote", "tagopt", true, oneOf, "--tags --no-tags"},
	{"remote", "prune", true, boolean, ""},
	{"remote", "prunetags", true, boolean, ""},
	{"remote", "promisor", true, boolean, ""},
	{"remote", "partialclonefilter", true, text, ""},
	{"remote", "skipdefaultupdate", true, boolean, ""},
	{"remote", "skipfetchall", true, boolean, ""},
	{"remote", "followremotehead", true, text, ""},
	{"remote", "pushdefault", false, remote, ""},
	{"branch", "remote", true, remote, ""},
	{"branch", "pushremote", true, remote, ""},
	{"branch", "merge", true, text, ""},
	{"branch", "rebase", true, boolOr, "merges m interactive i preserve p"},
	{"branch", "description", true, text, ""},
	{"branch", "vscode-merge-base", true, text, ""},
	{"branch", "autosetupmerge", false, boolOr, "always inherit simple"},
	{"branch", "autosetuprebase", false, oneOf, "never local remote always"},
	{"branch", "sort", false, text, ""},
	{"tag", "sort", false, text, ""},
	{"submodule", "url", true, relative, ""},
	{"submodule", "active", true, boolean, ""},
	{"submodule", "update", true, oneOf, "checkout rebase merge none"},
	{"submodule", "branch", true, text, ""},
	{"submodule", "ignore", true, oneOf, "all dirty untracked none"},
	{"submodule", "shallow", true, boolean, ""},
	{"submodule", "fetchrecursesubmodules", true, boolOr, "on-demand"},
	{"submodule", "active", false, text, ""},
	{"submodule", "recurse", false, boolean, ""},
	{"submodule", "fetchjobs", false, number, ""},
	{"submodule", "propagatebranches", false, boolean, ""},
	{"submodule", "alternatelocation", false, oneOf, "no superproject"},
	{"submodule", "alternateerrorstrategy", false, oneOf, "die info ignore"},
	{"extensions", "worktreeconfig", false, boolean, ""},
	{"extensions", "objectformat", false, oneOf, "sha1 sha256"},
	{"extensions", "compatobjectformat", false, oneOf, "sha1 sha256"},
	{"extensions", "refstorage", false, oneOf, "files reftable"},
	{"extensions", "partialclone", false, remote, ""},
	{"extensions", "preciousobjects", false, boolean, ""},
	{"extensions", "relativeworktrees", false, boolean, ""},
	{"extensions", "noop", false, text, ""},
	{"init", "defaultbranch", false, text, ""},
	{"pull", "rebase", false, boolOr, "merges m interactive i preserve p"},
	{"pull", "ff", false, boolOr, "only"},
	{"push", "default", false, oneOf, "nothing current upstream tracking simple matching"},
	{"push", "autosetupremote", false, boolean, ""},
	{"push", "followtags", false, boolean, ""},
	{"fetch", "prune", false, boolean, ""},
	{"fetch", "prunetags", false, boolean, ""},
	{"fetch", "parallel", false, number, ""},
	{"fetch", "writecommitgraph", false, boolean, ""},
	{"fetch", "recursesubmodules", false, boolOr, "on-demand"},
	{"merge", "ff", false, boolOr, "only"},
	{"merge", "conflictstyle", false, oneOf, "merge diff3 zdiff3"},
	{"merge", "renames", false, boolean, ""},
	{"merge", "directoryrenames", false, boolOr, "conflict"},
	{"merge", "stat", false, boolOr, "compact"},
	{"rebase", "autosquash", false, boolean, ""},
	{"rebase", "autostash", false, boolean, ""},
	{"rebase", "updaterefs", false, boolean, ""},
	{"rebase", "rebasemerges", false, boolOr, "rebase-cousins no-rebase-cousins"},
	{"rerere", "enabled", false, boolean, ""},
	{"rerere", "autoupdate", false, boolean, ""},
	{"commit", "gpgsign", false, boolean, ""},
	{"commit", "verbose", false, boolOr, "1 2"},
	{"tag", "gpgsign", false, boolean, ""},
	{"checkout", "defaultremote", false, text, ""},
	{"worktree", "guessremote", false, boolean, ""},
	{"worktree", "userelativepaths", false, boolean, ""},
	{"index", "version", false, number, ""},
	{"index", "sparse", false, boolean, ""},
	{"index", "threads", false, boolOr, ""},
	{"index", "skiphash", false, boolean, ""},
	{"feature", "manyfiles", false, boolean, ""},
	{"feature", "experimental", false, boolean, ""},
	{"gc", "auto", false, number, ""},
	{"gc", "autodetach", false, boolean, ""},
	{"gc", "writecommitgraph", false, boolean, ""},
	{"gc", "pruneexpire", false, text, ""},
	{"gc", "reflogexpire", false, text, ""},
	{"gc", "reflogexpireunreachable", false, text, ""},
	{"maintenance", "auto", false, boolean, ""},
	{"maintenance", "strategy", false, oneOf, "none incremental"},
	{"pack", "threads", false, number, ""},
	{"pack", "window", false, number, ""},
	{"pack", "depth", false, number, ""},
	{"pack", "windowmemory", false, number, ""},
	{"receive", "denycurrentbranch", false, boolOr, "refuse warn ignore updateinstead"},
	{"receive", "denynonfastforwards", false, boolean, ""},
	{"receive", "denydeletes", false, boolean, ""},
	{"uploadpack", "allowfilter", false, boolean, ""},
	{"uploadpack", "allowanysha1inwant", false, boolean, ""},
	{"uploadpack", "allowreachablesha1inwant", false, boolean, ""},
	{"uploadpack", "allowtipsha1inwant", false, boolean, ""},
	{"diff", "renames", false, boolOr, "copies copy"},
	{"diff", "algorithm", false, oneOf, "default myers minimal patience histogram"},
	{"diff", "noprefix", false, boolean, ""},
	{"diff", "mnemonicprefix", false, boolean, ""},
	{"diff", "context", false, number, ""},
	{"diff", "submodule", false, oneOf, "short log diff"},
	{"diff", "ignoresubmodules", false, oneOf, "all dirty untracked none"},
	{"status", "showuntrackedfiles", false, boolOr, "all normal"},
	{"status", "submodulesummary", false, boolOr, ""},
	{"status", "branch", false, boolean, ""},
	{"status", "short", false, boolean, ""},
	{"log", "date", false, text, ""},
	{"color", "ui", false, boolOr, "auto always never"},
	{"advice", "", false, boolean, ""},
	{"i18n", "commitencoding", false, text, ""},
	{"lfs", "repositoryformatversion", false, number, ""},
}

// refuse says why the command may not set e, or "".
func (v *Vetting) refuse(e *Entry) string {
	for i := range harmless {
		h := &harmless[i]
		if h.section != e.Section || h.key != e.Key && h.key != "" || h.sub != e.Sub {
			continue
		}
		if e.NoValue && h.kind != boolean && h.kind != boolOr {
			return "has no value"
		}
		if climbs(e.Subsection) && e.Section == "remote" || climbs(e.Value) && isWord(e.Section, "user author committer") {
			return "holds a path upwards, which git would write to its logs"
		}
		switch h.kind {
		case text:
			return ""
		case boolean:
			if isBool(e) {
				return ""
			}
		case number:
			if isNumber(e.Value) {
				return ""
			}
		case boolOr:
			if isBool(e) || isNumber(e.Value) || isWord(e.Value, h.words) {
				return ""
			}
		case oneOf:
			if isWord(e.Value, h.words) {
				return ""
			}
		case worktree:
			if v.Worktree != nil && v.Worktree(e.Value) {
				return ""
			}
			return "does not name a folder in the workspace whose .git points back"
		case remote, relative:
			if h.kind == relative && (strings.HasPrefix(e.Value, "./") || strings.HasPrefix(e.Value, "../")) {
				return ""
			}
			why := v.address(e.Value)
			if path := why == "" && !strings.ContainsAny(e.Value, "/:") && e.Value != "."; path && (e.Section == "remote" && e.Sub || !v.named[e.Value]) {
				why = v.local("./" + e.Value)
			}
			return why
		}
		return "may not be set to this value by a sandboxed command"
	}
	return "may not be set by a sandboxed command"
}

// address says why a remote may not be at this address, or "". git runs
// git-remote-X for "X::…" and for every scheme that it does not know itself.
func (v *Vetting) address(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return "holds a control character"
		}
	}
	end := 0
	for end < len(s) && (isKeyChar(s[end]) || end > 0 && (s[end] == '+' || s[end] == '.')) {
		end++
	}
	rest := s[end:]
	switch {
	case s == "":
		return "is empty"
	case s[0] == '-':
		return "begins like an option"
	case strings.HasPrefix(rest, "::"):
		return "names a program as transport"
	case strings.HasPrefix(rest, "://"):
		authority, path, _ := strings.Cut(rest[3:], "/")
		switch s[:end] {
		case "http", "https", "ftp", "ftps":
			return ""
		case "git", "ssh", "git+ssh", "ssh+git":
			return optionLike(authority, "/"+path)
		case "file":
			if strings.Contains(rest, "%") {
				return "is an encoded file address; write the path"
			}
			return v.local(strings.TrimSuffix("/"+authority, "/") + "/" + path)
		}
		return "names a program as transport"
	}
	if colon := strings.IndexByte(s, ':'); colon >= 0 && !strings.Contains(s[:colon], "/") {
		return optionLike(s[:colon], s[colon+1:]) // host:path
	}
	return v.local(s)
}

func (v *Vetting) local(path string) string {
	if path == "." || v.Local != nil && v.Local(path) {
		return ""
	}
	return "names a repository in a place whose git files are not guarded"
}

// shellMarks are what hosts and users have none of, and ssh's own settings
// (ProxyCommand, Match exec) would give to a shell.
const shellMarks = " \t\r\n\x00'`\"$;&<>|(){}*?!#"

// optionLike: a host or path that ssh or git would take for an option, or a
// shell for a command. git decodes %2d before it looks.
func optionLike(host, path string) string {
	host = unescape(host)
	if strings.ContainsAny(host, shellMarks) {
		return "has a host or user with characters of a shell"
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		if strings.HasPrefix(host, "-") {
			return "begins like an option"
		}
		host = host[i+1:]
	}
	if strings.Contains(host, `\`) { // of a user it may be the domain
		return "has a host or user with characters of a shell"
	}
	host = strings.TrimLeft(host, "[")
	for _, s := range [...]string{host, path, strings.TrimPrefix(path, "/")} {
		if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "%") {
			return "begins like an option"
		}
	}
	return ""
}

// unescape decodes %XX as git does; what is no such pair stays as it is.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isBool(e *Entry) bool {
	if e.NoValue {
		return true
	}
	switch strings.ToLower(e.Value) {
	case "", "true", "yes", "on", "1", "false", "no", "off", "0":
		return true
	}
	return false
}

func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if n := len(s); n > 1 && strings.IndexByte("kKmMgG", s[n-1]) >= 0 {
		s = s[:n-1]
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isWord(s, words string) bool {
	s = strings.ToLower(s)
	for w := range strings.FieldsSeq(words) {
		if s == w {
			return true
		}
	}
	return false
}

// ReadFile reads a regular file of at most max bytes without following a
// link or waiting for a pipe.
func ReadFile(path string, max int) ([]byte, error) { return readRegular(path, max) }

// ReadConfig returns the entries of a config file as it is, for Vetting.Old:
// none if it cannot be read whole.
func ReadConfig(path string) []Entry {
	data, err := readRegular(path, maxConfig)
	if err != nil {
		return nil
	}
	entries, err := parseConfig(data)
	if err != nil {
		return nil
	}
	return entries
}
