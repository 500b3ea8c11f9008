package egress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"syscall"
	"time"

	"bawn/internal/policy"
)

// SOCKS5 replies (RFC 1928, 6).
const (
	socksFailure     = 1
	socksDenied      = 2
	socksUnreachable = 4
	socksRefused     = 5
	socksCommand     = 7
	socksAddress     = 8
)

// socksGreeting finds the end of the client's first message.
func socksGreeting(b []byte) (int, error) {
	if len(b) < 2 || len(b) < 2+int(b[1]) {
		return 0, nil
	}
	return 2 + int(b[1]), nil
}

// socksRequest finds the end of the client's second message.
func socksRequest(b []byte) (int, error) {
	if len(b) < 5 {
		return 0, nil
	}
	n := 0
	switch b[3] {
	case 1:
		n = 4 + 4 + 2
	case 3:
		n = 4 + 1 + int(b[4]) + 2
	case 4:
		n = 4 + 16 + 2
	default:
		return 0, &fault{socksAddress, "SOCKS5: an unknown kind of address"}
	}
	if len(b) < n {
		return 0, nil
	}
	return n, nil
}

// parseSOCKS reads what socksRequest found. The status of a fault is a reply.
func parseSOCKS(b []byte) (policy.Connect, error) {
	switch {
	case b[0] != 5 || b[2] != 0:
		return policy.Connect{}, &fault{socksFailure, "SOCKS5: no proper request"}
	case b[1] != 1:
		return policy.Connect{}, &fault{socksCommand, "SOCKS5: only CONNECT is served, no BIND and no UDP"}
	}
	var h policy.Host
	switch b[3] {
	case 1:
		h = policy.HostAddr(netip.AddrFrom4([4]byte(b[4:8])))
	case 4:
		h = policy.HostAddr(netip.AddrFrom16([16]byte(b[4:20])))
	case 3:
		var err error
		if h, err = policy.ParseHost(string(b[5 : len(b)-2])); err != nil {
			return policy.Connect{}, &fault{socksFailure, "SOCKS5: " + err.Error()}
		}
	}
	port := binary.BigEndian.Uint16(b[len(b)-2:])
	if port == 0 {
		return policy.Connect{}, &fault{socksFailure, "SOCKS5: there is no port 0"}
	}
	return policy.Connect{Host: h, Port: port}, nil
}

func socksReply(code byte) string { return string([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0}) }

// socks5 serves one SOCKS5 client.
func (k *client) socks5() {
	n, err := k.until(socksGreeting)
	if err != nil {
		return
	}
	methods := bytes.Clone(k.buffered()[2:n])
	k.take(n)
	if !k.login(methods) {
		return
	}
	n, err = k.until(socksRequest)
	var c policy.Connect
	if err == nil {
		c, err = parseSOCKS(k.buffered()[:n])
		k.take(n)
	}
	var f *fault
	if errors.As(err, &f) {
		k.record(err)
		k.answerSOCKS(socksReply(byte(f.status)))
		return
	}
	if err != nil {
		return
	}
	k.relax()
	k.SetReadDeadline(time.Time{})
	s, flow, err := k.open(Request{c, ViaSOCKS, k.peer})
	if err != nil {
		k.answerSOCKS(socksReply(socksCode(err)))
		return
	}
	k.tunnel(s, flow, c.Host, socksReply(0))
}

// socks4 refuses the version that has no names.
func (k *client) socks4() {
	k.record(bad("SOCKS4 has no names: use SOCKS5"))
	k.answerSOCKS("\x00\x5b\x00\x00\x00\x00\x00\x00")
}

func (k *client) answerSOCKS(reply string) {
	k.SetWriteDeadline(time.Now().Add(answerTime))
	if _, err := k.Conn.Write([]byte(reply)); err == nil {
		k.p.linger(k.Conn, k.slot)
	}
}

func socksCode(err error) byte {
	var denied *DeniedError
	switch {
	case errors.As(err, &denied):
		return socksDenied
	case errors.Is(err, syscall.ECONNREFUSED):
		return socksRefused
	}
	return socksUnreachable
}
