//go:build linux

package netns

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noNode is a descriptor of what is no TUN device.
func noNode(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/dev/null", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// Without the device, connections come to the relay by redirection.
func TestSetupRedirects(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	s := setup(t, Config{Capable: true, Node: noNode(t), Ports: []uint16{5432, 80}})
	if got, want := s.text(t), "r 198.18.0.1, "+plainSockets+dnsSockets; got != want || len(s.Lacking) != 0 {
		t.Errorf("made %s\nwant %s\nlacking %q", got, want, s.Lacking)
	}
	relay := s.Sockets[0].FD
	for _, addr := range []string{"11.0.0.10:80", "198.18.0.2:3128", "126.255.255.255:5432", "128.0.0.1:65535", "255.255.255.254:1"} {
		c, err := net.DialTimeout("tcp", addr, time.Minute)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		fd, _, err := unix.Accept4(relay, unix.SOCK_CLOEXEC)
		if err != nil {
			t.Errorf("%s did not come to the relay: %v", addr, err)
			continue
		}
		peer, err := unix.Getpeername(fd)
		if a, ok := peer.(*unix.SockaddrInet4); err != nil || !ok || a.Addr != Address {
			t.Errorf("%s: from %v, %v", addr, peer, err)
		}
		_ = unix.Close(fd)
		_ = c.Close()
	}
	// These go where they always go: to a listener, or nowhere.
	for addr, want := range map[string]error{
		"127.0.0.1:3128": nil, "127.0.0.1:5432": nil, "198.18.0.1:53": nil, "127.0.0.53:53": nil,
		"127.0.0.1:81": unix.ECONNREFUSED, "127.0.0.2:3128": unix.ECONNREFUSED, "198.18.0.1:81": unix.ECONNREFUSED,
		"[2001:db8::1]:80": unix.ENETUNREACH, "[fe80::1%lo]:80": unix.ENETUNREACH, "[64:ff9b::1]:80": unix.ENETUNREACH,
	} {
		c, err := net.DialTimeout("tcp", addr, time.Minute)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", addr, err, want)
		}
		if err == nil {
			_ = c.Close()
		}
	}
	if fd, _, err := unix.Accept4(relay, unix.SOCK_CLOEXEC); err != unix.EAGAIN {
		t.Errorf("one more connection came to the relay: %d, %v", fd, err)
	}
}

func deleteRules() error {
	var b batch
	b.firewall(unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, "begin")
	b.end()
	b.firewall(nftMessage(unix.NFT_MSG_DELTABLE), 0, unix.NFPROTO_IPV4, "delete the rules")
	b.text(unix.NFTA_TABLE_NAME, ruleTable)
	b.end()
	return b.commit()
}

// What has no capability over the namespace's owner, whatever it has over
// a user namespace of its own, cannot change the rules or the route.
func TestRulesHold(t *testing.T) {
	if os.Getenv(insideMark) == "nested" {
		if err := deleteRules(); !errors.Is(err, unix.EPERM) {
			t.Errorf("nested: %v", err)
		}
		return
	}
	if !inNamespace(t) {
		return
	}
	if s := setup(t, Config{Capable: true, Node: noNode(t)}); !s.has(Relay) {
		t.Fatalf("made %s, lacking %q", s.text(t), s.Lacking)
	}
	done := make(chan struct{})
	go func() { // on a thread of its own, which ends with it
		defer close(done)
		runtime.LockOSThread()
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&hdr, &none[0]); err != nil {
			t.Error(err)
			return
		}
		if err := deleteRules(); !errors.Is(err, unix.EPERM) {
			t.Errorf("delete the rules: %v", err)
		}
		if err := redirect(1); !errors.Is(err, unix.EPERM) {
			t.Errorf("add rules: %v", err)
		}
		var b batch
		b.localRoute(loopback)
		if err := b.run(unix.NETLINK_ROUTE); !errors.Is(err, unix.EPERM) {
			t.Errorf("add a route: %v", err)
		}
	}()
	<-done
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), insideMark+"=nested")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
	if err := redirect(1); !errors.Is(err, unix.EEXIST) {
		t.Errorf("the rules are gone: %v", err)
	}
	if err := deleteRules(); err != nil {
		t.Errorf("with the capability: %v", err)
	}
}

// withoutNetfilter makes this thread's kernel one that has no nfnetlink.
func withoutNetfilter(t *testing.T) {
	t.Helper()
	ld := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	unless := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: skip}
	}
	f := []unix.SockFilter{
		ld(0), unless(unix.SYS_SOCKET, 5),
		ld(16), unless(unix.AF_NETLINK, 3), // the first argument
		ld(32), unless(unix.NETLINK_NETFILTER, 1), // the third
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		t.Fatal(err)
	}
}

// Without the device and without nf_tables the rest is there, and the reason.
func TestSetupWithoutBoth(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	withoutNetfilter(t)
	s := setup(t, Config{Capable: true, Node: noNode(t), Ports: []uint16{5432, 80}})
	if got, want := s.text(t), plainSockets+dnsSockets; got != want {
		t.Errorf("made %s\nwant %s", got, want)
	}
	if len(s.Lacking) != 1 || !strings.Contains(s.Lacking[0], "no TUN device") || !strings.Contains(s.Lacking[0], "protocol not supported") {
		t.Errorf("lacking %q", s.Lacking)
	}
	t.Log(s.Lacking)
	if _, err := net.Dial("tcp", "11.0.0.10:80"); !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("connect: %v, want unreachable", err)
	}
}

// A batch is done whole or not at all, and what fails in the middle is said.
func TestBatchIsAtomic(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	var b batch
	b.firewall(unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, "begin")
	b.end()
	b.firewall(nftMessage(unix.NFT_MSG_NEWTABLE), unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.NFPROTO_IPV4, "add a table")
	b.text(unix.NFTA_TABLE_NAME, ruleTable)
	b.end()
	b.chain(outputChain, "no such type", unix.NF_INET_LOCAL_OUT, priorityDNAT, verdictAccept)
	if err := b.commit(); !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), "no such type chain") {
		t.Errorf("unknown chain type: %v", err)
	}
	if err := deleteRules(); !errors.Is(err, unix.ENOENT) {
		t.Errorf("half of a batch was done: %v", err)
	}
	if err := redirect(1); err != nil {
		t.Error(err)
	}
}
