package rules

import (
	"strings"
	"testing"
)

// What Base refuses whatever the arguments, written a second time: a name lost
// from base.go is found here.
var baseRefuses = map[Action]string{
	Errno(enosys): `io_uring_setup io_uring_enter io_uring_register clone3 listns fanotify_init fanotify_mark
		keyctl add_key request_key kexec_load kexec_file_load userfaultfd
		lookup_dcookie uselib ustat sysfs nfsservctl _sysctl create_module get_kernel_syms query_module getpmsg
		putpmsg afs_syscall tuxcall security vserver set_thread_area get_thread_area epoll_ctl_old epoll_wait_old`,
	Errno(eperm): `setns mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount
		fspick mount_setattr name_to_handle_at open_by_handle_at process_vm_readv process_vm_writev kcmp pidfd_getfd
		move_pages migrate_pages lsm_set_self_attr settimeofday clock_settime adjtimex clock_adjtime syslog swapon
		swapoff reboot acct quotactl quotactl_fd sethostname setdomainname vhangup init_module finit_module
		delete_module bpf perf_event_open ioperm iopl modify_ldt`,
}

const baseLooksAtArguments = "clone unshare mknod mknodat ioctl socket socketpair personality"

// Calls that tools need and that a careless edit might take away.
const baseMustAllow = `read write openat close mmap mprotect execve execveat fork vfork wait4 exit_group rt_sigreturn
	futex seccomp prctl ptrace prlimit64 landlock_create_ruleset landlock_add_rule landlock_restrict_self pidfd_open
	pidfd_send_signal process_madvise process_mrelease openat2 close_range statx fchmodat2 cachestat memfd_create
	memfd_secret map_shadow_stack mseal futex_wake futex_wait futex_requeue statmount listmount file_getattr
	file_setattr getxattrat setxattrat listxattrat removexattrat lsm_get_self_attr lsm_list_modules rseq
	rseq_slice_yield arch_prctl uretprobe uprobe splice vmsplice tee io_setup io_submit inotify_init1 mbind
	set_mempolicy get_mempolicy setgroups setresuid capset connect bind listen accept4 sendmsg recvmsg shmget semget`

// The verdict on every known call, with arguments that pass no argument test.
func TestBaseJudgesEveryCall(t *testing.T) {
	want := map[string]Action{}
	for action, names := range baseRefuses {
		for _, n := range strings.Fields(names) {
			want[n] = action
		}
	}
	for _, n := range strings.Fields(baseLooksAtArguments) {
		want[n] = 0
	}
	for _, n := range strings.Fields(baseMustAllow) {
		if _, known := lookup(n); !known || want[n] != 0 {
			t.Errorf("%s: not known, or both refused and allowed", n)
		}
	}
	for _, a := range Arches {
		m := compiled(t, Base(), a)
		for _, s := range Syscalls() {
			nr, has := s.Number(a)
			w, listed := want[s.Name]
			if !has || listed && w == 0 {
				continue
			}
			if !listed {
				w = Allow
			}
			for _, args := range [][6]uint64{{}, {^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}} {
				if got := m.verdict(t, Call{a.Audit, nr, args}); got != w {
					t.Errorf("%s %s(%x): %v, want %v", a.Name, s.Name, args[0], got, w)
				}
			}
		}
	}
}

const hi = 1 << 32 // a bit of the upper half, which the kernel ignores in int arguments

