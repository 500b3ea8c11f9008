package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// spliceAfter is how much must come in one flow before the kernel copies it:
// a pipe costs two descriptors.
const spliceAfter = 1 << 20

// splice lets the kernel copy from src to dst while the flow lasts. It
// reports whether src has ended.
func (p *Proxy) splice(dst, src net.Conn, count *atomic.Int64) (end bool, err error) {
	d, s := tcpOf(dst), tcpOf(src)
	if d == nil || s == nil {
		return false, nil
	}
	defer p.splices.Add(-1)
	if p.splices.Add(1) > int64(p.limits.Splices) {
		return false, nil
	}
	for {
		// A flow that rests for a second gives its pipe back. The deadline is
		// of this half only: nobody else reads src.
		s.SetReadDeadline(time.Now().Add(time.Second))
		n, err := io.CopyN(d, s, 64<<20)
		count.Add(n)
		switch {
		case err == nil:
		case err == io.EOF:
			return true, s.SetReadDeadline(time.Time{})
		case errors.Is(err, os.ErrDeadlineExceeded):
			return false, s.SetReadDeadline(time.Time{})
		default:
			return false, err
		}
	}
}
