package transparent

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// onesSum is the Internet checksum's sum, done the slow way.
func onesSum(parts ...[]byte) uint16 {
	all := bytes.Join(parts, nil)
	if len(all)%2 == 1 {
		all = append(all, 0)
	}
	var s uint32
	for i := 0; i < len(all); i += 2 {
		s += uint32(all[i])<<8 + uint32(all[i+1])
		if s > 0xffff {
			s -= 0xffff
		}
	}
	return uint16(s)
}

func pseudoHeader(ip []byte) []byte {
	n := len(ip) - int(ip[0]&15)*4
	return append(append([]byte{}, ip[12:20]...), 0, ip[9], byte(n>>8), byte(n))
}

// sound reports whether a packet's header is what it must be, and whether the
// transport's checksum is.
func sound(t testing.TB, buf []byte) (transport bool) {
	t.Helper()
	ip := buf[vnetLen:]
	n := int(ip[0]&15) * 4
	if ip[0]>>4 != 4 || n < ipLen || n > len(ip) || int(binary.BigEndian.Uint16(ip[2:])) != len(ip) {
		t.Fatalf("malformed packet % x", buf)
	}
	if onesSum(ip[:n]) != 0xffff {
		t.Fatalf("wrong header checksum in % x", buf)
	}
	switch ip[9] {
	case icmpProtocol:
		return onesSum(ip[n:]) == 0xffff
	case udpProtocol:
		if ip[n+6] == 0 && ip[n+7] == 0 {
			return true
		}
		return onesSum(pseudoHeader(ip), ip[n:]) == 0xffff
	}
	if buf[0]&vnetNeedsCsum != 0 {
		// 0 and 0xffff are the same sum.
		got, want := binary.BigEndian.Uint16(ip[n+16:]), onesSum(pseudoHeader(ip))
		return got == want || got%0xffff == 0 && want%0xffff == 0
	}
	return onesSum(pseudoHeader(ip), ip[n:]) == 0xffff
}

// repair gives a packet the lengths and checksums that it lacks.
func repair(buf []byte) {
	if len(buf) < vnetLen+ipLen {
		return
	}
	ip := buf[vnetLen:]
	ip[0] = 4<<4 | max(5, min(ip[0]&15, 6))
	n := int(ip[0]&15) * 4
	if len(ip) < n {
		return
	}
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[6], ip[7] = 0, 0
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^onesSum(ip[:n]))
	at := map[byte]int{tcpProtocol: 16, udpProtocol: 6}[ip[9]]
	t := ip[n:]
	if at == 0 || len(t) < at+2 {
		buf[0], buf[1] = 0, 0
		return
	}
	if ip[9] == udpProtocol {
		binary.BigEndian.PutUint16(t[4:], uint16(len(t)))
	}
	t[at], t[at+1] = 0, 0
	if buf[0]&1 != 0 {
		buf[0], buf[1] = vnetNeedsCsum, buf[1]&vnetECN
		if ip[9] == tcpProtocol {
			buf[1] |= vnetTCP4
		}
		binary.NativeEndian.PutUint16(buf[6:], uint16(n))
		binary.NativeEndian.PutUint16(buf[8:], uint16(at))
		binary.BigEndian.PutUint16(t[at:], onesSum(pseudoHeader(ip)))
		return
	}
	buf[0], buf[1] = 0, 0
	binary.BigEndian.PutUint16(t[at:], ^onesSum(pseudoHeader(ip), t))
}

// made is a packet as the kernel would send it.
func made(protocol byte, src, dst ipv4, srcPort, dstPort uint16, flags byte, partial byte, payload string) []byte {
	n := map[byte]int{tcpProtocol: tcpLen, udpProtocol: udpLen}[protocol]
	buf := make([]byte, vnetLen+ipLen+n, 200)
	buf[0] = partial
	ip := buf[vnetLen:]
	ip[0], ip[8], ip[9] = 0x45, 64, protocol
	copy(ip[12:], src[:])
	copy(ip[16:], dst[:])
	if n > 0 {
		binary.BigEndian.PutUint16(ip[ipLen:], srcPort)
		binary.BigEndian.PutUint16(ip[ipLen+2:], dstPort)
	}
	if protocol == tcpProtocol {
		ip[ipLen+7], ip[ipLen+12], ip[ipLen+13] = 9, tcpLen/4<<4, flags
	}
	buf = append(buf, payload...)
	repair(buf)
	return buf
}

var (
	inside = ipv4{198, 18, 0, 1}
	far    = ipv4{198, 18, 7, 9}
)

func seedPackets() [][]byte {
	var out [][]byte
	for _, partial := range []byte{0, 1} {
		out = append(out,
			made(tcpProtocol, inside, far, 40000, 443, flagSYN, partial, ""),
			made(tcpProtocol, inside, far, 40000, 443, flagACK, partial, "odd"),
			made(tcpProtocol, inside, far, 40000, 443, flagRST|flagACK, partial, "x"),
			made(udpProtocol, inside, far, 40000, 53, 0, partial, "\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01"),
			made(udpProtocol, inside, far, 40000, 443, 0, partial, "quic"))
	}
	return append(out,
		made(icmpProtocol, inside, far, 0, 0, 0, 0, "\x08\x00\x00\x00"),
		made(132, inside, far, 0, 0, 0, 0, "sctp"),
		made(udpProtocol, inside, ipv4{224, 0, 0, 251}, 5353, 5353, 0, 0, "mdns"))
}

