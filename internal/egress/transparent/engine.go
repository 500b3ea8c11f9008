package transparent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"bawn/internal/policy"
)

// Options are what an Engine works with. It takes over the descriptors.
type Options struct {
	// TUN is the device inside, with virtio_net_hdr: an *os.File in
	// non-blocking mode, so that Close ends a Read. Relay is a TCP
	// listener inside, on the address that is the source of the device's
	// packets. A Relay without TUN takes the connections that the kernel
	// inside redirects to it. Both nil: names only.
	TUN   io.ReadWriteCloser
	Relay net.Listener
	// Packet and Stream are the resolver's sockets inside.
	Packet []net.PacketConn
	Stream []net.Listener

	// Dial decides on a connection and makes it. It may block while a person
	// is asked; ctx ends when the client has given up. Whatever the error,
	// the client sees "connection refused" (without TUN: "connection reset").
	// An address that belongs to no name comes as itself. peer is the client.
	Dial func(ctx context.Context, h policy.Host, port uint16, peer netip.AddrPort) (net.Conn, error)
	// Join relays between both until they are done, and closes them. Here is
	// where the first bytes of the client are compared with the host that
	// was allowed.
	Join func(h policy.Host, client, server net.Conn)
	// Name decides on a name, as Resolver.Name.
	Name func(context.Context, policy.Host) policy.Decision
}

// Engine is the transparent part of a sandbox's network: it answers its DNS
// queries and turns its TCP connections, of programs that know of no proxy,
// into calls of Dial. All else is refused at once.
//
// There is no TCP in it: it hands the packets of a connection back to the
// sandbox's own kernel, with other addresses, so that the kernel connects the
// client to the Relay listener.
//
//	client  address:sport → synthetic:dport   becomes   alias:sport → address:relay
//	relay   address:relay → alias:sport       becomes   synthetic:dport → address:sport
//
// Only the SYN is kept until Dial has answered, so that a client is refused
// rather than accepted and dropped. Without a device the kernel does all that
// by itself, but keeps no SYN: see redirected.
type Engine struct {
	o        Options
	pool     *Pool
	resolver *Resolver
	addr     ipv4
	port     uint16 // of the Relay listener
	queries  chan packet

	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu    sync.Mutex
	table table
	sweep *time.Timer // runs while there is something to watch
	armed bool
	ended bool
	err   error
}

const (
	sweepEvery = time.Second
	// maxQueries is how many UDP queries to other resolvers' addresses wait;
	// clients repeat the rest.
	maxQueries = 256
)

// New starts an Engine. On failure it has closed the descriptors.
func New(o Options) (*Engine, error) {
	e := &Engine{o: o, pool: newPool(), table: newTable(), queries: make(chan packet, maxQueries)}
	e.resolver = &Resolver{Name: o.Name, Pool: e.pool}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if err := e.check(); err != nil {
		e.fail(err)
		return nil, err
	}
	for _, c := range o.Packet {
		e.serve("resolver", func() error { return e.resolver.ServePacket(e.ctx, c) })
	}
	for _, l := range o.Stream {
		e.serve("resolver", func() error { return e.resolver.ServeStream(e.ctx, l) })
	}
	switch {
	case o.TUN != nil:
		e.serve("packets", e.read)
		e.serve("relay", e.accept)
		e.serve("queries", e.answer)
	case o.Relay != nil:
		e.serve("relay", e.redirected)
	}
	return e, nil
}

func (e *Engine) check() error {
	if e.o.Name == nil || e.o.Relay != nil && (e.o.Dial == nil || e.o.Join == nil) {
		return errors.New("transparent network: nobody decides")
	}
	if e.o.TUN != nil && e.o.Relay == nil {
		return errors.New("transparent network: a device without a relay listener")
	}
	if e.o.Relay == nil {
		return nil
	}
	a, ok := e.o.Relay.Addr().(*net.TCPAddr)
	if !ok || !a.AddrPort().Addr().Unmap().Is4() {
		return fmt.Errorf("transparent network: relay listener on %v, not an IPv4 address", e.o.Relay.Addr())
	}
	e.addr, e.port = a.AddrPort().Addr().Unmap().As4(), a.AddrPort().Port()
	return nil
}

// serve runs a worker for as long as the Engine lives. When one ends all do:
// inside there is no network then.
func (e *Engine) serve(what string, work func() error) {
	e.workers.Go(func() {
		defer e.guard(what)
		e.fail(fmt.Errorf("transparent network: %s: %w", what, work()))
	})
}

// guard makes a panic the end of the Engine instead of the program's.
func (e *Engine) guard(what string) {
	if r := recover(); r != nil {
		e.fail(fmt.Errorf("transparent network: %s: %v", what, r))
	}
}

// unlock ends a use of the table, and then the connections that it let go:
// that may be recorded, which takes time.
func (e *Engine) unlock() {
	dead := e.table.dead
	e.table.dead = nil
	e.mu.Unlock()
	for _, c := range dead {
		abort(c)
	}
}

