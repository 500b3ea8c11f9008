//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// kernelWants are the answers inside and outside. Outside as root most work;
// "" there means that it depends on the machine or the user.
var kernelWants = []struct{ name, inside, outsideRoot string }{
	{"mount-tmpfs", "EPERM", ""},
	{"mount-bind", "EPERM", ""},
	{"remount", "EPERM", ""},
	{"umount", "EPERM", ""},
	{"umount-home", "EPERM", ""},
	{"pivot_root", "EPERM", ""},
	{"chroot", "EPERM", "ok"},
	{"unshare-user", "EPERM", "ok"},
	{"unshare-mount", "EPERM", "ok"},
	{"unshare-net", "EPERM", "ok"},
	{"unshare-files", "ok", "ok"},
	{"clone-user", "EPERM", "ok"},
	{"setns", "EPERM", ""},
	{"open_tree", "EPERM", "ok"},
	{"fsopen", "EPERM", "ok"},
	{"move_mount", "EPERM", ""},
	{"mount_setattr", "EPERM", ""},
	{"mknod-char", "EPERM", ""},
	{"mknod-block", "EPERM", ""},
	{"mknod-fifo", "ok", ""},
	{"open-handle", "EPERM", ""},
	{"io_uring", "ENOSYS", "ok"},  // A91
	{"keyctl", "ENOSYS", ""},      // A101
	{"add_key", "ENOSYS", "ok"},   // A101
	{"request_key", "ENOSYS", ""}, // A101
	{"bpf", "EPERM", ""},
	{"setuid", "EPERM|EINVAL", ""}, // A104
	{"setgid", "EPERM|EINVAL", ""},
	{"sethostname", "EPERM", ""},
	{"quiet-read", "ok", ""}, // NoNewPrivs is set
	{"shm-host", "ENOENT", "ok"},
	{"shm-own", "ok", "ok"},
	{"mq-host", "ENOENT|EACCES", "ok"},
	{"mq-own", "ok", ""},
	{"inet-raw", "EPERM", "ok"},
	{"i386-socket", "signal 31|signal 11", ""}, // A92; 11: a kernel without i386 calls
	{"x32-socket", "ENOSYS", ""},               // A92
}

// A91, A92, A101, A104, F12: the kernel's ways out, in the sandbox as it is.
func TestA91_A92_A101_A104_KernelCalls(t *testing.T) {
	// What host processes share: a segment and a queue.
	key := strconv.Itoa(0x61000000 + os.Getpid())
	ipc := exec.Command("python3", "-c", `
import ctypes, os, sys
c, name = ctypes.CDLL(None, use_errno=True), b"/bawn-" + sys.argv[1].encode()
shm = c.shmget(int(sys.argv[1]), 4096, 0o1600)
mq = c.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, None)
assert shm >= 0 and mq >= 0, ctypes.get_errno()
print("up", flush=True)
sys.stdin.read()
c.shmctl(shm, 0, None)
c.mq_unlink(name)`, key)
	ipc.Path = "/usr/bin/python3"
	ipc.Stderr = os.Stderr
	in, err := ipc.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := ipc.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ipc.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = ipc.Wait() })
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // the control: the calls are real
		dir := Dir(t)
		cmd := exec.Command(tool(t, "over"), dir, dir, "--", tool(t, "kernel"), dir, key)
		cmd.Env = []string{"HOME=" + dir}
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("control: %v", err)
		}
		got := answers(string(text))
		for _, w := range kernelWants {
			if runtime.GOARCH == "amd64" || !strings.Contains(w.name, "86") {
				if w.outsideRoot != "" && got[w.name] != w.outsideRoot {
					t.Errorf("control: %s says %q, want %s", w.name, got[w.name], w.outsideRoot)
				}
			}
		}
	}
	EachLauncher(t, func(t *testing.T, l string) {
		for _, m := range sandboxed[:2] {
			b := New(t, l)
			b.Flags = m.flags
			got := answers(b.Run(t, tool(t, "kernel"), b.Workspace, key).OK(t).Stdout)
			for _, w := range kernelWants {
				if a, ok := got[w.name]; ok && !strings.Contains("|"+w.inside+"|", "|"+a+"|") {
					t.Errorf("%s: %s says %q, want %s", m.name, w.name, a, w.inside)
				} else if !ok && (runtime.GOARCH == "amd64" || w.name != "i386-socket" && w.name != "x32-socket") {
					t.Errorf("%s: nothing about %s", m.name, w.name)
				}
			}
		}
	})
}

func answers(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = answer
	}
	return out
}

