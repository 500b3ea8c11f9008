package transparent

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	maxStreams    = 64 // DNS clients by TCP at once; further ones wait
	streamTimeout = 10 * time.Second
)

// ServePacket answers queries by UDP until the socket is closed. One at a
// time: an answer is a matter of microseconds.
func (r *Resolver) ServePacket(ctx context.Context, c net.PacketConn) error {
	buf := make([]byte, maxQuery+1)
	for {
		n, from, err := c.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			if !pause(ctx) {
				return ctx.Err()
			}
			continue
		}
		if out := r.Answer(ctx, buf[:n]); out != nil {
			_, _ = c.WriteTo(out, from) // the client asks again
		}
	}
}

// ServeStream answers queries by TCP until the listener is closed.
func (r *Resolver) ServeStream(ctx context.Context, l net.Listener) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	places := make(chan struct{}, maxStreams)
	for {
		places <- struct{}{}
		c, err := accept(ctx, l)
		if err != nil {
			return err
		}
		clients.Go(func() {
			defer func() { <-places }()
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			r.stream(ctx, c)
		})
	}
}

// stream answers one client's queries, each after its length in two bytes.
func (r *Resolver) stream(ctx context.Context, c net.Conn) {
	buf := make([]byte, 2+maxQuery)
	for {
		if c.SetDeadline(time.Now().Add(streamTimeout)) != nil {
			return
		}
		if _, err := io.ReadFull(c, buf[:2]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(buf))
		if n > maxQuery {
			return
		}
		if _, err := io.ReadFull(c, buf[2:2+n]); err != nil {
			return
		}
		out := r.Answer(ctx, buf[2:2+n])
		if out == nil {
			return
		}
		msg := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(out)), uint16(len(out)))
		if _, err := c.Write(append(msg, out...)); err != nil {
			return
		}
	}
}

// accept is l.Accept, patient with what passes: a process at its limit of
// descriptors, or a client that was gone before.
func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for {
		c, err := l.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return c, err
		}
		if !pause(ctx) {
			return nil, ctx.Err()
		}
	}
}

// pause waits a moment before what failed is tried again; false when it need
// not be.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(10 * time.Millisecond):
		return true
	}
}