// Calls whose verdict depends on arguments, in pairs of what must pass and what
// must not.
var baseArguments = []struct {
	call string
	args [6]uint64
	want Action
	why  string
}{
	{"clone", [6]uint64{0x3d0f00}, Allow, "glibc's pthread_create"},
	{"clone", [6]uint64{0x01200011}, Allow, "glibc's fork"},
	{"clone", [6]uint64{0x4111}, Allow, "Go's forkExec: VFORK|VM|SIGCHLD"},
	{"clone", [6]uint64{0x91}, Allow, "0x80 is part of the exit signal, not CLONE_NEWTIME"},
	{"clone", [6]uint64{0x10000000<<32 | 0x11}, Allow, "upper half is not read"},
	{"clone", [6]uint64{0x20011}, Errno(eperm), "NEWNS"},
	{"clone", [6]uint64{0x02000011}, Errno(eperm), "NEWCGROUP"},
	{"clone", [6]uint64{0x04000011}, Errno(eperm), "NEWUTS"},
	{"clone", [6]uint64{0x08000011}, Errno(eperm), "NEWIPC"},
	{"clone", [6]uint64{0x10000011}, Errno(eperm), "NEWUSER"},
	{"clone", [6]uint64{0x20000011}, Errno(eperm), "NEWPID"},
	{"clone", [6]uint64{0x40000011}, Errno(eperm), "NEWNET"},
	{"clone", [6]uint64{hi | 0x10000011}, Errno(eperm), "NEWUSER beside an upper bit"},
	{"clone", [6]uint64{0x7e020000 | 0x3d0f00}, Errno(eperm), "all among thread flags"},

	{"unshare", [6]uint64{0}, Allow, "nothing"},
	{"unshare", [6]uint64{0x400}, Allow, "FILES"},
	{"unshare", [6]uint64{0x200 | 0x400 | 0x40000}, Allow, "FS, FILES, SYSVSEM"},
	{"unshare", [6]uint64{0x10000 | 0x100 | 0x800}, Allow, "THREAD, VM, SIGHAND"},
	{"unshare", [6]uint64{0x10000000}, Errno(eperm), "NEWUSER"},
	{"unshare", [6]uint64{0x20000}, Errno(eperm), "NEWNS"},
	{"unshare", [6]uint64{0x80}, Errno(eperm), "NEWTIME"},
	{"unshare", [6]uint64{0x10000400}, Errno(eperm), "NEWUSER with FILES"},
	{"unshare", [6]uint64{0x40000000}, Errno(eperm), "NEWNET"},
	{"unshare", [6]uint64{0x100000}, Errno(eperm), "a flag the kernel may get"},
	{"unshare", [6]uint64{hi | 0x400}, Errno(eperm), "a flag in the upper half"},

	{"ioctl", [6]uint64{0, 0x5401}, Allow, "TCGETS"},
	{"ioctl", [6]uint64{0, 0x5413}, Allow, "TIOCGWINSZ"},
	{"ioctl", [6]uint64{0, 0x5410}, Allow, "TIOCSPGRP"},
	{"ioctl", [6]uint64{0x5412, 0x541b, 0x5412}, Allow, "FIONREAD, the number in other arguments"},
	{"ioctl", [6]uint64{0, 0x80045412}, Allow, "another command that ends in TIOCSTI's number"},
	{"ioctl", [6]uint64{0, 0xc0cccf08}, Errno(eperm), "a command of CIFS, whatever the size of its argument"},
	{"ioctl", [6]uint64{0, 0xcf04}, Errno(eperm), "CIFS_IOC_SET_INTEGRITY"},
	{"ioctl", [6]uint64{0, 0x8004587d}, Errno(eperm), "FS_IOC_SHUTDOWN"},
	{"ioctl", [6]uint64{0, 0xc0045877}, Allow, "FIFREEZE, for which the kernel wants a capability"},
	{"ioctl", [6]uint64{0, 0x40049409}, Allow, "FICLONE"},
	{"ioctl", [6]uint64{0, 0x5412}, Errno(eperm), "TIOCSTI"},
	{"ioctl", [6]uint64{0, hi | 0x5412}, Errno(eperm), "TIOCSTI, upper half set (CVE-2019-10063)"},
	{"ioctl", [6]uint64{0, 0xffffffff00005412}, Errno(eperm), "TIOCSTI, upper half set"},
	{"ioctl", [6]uint64{0, 0x541c}, Errno(eperm), "TIOCLINUX"},
	{"ioctl", [6]uint64{0, hi | 0x541c}, Errno(eperm), "TIOCLINUX, upper half set"},
	{"ioctl", [6]uint64{0, 0x541d}, Errno(eperm), "TIOCCONS"},
	{"ioctl", [6]uint64{0, 0x5423}, Errno(eperm), "TIOCSETD"},
	{"ioctl", [6]uint64{0, 0x5424}, Allow, "TIOCGETD"},
	{"ioctl", [6]uint64{0, 0x50009417}, Errno(eperm), "BTRFS_IOC_SNAP_CREATE_V2"},
	{"ioctl", [6]uint64{0, hi | 0x50009401}, Errno(eperm), "BTRFS_IOC_SNAP_CREATE, upper half set"},
	{"ioctl", [6]uint64{0, 0x5000940e}, Errno(eperm), "BTRFS_IOC_SUBVOL_CREATE"},
	{"ioctl", [6]uint64{0, 0x5000943f}, Errno(eperm), "BTRFS_IOC_SNAP_DESTROY_V2"},
	{"ioctl", [6]uint64{0, 0x40049409}, Allow, "FICLONE, of the same type"},
	{"ioctl", [6]uint64{0, 0x40186f04}, Errno(eperm), "OCFS2_IOC_REFLINK"},
	{"ioctl", [6]uint64{0, 0x4020bc10}, Errno(eperm), "BCH_IOCTL_SUBVOLUME_CREATE"},
	{"ioctl", [6]uint64{0, 0x4020bb10}, Allow, "another type"},

	{"personality", [6]uint64{0}, Allow, "PER_LINUX"},
	{"personality", [6]uint64{8}, Allow, "linux32"},
	{"personality", [6]uint64{0x40000}, Allow, "gdb, setarch -R"},
	{"personality", [6]uint64{0x60008}, Allow, "all three"},
	{"personality", [6]uint64{0xffffffff}, Allow, "read"},
	{"personality", [6]uint64{^uint64(0)}, Allow, "read, as a long"},
	{"personality", [6]uint64{0x400000}, Errno(eperm), "READ_IMPLIES_EXEC"},
	{"personality", [6]uint64{0x100000}, Errno(eperm), "MMAP_PAGE_ZERO"},
	{"personality", [6]uint64{0x440000}, Errno(eperm), "READ_IMPLIES_EXEC with fixed addresses"},
	{"personality", [6]uint64{hi | 0x400000}, Errno(eperm), "upper half set"},
	{"personality", [6]uint64{6}, Errno(eperm), "PER_BSD"},
	{"personality", [6]uint64{0xfffffffe}, Errno(eperm), "nearly read"},

	{"socket", [6]uint64{1, 1}, Allow, "unix stream"},
	{"socket", [6]uint64{hi | 1, 0x80002, 0}, Allow, "unix datagram CLOEXEC, upper half set"},
	{"socket", [6]uint64{2, 1, 0}, Allow, "TCP"},
	{"socket", [6]uint64{2, 0x80801, 6}, Allow, "TCP, CLOEXEC, NONBLOCK"},
	{"socket", [6]uint64{10, 1, 6}, Allow, "TCP6"},
	{"socket", [6]uint64{2, 2, 17}, Allow, "UDP"},
	{"socket", [6]uint64{10, 0x80002, 0}, Allow, "UDP6, CLOEXEC"},
	{"socket", [6]uint64{16, 0x80003, 0}, Allow, "netlink route: RAW is its usual type"},
	{"socket", [6]uint64{16, 3, 9}, Errno(eafnosupport), "netlink audit"},
	{"socket", [6]uint64{16, 3, 12}, Errno(eafnosupport), "netlink netfilter"},
	{"socket", [6]uint64{16, 2, 15}, Errno(eafnosupport), "netlink kobject uevent"},
	{"socket", [6]uint64{2, 3, 1}, Errno(eperm), "raw ICMP"},
	{"socket", [6]uint64{2, 0x80803, 255}, Errno(eperm), "raw IP, CLOEXEC, NONBLOCK"},
	{"socket", [6]uint64{10, 3, 58}, Errno(eperm), "raw ICMPv6"},
	{"socket", [6]uint64{2, 10, 0x0300}, Errno(eperm), "SOCK_PACKET: AF_PACKET by another name"},
	{"socket", [6]uint64{2, 2, 1}, Errno(eprotonosupport), "ping socket"},
	{"socket", [6]uint64{10, 2, 58}, Errno(eprotonosupport), "ping6 socket"},
	{"socket", [6]uint64{2, 1, 262}, Errno(eprotonosupport), "MPTCP"},
	{"socket", [6]uint64{2, 1, 132}, Errno(eprotonosupport), "SCTP"},
	{"socket", [6]uint64{10, 5, 132}, Errno(eprotonosupport), "SCTP, SEQPACKET"},
	{"socket", [6]uint64{2, 6, 33}, Errno(eprotonosupport), "DCCP"},
	{"socket", [6]uint64{2, 2, 6}, Errno(eprotonosupport), "datagram with TCP's number"},
	{"socket", [6]uint64{2, 1, 256}, Errno(eprotonosupport), "SMC by protocol"},
	{"socket", [6]uint64{0, 1}, Errno(eafnosupport), "UNSPEC"},
	{"socket", [6]uint64{17, 3, 0x0300}, Errno(eafnosupport), "PACKET"},
	{"socket", [6]uint64{38, 5}, Errno(eafnosupport), "ALG"},
	{"socket", [6]uint64{40, 1}, Errno(eafnosupport), "VSOCK"},
	{"socket", [6]uint64{hi | 40, 1}, Errno(eafnosupport), "VSOCK, upper half set"},
	{"socket", [6]uint64{31, 3, 1}, Errno(eafnosupport), "BLUETOOTH"},
	{"socket", [6]uint64{44, 3}, Errno(eafnosupport), "XDP"},
	{"socket", [6]uint64{43, 1}, Errno(eafnosupport), "SMC"},
	{"socket", [6]uint64{30, 1}, Errno(eafnosupport), "TIPC"},

	{"socketpair", [6]uint64{1, 1}, Allow, "unix"},
	{"socketpair", [6]uint64{30, 1}, Errno(eafnosupport), "TIPC"},
	{"socketpair", [6]uint64{2, 1}, Errno(eafnosupport), "INET"},

	{"mknod", [6]uint64{0, 0o010644}, Allow, "pipe"},
	{"mknod", [6]uint64{0, 0o100644}, Allow, "file"},
	{"mknod", [6]uint64{0, 0o140755}, Allow, "socket"},
	{"mknod", [6]uint64{0, 0o020666}, Errno(eperm), "character device"},
	{"mknod", [6]uint64{0, 0o060660}, Errno(eperm), "block device"},
	{"mknod", [6]uint64{0, 0xffff0000 | 0o060660}, Errno(eperm), "block device; the mode is 16 bits"},
	{"mknodat", [6]uint64{0, 0o060660, 0o010644}, Allow, "pipe"},
	{"mknodat", [6]uint64{0, 0, 0o020666}, Errno(eperm), "character device"},
	{"mknodat", [6]uint64{0, 0, 0o060660}, Errno(eperm), "block device"},
}

