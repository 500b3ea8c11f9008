//go:build linux

package staged

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Names in both trees are looked up from a root that is held open: never out
// of it, through no link and into no other mount.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

func openIn(root int, rel string, flags int, mode uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW), Mode: mode, Resolve: beneath}
	for {
		fd, err := unix.Openat2(root, rel, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

func openDirIn(root int, rel string) (int, error) {
	return openIn(root, rel, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

func lstatAt(dir int, name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	return &st, nil
}

// namesIn reads a folder through a descriptor of its own.
func namesIn(dir int) ([]string, error) {
	fd, err := openDirIn(dir, ".")
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "folder")
	defer f.Close()
	return f.Readdirnames(-1)
}

func kindOf(st *unix.Stat_t) uint32 { return st.Mode & unix.S_IFMT }

func isDir(st *unix.Stat_t) bool { return st != nil && kindOf(st) == unix.S_IFDIR }

func readlinkAt(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	return string(buf[:max(n, 0)]), err
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// pathAt opens a name as an object, for calls that take a path: by its
// descriptor no link is followed.
func pathAt(dir int, name string) (fd int, err error) {
	return openIn(dir, name, unix.O_PATH, 0)
}

// The overlay's own attributes. The command cannot set them: the kernel keeps
// them from what is done by way of the overlay.
const (
	overlayPrefix = "user.overlay."
	opaqueAttr    = overlayPrefix + "opaque"
	originAttr    = overlayPrefix + "origin"
	whiteoutAttr  = overlayPrefix + "whiteout"
	uuidAttr      = overlayPrefix + "uuid"
)

func attr(dir int, name, key string) ([]byte, bool) {
	fd, err := pathAt(dir, name)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	buf := make([]byte, 512)
	n, err := unix.Getxattr(fdPath(fd), key, buf)
	if err != nil {
		return nil, false
	}
	return buf[:n], true
}

// whiteout reports whether an entry of a layer stands for a name that was
// removed.
func whiteout(dir int, name string, st *unix.Stat_t) bool {
	switch kindOf(st) {
	case unix.S_IFCHR:
		return st.Rdev == 0
	case unix.S_IFREG:
		if st.Size == 0 {
			_, ok := attr(dir, name, whiteoutAttr)
			return ok
		}
	}
	return false
}

func opaque(dir int, name string) bool {
	v, ok := attr(dir, name, opaqueAttr)
	return ok && string(v) == "y"
}

// otherOrigin reports whether a folder of the layer was copied from another
// folder than the one that the workspace has there now. The kernel notes the
// file handle of what it copies (struct ovl_fb); where it does not, nobody can
// tell.
func otherOrigin(updir int, name string, ws int) bool {
	v, ok := attr(updir, name, originAttr)
	const head = 4 + 1 + 16 // version, magic, length, flags; type; uuid
	if !ok || len(v) <= head {
		return false
	}
	h, _, err := unix.NameToHandleAt(ws, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return false
	}
	return !bytes.Equal(h.Bytes(), v[head:])
}

// origin reports whether a folder of the layer is a copy of one of the
// workspace, and whether the kernel could note of which.
func origin(updir int, name string) (copied, noted bool) {
	v, copied := attr(updir, name, originAttr)
	return copied, len(v) > 0
}

// accessAttr is a file's access list.
const accessAttr = "system.posix_acl_access"

// attrs lists what is kept of a file's extended attributes: the user's own and
// access lists; never the overlay's, nor what gives rights.
func attrs(path string) map[string]string {
	list := make([]byte, 64<<10)
	n, err := unix.Listxattr(path, list)
	if err != nil || n <= 0 {
		return nil
	}
	out := map[string]string{}
	value := make([]byte, 64<<10)
	for _, key := range strings.Split(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
		user := strings.HasPrefix(key, "user.") && !strings.HasPrefix(key, overlayPrefix)
		if !user && key != accessAttr && key != "system.posix_acl_default" {
			continue
		}
		if n, err := unix.Getxattr(path, key, value); err == nil {
			out[key] = string(value[:n])
		}
	}
	return out
}

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

func split(rel string) (dir, name string) {
	i := strings.LastIndexByte(rel, '/')
	if i < 0 {
		return ".", rel
	}
	return rel[:i], rel[i+1:]
}
