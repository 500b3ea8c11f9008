package egress

import (
	"errors"
	"io"
	"os"
	"time"

	"bawn/internal/policy"
)

// maxEarly is how much a client may send between two ClientHellos: data for a
// server that has no key for it, which passes over 16 KiB of it or so (RFC 8446,
// 4.2.10).
const maxEarly = 64 << 10

// again passes on what comes behind a ClientHello, of which sent bytes have
// gone, as far as there may come another: a server that wants another key asks
// for one (RFC 8446, 4.1.4), and takes the name that stands there.
func (p *Proxy) again(t *tunnel, host policy.Host, sent int) error {
	c := t.c
	defer c.release()
	c.take(sent)
	for early := 0; early < maxEarly; {
		if err := t.atLeast(5); err != nil {
			return t.ended(err)
		}
		b := c.buffered()
		n := 5 + (int(b[3])<<8 | int(b[4]))
		if b[0] == recordHandshake && n > 5 {
			if err := t.atLeast(6); err != nil {
				return t.ended(err)
			}
			if c.buffered()[5] == 1 {
				if err := p.secondHello(c, host); err != nil {
					return err
				}
			}
			break
		}
		early += n
		for n > 0 {
			if err := t.atLeast(1); err != nil {
				return t.ended(err)
			}
			m := min(n, len(c.buffered()))
			if err := t.send(m); err != nil {
				return err
			}
			n -= m
		}
	}
	return t.send(len(c.buffered()))
}

// secondHello waits for the whole of it.
func (p *Proxy) secondHello(c *reader, host policy.Host) error {
	c.SetReadDeadline(time.Now().Add(p.limits.HeaderTime))
	for {
		switch checkTLS(host, c.buffered()) {
		case FirstOK:
			c.SetReadDeadline(time.Time{})
			return nil
		case FirstMore:
		default:
			return &MismatchError{host, FirstTLS}
		}
		err := c.fill()
		if errors.Is(err, errFull) || errors.Is(err, errBudget) || errors.Is(err, os.ErrDeadlineExceeded) || err == io.EOF {
			return &MismatchError{host, FirstTLS}
		}
		if err != nil {
			return err
		}
	}
}

// atLeast reads until n bytes are there, and waits for the first without a buffer.
func (t *tunnel) atLeast(n int) error {
	for len(t.c.buffered()) < n {
		if len(t.c.buffered()) == 0 {
			t.c.release()
			if err := waitReadable(t.c.Conn); err != nil {
				return err
			}
		}
		if err := t.c.fill(); err != nil {
			return err
		}
	}
	return nil
}

// send passes on n bytes of what the client has sent.
func (t *tunnel) send(n int) error {
	if n == 0 {
		return nil
	}
	m, err := t.s.Conn.Write(t.c.buffered()[:n])
	t.up.Add(int64(m))
	if err != nil {
		return &writeError{err}
	}
	t.c.take(n)
	return nil
}

// ended passes on what a client has sent before its end, which the copy finds again.
func (t *tunnel) ended(err error) error {
	if err != io.EOF {
		return err
	}
	return t.send(len(t.c.buffered()))
}