func TestBaseArguments(t *testing.T) {
	tested := map[string]map[bool]bool{}
	for _, a := range Arches {
		m := compiled(t, Base(), a)
		for _, tc := range baseArguments {
			nr, has := Number(tc.call, a)
			if !has {
				if a.Name == "amd64" {
					t.Errorf("no call %q", tc.call)
				}
				continue
			}
			if got := m.verdict(t, Call{a.Audit, nr, tc.args}); got != tc.want {
				t.Errorf("%s %s, %s: %v, want %v", a.Name, tc.call, tc.why, got, tc.want)
			}
			if tested[tc.call] == nil {
				tested[tc.call] = map[bool]bool{}
			}
			tested[tc.call][tc.want == Allow] = true
		}
	}
	for _, r := range Base().Rules {
		for _, n := range strings.Fields(r.Calls) {
			if len(r.Cases) > 0 && len(tested[n]) != 2 {
				t.Errorf("%s looks at arguments and has no pair of tests", n)
			}
		}
	}
}

func TestNoInet(t *testing.T) {
	for _, a := range Arches {
		m := compiled(t, NoInet(), a)
		socket, _ := Number("socket", a)
		pair, _ := Number("socketpair", a)
		for family := range uint64(64) {
			want := Errno(eacces)
			if family == afUnix {
				want = Allow
			}
			for _, nr := range []uint32{socket, pair} {
				for _, f := range []uint64{family, hi | family} {
					if got := m.verdict(t, Call{a.Audit, nr, [6]uint64{f, 1}}); got != want {
						t.Errorf("%s call %d family %#x: %v, want %v", a.Name, nr, f, got, want)
					}
				}
			}
		}
		for nr := range uint32(1000) {
			if nr != socket && nr != pair {
				if got := m.verdict(t, Call{a.Audit, nr, [6]uint64{2, 1}}); got != Allow {
					t.Errorf("%s call %d: %v", a.Name, nr, got)
				}
			}
		}
	}
}

