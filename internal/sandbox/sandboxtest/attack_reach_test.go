//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reachWants are the answers inside and, as root, outside: "" there means
// that it depends on the machine. Where the twin inside says "ok", the kind of
// call is allowed and only its object or flag is not.
var reachWants = []struct{ name, inside, outsideRoot string }{
	{"af-unix", "ok", ""},
	{"nl-route", "ok", ""},
	{"nl-audit", "EAFNOSUPPORT", ""},
	{"nl-uevent", "EAFNOSUPPORT", "ok"},
	{"nl-netfilter", "EAFNOSUPPORT", ""},
	{"nl-generic", "EAFNOSUPPORT", "ok"},
	{"nl-diag", "EAFNOSUPPORT", "ok"},
	{"nl-connector", "EAFNOSUPPORT", ""},
	{"nl-xfrm", "EAFNOSUPPORT", ""},
	{"nl-crypto", "EAFNOSUPPORT", ""},
	{"nl-rdma", "EAFNOSUPPORT", ""},
	{"af-packet", "EAFNOSUPPORT", "ok"},
	{"af-packet-dgram", "EAFNOSUPPORT", ""},
	{"af-vsock", "EAFNOSUPPORT", ""},
	{"af-vsock-dgram", "EAFNOSUPPORT", ""},
	{"af-alg", "EAFNOSUPPORT", ""},
	{"af-xdp", "EAFNOSUPPORT", ""},
	{"af-bluetooth", "EAFNOSUPPORT", ""},
	{"af-rxrpc", "EAFNOSUPPORT", ""},
	{"af-key", "EAFNOSUPPORT", ""},
	{"af-can", "EAFNOSUPPORT", ""},
	{"af-tipc", "EAFNOSUPPORT", ""},
	{"af-rds", "EAFNOSUPPORT", ""},
	{"af-smc", "EAFNOSUPPORT", ""},
	{"af-kcm", "EAFNOSUPPORT", ""},
	{"af-qipcrtr", "EAFNOSUPPORT", ""},
	{"af-nfc", "EAFNOSUPPORT", ""},
	{"af-ib", "EAFNOSUPPORT", ""},
	{"af-mctp", "EAFNOSUPPORT", ""},
	{"af-llc", "EAFNOSUPPORT", ""},
	{"af-x25", "EAFNOSUPPORT", ""},
	{"af-ax25", "EAFNOSUPPORT", ""},
	{"af-appletalk", "EAFNOSUPPORT", ""},
	{"af-pppox", "EAFNOSUPPORT", ""},
	{"af-caif", "EAFNOSUPPORT", ""},
	{"inet-icmp", "EPROTONOSUPPORT", ""},
	{"inet-udplite", "EPROTONOSUPPORT", ""},
	{"inet-sctp", "EPROTONOSUPPORT", ""},
	{"inet-mptcp", "EPROTONOSUPPORT", ""},
	{"inet-dccp", "EPROTONOSUPPORT", ""},
	{"inet-tcp", "ok", ""},
	{"inet6-raw", "EPERM", ""},
	{"inet-packet", "EPERM", "ok"},
	{"pair-unix", "ok", ""},
	{"pair-rds", "EAFNOSUPPORT", ""},
	{"unshare-user", "EPERM", "ok"},
	{"unshare-user-user", "EPERM", "ok"},
	{"clone-user", "EPERM", "ok"},
	{"clone3-user", "ENOSYS", "ok"},
	{"setns-user", "EPERM", ""},
	{"pid1-ns-user", "EACCES|EPERM", ""},
	{"unshare-mnt", "EPERM", "ok"},
	{"unshare-user-mnt", "EPERM", "ok"},
	{"clone-mnt", "EPERM", "ok"},
	{"clone3-mnt", "ENOSYS", "ok"},
	{"setns-mnt", "EPERM", "ok"},
	{"pid1-ns-mnt", "EACCES|EPERM", ""},
	{"unshare-pid", "EPERM", "ok"},
	{"unshare-user-pid", "EPERM", "ok"},
	{"clone-pid", "EPERM", "ok"},
	{"clone3-pid", "ENOSYS", "ok"},
	{"setns-pid", "EPERM", "ok"},
	{"pid1-ns-pid", "EACCES|EPERM", ""},
	{"unshare-net", "EPERM", "ok"},
	{"unshare-user-net", "EPERM", "ok"},
	{"clone-net", "EPERM", "ok"},
	{"clone3-net", "ENOSYS", "ok"},
	{"setns-net", "EPERM", "ok"},
	{"pid1-ns-net", "EACCES|EPERM", ""},
	{"unshare-ipc", "EPERM", "ok"},
	{"unshare-user-ipc", "EPERM", "ok"},
	{"clone-ipc", "EPERM", "ok"},
	{"clone3-ipc", "ENOSYS", "ok"},
	{"setns-ipc", "EPERM", "ok"},
	{"pid1-ns-ipc", "EACCES|EPERM", ""},
	{"unshare-uts", "EPERM", "ok"},
	{"unshare-user-uts", "EPERM", "ok"},
	{"clone-uts", "EPERM", "ok"},
	{"clone3-uts", "ENOSYS", "ok"},
	{"setns-uts", "EPERM", "ok"},
	{"pid1-ns-uts", "EACCES|EPERM", ""},
	{"unshare-cgroup", "EPERM", "ok"},
	{"unshare-user-cgroup", "EPERM", "ok"},
	{"clone-cgroup", "EPERM", "ok"},
	{"clone3-cgroup", "ENOSYS", "ok"},
	{"setns-cgroup", "EPERM", "ok"},
	{"pid1-ns-cgroup", "EACCES|EPERM", ""},
	{"unshare-time", "EPERM", "ok"},
	{"unshare-user-time", "EPERM", "ok"},
	{"clone3-time", "ENOSYS", "ok"},
	{"setns-time", "EPERM", "ok"},
	{"pid1-ns-time", "EACCES|EPERM", ""},
	{"clone-fork", "ok", ""},
	{"setns-pidfd", "EPERM", ""},
	{"ns-parent", "EPERM", ""},
	{"fsmount", "EPERM", ""},
	{"fsconfig", "EPERM", ""},
	{"fspick", "EPERM", "ok"},
	{"open_tree_attr", "EPERM", ""},
	{"move_mount-fd", "EPERM", "ok"},
	{"remount-rw", "EPERM", "ok"},
	{"mount-proc", "EPERM", "ok"},
	{"mount-shared", "EPERM", "ok"},
	{"mount-move", "EPERM", ""},
	{"umount-dev", "EPERM", "ok"},
	{"make-handle", "EPERM", ""},
	{"fanotify", "ENOSYS", ""},
	{"inotify", "ok", ""},
	{"quotactl", "EPERM", "ok"},
	{"quotactl_fd", "EPERM", ""},
	{"swapon", "EPERM", ""},
	{"swapoff", "EPERM", ""},
	{"acct", "EPERM", ""},
	{"chattr", "EOPNOTSUPP", ""}, // the guard's: see TestF2_FlagsOfFolders
	{"fscrypt-add", "EPERM", ""},
	{"fscrypt-remove", "EPERM", ""},
	{"fscrypt-remove-all", "EPERM", ""},
	{"cifs-integrity", "EPERM", "ENOTTY"},
	{"cifs-keys", "EPERM", "ENOTTY"},
	{"fs-shutdown", "EPERM", "EBADF"},
	{"file-caps", "EPERM", ""},
	{"trusted-attr", "EPERM", ""},
	{"bpf-map", "EPERM", ""},
	{"bpf-next", "EPERM", ""},
	{"perf", "EPERM", ""},
	{"userfaultfd", "ENOSYS", ""},
	{"io_uring-enter", "ENOSYS", ""},
	{"io_uring-register", "ENOSYS", ""},
	{"kexec", "ENOSYS", ""},
	{"module", "EPERM", ""},
	{"module-old", "EPERM", ""},
	{"module-out", "EPERM", ""},
	{"reboot", "EPERM", ""},
	{"syslog", "EPERM", ""},
	{"settime", "EPERM", ""},
	{"unknown-call", "ENOSYS", ""},
	{"personality", "EPERM", "ok"},
	{"personality-read", "ok", ""},
	{"personality-fixed", "ok", ""},
	{"ambient", "EPERM", ""},
	{"securebits", "EPERM", "ok"},
	{"keepcaps", "EPERM", "ok"},
	{"mm-map", "EPERM", ""},
	{"privs-back", "EINVAL", ""},
	{"filter-more", "ok", ""},
	{"filter-listener", "EBUSY", ""},
	{"filter-undone", "EPERM", "ok"},
	{"setfsuid", "EPERM", ""},
	{"setgroups", "EPERM", "ok"},
	{"setresuid", "EINVAL", "ok"},
	{"rlimit-up", "EPERM", ""},
	{"nice-up", "EACCES", ""},
	{"realtime", "EPERM", ""},
	{"oom-protect", "EACCES", ""},
	{"splice-file", "EROFS", ""},
	{"mem-file", "EIO", ""},
	{"memfd-exec", "ok", ""},
	{"iopl", "EPERM", ""},
	{"ldt", "EPERM", ""},
	{"high-number", "EPERM", ""},
	{"keyctl-join", "ENOSYS", ""},
	{"keyctl-persistent", "ENOSYS", ""},
	{"keyctl-search", "ENOSYS", ""},
	{"keyctl-link", "ENOSYS", ""},
	{"sem-host", "ENOENT", "ok"},
	{"sem-own", "ok", ""},
	{"msg-host", "ENOENT", "ok"},
	{"msg-own", "ok", ""},
	{"posix-shm-host", "ENOENT", "ok"},
	{"posix-shm-own", "ok", ""},
	{"pid1-mem", "EACCES|EPERM", ""},
	{"pid1-maps", "EACCES|EPERM", ""},
	{"pid1-environ", "EACCES|EPERM", ""},
	{"pid1-auxv", "EACCES|EPERM", ""},
	{"pid1-stack", "EACCES|EPERM", ""},
	{"pid1-syscall", "EACCES|EPERM", ""},
	{"pid1-pagemap", "EACCES|EPERM", ""},
	{"pid1-io", "EACCES|EPERM", ""},
	{"pid1-personality", "EACCES|EPERM", ""},
	{"pid1-fd/0", "EACCES|EPERM", ""},
	{"pid1-fdinfo/0", "EACCES|EPERM", ""},
	{"pid1-cwd/etc", "EACCES|EPERM", ""},
	{"pid1-root/etc", "EACCES|EPERM", ""},
	{"pid1-exe", "EACCES|EPERM", ""},
	{"pid1-task/1/mem", "EACCES|EPERM", ""},
	{"pid1-timerslack_ns", "EACCES|EPERM", ""},
	{"pid1-trace", "EACCES|EPERM", ""},
	{"own-trace", "ok", ""},
	{"pid1-getfd", "EACCES|EPERM", ""},
	{"own-getfd", "EPERM", "ok"},
	{"pid1-kcmp", "EACCES|EPERM", ""},
	{"pid1-read", "EACCES|EPERM", ""},
	{"pid1-write", "EACCES|EPERM", ""},
	{"own-read", "ok", ""},
	{"pid1-madvise", "EACCES|EPERM", ""},
	{"pid1-mrelease", "EINVAL", ""},
	{"pid1-pages", "EACCES|EPERM", ""},
}

