package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

const startBuffer = 4 << 10

// reader is a connection with a buffer for what must be seen as a whole: heads,
// handshakes, lines of chunks. The buffer grows from 4 KiB to the limit of a
// head, out of the budget that all connections share.
type reader struct {
	net.Conn
	p    *Proxy
	buf  []byte
	r, w int
	got  int64 // bytes read from the connection
	// share is what the buffer took from the budget.
	share int64
}

var (
	errFull   = errors.New("longer than the limit")
	errBudget = errors.New("too many unfinished requests at once")
)

func (c *reader) buffered() []byte { return c.buf[c.r:c.w] }

// fill reads once more behind what is buffered.
func (c *reader) fill() error {
	if c.buf == nil {
		c.buf = c.p.small.get(startBuffer)
	}
	if c.w == len(c.buf) {
		if c.r > 0 {
			c.w = copy(c.buf, c.buf[c.r:c.w])
			c.r = 0
		} else if err := c.grow(); err != nil {
			return err
		}
	}
	n, err := c.Conn.Read(c.buf[c.w:])
	c.w += n
	c.got += int64(n)
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

func (c *reader) grow() error {
	size := min(2*len(c.buf), c.p.limits.Header)
	if size <= len(c.buf) {
		return errFull
	}
	more := int64(size - len(c.buf))
	if c.p.budget.Add(-more) < 0 {
		c.p.budget.Add(more)
		return errBudget
	}
	c.share += more
	next := make([]byte, size)
	copy(next, c.buf[:c.w])
	c.drop()
	c.buf = next
	return nil
}

// drop gives the buffer itself back, but not its share of the budget.
func (c *reader) drop() {
	if len(c.buf) == startBuffer {
		c.p.small.put(c.buf)
	}
	c.buf = nil
}

// release forgets the buffer and whatever is in it.
func (c *reader) release() {
	c.drop()
	c.p.budget.Add(c.share)
	c.r, c.w, c.share = 0, 0, 0
}

// relax releases an empty buffer: a connection that waits holds none.
func (c *reader) relax() {
	if c.r == c.w {
		c.release()
	}
}

// Read gives the buffered bytes first.
func (c *reader) Read(b []byte) (int, error) {
	if c.r < c.w {
		n := copy(b, c.buf[c.r:c.w])
		c.r += n
		c.relax()
		return n, nil
	}
	n, err := c.Conn.Read(b)
	c.got += int64(n)
	return n, err
}

// until fills the buffer until find has an answer about it: how many bytes
// from its start belong together, 0 for more. They are not consumed.
func (c *reader) until(find func(b []byte) (int, error)) (int, error) {
	for {
		if b := c.buffered(); len(b) > 0 {
			if n, err := find(b); n > 0 || err != nil {
				return n, err
			}
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
}

// take consumes n buffered bytes.
func (c *reader) take(n int) { c.r += n }

// watch reads ahead while a question is open or a server is slow, so that the
// end of the client is noticed: then it calls gone, once. A client that sends
// more than the buffer holds is not watched further: back-pressure reaches it
// instead. Nobody else may read until stop has returned.
func (c *reader) watch(after time.Duration, gone func()) (stop func()) {
	done := make(chan struct{})
	t := time.AfterFunc(after, func() {
		defer close(done)
		defer c.p.caught("watch")
		c.ahead(gone)
	})
	return func() {
		if !t.Stop() {
			c.interrupt(done)
		}
	}
}

// ahead is the work of watch.
func (c *reader) ahead(gone func()) {
	for {
		switch err := c.fill(); {
		case err == nil:
		case errors.Is(err, errFull), errors.Is(err, errBudget), errors.Is(err, os.ErrDeadlineExceeded):
			return
		default:
			gone()
			return
		}
	}
}

// interrupt wakes the goroutine that reads from c and waits for its end.
func (c *reader) interrupt(done <-chan struct{}) {
	c.SetReadDeadline(time.Unix(1, 0))
	<-done
	c.SetReadDeadline(time.Time{})
}
