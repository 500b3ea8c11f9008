//go:build linux

package sandboxtest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/tools/tempdir"
)

// A70: a file of the host that the command gets to read cannot be written
// through it, and the caller reads on where the command stopped.
func TestA70_InputStaysReadOnly(t *testing.T) {
	const lines = "one\ntwo\nthree\n"
	const text = `read -r x; echo "[$x]"
echo EVIL >/proc/self/fd/0; echo EVIL >>/dev/stdin; chmod 777 /proc/self/fd/0; touch -d @1 /proc/self/fd/0; true`
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		out := Dir(t) + "/file"
		run := func(path string, argv ...string) (string, string, os.FileInfo) {
			t.Helper()
			Write(t, path, lines)
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir, cmd.Env, cmd.Stdin = b.Workspace, b.Environ(), f
			said, err := cmd.Output()
			if err != nil {
				t.Fatalf("%q: %v", argv, err)
			}
			rest, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			return string(said), string(rest), st
		}
		bawn := []string{Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", text}
		said, rest, st := run(out, bawn...)
		if data, err := os.ReadFile(out); err != nil || string(data) != lines || st.Mode().Perm() != 0o644 || st.ModTime().Unix() == 1 {
			t.Errorf("the file was changed: %q, %v, %v", data, st.Mode(), err)
		}
		if said != "[one]\n" || rest != "two\nthree\n" {
			t.Errorf("the command read %q, and left %q", said, rest)
		}
		// The control: without the sandbox the file is changed by this.
		if _, _, st := run(out, "sh", "-c", text); st.Mode().Perm() != 0o777 {
			t.Errorf("control: %v", st.Mode())
		}
		// What it may write it may still write by its name.
		run(b.Workspace+"/mine", Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", "echo more >>mine")
		if data, err := os.ReadFile(b.Workspace + "/mine"); err != nil || string(data) != lines+"more\n" {
			t.Errorf("its own file: %q, %v", data, err)
		}
	})
}

// A file that the sandbox covers: native shows it all the same, bwrap, whose
// stage comes later, must refuse it.
func TestA70_HiddenInput(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		key := b.Home + "/.ssh/known_hosts_of_mine"
		Write(t, key, "SHOWN")
		f, err := os.Open(key)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd := exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", "cat; echo EVIL >>/proc/self/fd/0; true")
		cmd.Dir, cmd.Env, cmd.Stdin = b.Workspace, b.Environ(), f
		out, err := cmd.CombinedOutput()
		if l == "native" && (err != nil || !strings.HasPrefix(string(out), "SHOWN")) {
			t.Errorf("%q, %v", out, err)
		}
		if l == "bwrap" && (cmd.ProcessState.ExitCode() != 125 || !strings.Contains(string(out), "cat FILE | bawn run")) {
			t.Errorf("%q, %v", out, err)
		}
		if data, err := os.ReadFile(key); err != nil || string(data) != "SHOWN" {
			t.Errorf("the file was changed: %q, %v", data, err)
		}
		// A file that nobody can name (a here-document) is the caller's alone.
		if err := os.Remove(key); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "cat")
		cmd.Dir, cmd.Env, cmd.Stdin = b.Workspace, b.Environ(), f
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "SHOWN" {
			t.Errorf("without a name: %q, %v", out, err)
		}
	})
}

// A file below a temp folder, which is the sandbox's own: the command reads
// that file, and sees nothing else of the folder.
func TestA70_InputInTemp(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, temp := range []string{"/tmp", "/var/tmp"} {
			dir := tempdir.ForTest(t, temp)
			Write(t, dir+"/deep/in", "one\ntwo\n")
			Write(t, dir+"/deep/other", "HOST")
			f, err := os.Open(dir + "/deep/in")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd := exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c",
				`read -r x; echo $x; echo EVIL >/proc/self/fd/0; echo EVIL >"$0/in"; rm -f "$0/in"; cat "$0/other"; echo x >`+temp+`/new && cat `+temp+`/new`, dir+"/deep")
			cmd.Dir, cmd.Env, cmd.Stdin = b.Workspace, b.Environ(), f
			if out, err := cmd.Output(); err != nil || string(out) != "one\nx\n" {
				t.Errorf("%s: %q, %v", temp, out, err)
			}
			if rest, err := io.ReadAll(f); err != nil || string(rest) != "two\n" {
				t.Errorf("%s: left %q, %v", temp, rest, err)
			}
			if data, err := os.ReadFile(dir + "/deep/in"); err != nil || string(data) != "one\ntwo\n" {
				t.Errorf("%s: the file is %q, %v", temp, data, err)
			}
		}
	})
}