// Every file of /proc and /sys that is no process's own: none can be written
// by root (uid 0 of a user namespace still owns them).
func TestF12_KernelFilesReadOnly(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		p := probeIn(t, b)
		for _, root := range []string{"/proc", "/sys"} {
			files, n, _ := strings.Cut(p.text("walk", root), "|")
			if strings.TrimSpace(files) != "" {
				t.Errorf("writable: %s", files)
			}
			if n = strings.TrimSpace(n); len(n) < 3 {
				t.Errorf("%s: only %s files looked at", root, n)
			}
		}
		for _, f := range []string{
			"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/swappiness", "/proc/sys/kernel/ns_last_pid",
			"/proc/sysrq-trigger", "/proc/self/net/../../sys/kernel/core_pattern", "/proc/thread-self/../sys/kernel/core_pattern",
			"/sys/kernel/uevent_helper", "/sys/power/state",
		} {
			p.want("EROFS|EACCES|ENOENT|EPERM", "write", f)
		}
		// Those that only root can read have no mask for an ordinary user.
		for _, f := range append(slices.Clone(policy.KernelFiles()), "/proc/slabinfo", "/proc/sysrq-trigger") {
			if !exists(f) {
				p.want("ENOENT", "read", f)
				continue
			}
			for _, way := range []string{f, "/proc/self/root" + f, "/proc/1/.." + f[len("/proc"):]} {
				if f != "/proc/sysrq-trigger" && (f != "/proc/slabinfo" || os.Getuid() != 0) {
					p.want("EACCES", "read", way)
				}
				p.want(denied, "write", way)
				p.want(denied, "chmod", way)
			}
			p.want(denied, "unlink", f)
			p.want(denied, "link", f, "/tmp/"+filepath.Base(f))
		}
		p.want("ok", "read", "/proc/sys/kernel/core_pattern")
		p.want("ok", "read", "/proc/meminfo")
		p.want("ok", "write", "/proc/self/comm")
		p.end()
	})
}

// Device nodes: a few harmless ones, and no other works, wherever it lies.
func TestA104_Devices(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		if os.Getuid() == 0 { // made on the host, shown by a writable bind
			for _, d := range []string{b.Workspace, b.Home} {
				if out, err := exec.Command("mknod", "-m", "666", d+"/null", "c", "1", "3").CombinedOutput(); err != nil {
					t.Fatalf("mknod: %s", out)
				}
				p := probeOut(t, b)
				p.want("ok", "write", d+"/null")
				p.end()
			}
		}
		p := probeIn(t, b)
		p.want("EACCES|ENOENT", "write", b.Workspace+"/null")
		p.want("EACCES|ENOENT", "write", b.Home+"/null")
		p.want("EPERM", "mknodc", b.Workspace+"/node")
		p.want("EPERM", "mknodc", "/tmp/node")
		for _, f := range []string{"/dev/vda", "/dev/sda", "/dev/mem", "/dev/kmsg", "/dev/port", "/dev/loop0", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/tty1", "/dev/mapper", "/dev/input"} {
			p.want("ENOENT", "stat", f)
		}
		for _, f := range []string{"null", "zero", "full", "urandom"} {
			p.want("ok", "write", "/dev/"+f)
		}
		p.want("ok", "read", "/dev/urandom")
		p.want("ok", "mkfifo", b.Workspace+"/fifo")
		p.end()
	})
}

// A101: a key in the caller's session keyring.
func TestA101_SessionKeyring(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		cmd := exec.Command("keyctl", "session", "-", "sh", "-c",
			`keyctl add user bawn-k v @s >/dev/null && keyctl search @s user bawn-k && echo CONTROL &&
			"$0" run -q --launcher `+l+` -- sh -c 'keyctl search @s user bawn-k && echo FOUND; keyctl show; cat /proc/keys; echo END'`, Binary())
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		out, err := cmd.CombinedOutput()
		text := string(out)
		if err != nil || !strings.Contains(text, "CONTROL") || !strings.Contains(text, "END") {
			t.Fatalf("control: %v\n%s", err, text)
		}
		if strings.Contains(text, "FOUND") || strings.Contains(text, "bawn-k") {
			t.Errorf("the host's key is there:\n%s", text)
		}
	})
}

// A104: setuid programs gain nothing.
func TestA104_SetuidPrograms(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		status := b.Sh(t, "cat /proc/self/status; id -u").OK(t).Stdout
		for _, line := range []string{"NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000",
			"CapInh:\t0000000000000000", "CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000"} {
			if !strings.Contains(status, line) {
				t.Errorf("no %q in\n%s", line, status)
			}
		}
		if os.Getuid() == 0 { // as the test's user: set by root, below the workspace
			return
		}
		for _, c := range [][]string{{"su", "-c", "id -u"}, {"newgrp", "root"}, {"mount", "-t", "tmpfs", "none", b.Workspace}, {"sg", "root", "id"}} {
			if _, err := exec.LookPath(c[0]); err != nil || c[0] == "su" && l != "native" { // su waits after a failure
				continue
			}
			if r := b.Run(t, c...); r.Code == 0 || strings.TrimSpace(r.Stdout) == "0" {
				t.Errorf("%q: %+v", c, r)
			}
		}
		for _, f := range []string{"/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount"} {
			if st, err := os.Stat(f); err == nil && st.Mode()&os.ModeSetuid == 0 {
				t.Errorf("%s is no setuid program here: the test proves nothing", filepath.Base(f))
			}
		}
	})
}
