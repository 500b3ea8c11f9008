package gitdir

import "strings"

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
