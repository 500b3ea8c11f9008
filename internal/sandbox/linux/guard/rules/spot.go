//go:build linux

package rules

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/linux/guard"
)

// spot is a folder seen as a place in or outside git directories. Its own
// content and that of the folders above it are looked at through its
// descriptor.
type spot struct {
	dir   int
	path  string
	elems []string
	canon []string // of each of elems
	dot   int      // of the first .git among elems, or -1
	// blind: something could not be looked at. Whether that protects more or
	// less depends on the question, and the command can bring it about (chmod),
	// so what was decided does not count.
	blind bool
	spent int // of maxLooks
}

// maxLooks bounds what one question looks at, in elements of paths that the
// kernel goes through; an entry of a folder counts entryLooks. All guards of the
// user wait meanwhile, and a command can make paths of which each element has to
// be looked at from the one below.
const maxLooks, entryLooks = 1 << 15, 2

func look(t *guard.Target) *spot { return lookAt(t.Dir, t.DirPath) }

func lookAt(dir int, path string) *spot {
	s := &spot{dir: dir, path: path, elems: elements(path), dot: -1}
	s.canon = make([]string, len(s.elems))
	for i, e := range s.elems {
		s.canon[i] = canon(e)
		if s.dot < 0 && s.canon[i] == ".git" {
			s.dot = i
		}
	}
	return s
}

// last is the index of the folder itself.
func (s *spot) last() int { return len(s.elems) - 1 }

// has looks for name in the folder elems[i].
func (s *spot) has(i int, name string) bool {
	_, ok := s.kind(i, name)
	return ok
}

// kind is the type of name in the folder elems[i], and whether it is there.
func (s *spot) kind(i int, name string) (kind uint32, ok bool) {
	if s.spent += s.last() - i + 2; s.spent > maxLooks {
		s.blind = true
		return 0, true
	}
	kind, ok = has(s.dir, strings.Repeat("../", s.last()-i)+name)
	s.blind = s.blind || ok && kind == 0
	return kind, ok
}

// is says whether elems[i] is called name.
func (s *spot) is(i int, name string) bool {
	if i < 0 || i >= len(s.elems) {
		return false
	}
	if elem := s.elems[i]; elem == name || s.canon[i] != strings.ToLower(name) {
		return elem == name
	}
	// Whether its folder tells letters apart is not for those below it to say.
	up, err := unix.Openat(s.dir, strings.Repeat("../", s.last()-i+1), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		s.blind = true
		return true
	}
	defer unix.Close(up)
	return s.plain(up, s.elems[i], name)
}

// plain is plainName for a name in the folder dir.
func (s *spot) plain(dir int, name, want string) bool {
	same, known := samePlain(dir, name, want)
	s.blind = s.blind || !known
	return same || !known
}

// hasHEAD says whether elems[i] holds HEAD as git reads it, which was judged
// when it came. Nobody is asked about a socket, and a folder is none.
func (s *spot) hasHEAD(i int) bool {
	kind, ok := s.kind(i, "HEAD")
	return ok && (kind == unix.S_IFREG || kind == unix.S_IFLNK)
}

// layout: HEAD and a part of the store, or commondir. git asks for HEAD, objects
// and refs; the command could make the third one later. What serves linked
// worktrees does without HEAD.
func (s *spot) layout(i int) bool {
	if s.has(i, "HEAD") && (s.has(i, "objects") || s.has(i, "refs") || s.has(i, "commondir")) {
		return true
	}
	return s.hasLinked(i)
}

// begun says whether elems[i] is a git directory or lacks only what no question
// is asked about: objects and refs may be sockets (bind).
func (s *spot) begun(i int) bool {
	kind, ok := s.kind(i, "HEAD")
	switch {
	case !ok:
		return s.hasLinked(i)
	case kind == unix.S_IFREG, kind == unix.S_IFLNK && isSymref(s.dir, strings.Repeat("../", s.last()-i)+"HEAD"):
		return true
	}
	return s.layout(i)
}

// isSymref says whether git takes a link for a HEAD. Others have that name
// without being one (the programs HEAD, GET and POST of Perl).
func isSymref(dir int, path string) bool {
	var to [len(symref)]byte
	n, err := unix.Readlinkat(dir, path, to[:])
	return err != nil || string(to[:n]) == symref
}

const symref = "refs/"

// home says whether elems[i] is, or could without a further check become, a
// git directory: by its place in .git, elsewhere by what it holds.
func (s *spot) home(i int) bool {
	if s.data(i) { // branches may have any name
		return s.layout(i)
	}
	if s.placed(i) {
		return true
	}
	// HEAD comes only where no unjudged config is (piece), also when it was
	// removed before. Linked worktrees do without.
	return s.has(i, "HEAD") || s.nested(i) || s.hasLinked(i)
}

// placed says whether all in elems[i] is judged from the start: .git, and what
// has its place for git directories in it.
func (s *spot) placed(i int) bool {
	if s.dot < 0 || i < s.dot {
		return false
	}
	return i == s.dot || i > s.dot+1 && (s.is(s.dot+1, "modules") || s.is(s.dot+1, "worktrees"))
}

// data says whether elems[i] is in refs/ or logs/ of a git directory.
func (s *spot) data(i int) bool { return s.dataIf(i, func(j int) bool { return s.has(j, "HEAD") }) }

// dataIf is data where hasHEAD looks for the HEAD of elems[j].
func (s *spot) dataIf(i int, hasHEAD func(j int) bool) bool {
	for j := 1; j <= i; j++ {
		if !s.is(j, "refs") && !s.is(j, "logs") {
			continue
		}
		if j-1 == s.dot || hasHEAD(j-1) || s.hasLinked(j-1) {
			return true
		}
	}
	return false
}

