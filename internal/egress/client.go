package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"bawn/internal/policy"
)

// client is one connection from inside the sandbox.
type client struct {
	*reader
	slot *slot
	peer netip.AddrPort
	via  Via

	// The last server of plain HTTP, kept for the next request to it.
	server   *reader
	serverTo policy.Connect
}

// heldAfter is how long a request is under way before the client is watched.
const heldAfter = 20 * time.Millisecond

var errPanic = errors.New("an error in the egress itself")

func (p *Proxy) serveClient(c net.Conn, s *slot) {
	k := &client{reader: &reader{Conn: c, p: p}, slot: s, peer: peerOf(c)}
	defer k.release()
	defer k.dropServer()
	if !k.await() {
		return
	}
	switch k.buffered()[0] {
	case 5:
		k.via = ViaSOCKS
		k.socks5()
	case 4:
		k.via = ViaSOCKS
		k.socks4()
	default:
		for k.serveRequest() && k.await() {
		}
	}
}

// await waits for the first byte of a request, without a buffer, and starts
// the clock for the rest of it.
func (k *client) await() bool {
	if len(k.buffered()) == 0 {
		k.p.waits(k.slot, true)
		k.SetReadDeadline(time.Now().Add(k.p.limits.IdleTime))
		err := waitReadable(k.Conn)
		k.p.waits(k.slot, false) // before it is read: see silent
		if err == nil {
			err = k.fill()
		}
		if err != nil {
			return false
		}
	}
	k.SetReadDeadline(time.Now().Add(k.p.limits.HeaderTime))
	return true
}

// serveRequest serves one HTTP request and reports whether another may follow.
func (k *client) serveRequest() bool {
	k.via = ViaHTTP
	h, err := k.readHead()
	if err != nil {
		k.malformed(err, false)
		return false
	}
	k.SetReadDeadline(time.Time{})
	method, target, minor, err := requestLine(h.line)
	switch {
	case !k.knows(h):
		err = errSecret
	case err != nil:
	case method == "CONNECT":
		k.via = ViaConnect
		err = k.connect(h, target, minor)
	case method == "TRACE" || method == "TRACK":
		err = &fault{405, "a method that reflects the request"}
	default:
		var again bool
		if again, err = k.forward(h, method, target, minor); err == nil {
			return again
		}
	}
	if err != nil {
		k.malformed(err, method == "HEAD")
	}
	return false
}

// connect serves CONNECT. The error is about the request's form; everything
// else has been answered.
func (k *client) connect(h head, target string, minor int) error {
	length, err := h.length()
	_, named, hostErr := h.one("Host")
	switch {
	case err != nil:
		return err
	case length != noLength && length != 0:
		return bad("CONNECT with a body")
	case hostErr != nil:
		return hostErr
	case !named && minor > 0: // Python before 3.12 asks with HTTP/1.0, without a Host field
		return bad("no Host field")
	}
	c, err := parseAuthority(target, 0)
	if err != nil {
		return err
	}
	s, f, err := k.open(Request{c, ViaConnect, k.peer})
	if err != nil {
		k.p.refuse(k.Conn, k.slot, err, false)
		return nil
	}
	k.tunnel(s, f, c.Host, "HTTP/1.1 200 Connection established\r\n\r\n")
	return nil
}

// open decides and connects while it watches the client, who may give up.
func (k *client) open(r Request) (*reader, *flow, error) {
	ctx, cancel := context.WithCancel(k.p.ctx)
	defer cancel()
	stop := k.watch(heldAfter, cancel)
	defer stop()
	return k.p.connect(ctx, r)
}

// tunnel greets the client and copies until the end.
func (k *client) tunnel(s *reader, f *flow, host policy.Host, greeting string) {
	var up, down atomic.Int64
	err := errPanic
	defer func() { f.end(up.Load(), down.Load(), err) }()
	defer s.Close()
	defer context.AfterFunc(k.p.ctx, func() { s.Conn.Close() })()
	if _, werr := k.Conn.Write([]byte(greeting)); werr != nil {
		err = werr
		return
	}
	err = k.p.relay(k.reader, s, host, &up, &down)
}

// serveFixed connects a client to a port of the host.
func (p *Proxy) serveFixed(c net.Conn, r Request) {
	k := &client{reader: &reader{Conn: c, p: p}, peer: r.Peer, via: r.Via}
	defer k.release()
	start := time.Now()
	addr, _ := r.Connect.Host.Addr()
	target := netip.AddrPortFrom(addr, r.Connect.Port)
	d := p.checkAddr(r.Connect.Host, target)
	f := p.decided(r, d, start)
	if f.event.Decision.Verdict != policy.Allow {
		reset(c)
		return
	}
	f.event.Addr = target
	ctx, cancel := context.WithTimeout(p.ctx, p.limits.DialTime)
	defer cancel()
	s, err := p.dialAddrs(ctx, r.Connect, []netip.AddrPort{target})
	if err != nil {
		f.fail(err)
		reset(c)
		return
	}
	k.tunnel(s, f, policy.Host{}, "")
}

func (k *client) dropServer() {
	if k.server != nil {
		k.server.Close()
		k.server.release()
		k.server = nil
	}
}

// has reports whether a list holds a token.
func has(list []string, token string) bool {
	for _, v := range list {
		if strings.EqualFold(v, token) {
			return true
		}
	}
	return false
}
