//go:build linux

package guard

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A command can be handed a descriptor of another sandbox (SCM_RIGHTS), through
// whose mounts it would reach places that its own rules do not know. So nothing
// is made or opened for writing but through a mount of this sandbox, or, of the
// files that the caller of bawn gave as streams, through theirs.

// mounts are the numbers of this sandbox's mounts.
type mounts struct {
	mu  sync.RWMutex
	own map[uint64]struct{}
}

// has says whether id is one of them. The first one that is not known, and any
// later, may have come since the last look.
func (m *mounts) has(id uint64, proc int) bool {
	m.mu.RLock()
	_, ok := m.own[id]
	m.mu.RUnlock()
	if ok {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = readMounts(proc)
	_, ok = m.own[id]
	return ok
}

// readMounts gives none where it cannot read them.
func readMounts(proc int) map[uint64]struct{} {
	fd, err := unix.Openat(proc, "self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "mountinfo")
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	own := make(map[uint64]struct{})
	for line := range bytes.Lines(text) {
		first, _, _ := bytes.Cut(line, []byte(" "))
		if id, err := strconv.ParseUint(string(first), 10, 64); err == nil {
			own[id] = struct{}{}
		}
	}
	return own
}

// place is where a descriptor leads. It stays so while that is open.
type place struct {
	dev   uint64 // the file system's number, as in Stat_t
	mount uint64
	known bool // mount is
}

func placeOf(fd int) (place, unix.Errno) {
	var st unix.Statx_t
	if err := statx(fd, unix.STATX_MNT_ID, &st); err != nil {
		return place{}, errnoOf(err)
	}
	return place{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Mnt_id, st.Mask&unix.STATX_MNT_ID != 0}, 0
}

// look looks at the object again, and at its place.
func (f *found) look() unix.Errno {
	var x unix.Statx_t
	if err := statx(f.obj, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &x); err != nil {
		return errnoOf(err)
	}
	f.objAt = place{unix.Mkdev(x.Dev_major, x.Dev_minor), x.Mnt_id, x.Mask&unix.STATX_MNT_ID != 0}
	if f.objAt.dev != f.st.Dev || x.Ino != f.st.Ino || uint32(x.Mode)&unix.S_IFMT != f.kind() {
		return unix.ESTALE // it is one object
	}
	f.st.Mode, f.st.Uid, f.st.Gid, f.st.Size = uint32(x.Mode), x.Uid, x.Gid, int64(x.Size)
	set(&f.st.Nlink, x.Nlink)
	return 0
}

// set: the kernel's struct stat has another type for it on each architecture.
func set[T uint32 | uint64](to *T, n uint32) { *to = T(n) }

// ours says whether a descriptor leads through a mount of this sandbox.
func (s *server) ours(fd int) bool {
	p, err := placeOf(fd)
	return err == 0 && s.has(p)
}

func (s *server) has(p place) bool { return p.known && s.mounts.has(p.mount, s.proc) }

// Stream is a file that the command has as a standard stream.
type Stream struct{ dev, ino uint64 }

// Streams are the files that this process has as standard streams and can
// write: the command's, before it is started.
func Streams() (all []Stream) {
	for fd := range 3 {
		var st unix.Stat_t
		if fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY {
			all = append(all, Stream{st.Dev, st.Ino})
		}
	}
	return all
}

func (s *server) stream(st *unix.Stat_t) bool {
	for _, f := range s.streams {
		if f.dev == st.Dev && f.ino == st.Ino {
			return true
		}
	}
	return false
}
