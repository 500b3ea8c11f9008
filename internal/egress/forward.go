package egress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"bawn/internal/policy"
)

// exchange is one plain HTTP request on its way to a server and the response
// on its way back.
type exchange struct {
	k       *client
	head    head
	method  string
	path    string
	minor   int
	to      policy.Connect
	length  int64 // of the request's body
	upgrade bool  // to a web socket
	flow    *flow
	up      atomic.Int64
	down    int64
	reused  bool
	wrote   bool // something to the client
	broken  error
}

// maxInterim is how many 1xx responses one request may have.
const maxInterim = 16

// forward serves one plain HTTP request. An error is about the request's
// form, and nothing was answered; everything else has been answered.
func (k *client) forward(h head, method, target string, minor int) (again bool, err error) {
	x := &exchange{k: k, head: h, method: method, minor: minor}
	if err := x.parse(target); err != nil {
		return false, err
	}
	s, err := x.open()
	if err == nil {
		defer func() { x.flow.end(x.up.Load(), x.down, x.broken) }()
		x.broken = errPanic
		again, err = x.run(s)
		if x.reused && !x.wrote && x.repeatable() && !isFault(err) && err != nil && statusOf(err) != 0 {
			// The server closed the connection while we were about to use it.
			k.dropServer()
			if s, err = x.redial(); err == nil {
				again, err = x.run(s)
			}
		}
		x.broken = err
	}
	if err == nil {
		return again, nil
	}
	k.dropServer()
	switch {
	case x.wrote:
		reset(k.Conn) // a cut must not look like an end
	default:
		k.p.refuse(k.Conn, k.slot, err, method == "HEAD")
	}
	return false, nil
}

func isFault(err error) bool {
	var f *fault
	return errors.As(err, &f)
}

// parse checks everything about the request before anything is decided.
func (x *exchange) parse(target string) (err error) {
	if x.to, x.path, err = parseTarget(x.method, target); err != nil {
		return err
	}
	if x.length, err = x.head.length(); err != nil {
		return err
	}
	_, named, err := x.head.one("Host")
	switch {
	case err != nil:
		return err
	case !named && x.minor == 1:
		return bad("no Host field")
	case x.minor == 0 && x.length == chunked:
		return bad("chunks in HTTP/1.0")
	}
	if expect, ok, err := x.head.one("Expect"); err != nil {
		return err
	} else if ok && !strings.EqualFold(expect, "100-continue") {
		return &fault{417, "an unknown expectation"}
	}
	if to := x.head.list("Upgrade"); len(to) > 0 {
		// Any other protocol would carry requests that nobody decides.
		if len(to) > 1 || to[0] != "websocket" || !has(x.head.list("Connection"), "upgrade") || x.minor == 0 || x.length > 0 || x.length == chunked {
			return &fault{501, "an upgrade to something other than a web socket"}
		}
		x.upgrade = true
	}
	return nil
}

func (x *exchange) request() Request { return Request{x.to, ViaHTTP, x.k.peer} }

// open decides, and gives the connection of the request before if it leads to
// the same place.
func (x *exchange) open() (s *reader, err error) {
	k := x.k
	ctx, cancel := context.WithCancel(k.p.ctx)
	defer cancel()
	stop := k.watch(heldAfter, cancel)
	defer stop()
	start := time.Now()
	d := k.p.decide(ctx, x.request())
	if d.Verdict == policy.Allow && k.server != nil && k.serverTo == x.to && quiet(k.server.Conn) {
		f := k.p.decided(x.request(), d, start)
		if d := f.event.Decision; d.Verdict != policy.Allow {
			return nil, &DeniedError{d}
		}
		x.flow = f
		x.flow.event.Addr = peerOf(k.server)
		x.reused = true
		return k.server, nil
	}
	k.dropServer()
	s, x.flow, err = k.p.dialDecided(ctx, x.request(), start, d)
	k.server, k.serverTo = s, x.to
	return s, err
}

