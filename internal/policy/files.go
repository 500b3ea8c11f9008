package policy

import (
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Access is what the sandbox allows below a path. The zero value is Hidden.
type Access uint8

const (
	// Hidden: neither read nor written; an attempt says "permission denied".
	Hidden Access = iota
	// ReadOnly: the host's content, never changed.
	ReadOnly
	// Private: writable, but the sandbox's own; the host's content is not there.
	Private
	// PrivateCopy: the host's content, and what is written stays the sandbox's
	// own: the host never sees it, the next run does.
	PrivateCopy
	// ReadWrite: the host's content, writable.
	ReadWrite
)

func (a Access) String() string {
	switch a {
	case ReadOnly:
		return "read-only"
	case Private:
		return "private"
	case PrivateCopy:
		return "private copy"
	case ReadWrite:
		return "read-write"
	}
	return "hidden"
}

// ruleKind is the family of a path rule; the words are made when somebody
// asks, since every run makes hundreds of rules and reports few.
type ruleKind uint8

const (
	kindNone ruleKind = iota
	kindFixed
	kindHome
	kindCredential
	kindOwn
	kindCache
	kindProtect
	kindInstall // what is the way out
	kindSetting
	kindPreset
)

// PathRule gives one path, and all below it, an access. Path is absolute and
// clean. Where rules nest the deepest wins; at one path the strictest.
type PathRule struct {
	Path   string
	Access Access
	// File is set where the rule is about one file, not a folder.
	File   bool
	part   bool // IsPart
	single bool // IsSingle
	kind   ruleKind
	id     string  // kindFixed, kindCache: the rule's id; kindCredential, kindPreset: the agent whose own it is; kindSetting: noCopy or ""
	what   string  // what the place is
	by     *Origin // who wrote it; nil is the program itself
}

// From returns the rule with the place that says it.
func (r PathRule) From(o Origin) PathRule {
	r.by = &o
	return r
}

// SettingRule makes a place hidden or read-only because somebody's settings
// say so.
func SettingRule(path string, a Access, o Origin) PathRule {
	return PathRule{Path: path, Access: a, kind: kindSetting, by: &o}
}

// IsSetting reports whether the rule is one of SettingRule's.
func (r PathRule) IsSetting() bool { return r.kind == kindSetting }

// PresetRule makes a folder writable in which an agent keeps its own state.
func PresetRule(path, agent, title string) PathRule {
	return PathRule{Path: path, Access: ReadWrite, kind: kindPreset, id: agent, what: title}
}

// PresetCopyRule shows a folder in such a place as a private copy: what the agent
// writes there is not for what runs outside later.
func PresetCopyRule(path, agent, title string) PathRule {
	r := PresetRule(path, agent, title)
	r.Access = PrivateCopy
	return r
}

// KeptRule keeps a place in such a folder as it is; what says what it holds.
func KeptRule(path, what string, o Origin) PathRule {
	r := SettingRule(path, ReadOnly, o)
	r.what = what
	return r
}

// NoCopyRule keeps a place of PresetCopyRule's from being made where the host has
// no folder that a copy could be laid over.
func NoCopyRule(path, title string, o Origin) PathRule {
	r := KeptRule(path, title, o)
	r.id = noCopy
	return r
}

const noCopy = "no copy" // the id of its rules

// Agent names the agent of bawn wrap whose own credentials the rule hides; ""
// for every other rule.
func (r PathRule) Agent() string {
	if r.kind != kindCredential {
		return ""
	}
	return r.id
}

// IsPart reports whether the rule hides a place in a folder that variables have
// moved, and that holds much else: where nothing is there, the folder may well
// lie in a workspace.
func (r PathRule) IsPart() bool { return r.part }

// IsSingle reports whether the rule hides one file because a variable or a setting names it:
// like what settings hide, it may lie in a writable folder, and is hidden there
// as far as it exists.
func (r PathRule) IsSingle() bool { return r.single }

// NotSingle is the rule of a place that turned out to be no plain file.
func (r PathRule) NotSingle() PathRule {
	r.single = false
	return r
}

// IsPreset reports whether the rule is one of PresetRule's.
func (r PathRule) IsPreset() bool { return r.kind == kindPreset }

// IsCache reports whether the rule is a tool cache's, or an agent's state:
// what lies there is not a project's, and has no protected names.
func (r PathRule) IsCache() bool { return r.kind == kindCache || r.kind == kindPreset }

// limited reports whether WriteNames narrow what the rule makes writable.
func (r PathRule) limited() bool {
	return r.kind == kindFixed && (r.id == "workspace" || r.id == "add-dir" || r.id == "git-dir")
}

// Rule says why, in words.
func (r PathRule) Rule() Rule {
	rule := r.words()
	if r.by != nil {
		rule.Origin = *r.by
	}
	return rule
}

func (r PathRule) words() Rule {
	switch r.kind {
	case kindFixed:
		rule := Rule{ID: r.id, Text: r.what}
		switch {
		case r.id == "root":
			rule.Lift = addLift + " makes a folder writable in guarded; --tier open has no sandbox"
		case r.id == "workspace" && r.Access == ReadOnly:
			rule.Lift = "--sandbox workspace-write"
		case r.id == scratchID:
			rule.Lift = scratchLift
		}
		return rule
	case kindHome:
		return Rule{
			ID: "home", Text: "the home folder is read-only in the sandbox",
			Lift: addLift + " makes a folder in it writable",
		}
	case kindCredential, kindOwn:
		id := "credential:"
		if r.kind == kindOwn {
			id = "own:"
		}
		return Rule{
			ID: id + r.Path, Text: r.what + " are hidden from sandboxed commands",
			Lift: "run the command outside the sandbox (--tier open)",
		}
	case kindCache:
		if r.Access == PrivateCopy {
			return Rule{ID: "cache:" + r.id, Text: "guarded writes a private copy of the " + r.what + " cache; the host's stays as it is"}
		}
		return Rule{ID: "cache:" + r.id, Text: "the " + r.what + " cache is writable in guarded"}
	case kindProtect:
		return Rule{
			ID:   "protect:" + r.Path,
			Text: r.what + ": a change would run code or widen permissions outside the sandbox",
			Lift: "make the change outside the sandbox, or unprotect it in " + UserFile,
		}
	case kindInstall:
		return Rule{ID: "install:git", Text: "a package install does not change the repository", Lift: r.what}
	case kindPreset:
		if r.Access == PrivateCopy {
			return Rule{ID: "preset:" + r.id, Text: r.what + " writes a private copy of it; the host's stays as it is"}
		}
		return Rule{ID: "preset:" + r.id, Text: "the state of " + r.what + ", which the agent itself writes"}
	case kindSetting:
		if r.id == noCopy {
			return Rule{
				ID: "protect:" + r.Path, Text: r.what + " writes a private copy of it, for which the folder must be there",
				Lift: "make the folder outside the sandbox: mkdir " + strconv.Quote(r.Path),
			}
		}
		if r.what != "" {
			return Rule{
				ID: "protect:" + r.Path, Text: r.what + ": a change would run code or widen permissions outside the sandbox",
				Lift: "make the change outside the sandbox, or unprotect it in " + UserFile,
			}
		}
		if r.Access == Hidden {
			return Rule{ID: "hidden:" + r.Path, Text: "the settings hide it", Lift: "remove it from hidden"}
		}
		return Rule{ID: "protect:" + r.Path, Text: "the settings protect it", Lift: "remove it from protect"}
	}
	return Rule{ID: "path:none", Text: "no rule allows it"}
}

// UserFile is the file of the user's own settings, as lifts name it. A program
// that knows another place for it shows that.
const UserFile = "~/.config/bawn/config.toml"

// LiftByAsking is the lift of what is refused because nobody can be asked. A
// front-end without a terminal says another.
const LiftByAsking = "run it on a terminal, without --no-prompt"

const addLift = "--add-dir DIR or allowed_paths in " + UserFile

// FixedRule is a rule with an id and a sentence of its own.
func FixedRule(path string, a Access, id, text string) PathRule {
	return PathRule{Path: path, Access: a, kind: kindFixed, id: id, what: text}
}

// Table is an immutable list of path rules: sorted, or loose, where so few
// questions are asked that to sort it costs more than to look through it.
type Table struct {
	rules []PathRule
	loose bool     // in any order, and several for one path
	about []string // if loose: no rule allows any other path
}

// newTable sorts rules and keeps the strictest of those for one path.
func newTable(rules []PathRule) Table {
	// Numbers, not rules, are moved: the table is made on every run.
	order := make([]int32, len(rules))
	for i := range rules {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &rules[i], &rules[j]
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		if a.Access != b.Access {
			return int(a.Access) - int(b.Access)
		}
		return int(i - j)
	})
	out := make([]PathRule, 0, len(rules))
	for _, i := range order {
		if r := &rules[i]; len(out) == 0 || r.Path != out[len(out)-1].Path {
			out = append(out, *r)
		}
	}
	return Table{rules: out}
}