// A16, A90, A91, A92, A100, A101: what reaches past a sandbox without the name
// of a file: other families of sockets, every namespace by each call, mounts,
// kernel interfaces, shared memory and queues, the first process.
func TestA16_A91_A100_A101_Reach(t *testing.T) {
	key := 0x62000000 + os.Getpid()
	sharedWithHost(t, key)
	ask := strconv.Itoa(key)
	if os.Getuid() == 0 { // the control: the calls are real
		dir := Dir(t)
		cmd := exec.Command(tool(t, "over"), dir, dir, "--", tool(t, "reach"), dir, ask, "control")
		cmd.Env = []string{"HOME=" + dir}
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("control: %v", err)
		}
		got := answers(string(text))
		for _, w := range reachWants {
			if w.outsideRoot != "" && got[w.name] != w.outsideRoot {
				t.Errorf("control: %s says %q, want %s", w.name, got[w.name], w.outsideRoot)
			}
		}
	}
	onlyAMD64 := []string{"iopl", "ldt", "high-number"}
	EachLauncher(t, func(t *testing.T, l string) {
		for _, m := range sandboxed[:2] {
			b := New(t, l)
			b.Flags = m.flags
			got := answers(b.Run(t, tool(t, "reach"), b.Workspace, ask).OK(t).Stdout)
			for _, w := range reachWants {
				a, ok := got[w.name]
				if !ok && runtime.GOARCH != "amd64" && slices.Contains(onlyAMD64, w.name) {
					continue
				}
				if !slices.Contains(strings.Split(w.inside, "|"), a) {
					t.Errorf("%s: %s says %q, want %s", m.name, w.name, a, w.inside)
				}
				delete(got, w.name)
			}
			for name := range got {
				t.Errorf("%s: nothing is wanted of %s", m.name, name)
			}
		}
	})
}

// sharedWithHost makes what host processes share by a key: semaphores, a
// message queue and POSIX shared memory.
func sharedWithHost(t *testing.T, key int) {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "-c", `
import ctypes, os, sys
c, key = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
path = "/dev/shm/bawn-%d" % key
sem, msg = c.semget(key, 1, 0o1600), c.msgget(key, 0o1600)
open(path, "x").close()
assert sem >= 0 and msg >= 0, ctypes.get_errno()
print("up", flush=True)
sys.stdin.read()
c.semctl(sem, 0, 0)
c.msgctl(msg, 0, None)
os.unlink(path)`, strconv.Itoa(key))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
}
