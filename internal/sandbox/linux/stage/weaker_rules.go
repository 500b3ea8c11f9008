//go:build linux

package stage

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// need is what Landlock is to allow at a path. The zero value is nothing.
type need uint8

const (
	needNothing need = iota
	needRead
	needWrite
)

// needs turns the steps that build a mount tree into what may be opened where.
// Landlock can only add rights down a tree, never take some away, so pins
// (protected names in a writable folder) have no counterpart here: the name
// guard holds them.
func needs(mounts []sandbox.Mount) (map[string]need, error) {
	n := map[string]need{"/": needRead}
	for _, m := range mounts {
		switch m.Op {
		case sandbox.OpTmpfs:
			n[m.Target] = needNothing
			if m.Source != "" { // the folder that stands for the private temp
				n[m.Source] = needWrite
			}
		case sandbox.OpSkeleton, sandbox.OpDev:
			n[m.Target] = needNothing
		case sandbox.OpProc:
			n[m.Target] = needRead
		case sandbox.OpBind:
			if m.Source != m.Target {
				return nil, fmt.Errorf("show %q at %q: not possible without mounts", m.Source, m.Target)
			}
			n[m.Target] = needRead
			if m.Write {
				n[m.Target] = needWrite
			}
		case sandbox.OpLayer: // no private copy without mounts, and the host's is not to be written
			n[m.Target] = needRead
		case sandbox.OpMask:
			// The names in /proc come and go with processes: rules cannot be
			// given to all but some of them.
			if !policy.Inside(m.Target, "/proc") {
				n[m.Target] = needNothing
			}
		case sandbox.OpPin, sandbox.OpDir, sandbox.OpFile, sandbox.OpSymlink, sandbox.OpSeal, sandbox.OpReplace:
		default:
			return nil, fmt.Errorf("unknown step %d for %q", m.Op, m.Target)
		}
	}
	return n, nil
}

// walker carries needs out on a tree of folders. Where something below a
// folder gets less than the folder, the folder's children get rules one by
// one, and the folder itself none: its list of names cannot be read then.
type walker struct {
	needs map[string]need
	paths []string // of needs, sorted
	// list gives the names in a folder; rule allows a path.
	list func(dir string) ([]string, error)
	rule func(path string, n need) error
}

func newWalker(n map[string]need) *walker {
	w := &walker{needs: n}
	for p := range n {
		w.paths = append(w.paths, p)
	}
	sort.Strings(w.paths)
	return w
}

// below returns the named paths strictly inside dir.
func (w *walker) below(dir string) (out []string) {
	for _, p := range w.paths {
		if p != dir && policy.Inside(p, dir) {
			out = append(out, p)
		}
	}
	return out
}

func (w *walker) walk(path string, n need) error {
	if own, ok := w.needs[path]; ok {
		n = own
	}
	below := w.below(path)
	for _, p := range below {
		if w.needs[p] < n {
			return w.split(path, n)
		}
	}
	if n != needNothing {
		if err := w.rule(path, n); err != nil {
			return err
		}
	}
	done := ""
	for _, p := range below {
		if w.needs[p] == n || done != "" && policy.Inside(p, done) {
			continue
		}
		if err := w.walk(p, n); err != nil {
			return err
		}
		done = p
	}
	return nil
}

func (w *walker) split(dir string, n need) error {
	names, err := w.list(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := w.walk(strings.TrimSuffix(dir, "/")+"/"+name, n); err != nil {
			return err
		}
	}
	return nil
}

// addRules allows in the ruleset what the Spec's steps show.
func addRules(ruleset int, mounts []sandbox.Mount, handled uint64) error {
	n, err := needs(mounts)
	if err != nil {
		return err
	}
	for path := range n {
		// A socket needs no hiding: none can be made to reach it with.
		var st unix.Stat_t
		if n[path] == needNothing && unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			delete(n, path)
		}
	}
	w := newWalker(n)
	w.list = listNames
	w.rule = func(path string, n need) error { return allowPath(ruleset, path, n, handled) }
	if err := w.walk("/", needRead); err != nil {
		return err
	}
	return allowDevices(ruleset, handled)
}

// listNames reads a folder; one that cannot be read has nothing to allow.
func listNames(dir string) ([]string, error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &how)
	if err != nil {
		if vanished(sandbox.OpBind, err) || err == unix.EPERM {
			return nil, nil
		}
		return nil, fmt.Errorf("list %q: %w", dir, err)
	}
	defer unix.Close(fd)
	return namesIn(fd, dir)
}

func namesIn(fd int, dir string) ([]string, error) {
	var names []string
	for buf := make([]byte, 32<<10); ; {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.ENOENT {
			return nil, nil // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list %q: %w", dir, err)
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// allowPath adds the rule for one folder or file. What is gone, a link, or a
// device or socket gets none.
func allowPath(ruleset int, path string, n need, handled uint64) error {
	fd, err := openPath(unix.AT_FDCWD, path)
	if err != nil {
		if vanished(sandbox.OpBind, err) || err == unix.EPERM {
			return nil
		}
		return fmt.Errorf("allow %q: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("allow %q: %w", path, err)
	}
	access := uint64(landRead)
	if n == needWrite {
		access = landWrite
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFREG, unix.S_IFIFO:
		access &= landFile
	default:
		return nil
	}
	if err := addRule(ruleset, fd, access&handled); err != nil {
		return fmt.Errorf("allow %q: %w", path, err)
	}
	return nil
}

func allowDevices(ruleset int, handled uint64) error {
	for _, d := range devNodes {
		if err := allowDevice(ruleset, "/dev/"+d, handled); err != nil {
			return err
		}
	}
	return nil
}

func allowDevice(ruleset int, path string, handled uint64) error {
	fd, err := openPath(unix.AT_FDCWD, path)
	if err != nil {
		return fmt.Errorf("allow %q: %w", path, err)
	}
	defer unix.Close(fd)
	if err := addRule(ruleset, fd, landDevice&handled); err != nil {
		return fmt.Errorf("allow %q: %w", path, err)
	}
	return nil
}

// allowSelf lets this program be started again, as the name guard.
func allowSelf(ruleset int, handled uint64) error {
	fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		err = addRule(ruleset, fd, (unix.LANDLOCK_ACCESS_FS_EXECUTE|unix.LANDLOCK_ACCESS_FS_READ_FILE)&handled)
		_ = unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("allow the name guard: %w", err)
	}
	return nil
}

// allowStreams lets the command open its own streams again by name
// (/dev/stdout, /dev/stderr), in no more than the way they are open.
func allowStreams(ruleset int, handled uint64) error {
	for fd := range 3 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			continue
		}
		if t := st.Mode & unix.S_IFMT; t != unix.S_IFREG && t != unix.S_IFCHR {
			continue // pipes and sockets need no rule
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return fmt.Errorf("allow stream %d: %w", fd, err)
		}
		if flags&unix.O_PATH != 0 {
			continue // holds no right to read or write
		}
		var access uint64
		if flags&unix.O_ACCMODE != unix.O_WRONLY {
			access |= unix.LANDLOCK_ACCESS_FS_READ_FILE
		}
		if flags&unix.O_ACCMODE != unix.O_RDONLY {
			access |= unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
		}
		// A file of no file system that Landlock knows (a memfd) is free anyway.
		if err := addRule(ruleset, fd, access&handled); err != nil && !errors.Is(err, unix.EBADFD) {
			return fmt.Errorf("allow stream %d: %w", fd, err)
		}
	}
	return nil
}