// Numbers and architectures that are not the filter's own (A92).
func TestForeignCalls(t *testing.T) {
	const i386, arm = 0x40000003, 0x40000028
	for _, f := range Filters() {
		for _, a := range Arches {
			m := compiled(t, f, a)
			for _, other := range []uint32{0, i386, arm, Arches[0].Audit, Arches[1].Audit, a.Audit ^ 1<<31, 0xffffffff} {
				if other == a.Audit {
					continue
				}
				for _, nr := range []uint32{0, 1, 41, 63, 102, 359, skipped} {
					if got := m.verdict(t, Call{other, nr, [6]uint64{1, 1}}); got != KillProcess {
						t.Errorf("%s %s: call %d of architecture %#x: %v", f.Name, a.Name, nr, other, got)
					}
				}
			}
			for nr, want := range map[uint32]Action{
				0x40000000: Errno(enosys), 0x40000000 | 41: Errno(enosys), 0x40000000 | 540: Errno(enosys),
				0x80000000: Errno(enosys), 0xc0000001: Errno(enosys), 0xfffffffe: Errno(enosys),
				0xffffffff: Allow,
				472:        f.Unknown, 512: f.Unknown, 547: f.Unknown, 400: f.Unknown, 0x3fffffff: f.Unknown,
			} {
				if got := m.verdict(t, Call{a.Audit, nr, [6]uint64{1, 1}}); got != want {
					t.Errorf("%s %s: call %#x: %v, want %v", f.Name, a.Name, nr, got, want)
				}
			}
		}
	}
	if Base().Unknown != Errno(enosys) {
		t.Error("Base must not let through calls that nobody judged")
	}
}
