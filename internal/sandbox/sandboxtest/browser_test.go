//go:build linux

package sandboxtest

import (
	"strings"
	"testing"
)

// B95: what a browser needs when it is told not to make its own sandbox is there
// (shared memory, code made at run time, descriptors passed between processes, a
// socket in the temp folder, watched files), and its own sandbox is refused at
// once, as it expects of a kernel that has none.
func TestB95_WhatABrowserNeeds(t *testing.T) {
	EachLauncher(t, func(t *testing.T, launcher string) {
		b := New(t, launcher)
		Write(t, b.Workspace+"/p.py", `
import array, ctypes, errno, mmap, os, socket, tempfile
c = ctypes.CDLL(None, use_errno=True)
f = os.open("/dev/shm/.org.browser.x", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
os.ftruncate(f, 64 << 20)
m = mmap.mmap(f, 64 << 20); m[-1] = 1
os.unlink("/dev/shm/.org.browser.x")
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC); code[:1] = b"\xc3"
mem = os.memfd_create("x"); os.write(mem, b"passed")
a, z = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [mem]))])
    os._exit(0)
_, (got,), _, _ = z.recvmsg(1, 64)
print(os.pread(array.array("i", got[2])[0], 9, 0).decode(), os.wait()[1])
s = socket.socket(socket.AF_UNIX); s.bind(tempfile.mkdtemp() + "/SingletonSocket"); s.listen()
assert c.inotify_init1(0) >= 0 and c.eventfd(0, 0) >= 0 and os.readlink("/proc/self/exe")
for name, flag in ("user", 0x10000000), ("network", 0x40000000), ("pid", 0x20000000):
    if os.fork() == 0:
        r = c.unshare(flag)
        os._exit(0 if r == 0 else ctypes.get_errno())
    print(name, errno.errorcode.get(os.waitstatus_to_exitcode(os.wait()[1]), "made"))
`)
		r := b.Sh(t, "timeout 30 python3 p.py")
		if r.Code != 0 || !strings.HasPrefix(r.Stdout, "passed 0\n") || strings.Contains(r.Stdout, "made") || strings.Count(r.Stdout, " EPERM\n") != 3 {
			t.Errorf("%s: %+v", launcher, r)
		}
	})
}
