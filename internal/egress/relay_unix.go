//go:build unix

package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// reading gives the read function of a half. A kernel connection is waited
// for without a buffer: thousands of silent tunnels hold none.
func (q *pieces) reading(src net.Conn) func() (int, error) {
	raw := rawOf(src)
	if raw == nil {
		return func() (int, error) { return q.read(src, 1<<62) }
	}
	var n int
	var err error
	try := func(fd uintptr) bool {
		b := q.open()
		n, err = ignoringEINTR(func() (int, error) { return syscall.Read(int(fd), b) })
		if err == syscall.EAGAIN {
			q.much = false
			q.close()
			return false
		}
		return true
	}
	return func() (int, error) {
		if q.much != (len(q.buf) == largeBuffer) {
			q.close()
		}
		if rerr := raw.Read(try); rerr != nil {
			return 0, rerr
		}
		switch {
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		}
		q.got(n)
		return n, nil
	}
}

func ignoringEINTR(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != syscall.EINTR {
			return n, err
		}
	}
}

func rawOf(c net.Conn) syscall.RawConn {
	t := tcpOf(c)
	if t == nil {
		return nil
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// waitReadable waits for a byte, the end or an error, without taking it.
func waitReadable(c net.Conn) error {
	raw := rawOf(c)
	if raw == nil {
		return nil // the read will wait
	}
	var b [1]byte
	return raw.Read(func(fd uintptr) bool {
		_, err := ignoringEINTR(func() (int, error) {
			n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
			return n, err
		})
		return err != syscall.EAGAIN
	})
}

// readable reports whether something, or the end, can be read from c. Another
// goroutine may be waiting for just that.
func readable(c net.Conn) bool {
	raw := rawOf(c)
	if raw == nil {
		return false
	}
	ok := false
	var b [1]byte
	err := raw.Control(func(fd uintptr) {
		_, err := ignoringEINTR(func() (int, error) {
			n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			return n, err
		})
		ok = err != syscall.EAGAIN
	})
	return ok && err == nil
}

// writeNow writes what c takes without waiting.
func writeNow(c net.Conn, b []byte) {
	if raw := rawOf(c); raw != nil {
		_ = raw.Control(func(fd uintptr) {
			_, _ = ignoringEINTR(func() (int, error) { return syscall.Write(int(fd), b) })
		})
	}
}

// waitReset waits, after the end of what c sends, until c is gone or closed
// altogether (true) or its read deadline is reached. A peer that closed and forgot its
// half answers the next keep-alive with a reset.
func waitReset(c net.Conn) bool {
	raw := rawOf(c)
	if raw == nil {
		return false
	}
	err := raw.Read(func(fd uintptr) bool {
		e, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		return err != nil || e != 0
	})
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func notConnected(err error) bool { return errors.Is(err, syscall.ENOTCONN) }

// quiet reports whether c is open and has nothing to read: a server's
// connection between two requests.
func quiet(c net.Conn) bool {
	raw := rawOf(c)
	if raw == nil {
		return false
	}
	ok := false
	var b [1]byte
	err := raw.Read(func(fd uintptr) bool {
		_, err := ignoringEINTR(func() (int, error) {
			n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			return n, err
		})
		ok = err == syscall.EAGAIN
		return true
	})
	return ok && err == nil
}
