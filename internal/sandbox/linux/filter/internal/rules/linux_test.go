//go:build linux

package rules

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestConstantsEqualXSys(t *testing.T) {
	for _, c := range []struct {
		name       string
		have, want uint64
	}{
		{"EPERM", eperm, uint64(unix.EPERM)},
		{"EACCES", eacces, uint64(unix.EACCES)},
		{"ENOSYS", enosys, uint64(unix.ENOSYS)},
		{"EPROTONOSUPPORT", eprotonosupport, uint64(unix.EPROTONOSUPPORT)},
		{"EOPNOTSUPP", eopnotsupp, uint64(unix.EOPNOTSUPP)},
		{"EAFNOSUPPORT", eafnosupport, uint64(unix.EAFNOSUPPORT)},
		{"CLONE_VM", cloneVM, unix.CLONE_VM},
		{"CLONE_FS", cloneFS, unix.CLONE_FS},
		{"CLONE_FILES", cloneFiles, unix.CLONE_FILES},
		{"CLONE_SIGHAND", cloneSighand, unix.CLONE_SIGHAND},
		{"CLONE_THREAD", cloneThread, unix.CLONE_THREAD},
		{"CLONE_NEWNS", cloneNewNS, unix.CLONE_NEWNS},
		{"CLONE_SYSVSEM", cloneSysvsem, unix.CLONE_SYSVSEM},
		{"CLONE_NEWCGROUP", cloneNewCgroup, unix.CLONE_NEWCGROUP},
		{"CLONE_NEWUTS", cloneNewUTS, unix.CLONE_NEWUTS},
		{"CLONE_NEWIPC", cloneNewIPC, unix.CLONE_NEWIPC},
		{"CLONE_NEWUSER", cloneNewUser, unix.CLONE_NEWUSER},
		{"CLONE_NEWPID", cloneNewPID, unix.CLONE_NEWPID},
		{"CLONE_NEWNET", cloneNewNet, unix.CLONE_NEWNET},
		{"TIOCSTI", tiocsti, unix.TIOCSTI},
		{"TIOCLINUX", tioclinux, unix.TIOCLINUX},
		{"TIOCCONS", tioccons, unix.TIOCCONS},
		{"TIOCSETD", tiocsetd, unix.TIOCSETD},
		{"FS_IOC_ADD_ENCRYPTION_KEY", fscryptAddKey, unix.FS_IOC_ADD_ENCRYPTION_KEY},
		{"FS_IOC_REMOVE_ENCRYPTION_KEY", fscryptRemoveKey, unix.FS_IOC_REMOVE_ENCRYPTION_KEY},
		{"FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS", fscryptRemoveKeyAll, unix.FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS},
		{"BTRFS_IOC_SNAP_CREATE", btrfsSnapCreate, btrfs(1)},
		{"BTRFS_IOC_SUBVOL_CREATE", btrfsSubvolCreate, btrfs(14)},
		{"BTRFS_IOC_SNAP_DESTROY", btrfsSnapDestroy, btrfs(15)},
		{"BTRFS_IOC_SNAP_CREATE_V2", btrfsSnapCreateV2, btrfs(23)},
		{"BTRFS_IOC_SUBVOL_CREATE_V2", btrfsSubvolCreateV2, btrfs(24)},
		{"BTRFS_IOC_SNAP_DESTROY_V2", btrfsSnapDestroyV2, btrfs(63)},
		{"type byte of CIFS_IOC_SET_INTEGRITY", cifs, 0xcf04 & ioctlType},
		{"FS_IOC_SETFLAGS", fsSetFlags, unix.FS_IOC_SETFLAGS},
		{"FS_IOC_SHUTDOWN", fsShutdown, 2<<30 | 4<<16 | 'X'<<8 | 125},
		{"AF_UNIX", afUnix, unix.AF_UNIX},
		{"AF_INET", afInet, unix.AF_INET},
		{"AF_INET6", afInet6, unix.AF_INET6},
		{"AF_NETLINK", afNetlink, unix.AF_NETLINK},
		{"SOCK_STREAM", sockStream, unix.SOCK_STREAM},
		{"SOCK_DGRAM", sockDgram, unix.SOCK_DGRAM},
		{"SOCK_RAW", sockRaw, unix.SOCK_RAW},
		{"SOCK_PACKET", sockPacket, unix.SOCK_PACKET},
		{"no SOCK flag in the type mask", sockTypeMask & (unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK), 0},
		{"IPPROTO_IP", protoDefault, unix.IPPROTO_IP},
		{"IPPROTO_TCP", protoTCP, unix.IPPROTO_TCP},
		{"IPPROTO_UDP", protoUDP, unix.IPPROTO_UDP},
		{"NETLINK_ROUTE", netlinkRoute, unix.NETLINK_ROUTE},
		{"O_WRONLY", oWronly, unix.O_WRONLY},
		{"O_RDWR", oRdwr, unix.O_RDWR},
		{"O_CREAT", oCreat, unix.O_CREAT},
		{"O_TRUNC", oTrunc, unix.O_TRUNC},
		{"O_PATH", oPath, unix.O_PATH},
		{"S_IFMT", sIFMT, unix.S_IFMT},
		{"S_IFCHR", sIFCHR, unix.S_IFCHR},
		{"S_IFBLK", sIFBLK, unix.S_IFBLK},
		{"AUDIT_ARCH_X86_64", uint64(Arches[0].Audit), unix.AUDIT_ARCH_X86_64},
		{"AUDIT_ARCH_AARCH64", uint64(Arches[1].Audit), unix.AUDIT_ARCH_AARCH64},
		{"SECCOMP_RET_ALLOW", uint64(Allow), unix.SECCOMP_RET_ALLOW},
		{"SECCOMP_RET_USER_NOTIF", uint64(Notify), unix.SECCOMP_RET_USER_NOTIF},
		{"SECCOMP_RET_KILL_PROCESS", uint64(KillProcess), unix.SECCOMP_RET_KILL_PROCESS},
		{"SECCOMP_RET_ERRNO", uint64(actionErrno), unix.SECCOMP_RET_ERRNO},
	} {
		if c.have != c.want {
			t.Errorf("%s is %#x, not %#x", c.name, c.want, c.have)
		}
	}
}

// btrfs is _IOW(BTRFS_IOCTL_MAGIC, nr, of 4096 bytes).
func btrfs(nr uint64) uint64 { return 1<<30 | 4096<<16 | 0x94<<8 | nr }
