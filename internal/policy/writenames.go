package policy

import (
	"fmt"
	"strings"
)

// WriteNames limits what a command may do in the writable folders of its
// Config (workspace, added folders, git directories outside) to names: only
// what is listed may be made, written, replaced, renamed or removed there
// (SPEC F9). Caches inside them and the temp folders are not limited, and what
// is protected stays so. The zero value limits nothing; On with empty lists
// lets nothing be written.
//
// Only the name guard can hold it: New refuses a policy that has it without.
type WriteNames struct {
	On bool
	// Folders may be made, replaced and removed at any depth, with everything
	// below them. They may not be symbolic links, through which a program
	// outside would write elsewhere; below them all is free.
	//
	// A name is compared byte by byte: write it as the tool does. "a/b" is b
	// in a folder a, which may be made as well, but not be removed. A new
	// folder named like a listed one and six letters or digits may be filled
	// and renamed to that, as cargo does, by the run that made it.
	Folders []string
	// Files are regular files at any depth, in the same form. They may be
	// replaced by rename: a new file whose name is the temporary one of a
	// listed file (see Temporary) can be made, written and removed by the run
	// that made it, and renamed to a listed name.
	Files []string
	// Rule is the reason of a refusal; its ID and Text must not be empty.
	Rule Rule
}

// Place is where a path stands among the names of a WriteNames. The zero
// value is one that may not be written.
type Place uint8

const (
	// Elsewhere: not listed.
	Elsewhere Place = iota
	// Way is a folder on the way to a listed "a/b": it may be made.
	Way
	// Temporary: a new file here may replace a listed one.
	Temporary
	// TemporaryFolder: a new folder here may become a listed one.
	TemporaryFolder
	// BelowTemporary is below one of that name, if the run made it.
	BelowTemporary
	// ListedFile and ListedFolder are listed themselves.
	ListedFile
	ListedFolder
	// Below is below a listed folder.
	Below
)

// Place says where rel, a clean path relative to a limited folder, stands.
// The folder itself ("") is Elsewhere, and so is all in a .git that is not
// itself below a listed folder: a branch may have any name.
func (w *WriteNames) Place(rel string) Place {
	way, filling := false, false
	for at := rel; at != ""; {
		for _, n := range w.Folders {
			switch rest, ok := strings.CutPrefix(at, n); {
			case ok && rest == "":
				return ListedFolder
			case ok && rest[0] == '/':
				return Below
			}
			way = way || onTheWay(at, n)
		}
		for _, n := range w.Files {
			if at == n {
				return ListedFile
			}
			way = way || onTheWay(at, n)
		}
		elem, rest, more := strings.Cut(at, "/")
		if strings.EqualFold(elem, ".git") {
			return Elsewhere
		}
		filling = filling || more && w.temporaryFolder(elem)
		at = rest
	}
	switch {
	case way:
		return Way
	case filling:
		return BelowTemporary
	case w.temporary(rel):
		return Temporary
	case w.temporaryFolder(rel[strings.LastIndexByte(rel, '/')+1:]):
		return TemporaryFolder
	}
	return Elsewhere
}

func (w *WriteNames) temporaryFolder(name string) bool {
	for _, n := range w.Folders {
		if rest, ok := strings.CutPrefix(name, n); ok && len(rest) == 6 && plainTail(rest, false) {
			return true
		}
	}
	return false
}

func onTheWay(at, name string) bool {
	rest, ok := strings.CutPrefix(name, at)
	return ok && rest != "" && rest[0] == '/'
}

// temporary says whether rel could be the new content of a listed file on its
// way there.
func (w *WriteNames) temporary(rel string) bool {
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	dir := strings.TrimSuffix(rel, name)
	for _, n := range w.Files {
		base := n[strings.LastIndexByte(n, '/')+1:]
		if in := strings.TrimSuffix(n, base); in != "" && dir != in && !strings.HasSuffix(dir, "/"+in) {
			continue
		}
		if temporaryOf(name, base) {
			return true
		}
	}
	return false
}

// temporaryOf knows the temporary names of the package tools for a file base:
//
//	base.1234567, base.tmp, base-x, base~  npm, pnpm, yarn; also with a dot before
//	baseAbC123                             cargo
//	.tmpAbC123                             uv, and others in Rust
//	.lock-0123456789abcdef.tmp             bun (.lockb- for its binary form)
//	.atomic-write…, atomic-write-…         pipenv, pdm
//	_tmp_123_0123456789abcdef…             pnpm, to find out what can be linked
//
// One that is left behind must be nothing by its end, as base.go, base_test.py
// or .github/workflows/base.yml would be.
func temporaryOf(name, base string) bool {
	if rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "."), strings.TrimPrefix(base, ".")); ok && rest != "" {
		switch rest[0] {
		case '.', '-', '_', '~':
			return len(rest) <= 64 && plainTail(rest[1:], true) && endless(rest)
		}
		return len(rest) == 6 && plainTail(rest, false)
	}
	for _, p := range [...]string{".tmp", ".atomic-write", "atomic-write-"} {
		if rest, ok := strings.CutPrefix(name, p); ok && len(rest) >= 6 && len(rest) <= 16 && (plainTail(rest, false) || p != ".tmp" && plainTail(strings.ReplaceAll(rest, "_", ""), false)) {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(name, "_tmp_"); ok {
		pid, random, _ := strings.Cut(rest, "_")
		if len(pid) > 0 && len(pid) <= 10 && len(random) == 32 && plainTail(pid, false) && plainTail(random, false) {
			return true
		}
	}
	for _, p := range [...]string{".lock-", ".lockb-"} {
		rest, ok := strings.CutPrefix(name, p)
		rest, tmp := strings.CutSuffix(rest, ".tmp")
		if ok && tmp && len(rest) == 16 && plainTail(rest, false) {
			return true
		}
	}
	return false
}

// endless says whether what follows a listed name gives it no kind of its own:
// after a last dot come a number, a random text or a word for "not yet".
func endless(tail string) bool {
	dot := strings.LastIndexByte(tail, '.')
	if dot < 0 {
		return true
	}
	end := strings.TrimRight(tail[dot+1:], "~")
	digits := strings.ContainsAny(end, "0123456789")
	switch end {
	case "tmp", "temp", "new":
		return true
	}
	return digits && (len(end) >= 6 || strings.Trim(end, "0123456789-_") == "")
}

func plainTail(s string, marks bool) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case marks && strings.IndexByte("._-~", c) >= 0:
		default:
			return false
		}
	}
	return true
}

func (w WriteNames) clone() WriteNames {
	w.Folders, w.Files = append([]string(nil), w.Folders...), append([]string(nil), w.Files...)
	return w
}

// checkWrites refuses limits that mean nothing or that nobody would hold.
func (p *Policy) checkWrites() error {
	w := &p.writes
	const what = "writes limited to names"
	if w.Rule.ID == "" || w.Rule.Text == "" {
		return &RefusedError{What: what, Why: "they give no reason for a refusal"}
	}
	for _, l := range [...][]string{w.Folders, w.Files} {
		for _, n := range l {
			if n == "" || !IsClean("/"+n) {
				return &RefusedError{What: what, Why: fmt.Sprintf("%q is not a clean relative path", n)}
			}
		}
	}
	if p.tier == Open {
		return &RefusedError{What: what, Why: "the open tier has no sandbox that would hold them"}
	}
	if p.mode != ReadOnlyMode && !p.guard {
		return &RefusedError{What: what, Why: "only the name guard holds them, and it is off", Lift: "guard = \"on\" (Linux 5.19)"}
	}
	return nil
}