// redial connects again for the same decision.
func (x *exchange) redial() (*reader, error) {
	k := x.k
	ctx, cancel := context.WithTimeout(k.p.ctx, k.p.limits.DialTime)
	defer cancel()
	var s *reader
	var err error
	if via := k.p.o.Upstream.route(x.request()); via != nil {
		s, err = k.p.dialUpstream(ctx, via, x.request())
	} else {
		addrs, rerr := k.p.addresses(ctx, x.to, false)
		if rerr != nil {
			return nil, rerr
		}
		addrs, refusal := k.p.checked(x.to, addrs)
		if refusal != nil {
			return nil, &DeniedError{*refusal}
		}
		s, err = k.p.dialAddrs(ctx, x.to, addrs)
	}
	if err != nil {
		return nil, err
	}
	keepAlive(s)
	k.server = s
	return s, nil
}

func (x *exchange) repeatable() bool {
	return x.length <= 0 && x.length != chunked && (x.method == "GET" || x.method == "HEAD" || x.method == "OPTIONS")
}

// requestHead is what the server is sent: the fields that are not about the
// client's connection, and the host that was decided.
func (x *exchange) requestHead() []byte {
	via := x.k.p.o.Upstream.route(x.request())
	target := x.path
	if via != nil {
		target = "http://" + hostField(x.to) + strings.TrimPrefix(x.path, "*")
	}
	b := []byte(x.method + " " + target + " HTTP/1.1\r\nHost: " + hostField(x.to) + "\r\n")
	b = x.head.endToEnd(b, func(f field) bool {
		return f.is("Host") || f.is("Content-Length") || f.is("Expect") && (x.minor == 0 || x.length == noLength)
	})
	if via != nil {
		b = append(b, via.authorization()...)
	}
	switch {
	case x.length == chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case x.length >= 0:
		b = append(b, "Content-Length: "+strconv.FormatInt(x.length, 10)+"\r\n"...)
	}
	if x.upgrade {
		b = append(b, "Connection: Upgrade\r\nUpgrade: websocket\r\n"...)
	}
	return append(b, "\r\n"...)
}

// endToEnd appends the fields that go on to the other side.
func (h head) endToEnd(b []byte, skip func(field) bool) []byte {
	local := append(h.list("Connection"), h.list("Proxy-Connection")...)
	for _, f := range h.fields {
		if hopByHop(f.name) || slices.Contains(local, strings.ToLower(f.name)) || skip(f) {
			continue
		}
		b = append(b, f.name+": "+f.value+"\r\n"...)
	}
	return b
}

// upCounter counts what goes to the server.
type upCounter struct {
	x *exchange
	s *reader
}

func (w upCounter) Write(b []byte) (int, error) {
	n, err := w.s.Write(b)
	w.x.up.Add(int64(n))
	return n, err
}

// tell writes to the client.
func (x *exchange) tell(b []byte) error {
	x.wrote = true
	_, err := x.k.Conn.Write(b)
	return err
}

func statusHead(status int, reason string) []byte {
	return []byte("HTTP/1.1 " + strconv.Itoa(status) + " " + reason + "\r\n")
}

// asServer is a fault of the server, which the client is not to blame for.
func asServer(err error) error {
	if isFault(err) {
		return errors.New(err.Error())
	}
	return err
}

