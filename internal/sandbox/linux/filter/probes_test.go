//go:build linux

package filter

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"bawn/internal/sandbox/linux/filter/internal/rules"

	"golang.org/x/sys/unix"
)

// probe is one real system call.
type probe struct {
	name string
	call func() syscall.Errno
	// The answer with Base, and with NoInet alone or on top of it; 0: as without
	// a filter, which must be success unless optional.
	base, noInet syscall.Errno
	// optional: this kernel may have no such feature, and may answer the same
	// without a filter.
	optional bool
}

func sys(nr uintptr, args ...uintptr) func() syscall.Errno {
	return func() syscall.Errno {
		var a [6]uintptr
		copy(a[:], args)
		_, _, e := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		return e
	}
}

// probes are listed such that what changes the process comes last, because the
// control child runs them all for real.
func probes() []probe {
	var ps []probe
	ps = append(ps, socketProbes()...)
	ps = append(ps, refusedProbes()...) // vhangup: while there is no terminal
	ps = append(ps, terminalProbes()...)
	ps = append(ps, fileProbes()...)
	ps = append(ps, processProbes()...)
	return append(ps, namespaceProbes()...)
}

func socketProbes() []probe {
	const cloexec = unix.SOCK_CLOEXEC
	socket := func(family, kind, proto uintptr) func() syscall.Errno {
		return sys(unix.SYS_SOCKET, family, kind|cloexec, proto)
	}
	var pair [2]int32
	ps := []probe{
		{name: "socket unix", call: socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)},
		{name: "socketpair unix", call: func() syscall.Errno {
			return sys(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, uintptr(unsafe.Pointer(&pair)))()
		}},
		{name: "socket tcp", call: socket(unix.AF_INET, unix.SOCK_STREAM, 0)},
		{name: "socket udp", call: socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP)},
		{name: "socket tcp6", call: socket(unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP), optional: true},
		{name: "socket netlink route", call: socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)},
		{name: "socket netlink uevent", call: socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT), base: unix.EAFNOSUPPORT},
		{name: "socket raw", call: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), base: unix.EPERM},
		{name: "socket SOCK_PACKET", call: socket(unix.AF_INET, unix.SOCK_PACKET, 0x0300), base: unix.EPERM, optional: true},
		{name: "socket ping", call: socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP), base: unix.EPROTONOSUPPORT},
		{name: "socket mptcp", call: socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), base: unix.EPROTONOSUPPORT, optional: true},
		{name: "socket sctp", call: socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP), base: unix.EPROTONOSUPPORT, optional: true},
		{name: "socket packet", call: socket(unix.AF_PACKET, unix.SOCK_RAW, 0x0300), base: unix.EAFNOSUPPORT, optional: true},
		{name: "socket vsock", call: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), base: unix.EAFNOSUPPORT, optional: true},
		{name: "socket alg", call: socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0), base: unix.EAFNOSUPPORT, optional: true},
	}
	for i := range ps {
		if !strings.Contains(ps[i].name, "unix") {
			ps[i].noInet = unix.EACCES
		}
	}
	return ps
}

func terminalProbes() []probe {
	var tty uintptr
	ready := func() {
		if tty != 0 {
			return
		}
		m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		check(err)
		check(unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0))
		n, err := unix.IoctlGetInt(m, unix.TIOCGPTN)
		check(err)
		s, err := unix.Open(filepath.Join("/dev/pts", itoa(n)), unix.O_RDWR|unix.O_CLOEXEC, 0)
		check(err)
		check(unix.IoctlSetInt(s, unix.TIOCSCTTY, 0))
		tty = uintptr(s)
	}
	var zero int32
	var b [64]byte
	ioctl := func(cmd uintptr) func() syscall.Errno {
		return func() syscall.Errno {
			ready()
			b = [64]byte{} // TIOCSTI types it: what an earlier call left may be a key that kills
			return sys(unix.SYS_IOCTL, tty, cmd, uintptr(unsafe.Pointer(&b)))()
		}
	}
	return []probe{
		{name: "ioctl TIOCGWINSZ", call: ioctl(unix.TIOCGWINSZ)},
		{name: "ioctl TIOCGPGRP", call: ioctl(unix.TIOCGPGRP)},
		{name: "ioctl TIOCSTI", call: ioctl(unix.TIOCSTI), base: unix.EPERM},
		{name: "ioctl TIOCSTI, upper half set", call: ioctl(1<<32 | unix.TIOCSTI), base: unix.EPERM},
		{name: "ioctl TIOCLINUX", call: ioctl(unix.TIOCLINUX), base: unix.EPERM},
		{name: "ioctl BTRFS_IOC_SNAP_CREATE_V2", call: ioctl(0x50009417), base: unix.EPERM},
		{name: "ioctl OCFS2_IOC_REFLINK", call: ioctl(0x40186f04), base: unix.EPERM},
		{name: "ioctl BCH_IOCTL_SUBVOLUME_CREATE", call: ioctl(0x4020bc10), base: unix.EPERM},
		{name: "ioctl TIOCSETD", call: func() syscall.Errno {
			ready()
			return sys(unix.SYS_IOCTL, tty, unix.TIOCSETD, uintptr(unsafe.Pointer(&zero)))()
		}, base: unix.EPERM},
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func fileProbes() []probe {
	node := func(mode uint32) func() syscall.Errno {
		return func() syscall.Errno {
			dir, err := os.MkdirTemp("", "filter")
			check(err)
			defer os.RemoveAll(dir)
			return errno(unix.Mknod(filepath.Join(dir, "node"), mode|0o600, int(unix.Mkdev(1, 3))))
		}
	}
	return []probe{
		{name: "mknod pipe", call: node(unix.S_IFIFO)},
		{name: "mknod char", call: node(unix.S_IFCHR), base: unix.EPERM},
		{name: "mknod block", call: node(unix.S_IFBLK), base: unix.EPERM},
		{name: "openat2", call: func() syscall.Errno {
			fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC})
			unix.Close(fd)
			return errno(err)
		}, optional: true},
	}
}