// Rules returns a copy of the rules, sorted by path.
func (t Table) Rules() []PathRule { return append([]PathRule(nil), t.sorted().rules...) }

func (t Table) sorted() Table {
	if t.loose {
		return newTable(t.rules)
	}
	return t
}

// At returns the rule for exactly this path.
func (t Table) At(path string) (PathRule, bool) {
	if t.loose {
		r, ok := t.deepest(path)
		if !ok || r.Path != path {
			return PathRule{}, false
		}
		return r, true
	}
	i := sort.Search(len(t.rules), func(i int) bool { return t.rules[i].Path >= path })
	if i < len(t.rules) && t.rules[i].Path == path {
		return t.rules[i], true
	}
	return PathRule{}, false
}

// Lookup returns the deepest rule that covers path. A path no rule covers is
// hidden: an allow needs a reason.
func (t Table) Lookup(path string) PathRule {
	if t.loose {
		r, _ := t.deepest(path)
		return r
	}
	for p := path; ; p = Parent(p) {
		if r, ok := t.At(p); ok {
			return r
		}
		if p == "/" || p == "" {
			return PathRule{Path: path}
		}
	}
}

// deepest is Lookup in a loose table; ok is false where no rule covers path.
func (t Table) deepest(path string) (r PathRule, ok bool) {
	if !slices.Contains(t.about, path) {
		return PathRule{Path: path}, false
	}
	var out *PathRule
	for i := range t.rules {
		r := &t.rules[i]
		if !Inside(path, r.Path) {
			continue
		}
		if out == nil || len(r.Path) > len(out.Path) || len(r.Path) == len(out.Path) && r.Access < out.Access {
			out = r
		}
	}
	if out == nil {
		return PathRule{Path: path}, false
	}
	return *out, true
}

