package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"bawn/internal/policy"
)

// MismatchError means that a client named another host than the one it was
// let out for. It says with which protocol (FirstTLS or FirstHTTP).
type MismatchError struct {
	Host  policy.Host
	First First
}

func (e *MismatchError) Error() string {
	if e.First == FirstTLS {
		return fmt.Sprintf("the TLS server name is not %s, which was asked for", e.Host)
	}
	return fmt.Sprintf("the HTTP host is not %s, which was asked for", e.Host)
}

// Relay copies both ways between a client and a server until both have
// finished, and closes them. What one side ends is ended for the other: a
// half at a time, or all at once by a reset. Nothing is read faster than the
// other side takes it. The server may speak first.
//
// If host is not the zero Host, the client's first bytes are compared with it
// (checkFirst), and a second ClientHello too; if they name another one the client is told in its protocol
// and the error is a *MismatchError.
func (p *Proxy) Relay(client, server net.Conn, host policy.Host) error {
	c, ok := client.(*reader)
	if !ok {
		c = &reader{Conn: client, p: p}
	}
	var up, down *atomic.Int64
	if s, ok := server.(*Conn); ok {
		up, down = &s.up, &s.down
		err := p.relay(c, s.reader, host, up, down)
		if err != nil {
			s.Fail(err)
		}
		client.Close()
		s.Close()
		return err
	}
	up, down = new(atomic.Int64), new(atomic.Int64)
	return p.relay(c, &reader{Conn: server, p: p}, host, up, down)
}

func (p *Proxy) relay(c, s *reader, host policy.Host, up, down *atomic.Int64) error {
	defer c.release()
	defer s.release()
	t := &tunnel{c: c, s: s, up: up, down: down}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.abortOnPanic(p)
		err := p.first(t, host)
		if err == nil {
			err = p.copyHalf(s.Conn, c.Conn, up)
		}
		p.finish(t, c.Conn, s.Conn, err)
	}()
	func() {
		defer t.abortOnPanic(p)
		err := t.flush(c.Conn, s, down)
		if err == nil {
			err = p.copyHalf(c.Conn, s.Conn, down)
		}
		p.finish(t, s.Conn, c.Conn, err)
	}()
	<-done
	err := t.err()
	var m *MismatchError
	if errors.As(err, &m) {
		p.tellMismatch(c.Conn, m, down.Load() == 0)
	}
	c.Close()
	if err != nil {
		reset(s.Conn)
	} else {
		s.Close()
	}
	return err
}

// tunnel is what the two halves of a relay share.
type tunnel struct {
	c, s     *reader
	up, down *atomic.Int64
	halves   atomic.Int32 // that are over
	failed   atomic.Pointer[error]
}

func (t *tunnel) err() error {
	if e := t.failed.Load(); e != nil {
		return *e
	}
	return nil
}

// abort ends both halves at once, for the first reason given. The other side
// of a reset sees a reset: a cut must not look like an end.
func (t *tunnel) abort(err error) {
	if !t.failed.CompareAndSwap(nil, &err) {
		return
	}
	var m *MismatchError
	if errors.As(err, &m) { // the client is still to be told
		t.c.SetReadDeadline(time.Unix(1, 0))
		t.c.SetWriteDeadline(time.Unix(1, 0))
	} else {
		reset(t.c.Conn)
	}
	reset(t.s.Conn)
}

func (t *tunnel) abortOnPanic(p *Proxy) {
	if v := recover(); v != nil {
		t.abort(fmt.Errorf("an error in the egress itself: %v", v))
	}
}

// finish ends one half, from src to dst. Then it waits for the other one, and
// for a sign that src is gone altogether, which nobody else would notice.
func (p *Proxy) finish(t *tunnel, src, dst net.Conn, err error) {
	if err == nil {
		err = closeWrite(dst)
	}
	var w *writeError
	if errors.As(err, &w) {
		// dst is gone. What it sent before is still to be read by the other
		// half, which then meets the same error.
		t.failed.CompareAndSwap(nil, &err)
	} else if err != nil {
		t.abort(err)
	}
	if t.halves.Add(1) == 2 {
		src.SetReadDeadline(time.Unix(1, 0)) // wakes the other half's wait
		dst.SetReadDeadline(time.Unix(1, 0))
		return
	}
	if err == nil && waitReset(src) && t.halves.Load() < 2 {
		t.abort(errors.New("the connection was reset"))
	}
}