func errno(err error) syscall.Errno {
	for {
		switch e := err.(type) {
		case nil:
			return 0
		case syscall.Errno:
			return e
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		default:
			check(err)
		}
	}
}

func processProbes() []probe {
	return []probe{
		{name: "personality read", call: sys(unix.SYS_PERSONALITY, 0xffffffff)},
		{name: "personality no randomize", call: sys(unix.SYS_PERSONALITY, 0x40000)},
		{name: "personality exec", call: sys(unix.SYS_PERSONALITY, 0x400000), base: unix.EPERM},
		{name: "personality default", call: sys(unix.SYS_PERSONALITY, 0)},
		{name: "clone fork", call: fork(0)},
		{name: "clone NEWUSER", call: fork(unix.CLONE_NEWUSER), base: unix.EPERM},
		{name: "clone NEWNS", call: fork(unix.CLONE_NEWNS), base: unix.EPERM},
		{name: "clone NEWNET", call: fork(unix.CLONE_NEWNET), base: unix.EPERM},
		{name: "clone NEWPID", call: fork(unix.CLONE_NEWPID), base: unix.EPERM},
		{name: "pidfd_open self", call: func() syscall.Errno {
			fd, err := unix.PidfdOpen(os.Getpid(), 0)
			unix.Close(fd)
			return errno(err)
		}},
		{name: "landlock version", call: sys(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION), optional: true},
		{name: "call 999", call: sys(999), base: unix.ENOSYS, optional: true},
		{name: "call -1", call: sys(^uintptr(0)), optional: true},
	}
}

// fork makes a child that exits at once; raw, because it must not run Go code.
func fork(flags uintptr) func() syscall.Errno {
	return func() syscall.Errno {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if e != 0 {
			return e
		}
		if pid == 0 {
			for {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
		_, err := unix.Wait4(int(pid), nil, 0, nil)
		return errno(err)
	}
}

// refusedProbes calls everything that Base refuses whatever the arguments, with
// arguments that are so wrong that the kernel only complains about them.
func refusedProbes() []probe {
	// No kernel of today runs these.
	gone := map[string]bool{"listns": true}
	var ps []probe
	for _, a := range rules.Arches {
		if a.Name != runtime.GOARCH {
			continue
		}
		for _, r := range rules.Base().Rules {
			for _, name := range strings.Fields(r.Calls) {
				nr, has := rules.Number(name, a)
				if !has || len(r.Cases) > 0 {
					continue
				}
				bad := ^uintptr(0)
				ps = append(ps, probe{
					name: name, base: syscall.Errno(r.Otherwise & 0xffff),
					call:     sys(uintptr(nr), bad, bad, bad, bad, bad, bad),
					optional: gone[name] || r.Otherwise == rules.Errno(uint16(unix.ENOSYS)),
				})
			}
		}
	}
	return ps
}

func namespaceProbes() []probe {
	unshare := func(flags uintptr) func() syscall.Errno { return sys(unix.SYS_UNSHARE, flags) }
	return []probe{
		{name: "unshare nothing", call: unshare(0)},
		{name: "unshare FILES", call: unshare(unix.CLONE_FILES)},
		{name: "unshare FS", call: unshare(unix.CLONE_FS)},
		{name: "unshare NEWUSER", call: unshare(unix.CLONE_NEWUSER), base: unix.EPERM},
		{name: "unshare NEWTIME", call: unshare(unix.CLONE_NEWTIME), base: unix.EPERM},
		{name: "unshare NEWUTS", call: unshare(unix.CLONE_NEWUTS), base: unix.EPERM},
		{name: "unshare upper half", call: unshare(1 << 32), base: unix.EPERM},
		{name: "unshare NEWNS", call: unshare(unix.CLONE_NEWNS), base: unix.EPERM},
		{name: "unshare NEWNET", call: unshare(unix.CLONE_NEWNET), base: unix.EPERM},
	}
}