// run sends the request and brings the response. The client is read at the
// same time: for the body, then for its end, which ends the exchange.
func (x *exchange) run(s *reader) (again bool, err error) {
	k := x.k
	got := s.got
	defer func() { x.down += s.got - got }()
	defer context.AfterFunc(k.p.ctx, func() { s.Conn.Close() })()
	out := upCounter{x, s}
	if _, err := out.Write(x.requestHead()); err != nil {
		return false, err
	}
	var gone atomic.Bool
	leave := func() { gone.Store(true); s.Conn.Close() }
	var bodyErr error
	stop := func() {}
	if x.length == chunked || x.length > 0 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer k.p.caught("body")
			bodyErr = errPanic
			bodyErr = k.p.copyBody(out, k.reader, x.length, x.length == chunked)
			var w *writeError
			switch {
			case bodyErr == nil:
				k.ahead(leave)
			case errors.As(bodyErr, &w): // the server may have said why
			default:
				leave()
			}
		}()
		stop = func() { k.interrupt(done); stop = func() {} }
	} else {
		end := k.watch(heldAfter, leave)
		stop = func() { end(); stop = func() {} }
	}
	defer func() { stop() }()

	again, upgraded, err := x.response(s, func() bool { stop(); return bodyErr == nil })
	stop()
	switch {
	case err != nil && isFault(bodyErr):
		return false, bodyErr
	case err != nil && gone.Load():
		return false, fmt.Errorf("the client gave up: %w", context.Canceled)
	case err != nil:
		return false, err
	case upgraded:
		k.server = nil // it belongs to the tunnel from now on
		var up, down atomic.Int64
		err = k.p.relay(k.reader, s, policy.Host{}, &up, &down)
		x.up.Add(up.Load())
		x.down += down.Load()
		return false, err
	}
	return again && !gone.Load(), nil
}

// response brings all of the response. settled ends the reading of the client
// and reports whether all of the request's body has gone.
func (x *exchange) response(s *reader, settled func() bool) (again, upgraded bool, err error) {
	for range maxInterim {
		h, err := s.readHead()
		if err != nil {
			return false, false, fmt.Errorf("no proper response from %s: %w", hostPort(x.to), asServer(err))
		}
		minor, status, reason, err := statusLine(h.line)
		if err != nil {
			return false, false, err
		}
		switch {
		case status == 101:
			to := h.list("Upgrade")
			if !x.upgrade || len(to) != 1 || to[0] != "websocket" {
				return false, false, errors.New("the server changed the protocol without being asked")
			}
			settled()
			b := h.endToEnd(statusHead(status, reason), func(field) bool { return false })
			b = append(b, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"...)
			return false, true, x.tell(b)
		case status < 200:
			if x.minor == 1 {
				b := h.endToEnd(statusHead(status, reason), func(f field) bool { return f.is("Content-Length") })
				if err := x.tell(append(b, "\r\n"...)); err != nil {
					return false, false, err
				}
			}
			continue
		case status == 407:
			return false, false, errors.New("a proxy further out wants credentials")
		}
		again, err := x.final(s, h, minor, status, reason, settled)
		return again, false, err
	}
	return false, false, errors.New("the server sends one interim response after another")
}

// final brings the one response that has a body, if any has.
func (x *exchange) final(s *reader, h head, minor, status int, reason string, settled func() bool) (again bool, err error) {
	k := x.k
	length, err := h.length()
	if err != nil {
		return false, fmt.Errorf("no proper response from %s: %w", hostPort(x.to), asServer(err))
	}
	empty := x.method == "HEAD" || status == 204 || status == 304
	serverStays := minor == 1 && !has(h.list("Connection"), "close") && !has(h.list("Proxy-Connection"), "close")
	if length == noLength && !empty {
		length = tillEnd
		serverStays = false
	}
	again = x.minor == 1 && !has(x.head.list("Connection"), "close") && !has(x.head.list("Proxy-Connection"), "close")
	framed := !empty && length < 0 && x.minor == 1
	b := h.endToEnd(statusHead(status, reason), func(f field) bool { return f.is("Content-Length") })
	switch {
	case framed:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case length >= 0 && status != 204:
		b = append(b, "Content-Length: "+strconv.FormatInt(length, 10)+"\r\n"...)
	}
	if !again {
		b = append(b, "Connection: close\r\n"...)
	}
	if err := x.tell(append(b, "\r\n"...)); err != nil {
		return false, err
	}
	if !empty {
		if err := k.p.copyBody(k.Conn, s, length, framed); err != nil {
			return false, err
		}
	}
	whole := settled()
	if !whole { // the response came before the end of the body
		k.p.linger(k.Conn, k.slot)
	}
	if !serverStays || !whole || len(s.buffered()) > 0 {
		k.dropServer()
	}
	return again && whole, nil
}