// Whatever comes in: no panic, and what is made of a packet is well formed,
// with a right checksum if it had one before.
func FuzzPacket(f *testing.F) {
	for _, b := range seedPackets() {
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, buf []byte, fix bool) {
		buf = bytes.Clone(buf)
		if fix {
			repair(buf)
		}
		p, ok := parse(buf)
		if !ok {
			return
		}
		src, dst := p.src, p.dst
		turned := func(name string, out []byte) {
			t.Helper()
			if !sound(t, out) {
				t.Errorf("%s: wrong checksum in % x", name, out)
			}
			if o := out[vnetLen:]; ipv4(o[12:16]) != dst || ipv4(o[16:20]) != src {
				t.Errorf("%s goes from %v to %v, not back", name, o[12:16], o[16:20])
			}
		}
		turned("unreachable", p.unreachable(unreachablePort))
		switch p.protocol {
		case udpProtocol:
			if got := sound(t, buf) || p.partial; p.validSum() != got {
				t.Errorf("validSum: %v, want %v", p.validSum(), got)
			}
			turned("datagram", p.datagram([]byte("answer")))
		case tcpProtocol:
			before := sound(t, buf)
			if p.validSum() != (before || p.partial) {
				t.Errorf("validSum: %v, want %v", p.validSum(), before)
			}
			turned("reset", p.reset())
			payload := bytes.Clone(p.payload())
			p.rewrite(ipv4{198, 19, 1, 2}, 1, ipv4{198, 18, 0, 1}, 65535)
			if after := sound(t, buf); after != before {
				t.Errorf("checksum right before: %v, after: %v: % x", before, after, buf)
			}
			q, ok := parse(buf)
			if !ok || q.src != (ipv4{198, 19, 1, 2}) || q.dst != (ipv4{198, 18, 0, 1}) || q.srcPort != 1 || q.dstPort != 65535 {
				t.Errorf("rewritten packet is %+v, %v", q, ok)
			}
			if !bytes.Equal(q.payload(), payload) {
				t.Error("the payload changed")
			}
		}
	})
}

func TestParseDrops(t *testing.T) {
	good := func() []byte { return made(tcpProtocol, inside, far, 40000, 443, flagSYN, 0, "") }
	partial := func() []byte { return made(tcpProtocol, inside, far, 40000, 443, flagACK, 1, "data") }
	fixed := func(b []byte) []byte {
		ip := b[vnetLen:]
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], ^onesSum(ip[:int(ip[0]&15)*4]))
		return b
	}
	for _, b := range [][]byte{good(), partial()} {
		if _, ok := parse(b); !ok {
			t.Fatalf("good packet dropped: % x", b)
		}
	}
	for name, b := range map[string][]byte{
		"empty":              nil,
		"short":              good()[:vnetLen+19],
		"cut":                good()[:vnetLen+39],
		"IPv6":               func() []byte { b := good(); b[vnetLen] = 0x65; return fixed(b) }(),
		"fragment":           func() []byte { b := good(); b[vnetLen+6] = 0x20; return fixed(b) }(),
		"later fragment":     func() []byte { b := good(); b[vnetLen+7] = 1; return fixed(b) }(),
		"header checksum":    func() []byte { b := good(); b[vnetLen+10] ^= 1; return b }(),
		"TCP offset":         func() []byte { b := good(); b[vnetLen+32] = 0x40; return b }(),
		"TCP options beyond": func() []byte { b := good(); b[vnetLen+32] = 0x60; return b }(),
		"multicast":          made(udpProtocol, inside, ipv4{224, 0, 0, 1}, 1, 2, 0, 0, ""),
		"broadcast":          made(udpProtocol, inside, ipv4{255, 255, 255, 255}, 1, 2, 0, 0, ""),
		"loopback":           made(tcpProtocol, inside, ipv4{127, 0, 0, 1}, 1, 2, flagSYN, 0, ""),
		"UDP length":         func() []byte { b := made(udpProtocol, inside, far, 1, 53, 0, 0, "x"); b[vnetLen+25]++; return b }(),
		"checksum elsewhere": func() []byte { b := partial(); b[6]++; return b }(),
		"unknown flag":       func() []byte { b := partial(); b[0] |= 4; return b }(),
		"unknown GSO":        func() []byte { b := partial(); b[1] = 5; return b }(),
		"GSO, no checksum":   func() []byte { b := good(); b[1] = vnetTCP4; return b }(),
	} {
		if _, ok := parse(b); ok {
			t.Errorf("%s: not dropped: % x", name, b)
		}
	}
}

func TestResetNumbers(t *testing.T) {
	p, _ := parse(made(tcpProtocol, inside, far, 40000, 443, flagSYN, 0, "early"))
	r, ok := parse(p.reset())
	if !ok || r.flags != flagRST|flagACK || r.ack() != p.seq()+1+5 || r.seq() != 0 {
		t.Errorf("reset of a SYN: %+v", r)
	}
	b := made(tcpProtocol, inside, far, 40000, 443, flagACK, 0, "late")
	b[vnetLen+ipLen+11] = 77
	p, _ = parse(b)
	if r, ok = parse(p.reset()); !ok || r.flags != flagRST || r.seq() != 77 {
		t.Errorf("reset of an ACK: %+v", r)
	}
}

func BenchmarkRewrite(b *testing.B) {
	buf := made(tcpProtocol, inside, far, 40000, 443, flagACK, 1, "data")
	for b.Loop() {
		p, ok := parse(buf)
		if !ok {
			b.Fatal("dropped")
		}
		p.rewrite(inside, 1, far, 2)
	}
}
