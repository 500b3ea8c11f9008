//go:build linux

package stage

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MinLandlock is the oldest Landlock that the weaker mode accepts: before it
// (Linux 6.2) any file could be cut to nothing.
const MinLandlock = 3

// Versions of Landlock's interface from which on it can do more.
const (
	landlockTCP    = 4 // Linux 6.7
	landlockIoctl  = 5 // Linux 6.10
	LandlockSignal = 6 // Linux 6.12: signals stay inside
)

const (
	landRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// Device nodes are made by nobody here.
	landWrite = landRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	landDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// landFile are the rights that the kernel accepts for what is no folder.
	landFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | landDevice
)

// LandlockABI is the version of Landlock that this kernel has.
func LandlockABI() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// handled is what Landlock is to refuse unless a rule allows it: all it can.
func handled(abi int) (a unix.LandlockRulesetAttr) {
	a.Handled_access_fs = landWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	if abi >= landlockTCP {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= landlockIoctl {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= LandlockSignal {
		a.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return a
}

func createRuleset(a unix.LandlockRulesetAttr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0)
	if errno != 0 {
		return -1, fmt.Errorf("make Landlock rules: %w", errno)
	}
	return int(fd), nil
}

func addRule(ruleset, fd int, access uint64) error {
	a := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&a)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// restrictSelf confines the calling thread, and what it starts, for good.
func restrictSelf(ruleset int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("apply Landlock rules: %w", errno)
	}
	return nil
}

// nest puts the calling thread, and what it starts, one domain below its own.
// All that it may do to files stays the same. But it can no longer look into
// what stays in the domain above, nor, from LandlockSignal on, signal it.
func nest(abi int) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER}
	if abi >= LandlockSignal {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
	}
	ruleset, err := createRuleset(attr)
	if err != nil {
		return err
	}
	defer unix.Close(ruleset)
	// Every domain refuses moves between folders unless it allows them, one that
	// only keeps signals inside too.
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = addRule(ruleset, root, unix.LANDLOCK_ACCESS_FS_REFER)
		_ = unix.Close(root)
	}
	if err != nil {
		return fmt.Errorf("make Landlock rules: %w", err)
	}
	return restrictSelf(ruleset)
}

// ScopeSignals keeps the signals of the calling thread, and of all that it
// starts, among themselves; nothing else is confined. The stage of the weaker
// mode is started from such a thread: kill(-1) then means exactly what it and
// the command started, in one step that no fork can outrun.
func ScopeSignals() error { return nest(LandlockSignal) }