// fail ends everything; the first reason stays.
func (e *Engine) fail(err error) {
	e.mu.Lock()
	defer e.unlock()
	if e.ended {
		return
	}
	e.ended, e.err = true, err
	e.cancel()
	if e.sweep != nil {
		e.sweep.Stop()
	}
	if e.o.TUN != nil {
		_ = e.o.TUN.Close()
	}
	if e.o.Relay != nil {
		_ = e.o.Relay.Close()
	}
	for _, c := range e.o.Packet {
		_ = c.Close()
	}
	for _, l := range e.o.Stream {
		_ = l.Close()
	}
	for _, f := range e.table.byAlias {
		e.table.drop(f)
	}
}

// Close ends all connections and waits until nothing of the Engine runs any
// more. It returns what ended it before, if anything did.
func (e *Engine) Close() error {
	e.fail(net.ErrClosed)
	e.workers.Wait()
	if errors.Is(e.err, net.ErrClosed) {
		return nil
	}
	return e.err
}

// Done is closed when the Engine has ended, by Close or by itself; Close then
// says why.
func (e *Engine) Done() <-chan struct{} { return e.ctx.Done() }

// Flows returns how many connections there are, held ones among them.
func (e *Engine) Flows() int {
	e.mu.Lock()
	defer e.unlock()
	return e.table.live
}

// watch sees to it that table.sweep runs. The lock is held.
func (e *Engine) watch() {
	switch {
	case e.armed || e.ended:
	case e.sweep == nil:
		e.armed = true
		e.sweep = time.AfterFunc(sweepEvery, e.tick)
	default:
		e.armed = true
		e.sweep.Reset(sweepEvery)
	}
}

func (e *Engine) tick() {
	defer e.guard("timeouts")
	for _, syn := range e.expire(time.Now()) {
		e.resetSYN(syn)
	}
}

func (e *Engine) expire(now time.Time) (refuse [][]byte) {
	e.mu.Lock()
	defer e.unlock()
	refuse, watch := e.table.sweep(now)
	e.armed = false
	if watch {
		e.watch()
	}
	return refuse
}

func (e *Engine) resetSYN(syn []byte) {
	if p, ok := parse(syn); ok {
		e.send(p.reset())
	}
}

// open dials for a held flow and lets its SYN go on, or refuses it.
func (e *Engine) open(ctx context.Context, f *flow) {
	defer e.guard("connect")
	server, err := e.dial(ctx, f)
	syn := e.opened(f, server, err)
	if syn == nil {
		return // the client has given up
	}
	if err != nil {
		e.resetSYN(syn)
		return
	}
	if p, ok := parse(syn); ok {
		p.rewrite(f.alias.addr, f.alias.port, e.addr, e.port)
		e.send(syn)
	}
}

// opened notes the outcome of a dial and returns the SYN that waits for it.
func (e *Engine) opened(f *flow, server net.Conn, err error) (syn []byte) {
	e.mu.Lock()
	defer e.unlock()
	syn = f.syn
	switch {
	case !e.table.has(f):
		if err == nil {
			e.table.kill(server)
		}
		return nil
	case err != nil:
		e.table.drop(f)
		return syn
	}
	f.server, f.syn = server, nil
	e.table.set(f, opening, time.Now())
	return syn
}

// dial calls Dial, and makes an error of a panic.
func (e *Engine) dial(ctx context.Context, f *flow) (c net.Conn, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("dial: %v", r)
		}
	}()
	c, err = e.o.Dial(ctx, e.host(f), f.ends.dstPort, netip.AddrPortFrom(netip.AddrFrom4(f.ends.src), f.ends.srcPort))
	if err == nil && c == nil {
		err = errors.New("dial: no connection")
	}
	return c, err
}

// host is the name behind a flow's synthetic address, or the address that it
// really is.
func (e *Engine) host(f *flow) policy.Host {
	a := netip.AddrFrom4(f.ends.dst)
	if h, ok := e.pool.Host(a); ok {
		return h
	}
	return policy.HostAddr(a)
}

// accept joins the connections that the kernel has made of reflected SYNs to
// what was dialled for them. One that no SYN was reflected for comes from a
// program that dials the listener itself.
func (e *Engine) accept() error {
	for {
		client, err := accept(e.ctx, e.o.Relay)
		if err != nil {
			return err
		}
		f := e.claim(client)
		if f == nil {
			abort(client)
			continue
		}
		e.workers.Go(func() { e.join(f) })
	}
}

func (e *Engine) claim(client net.Conn) *flow {
	a, ok := client.RemoteAddr().(*net.TCPAddr)
	if !ok || !a.AddrPort().Addr().Unmap().Is4() {
		return nil
	}
	e.mu.Lock()
	defer e.unlock()
	f := e.table.byAlias[alias{a.AddrPort().Addr().Unmap().As4(), a.AddrPort().Port()}]
	if f == nil || f.state != opening {
		return nil
	}
	f.client = client
	e.table.set(f, joined, time.Now())
	return f
}

// join has a flow relayed. A panic there ends this connection alone.
func (e *Engine) join(f *flow) {
	e.mu.Lock()
	client, server := f.client, f.server
	e.unlock()
	defer func() {
		if recover() != nil {
			abort(client)
			abort(server)
		}
		_ = client.Close()
		_ = server.Close()
		e.mu.Lock()
		defer e.unlock()
		f.client, f.server = nil, nil
		f.cancel()
		e.table.set(f, closed, time.Now())
		e.watch()
	}()
	e.o.Join(e.host(f), client, server)
}
