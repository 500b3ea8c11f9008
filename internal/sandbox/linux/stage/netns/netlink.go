//go:build linux

package netns

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const loIndex = 1 // in every fresh namespace

// batch is a list of netlink requests, sent at once and done in order. The
// kernel answers the last one, and those that fail.
type batch struct {
	buf   []byte
	steps []step
	start int // of the last request
}

type step struct {
	what string
	may  unix.Errno // the failure that does not matter, or 0
}

func (b *batch) begin(kind, flags uint16, s step) {
	b.start = len(b.buf)
	b.steps = append(b.steps, s)
	b.u32(0) // length, by end
	b.u16(kind)
	b.u16(flags | unix.NLM_F_REQUEST)
	b.u32(uint32(len(b.steps))) // sequence number
	b.u32(0)
}

func (b *batch) end() { binary.NativeEndian.PutUint32(b.buf[b.start:], uint32(len(b.buf)-b.start)) }

func (b *batch) u16(v uint16) { b.buf = binary.NativeEndian.AppendUint16(b.buf, v) }
func (b *batch) u32(v uint32) { b.buf = binary.NativeEndian.AppendUint32(b.buf, v) }

// attr appends an attribute; its data ends on a multiple of four.
func (b *batch) attr(kind uint16, data ...byte) {
	b.u16(uint16(unix.SizeofRtAttr + len(data)))
	b.u16(kind)
	b.buf = append(b.buf, data...)
	for len(b.buf)%4 != 0 {
		b.buf = append(b.buf, 0)
	}
}

func native(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// linkUp switches an interface on, with an MTU unless that is 0.
func (b *batch) linkUp(index, mtu int) {
	b.begin(unix.RTM_NEWLINK, 0, step{what: "bring up an interface"})
	b.ifinfo(index, unix.IFF_UP)
	if mtu != 0 {
		b.attr(unix.IFLA_MTU, native(uint32(mtu))...)
	}
	b.end()
}

// noLinkLocal keeps the kernel from giving a device an IPv6 address of its
// own when it comes up: with none, and no route, connects by IPv6 fail at
// once with "network is unreachable". A kernel without IPv6 needs no telling.
func (b *batch) noLinkLocal(index int) {
	const (
		inet6AddrGenMode = 8 // IFLA_INET6_ADDR_GEN_MODE
		addrGenModeNone  = 1
	)
	b.begin(unix.RTM_NEWLINK, 0, step{"leave IPv6 off", unix.EAFNOSUPPORT})
	b.ifinfo(index, 0)
	b.u16(16)
	b.u16(unix.IFLA_AF_SPEC | unix.NLA_F_NESTED)
	b.u16(12)
	b.u16(unix.AF_INET6 | unix.NLA_F_NESTED)
	b.attr(inet6AddrGenMode, addrGenModeNone)
	b.end()
}

func (b *batch) ifinfo(index int, up uint32) {
	b.u32(unix.AF_UNSPEC) // family, padding, device type
	b.u32(uint32(index))
	b.u32(up)
	b.u32(up) // which flags to change
}

func (b *batch) address(index int, a [4]byte) {
	b.begin(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, step{what: "add the resolver's address"})
	b.buf = append(b.buf, unix.AF_INET, 32, 0, unix.RT_SCOPE_UNIVERSE)
	b.u32(uint32(index))
	b.attr(unix.IFA_LOCAL, a[:]...)
	b.attr(unix.IFA_ADDRESS, a[:]...)
	b.end()
}

func (b *batch) defaultRoute(index int, src [4]byte) {
	b.begin(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, step{what: "add the route to the device"})
	b.buf = append(b.buf, unix.AF_INET, 0, 0, 0, // destination and source of any length, any service
		unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_LINK, unix.RTN_UNICAST)
	b.u32(0)
	b.attr(unix.RTA_OIF, native(uint32(index))...)
	b.attr(unix.RTA_PREFSRC, src[:]...)
	b.end()
}

// localRoute makes every address that has no route of its own a local one.
// Connections to them come from src.
func (b *batch) localRoute(src [4]byte) {
	b.begin(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, step{what: "make every address local"})
	b.buf = append(b.buf, unix.AF_INET, 0, 0, 0,
		unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL)
	b.u32(0)
	b.attr(unix.RTA_OIF, native(loIndex)...)
	b.attr(unix.RTA_PREFSRC, src[:]...)
	b.end()
}

// run sends the batch and waits for the kernel, which works it off within
// the call that sends.
func (b *batch) run(protocol int) error {
	last := b.buf[b.start:]
	binary.NativeEndian.PutUint16(last[6:], binary.NativeEndian.Uint16(last[6:])|unix.NLM_F_ACK)
	fd, err := socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return fmt.Errorf("open a netlink socket: %w", err)
	}
	defer closeFD(fd)
	kernel := unix.RawSockaddrNetlink{Family: unix.AF_NETLINK}
	n, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b.buf[0])), uintptr(len(b.buf)), 0,
		uintptr(unsafe.Pointer(&kernel)), unsafe.Sizeof(kernel))
	if e != 0 {
		return fmt.Errorf("set up the network: %w", e)
	}
	if int(n) != len(b.buf) {
		return fmt.Errorf("set up the network: %w", unix.EIO)
	}
	var reply [1024]byte
	for {
		n, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&reply[0])), uintptr(len(reply)), 0, 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return fmt.Errorf("set up the network: no answer: %w", e)
		}
		seq, errno, ok := parseReply(reply[:n])
		if !ok || seq < 1 || int(seq) > len(b.steps) {
			return fmt.Errorf("set up the network: unexpected answer: %w", unix.EPROTO)
		}
		s := b.steps[seq-1]
		if errno != 0 && errno != s.may {
			return fmt.Errorf("%s: %w", s.what, errno)
		}
		if int(seq) == len(b.steps) {
			return nil
		}
	}
}

// parseReply reads an NLMSG_ERROR; error 0 means done.
func parseReply(m []byte) (seq uint32, errno unix.Errno, ok bool) {
	if len(m) < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(m[4:]) != unix.NLMSG_ERROR {
		return 0, 0, false
	}
	code := int32(binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN:]))
	return binary.NativeEndian.Uint32(m[8:]), unix.Errno(-code), code <= 0
}
