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