// wasData says whether elems[i] may have been in refs/ or logs/ of a git
// directory before: the command can remove the HEAD by which data knows it,
// and what was written there meanwhile nobody judged.
func (s *spot) wasData(i int) bool {
	first := 1
	if s.dot >= 0 {
		first = s.dot + 1
		if s.is(s.dot+1, "modules") || s.is(s.dot+1, "worktrees") {
			first = s.dot + 3 // neither is a git directory itself
		}
	}
	for j := first; j <= i; j++ {
		if s.is(j, "refs") || s.is(j, "logs") {
			return true
		}
	}
	return false
}

// hasLinked says whether elems[i] serves linked worktrees as their common
// directory: git needs no HEAD in it for them.
func (s *spot) hasLinked(i int) bool {
	if !s.has(i, "worktrees") {
		return false
	}
	top := "/" + strings.Join(s.elems[:i+1], "/") + "/worktrees"
	d, err := openFolder(top)
	if errors.Is(err, unix.ENOTDIR) {
		return false
	}
	if err != nil {
		s.blind = true // it was there
		return !errors.Is(err, unix.ENOENT)
	}
	defer d.Close()
	names, err := d.Readdirnames(maxLayout + 1)
	if s.spent += entryLooks * len(names); err != nil && err != io.EOF || s.spent > maxLooks {
		s.blind = true
		return true
	}
	for _, n := range names {
		switch _, err := os.Lstat(top + "/" + n + "/commondir"); {
		case err == nil:
			return true
		case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR):
			s.blind = true // in a closed folder, or beyond PATH_MAX
			return true
		}
	}
	return len(names) > maxLayout
}

// below says whether the folder is, or is in, the folder name of a git
// directory.
func (s *spot) below(name string) bool {
	for i := range s.elems {
		if i > 0 && s.is(i, name) && s.home(i-1) {
			return true
		}
	}
	return false
}

// nested says whether elems[i] is the place of a submodule's or a linked
// worktree's git directory in a bare repository, made yet or not.
func (s *spot) nested(i int) bool {
	for j := 1; j < i; j++ {
		if (s.is(j, "modules") || j == i-1 && s.is(j, "worktrees")) && s.layout(j-1) {
			return true
		}
	}
	return false
}

// linkedTree says whether the folder is worktrees/ID of a git directory that
// was judged when HEAD or a folder of its store came, unless that may have been
// in a place for data.
func (s *spot) linkedTree() bool {
	common := s.last() - 2
	if common < 0 || !s.is(common+1, "worktrees") || s.data(common) || !s.sameDisk("../..") {
		return false
	}
	return s.placed(common) || s.hasHEAD(common) && (s.hasFolder(common, "objects") || s.hasFolder(common, "refs"))
}

func (s *spot) hasFolder(i int, name string) bool {
	kind, _ := s.kind(i, name)
	return kind == unix.S_IFDIR
}

// linked says whether the folder name here is worktrees/ID of a common
// directory, or its worktrees: what commondir says is true in this place only.
func (s *spot) linked(name string) bool {
	return s.is(s.last(), "worktrees") && s.has(s.last(), name+"/commondir") ||
		s.plain(s.dir, name, "worktrees") && s.hasLinked(s.last())
}

// sameDisk says whether the turn that is held here holds at path as well: what
// is on another disk, another guard's command may change meanwhile.
func (s *spot) sameDisk(path string) bool {
	var here, there unix.Stat_t
	return unix.Fstatat(s.dir, "", &here, unix.AT_EMPTY_PATH) == nil && unix.Fstatat(s.dir, path, &there, 0) == nil && here.Dev == there.Dev
}

// sequencer says whether the folder is a git directory's sequencer.
func (s *spot) sequencer() bool {
	return s.is(s.last(), "sequencer") && s.last() > 0 && s.home(s.last()-1)
}

// sections are the folders of a git directory that git writes in. A bare
// repository may have others, with checkouts.
var sections = [...]string{
	"objects", "refs", "logs", "info", "hooks", "modules", "worktrees", "remotes", "branches",
	"rebase-merge", "rebase-apply", "sequencer", "rr-cache", "lost-found", "NOTES_MERGE_WORKTREE",
}

func (s *spot) section(name string) bool {
	for _, want := range sections {
		if s.plain(s.dir, name, want) {
			return true
		}
	}
	return false
}

// inSection says the same of elems[i] in its folder.
func (s *spot) inSection(i int) bool {
	for _, want := range sections {
		if s.is(i, want) {
			return true
		}
	}
	return false
}

// inside says whether the folder is one in which git writes its own files.
func (s *spot) inside() bool {
	return s.dot >= 0 || s.layout(s.last()) || s.inPart(s.layout)
}

// inPart says whether the folder is, or is in, a section of what isGit says is a
// git directory.
func (s *spot) inPart(isGit func(i int) bool) bool {
	for i := 1; i < len(s.elems); i++ {
		if s.inSection(i) && isGit(i-1) {
			return true
		}
	}
	return false
}

// noLinks says whether git might write through a link here. Nobody is asked
// about the sockets that make a git directory of what is begun.
func (s *spot) noLinks() bool {
	return s.inside() || s.begun(s.last()) || s.inPart(s.begun)
}

// noLinksIn says the same of the folder name here.
func (s *spot) noLinksIn(name string) bool {
	return s.section(name) && s.begun(s.last()) || s.inPart(s.begun)
}

// part says whether the folder name here would be, or is, a part of a git
// directory.
func (s *spot) part(name string) bool {
	if s.dot < 0 && s.layout(s.last()) {
		return s.section(name)
	}
	return s.inside()
}
