package transparent

import "encoding/binary"

// Packets come from the sandbox's own kernel: nothing inside has the raw
// sockets that would let it write one. They are checked all the same, and
// what is odd is dropped.

// vnetLen is the length of the virtio_net_hdr before each packet. It leaves
// checksums and the cutting into segments to whoever reads the packet, so
// that a reflected one needs neither.
const vnetLen = 10

const (
	vnetNeedsCsum = 1 // flags: the checksum covers the pseudo header only
	vnetDataValid = 2 // flags: it was checked
	vnetTCP4      = 1 // segmentation type
	vnetECN       = 0x80
)

const (
	icmpProtocol = 1
	tcpProtocol  = 6
	udpProtocol  = 17

	ipLen  = 20
	tcpLen = 20
	udpLen = 8

	flagFIN = 1
	flagSYN = 2
	flagRST = 4
	flagACK = 16

	defaultTTL = 64
)

type ipv4 = [4]byte

// packet is a view of one well-formed IPv4 packet.
type packet struct {
	buf              []byte // the virtio_net_hdr and the packet
	ip, transport    []byte
	protocol         byte
	src, dst         ipv4
	srcPort, dstPort uint16 // TCP and UDP
	flags            byte   // TCP
	options          bool   // in the IP header: source routes and the like
	partial          bool   // the transport's checksum is vnetNeedsCsum's
}

// parse checks what every packet must have; false drops it. Bad transport
// checksums are left to validSum: rewriting keeps them bad.
func parse(buf []byte) (packet, bool) {
	if len(buf) < vnetLen+ipLen {
		return packet{}, false
	}
	vnet, ip := buf[:vnetLen], buf[vnetLen:]
	header := int(ip[0]&15) * 4
	if ip[0]>>4 != 4 || header < ipLen || header > len(ip) || int(binary.BigEndian.Uint16(ip[2:])) != len(ip) {
		return packet{}, false
	}
	if binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 { // a fragment
		return packet{}, false
	}
	if fold(sum(ip[:header], 0)) != 0xffff {
		return packet{}, false
	}
	p := packet{
		buf: buf, ip: ip, transport: ip[header:], protocol: ip[9],
		src: ipv4(ip[12:16]), dst: ipv4(ip[16:20]), options: header > ipLen,
		partial: vnet[0]&vnetNeedsCsum != 0,
	}
	if p.dst[0] == 0 || p.dst[0] == 127 || p.dst[0] >= 224 {
		return packet{}, false // nowhere, loopback, multicast, broadcast: none may be answered
	}
	sumAt := 0
	switch p.protocol {
	case tcpProtocol:
		if len(p.transport) < tcpLen {
			return packet{}, false
		}
		if n := int(p.transport[12]>>4) * 4; n < tcpLen || n > len(p.transport) {
			return packet{}, false
		}
		p.flags, sumAt = p.transport[13], 16
	case udpProtocol:
		if len(p.transport) < udpLen || int(binary.BigEndian.Uint16(p.transport[4:])) != len(p.transport) {
			return packet{}, false
		}
		sumAt = 6
	}
	if sumAt != 0 {
		p.srcPort, p.dstPort = binary.BigEndian.Uint16(p.transport), binary.BigEndian.Uint16(p.transport[2:])
	}
	return p, validVnet(vnet, header, sumAt, p.protocol)
}

// validVnet reports whether the kernel's notes on a packet fit what it is.
// They go back with it.
func validVnet(vnet []byte, header, sumAt int, protocol byte) bool {
	flags, gso := vnet[0], vnet[1]&^vnetECN
	if flags&^(vnetNeedsCsum|vnetDataValid) != 0 {
		return false
	}
	if flags&vnetNeedsCsum != 0 && (sumAt == 0 ||
		int(binary.NativeEndian.Uint16(vnet[6:])) != header || int(binary.NativeEndian.Uint16(vnet[8:])) != sumAt) {
		return false
	}
	return gso == 0 || gso == vnetTCP4 && protocol == tcpProtocol && flags&vnetNeedsCsum != 0
}

// validSum verifies the checksum of a TCP or UDP packet that is acted upon
// here rather than passed on.
func (p *packet) validSum() bool {
	if p.partial {
		return true // not made yet
	}
	if p.protocol == udpProtocol && binary.BigEndian.Uint16(p.transport[6:]) == 0 {
		return true // none
	}
	return fold(sum(p.transport, p.pseudo())) == 0xffff
}

// pseudo is the sum of the pseudo header.
func (p *packet) pseudo() uint64 {
	return sum(p.ip[12:20], uint64(p.protocol)+uint64(len(p.transport)))
}

func (p *packet) seq() uint32     { return binary.BigEndian.Uint32(p.transport[4:]) }
func (p *packet) ack() uint32     { return binary.BigEndian.Uint32(p.transport[8:]) }
func (p *packet) payload() []byte { return p.transport[int(p.transport[12]>>4)*4:] }

