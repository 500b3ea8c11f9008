//go:build linux

package guard

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What /proc shows depends on who looks. The guard looks for the caller: self
// must mean the caller, and nothing may open that would not open for it. The
// guard's own entries are closed to every caller, since the kernel always opens
// them to the guard itself; so are, by the kernel, those of other processes
// once the guard has put its capability down.

func (w *worker) isProc(fd int) bool {
	return fstatfs(fd, &w.fs) == nil && w.fs.Type == unix.PROC_SUPER_MAGIC
}

// inProc is isProc for what was found, of which the number of its file system
// tells most: one on a device is none.
func (w *worker) inProc(f *found) bool { return unix.Major(f.st.Dev) == 0 && w.isProc(f.obj) }

// owner is whose entry in /proc a path is.
type owner uint8

const (
	strange owner = iota // not known: nobody may have it
	nobody               // about the system
	guardian
	caller
	other
)

// procOwner says whose entry the object with this path is.
func (w *worker) procOwner(path string) owner {
	rest, ok := strings.CutPrefix(path, "/proc")
	if !ok || rest != "" && rest[0] != '/' {
		return strange
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return nobody
	}
	switch {
	case w.thread(w.self, pid):
		return guardian
	case w.thread(w.pid(), pid):
		return caller
	}
	return other
}

// thread reports whether tid is one of the process that pid is a thread of.
func (w *worker) thread(pid, tid int) bool {
	return unix.Faccessat(w.proc, strconv.Itoa(pid)+"/task/"+strconv.Itoa(tid), unix.F_OK, 0) == nil
}

// procLink follows a link in /proc.
func (k *walk) procLink(dir int, name string, link int) (text string, obj int, err unix.Errno) {
	w := k.w
	if !w.ours(dir) { // another sandbox's, with other numbers
		return "", -1, unix.EACCES
	}
	path, err := w.pathOf(dir)
	if err != 0 {
		return "", -1, err
	}
	if path == "/proc" {
		switch pid := strconv.Itoa(w.pid()); name {
		case "self":
			return strconv.Itoa(w.status().tgid), -1, 0
		case "thread-self":
			return strconv.Itoa(w.status().tgid) + "/task/" + pid, -1, 0
		}
	}
	who := w.procOwner(path)
	switch who {
	case nobody:
		text, err = w.readlink(link)
		return text, -1, err
	case strange, guardian:
		return "", -1, unix.EACCES
	}
	obj, err = w.as(who, func() (int, unix.Errno) {
		fd, e := lookup(dir, name, openPath)
		return fd, errnoOf(e)
	})
	return "", obj, err
}

// openProc opens a file of /proc for the caller.
func (w *worker) openProc(obj, flags int) (int, unix.Errno) {
	if !w.ours(obj) {
		return -1, unix.EACCES
	}
	path, err := w.pathOf(obj)
	if err != 0 {
		return -1, err
	}
	who := w.procOwner(path)
	if who == strange || who == guardian {
		return -1, unix.EACCES
	}
	return w.as(who, func() (int, unix.Errno) { return w.reopen(obj, flags) })
}

// as does something about the entry of who with no more rights than the caller
// has: about itself all, about others what its user id gives it.
func (w *worker) as(who owner, do func() (int, unix.Errno)) (int, unix.Errno) {
	if who == caller || !w.capable {
		return do()
	}
	if err := setCapability(true, false); err != nil {
		return -1, unix.EACCES
	}
	defer func() {
		// Failing here costs later callers, not safety.
		_ = setCapability(true, true)
	}()
	return do()
}

// setCapability leaves CAP_SYS_PTRACE alone to the calling thread, or nothing.
func setCapability(permitted, effective bool) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if permitted {
		data[0].Permitted = 1 << unix.CAP_SYS_PTRACE
	}
	if effective {
		data[0].Effective = 1 << unix.CAP_SYS_PTRACE
	}
	return unix.Capset(&hdr, &data[0])
}

// hasCapability reports whether the calling thread may have CAP_SYS_PTRACE.
func hasCapability() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&hdr, &data[0]) == nil && data[0].Permitted&(1<<unix.CAP_SYS_PTRACE) != 0
}
