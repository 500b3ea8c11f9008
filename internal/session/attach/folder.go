//go:build linux

// Package attach lets other processes of the same user run commands in a
// session: bawn run finds it, hands over the command and its streams, and
// stands for it until its end.
package attach

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Folders are where sessions have their sockets, the first that serves: the
// user's runtime folder, else the state folder. Each is a folder of the
// user's own; both are hidden from commands in a sandbox.
func Folders(getenv func(string) string, state string) (out []string) {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		out = append(out, filepath.Join(dir, "bawn"))
	}
	if state != "" {
		out = append(out, filepath.Join(state, stateRun))
	}
	return out
}

// stateRun is the folder's name in the state folder, whose parents are ours to
// make; a runtime folder that is missing is not.
const stateRun = "run"

const suffix = ".sock"

// folder is an open one. Names in it are used by its descriptor, so that none
// of its parents can be exchanged, and paths of any length fit a socket's name.
type folder struct {
	fd   int
	name string // real
}

// openFolder opens a folder that nobody but this user can have made: root would
// otherwise follow where another user leads.
func openFolder(path string) (folder, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return folder{fd: -1}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		unix.Close(fd)
		return folder{fd: -1}, fmt.Errorf("%q is not a folder of this user alone (mode 0700)", path)
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		unix.Close(fd)
		return folder{fd: -1}, err
	}
	return folder{fd, name}, nil
}

// makeFolder makes the first of the folders that can be had.
func makeFolder(paths []string) (folder, error) {
	err := errors.New("neither XDG_RUNTIME_DIR nor a state folder is known")
	for _, path := range paths {
		e := unix.Mkdir(path, 0o700)
		if e == unix.ENOENT && filepath.Base(path) == stateRun {
			e = os.MkdirAll(path, 0o700)
		}
		if e != nil && !errors.Is(e, os.ErrExist) {
			err = e
			continue
		}
		f, e := openFolder(path)
		if e == nil {
			return f, nil
		}
		err = e
	}
	return folder{fd: -1}, fmt.Errorf("the session's socket: %w", err)
}

func (f folder) close() { unix.Close(f.fd) }

func (f folder) path(name string) string { return "/proc/self/fd/" + strconv.Itoa(f.fd) + "/" + name }

// listen makes the socket. It has its name only when it answers: what refuses
// under its own name is dead.
func (f folder) listen(id string) (fd int, err error) { return f.bind("."+id, id+suffix) }

// bind makes a listening socket of one name that then has another.
func (f folder) bind(hidden, name string) (fd int, err error) {
	fail := func(err error) (int, error) {
		unix.Close(fd)
		return -1, fmt.Errorf("the session's socket: %w", err)
	}
	if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return fail(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: f.path(hidden)}); err != nil {
		return fail(err)
	}
	if err = unix.Fchmodat(f.fd, hidden, 0o600, 0); err == nil {
		if err = unix.Listen(fd, 64); err == nil {
			err = unix.Renameat(f.fd, hidden, f.fd, name)
		}
	}
	if err != nil {
		_ = unix.Unlinkat(f.fd, hidden, 0)
		return fail(err)
	}
	return fd, nil
}

// sessions are the ids of the sessions that have a socket here, the newest
// first.
func (f folder) sessions() []string {
	dup, err := unix.Openat(f.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	d := os.NewFile(uintptr(dup), "sessions")
	defer d.Close()
	names, _ := d.Readdirnames(maxSessions)
	type made struct {
		id string
		at int64
	}
	var list []made
	for _, name := range names {
		id, ok := strings.CutSuffix(name, suffix)
		var st unix.Stat_t
		if ok && isID(id) && unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			list = append(list, made{id, st.Ctim.Nano()})
		}
	}
	// Few, and in no order.
	var out []string
	for len(list) > 0 {
		best := 0
		for i, m := range list {
			if m.at > list[best].at {
				best = i
			}
		}
		out = append(out, list[best].id)
		list = append(list[:best], list[best+1:]...)
	}
	return out
}

// maxSessions is how many entries of the folder are looked at.
const maxSessions = 256

func isID(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// dial connects to a session. One that refuses is dead: its socket goes.
func (f folder) dial(id string) (*wire, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: f.path(id + suffix)}); err != nil {
		unix.Close(fd)
		if err == unix.ECONNREFUSED {
			_ = unix.Unlinkat(f.fd, id+suffix, 0)
		}
		return nil, err
	}
	if !unconfined(fd) {
		unix.Close(fd)
		return nil, errors.New("another user's process listens there, or one in a sandbox")
	}
	return wireOf(fd)
}

// sameUser reports whether the other end is a process of this user.
func sameUser(fd int) bool {
	_, same := peer(fd)
	return same
}

// peer is the process at the other end, and whether it is one of this user.
func peer(fd int) (pid int, same bool) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, false
	}
	return int(c.Pid), int(c.Uid) == os.Geteuid()
}

// unconfined reports whether a process of this user listens at the other end
// where this process is, and not in a sandbox: where the environment names a folder that commands can
// write, one of them could wait there for what a session is told, and say yes.
func unconfined(fd int) bool {
	pid, same := peer(fd)
	var mine, theirs unix.Stat_t
	return same && unix.Stat("/proc/self/ns/user", &mine) == nil &&
		unix.Stat("/proc/"+strconv.Itoa(pid)+"/ns/user", &theirs) == nil && mine.Dev == theirs.Dev && mine.Ino == theirs.Ino
}
