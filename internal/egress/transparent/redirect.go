package transparent

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Without a device the sandbox's kernel redirects connections to the Relay
// listener by itself, and says for each where it was meant to go. So it is
// there already, and the client connected, when the decision begins: what is
// refused is reset.

// halfClosedTimeout is how long a decision goes on for a client that has sent
// the end of its data. It may only have closed that half, as those do who ask
// one question and read to the end; but mostly it is gone.
const halfClosedTimeout = 10 * time.Second

// redirected takes the connections that come to the relay's listener.
func (e *Engine) redirected() error {
	for {
		client, err := accept(e.ctx, e.o.Relay)
		if err != nil {
			return err
		}
		to, err := e.ends(client)
		if err != nil || !e.enter() {
			abort(client)
			continue
		}
		e.workers.Go(func() { e.connect(client, to) })
	}
}

// ends are those of a redirected connection as its client sees it, except
// that the kernel may have changed the source port. A connection to the
// listener itself is none.
func (e *Engine) ends(client net.Conn) (ends, error) {
	dst, err := originalDestination(client)
	if err != nil {
		return ends{}, err
	}
	src, ok := client.RemoteAddr().(*net.TCPAddr)
	if !ok || !src.AddrPort().Addr().Unmap().Is4() {
		return ends{}, fmt.Errorf("connection from %v", client.RemoteAddr())
	}
	to := ends{src.AddrPort().Addr().Unmap().As4(), dst.Addr().As4(), src.AddrPort().Port(), dst.Port()}
	if to.dst == e.addr {
		return ends{}, fmt.Errorf("connection to the relay's listener")
	}
	return to, nil
}

// enter counts a connection in, if there is room.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended || e.table.live >= maxFlows || e.table.pending >= maxPending {
		return false
	}
	e.table.live++
	e.table.pending++
	return true
}

// connect has a client decided on and relayed. A panic on the way ends this
// connection alone.
func (e *Engine) connect(client net.Conn, to ends) {
	f := &flow{ends: to}
	server, err := e.decide(client, f)
	e.mu.Lock()
	e.table.pending--
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.table.live--
	}()
	if err != nil {
		abort(client)
		return
	}
	stop := context.AfterFunc(e.ctx, func() { abort(client); abort(server) })
	defer func() {
		stop()
		if recover() != nil {
			abort(client)
			abort(server)
		}
		_ = client.Close()
		_ = server.Close()
	}()
	e.o.Join(e.host(f), client, server)
}

// decide dials for a client, unless it gives up first.
func (e *Engine) decide(client net.Conn, f *flow) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(e.ctx, holdTimeout)
	defer cancel()
	refused := context.AfterFunc(ctx, func() { abort(client) })
	unwatch := watch(client, cancel)
	server, err := e.dial(ctx, f)
	unwatch()
	if err == nil && !refused() {
		abort(server)
		err = context.Cause(ctx)
	}
	return server, err
}

// watch calls gone when a client has reset its connection, or some time after
// it has closed its half. stop ends that and leaves the connection as it was.
func watch(client net.Conn, gone func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !waitEnd(client) {
			return
		}
		late := time.AfterFunc(halfClosedTimeout, gone)
		defer late.Stop()
		if waitReset(client) {
			gone()
		}
	}()
	return func() {
		_ = client.SetReadDeadline(time.Unix(1, 0))
		<-done
		_ = client.SetReadDeadline(time.Time{})
	}
}