// rewrite gives a TCP packet other ends. The checksums are updated by the
// difference (RFC 1624), so that damage stays visible.
func (p *packet) rewrite(src ipv4, srcPort uint16, dst ipv4, dstPort uint16) {
	var addrs [8]byte
	copy(addrs[:4], src[:])
	copy(addrs[4:], dst[:])
	var ports [4]byte
	binary.BigEndian.PutUint16(ports[:], srcPort)
	binary.BigEndian.PutUint16(ports[2:], dstPort)

	ipSum, tcpSum := p.ip[10:12], p.transport[16:18]
	replaceSum(ipSum, difference(p.ip[12:20], addrs[:]))
	if p.partial {
		// Only the pseudo header's sum is there, and not complemented.
		v := ^binary.BigEndian.Uint16(tcpSum)
		binary.BigEndian.PutUint16(tcpSum, v)
		replaceSum(tcpSum, difference(p.ip[12:20], addrs[:]))
		binary.BigEndian.PutUint16(tcpSum, ^binary.BigEndian.Uint16(tcpSum))
	} else {
		replaceSum(tcpSum, difference(p.ip[12:20], addrs[:])+difference(p.transport[:4], ports[:]))
	}
	copy(p.ip[12:20], addrs[:])
	copy(p.transport[:4], ports[:])
	p.src, p.dst, p.srcPort, p.dstPort = src, dst, srcPort, dstPort
}

// difference is the sum of ^old and new, of equal and even length.
func difference(old, new []byte) uint64 {
	var s uint64
	for i := 0; i+1 < len(old); i += 2 {
		s += uint64(^binary.BigEndian.Uint16(old[i:])) + uint64(binary.BigEndian.Uint16(new[i:]))
	}
	return s
}

func replaceSum(field []byte, diff uint64) {
	binary.BigEndian.PutUint16(field, ^fold(uint64(^binary.BigEndian.Uint16(field))+diff))
}

// reset answers a TCP packet as a closed port does (RFC 9293, 3.10.7.1).
func (p *packet) reset() []byte {
	buf := reply(p, tcpProtocol, tcpLen)
	t := buf[vnetLen+ipLen:]
	copy(t[0:2], p.transport[2:4])
	copy(t[2:4], p.transport[0:2])
	t[12], t[13] = tcpLen/4<<4, flagRST
	if p.flags&flagACK != 0 {
		binary.BigEndian.PutUint32(t[4:], p.ack())
	} else {
		n := uint32(len(p.payload()))
		n += uint32(p.flags&flagSYN)>>1 + uint32(p.flags&flagFIN)
		t[13] |= flagACK
		binary.BigEndian.PutUint32(t[8:], p.seq()+n)
	}
	finishSum(buf, 16)
	return buf
}

// ICMP codes of "destination unreachable".
const (
	unreachableProtocol = 2
	unreachablePort     = 3
)

// unreachable tells the sender that nothing takes its packet: connect(2) or
// send(2) fails with "connection refused" or "protocol not available".
func (p *packet) unreachable(code byte) []byte {
	quote := p.ip[:min(len(p.ip), len(p.ip)-len(p.transport)+8)]
	buf := reply(p, icmpProtocol, 8+len(quote))
	t := buf[vnetLen+ipLen:]
	t[0], t[1] = 3, code
	copy(t[8:], quote)
	binary.BigEndian.PutUint16(t[2:], ^fold(sum(t, 0)))
	return buf
}

// datagram answers a UDP packet with data of at most 65507 bytes.
func (p *packet) datagram(data []byte) []byte {
	buf := reply(p, udpProtocol, udpLen+len(data))
	t := buf[vnetLen+ipLen:]
	copy(t[0:2], p.transport[2:4])
	copy(t[2:4], p.transport[0:2])
	binary.BigEndian.PutUint16(t[4:], uint16(len(t)))
	copy(t[udpLen:], data)
	finishSum(buf, 6)
	return buf
}

// reply makes a packet from p's destination to its source, complete but for
// the transport of n bytes.
func reply(p *packet, protocol byte, n int) []byte {
	buf := make([]byte, vnetLen+ipLen+n)
	ip := buf[vnetLen:]
	ip[0] = 4<<4 | ipLen/4
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[8], ip[9] = defaultTTL, protocol
	copy(ip[12:16], p.dst[:])
	copy(ip[16:20], p.src[:])
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip[:ipLen], 0)))
	return buf
}

// finishSum fills in the checksum of a TCP or UDP packet that reply began.
func finishSum(buf []byte, at int) {
	ip := buf[vnetLen:]
	t := ip[ipLen:]
	s := ^fold(sum(t, sum(ip[12:20], uint64(ip[9])+uint64(len(t)))))
	if s == 0 && at == 6 {
		s = 0xffff // in UDP, 0 means none
	}
	binary.BigEndian.PutUint16(t[at:], s)
}

// sum adds 16-bit words; it cannot overflow with less than 2^48 of them.
func sum(b []byte, s uint64) uint64 {
	for len(b) >= 2 {
		s += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	return s
}

func fold(s uint64) uint16 {
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