// Below returns the rules strictly inside dir, sorted by path.
func (t Table) Below(dir string) []PathRule {
	t = t.sorted()
	prefix := strings.TrimSuffix(dir, "/") + "/"
	i := sort.Search(len(t.rules), func(i int) bool { return t.rules[i].Path >= prefix })
	j := i
	for j < len(t.rules) && strings.HasPrefix(t.rules[j].Path, prefix) {
		j++
	}
	for i < j && t.rules[i].Path == prefix { // dir is "/": the rule for it is not inside it
		i++
	}
	return t.rules[i:j:j]
}

// Decide answers a file action. Anything else, or a path that is not absolute
// and clean, is denied.
func (t Table) Decide(a Action) Decision {
	var path string
	write := false
	switch a := a.(type) {
	case Read:
		path = a.Path
	case Write:
		path, write = a.Path, true
	default:
		return Decision{Rule: Rule{ID: "action:unknown", Text: "not a file action"}}
	}
	if !IsClean(path) {
		return Decision{Rule: Rule{ID: "path:form", Text: "the path is not absolute and clean"}}
	}
	r := t.Lookup(path)
	switch {
	case r.Access == Hidden, write && r.Access == ReadOnly:
		return Decision{Deny, r.Rule()}
	}
	return Decision{Allow, r.Rule()}
}

// IsClean reports whether path is absolute, without empty, "." or ".."
// elements, a trailing slash or a NUL byte.
func IsClean(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for rest := path[1:]; ; {
		elem, next, more := strings.Cut(rest, "/")
		if elem == "" || elem == "." || elem == ".." {
			return false
		}
		if !more {
			return true
		}
		rest = next
	}
}

// Inside reports whether path is dir or below it, element by element.
func Inside(path, dir string) bool {
	return path == dir || dir == "/" || (len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir)
}

// InsideAny reports whether path is one of dirs or below it.
func InsideAny(path string, dirs []string) bool {
	for _, d := range dirs {
		if Inside(path, d) {
			return true
		}
	}
	return false
}

// Parent returns the folder that holds path; the parent of "/" is "/".
func Parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}