// A70, A91: handles on the kernel as standard streams: no filter of later
// calls takes away what a ring or a descriptor of page faults does by itself.
func TestA70_A91_KernelHandles(t *testing.T) {
	handle := func(name string, fd uintptr, errno error) *os.File {
		t.Helper()
		if errno != nil && errno != unix.Errno(0) {
			t.Fatalf("%s: %v", name, errno)
		}
		f := os.NewFile(fd, name)
		t.Cleanup(func() { f.Close() })
		return f
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	events := handle("eventfd", uintptr(event), err)
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	polls := handle("epoll", uintptr(poll), err)
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	watches := handle("inotify", uintptr(watch), err)
	mem, err := unix.MemfdCreate("plain", unix.MFD_CLOEXEC)
	memory := handle("memfd", uintptr(mem), err)
	handles := []*os.File{events, polls, watches}
	var params [128]byte
	if fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0); e == 0 {
		handles = append(handles, handle("io_uring", fd, nil))
	} else if os.Getuid() == 0 {
		t.Errorf("control: io_uring: %v", e)
	}
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for stream := range 3 {
			run := func(f *os.File) (*exec.Cmd, error) {
				cmd := exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", "echo >ran")
				cmd.Dir, cmd.Env = b.Workspace, b.Environ()
				switch stream {
				case 0:
					cmd.Stdin = f
				case 1:
					cmd.Stdout = f
				default:
					cmd.Stderr = f
				}
				return cmd, cmd.Run()
			}
			for _, f := range handles {
				if cmd, _ := run(f); cmd.ProcessState.ExitCode() != 125 || exists(b.Workspace+"/ran") {
					t.Errorf("%s as stream %d: exit %d", f.Name(), stream, cmd.ProcessState.ExitCode())
				}
			}
			if _, err := run(memory); err != nil || os.Remove(b.Workspace+"/ran") != nil {
				t.Errorf("a file in memory as stream %d: %v", stream, err)
			}
		}
	})
}

// A70, A100: a UNIX stream whose other end a host process holds is a stream
// like any other, but it names that process: nothing can be done to it.
func TestA70_A100_PeerOfAStream(t *testing.T) {
	const script = `
import ctypes, errno, os, socket
c = ctypes.CDLL(None, use_errno=True)
s = socket.socket(fileno=0)
fd = s.getsockopt(socket.SOL_SOCKET, 77)  # SO_PEERPIDFD
class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
one = iovec(ctypes.addressof(ctypes.create_string_buffer(8192)) & ~4095, 4096)
def call(name, *args):
    print(name, "ok" if c.syscall(*args) >= 0 else errno.errorcode[ctypes.get_errno()])
call("signal", 424, fd, 0, None, 0)
call("kill", 424, fd, KILL, None, 0)
call("getfd", 438, fd, 0, 0)
call("advise", 440, fd, ctypes.byref(one), 1, 21, 0)
call("release", 448, fd, 0)
print(s.recv(9).decode())
`
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		run := func(text string, argv ...string) string {
			t.Helper()
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			mine, theirs := os.NewFile(uintptr(pair[0]), "mine"), os.NewFile(uintptr(pair[1]), "theirs")
			defer mine.Close()
			defer theirs.Close()
			if _, err := mine.WriteString("hello"); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(argv[0], append(argv[1:], "/usr/bin/python3", "-c", text)...)
			cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = b.Workspace, b.Environ(), theirs, os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return string(out)
		}
		got := run(strings.ReplaceAll(script, "KILL", "9"), Binary(), "run", "-q", "--launcher", l, "--")
		if strings.ReplaceAll(got, "EACCES", "EPERM") != "signal EINVAL\nkill EINVAL\ngetfd EPERM\nadvise EPERM\nrelease EINVAL\nhello\n" {
			t.Errorf("inside: %s", got)
		}
		if got := run(strings.ReplaceAll(script, "KILL", "0"), "env"); !strings.HasPrefix(got, "signal ok\n") || !strings.HasSuffix(got, "hello\n") {
			t.Errorf("control: %s", got)
		}
	})
}

// A disk that root's command gets to read could be opened anew and written.
func TestA70_DiskAsInput(t *testing.T) {
	if os.Getuid() != 0 {
		return // no user may open one
	}
	disks, err := filepath.Glob("/sys/block/*")
	if err != nil {
		t.Fatal(err)
	}
	var disk *os.File
	for _, d := range disks {
		if disk, err = os.Open("/dev/" + filepath.Base(d)); err == nil {
			defer disk.Close()
			break
		}
	}
	if disk == nil {
		t.Fatalf("none of %q can be opened", disks)
	}
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		cmd := exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", "echo x >ran")
		cmd.Dir, cmd.Env, cmd.Stdin = b.Workspace, b.Environ(), disk
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 125 || exists(b.Workspace+"/ran") || !strings.Contains(string(out), "cat DISK | bawn run") {
			t.Errorf("%q, %v", out, err)
		}
		cmd = exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", "head -c1 | wc -c")
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		if cmd.Stdin, err = os.Open("/dev/zero"); err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "1" {
			t.Errorf("a harmless device: %q, %v", out, err)
		}
	})
}
