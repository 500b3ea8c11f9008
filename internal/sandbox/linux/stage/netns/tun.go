//go:build linux

package netns

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ifreq is the kernel's struct ifreq, 40 bytes.
type ifreq struct {
	name  [unix.IFNAMSIZ]byte
	value uint32 // flags (its first two bytes) or index
	_     [20]byte
}

func ioctl(fd int, request uint, arg *ifreq) error {
	_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(arg)))
	_, err := result(0, e)
	return err
}

func ioctlInt(fd int, request uint, arg uintptr) error {
	_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), arg)
	_, err := result(0, e)
	return err
}

func open(path string, flags int) (int, error) {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	dir := unix.AT_FDCWD
	r, _, e := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
	return result(r, e)
}

// noDevice is why there is no device here; the rest of the network can do
// without.
type noDevice struct{ err error }

func (e *noDevice) Error() string { return fmt.Sprintf("no TUN device: %v", e.err) }
func (e *noDevice) Unwrap() error { return e.err }

func missing(err error) bool {
	var e *noDevice
	return errors.As(err, &e)
}

// openTUN opens the device's file, which belongs to this thread's network
// namespace then.
func openTUN(node int) (fd int, err error) {
	path := "/dev/net/tun"
	if node != 0 {
		path = "/proc/self/fd/" + strconv.Itoa(node)
	}
	if fd, err = open(path, unix.O_RDWR|unix.O_NONBLOCK); err != nil {
		return -1, &noDevice{fmt.Errorf("open /dev/net/tun: %w", err)}
	}
	return fd, nil
}

// configureTUN makes the device and returns its interface index.
func configureTUN(fd int) (index int, err error) {
	req := ifreq{}
	copy(req.name[:], Device)
	*(*uint16)(unsafe.Pointer(&req.value)) = unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR
	if err := ioctl(fd, unix.TUNSETIFF, &req); err != nil {
		return 0, &noDevice{fmt.Errorf("TUNSETIFF: %w", err)}
	}
	// Unless it persists, closing the device waits 11-35 ms for an RCU grace
	// period. So the kernel ends it with its namespace, in the background.
	if err := ioctlInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		return 0, fmt.Errorf("keep the TUN device: %w", err)
	}
	const csum, tso4 = 1, 2 // TUN_F_CSUM, TUN_F_TSO4
	if err := ioctlInt(fd, unix.TUNSETOFFLOAD, csum|tso4); err != nil {
		return 0, fmt.Errorf("leave segmentation to the TUN device: %w", err)
	}
	s, err := socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return 0, fmt.Errorf("find the TUN device: %w", err)
	}
	defer closeFD(s)
	req.value = 0
	if err := ioctl(s, unix.SIOCGIFINDEX, &req); err != nil {
		return 0, fmt.Errorf("find the TUN device: %w", err)
	}
	return int(req.value), nil
}

// setSynRetries sets the namespace's own value. The command may read it but
// has no capability to change it.
func setSynRetries() error {
	fd, err := open("/proc/sys/net/ipv4/tcp_syn_retries", unix.O_WRONLY)
	if err != nil {
		return fmt.Errorf("raise net.ipv4.tcp_syn_retries: %w", err)
	}
	defer closeFD(fd)
	text := strconv.AppendInt(nil, SynRetries, 10)
	if _, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&text[0])), uintptr(len(text))); e != 0 {
		return fmt.Errorf("raise net.ipv4.tcp_syn_retries: %w", e)
	}
	return nil
}