// flush passes on what had been read before.
func (t *tunnel) flush(dst io.Writer, src *reader, count *atomic.Int64) error {
	b := src.buffered()
	if len(b) > 0 {
		n, err := dst.Write(b)
		count.Add(int64(n))
		if err != nil {
			return &writeError{err}
		}
	}
	src.release()
	return nil
}

// first passes on the client's first bytes as far as they are known to be for
// host. Whoever makes it wait, with a part of a ClientHello or more than the
// smallest buffer, has only the time of a head.
func (p *Proxy) first(t *tunnel, host policy.Host) error {
	if host == (policy.Host{}) {
		return t.flush(t.s.Conn, t.c, t.up)
	}
	c, sent, timed := t.c, 0, false
	if len(c.buffered()) == 0 {
		if err := waitReadable(c.Conn); err != nil {
			return err
		}
	}
	for {
		b := c.buffered()
		tls := passable(b) == 0 && len(b) > 0
		f := checkFirst(host, b)
		if f == FirstTLS || f == FirstHTTP {
			return &MismatchError{host, f}
		}
		pass := len(b)
		if f == FirstMore {
			pass = passable(b)
		} else if isHello(b) {
			_, pass, _ = serverName(b) // again has the rest
		}
		if pass > sent {
			n, err := t.s.Conn.Write(b[sent:pass])
			t.up.Add(int64(n))
			if err != nil {
				return &writeError{err}
			}
			sent = pass
		}
		if f == FirstOK {
			break
		}
		if !timed && (tls || len(c.buf) > startBuffer) {
			timed = true
			c.SetReadDeadline(time.Now().Add(p.limits.HeaderTime))
		}
		err := c.fill()
		// A line that fills the buffer is refused: some servers take requests
		// that long.
		if err != nil {
			switch {
			case err == io.EOF && sent == len(b):
				c.release()
				return nil
			case errors.Is(err, errFull), errors.Is(err, errBudget), errors.Is(err, os.ErrDeadlineExceeded) && t.err() == nil, err == io.EOF:
				if tls {
					return &MismatchError{host, FirstTLS}
				}
				return &MismatchError{host, FirstHTTP}
			}
			return err
		}
	}
	if timed {
		c.SetReadDeadline(time.Time{})
	}
	if isHello(c.buffered()) {
		return p.again(t, host, sent)
	}
	c.release()
	return nil
}

// tellMismatch answers a client that named another host, unless the server
// has already spoken to it in a protocol of its own.
func (p *Proxy) tellMismatch(c net.Conn, m *MismatchError, silent bool) {
	if !silent {
		reset(c)
		return
	}
	c.SetDeadline(time.Now().Add(answerTime))
	if m.First == FirstTLS {
		c.Write([]byte{0x15, 3, 3, 0, 2, 2, 49}) // fatal alert access_denied
	} else {
		c.Write(answer(403, Line(m.Error(), maxReason), nil))
	}
	p.linger(c, nil)
}

// copyHalf copies until src ends (nil) or something fails.
func (p *Proxy) copyHalf(dst, src net.Conn, count *atomic.Int64) error {
	q := pieces{p: p}
	defer q.close()
	read := q.reading(src)
	streak := int64(0) // bytes in a row that came faster than they were copied
	for {
		n, err := read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := dst.Write(q.piece(n))
		count.Add(int64(m))
		if err != nil {
			return &writeError{err}
		}
		if streak += int64(n); !q.much {
			streak = 0
		}
		if streak >= spliceAfter {
			streak = 0
			q.close()
			if end, err := p.splice(dst, src, count); end || err != nil {
				return err
			}
		}
	}
}

// closeWrite ends one half. Connections that cannot do so are ended whole when
// both halves are over.
func closeWrite(c net.Conn) error {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		err := w.CloseWrite()
		if errors.Is(err, net.ErrClosed) || notConnected(err) {
			return nil // the other side was faster
		}
		return err
	}
	return nil
}

// reset closes a connection so that its peer sees an error, not an end.
func reset(c net.Conn) {
	if t, ok := c.(interface{ SetLinger(int) error }); ok {
		t.SetLinger(0)
	} else if a, ok := c.(interface{ Abort() }); ok { // gVisor's endpoints
		a.Abort()
	}
	c.Close()
}
