package egress

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"bawn/internal/policy"
)

// Options say how a Proxy decides. The zero value denies everything. The
// functions are called from many goroutines at once.
type Options struct {
	// Decide says whether a request may go out. It may block while a person
	// is asked; the context ends when the client is gone. Anything but Allow
	// is a refusal, and its rule is what the client is told. No name is
	// resolved before it has answered. nil denies.
	Decide func(context.Context, Request) policy.Decision
	// CheckAddr says whether an allowed host may be connected at an address
	// (policy.Network.DecideAddr). It is asked for each address of a name
	// and once more by the socket that connects. nil denies.
	CheckAddr func(policy.Host, netip.AddrPort) policy.Decision
	// Resolve gives the addresses of an allowed name; nil asks the host's
	// resolver.
	Resolve func(context.Context, policy.Host) ([]netip.Addr, error)
	// Upstream is the proxy of the host's own network; nil for none.
	Upstream *Upstream
	// Record is told of every decision and every end of what was allowed. What
	// it cannot keep of a decision to allow is denied: see Unrecorded.
	Record func(Event) error
	// Who finds out who asked, when a decision is about to be recorded: the
	// client still waits for its answer then, so its socket is there. task is
	// for callers that serve many. May be nil.
	Who    func(Event) (task, pid int, command string)
	Limits Limits
	// Secret, if there is one, is the password that every client of Serve must
	// give, by Basic or SOCKS5: for a listener that others than the sandbox
	// can reach. Env hands it to the command.
	Secret string
}

// DeniedError is a refused connection.
type DeniedError struct{ Decision policy.Decision }

func (e *DeniedError) Error() string {
	r := e.Decision.Rule
	if r.Text == "" {
		r.Text = "no rule allows it"
	}
	if r.Lift != "" {
		return r.Text + "; " + r.Lift
	}
	return r.Text
}

var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the egress is closed")
	// ErrBusy means that Limits.Conns connections are open.
	ErrBusy = errors.New("too many connections at once")
)

// Proxy is an egress. All methods may be called at once.
type Proxy struct {
	o      Options
	limits Limits
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	small, large buffers
	budget       atomic.Int64 // what is left of Limits.Buffers
	splices      atomic.Int64
	lingers      atomic.Int64

	mu      sync.Mutex
	closed  bool
	taken   int // places of connections
	open    map[*slot]struct{}
	waiting list.List // of *slot: without a request, longest first
	wg      sync.WaitGroup
}

// slot is one place among Limits.Conns, or a listener.
type slot struct {
	io.Closer
	wait    *list.Element
	counted bool
	asked   bool // there was a request before
}

// New makes an egress. It listens to nothing yet.
func New(o Options) *Proxy {
	p := &Proxy{o: o, limits: o.Limits.withDefaults(), open: map[*slot]struct{}{}}
	p.budget.Store(int64(p.limits.Buffers))
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Closed is an egress that lets nothing out, and says why at once: clients
// that meet silence, or no proxy at all, try again for a minute.
func Closed(reason policy.Rule, o Options) *Proxy {
	o.Decide = func(context.Context, Request) policy.Decision { return policy.Decision{Rule: reason} }
	return New(o)
}

// Close ends all connections and listeners and waits until all is over.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.cancel()
	for s := range p.open {
		s.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return nil
}

// enter takes a place for a connection. If all are taken, the connection that
// has been waiting longest without a request loses its own: a client that
// opens connections and says nothing cannot keep others out. One whose request
// is there, but not read yet, keeps its place.
func (p *Proxy) enter(c io.Closer, counted bool) (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if counted && p.taken >= p.limits.Conns {
		loser := p.silent()
		if loser == nil {
			return nil, ErrBusy
		}
		p.remove(loser)
		loser.turnOut()
	}
	s := &slot{Closer: c, counted: counted}
	p.open[s] = struct{}{}
	if counted {
		p.taken++
	}
	p.wg.Add(1)
	return s, nil
}

// silent finds the connection that has said nothing for longest, or nil.
func (p *Proxy) silent() *slot {
	e := p.waiting.Front()
	for range maxLooks {
		if e == nil {
			break
		}
		s := e.Value.(*slot)
		if c, ok := s.Closer.(net.Conn); !ok || !readable(c) {
			return s
		}
		e = e.Next()
	}
	return nil
}

// turnOut closes the connection for another's sake. One that was about to ask
// for the first time sees why.
func (s *slot) turnOut() {
	if c, ok := s.Closer.(net.Conn); ok && !s.asked {
		writeNow(c, answer(503, ErrBusy.Error(), nil))
	}
	s.Close()
}

func (p *Proxy) remove(s *slot) {
	if _, in := p.open[s]; in && s.counted {
		p.taken--
	}
	delete(p.open, s)
	if s.wait != nil {
		p.waiting.Remove(s.wait)
		s.wait = nil
	}
}

// leave gives the place back and closes what is in it.
func (p *Proxy) leave(s *slot) {
	s.Close()
	p.mu.Lock()
	p.remove(s)
	p.mu.Unlock()
	p.wg.Done()
}

// waits notes whether a connection has no request.
func (p *Proxy) waits(s *slot, yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, in := p.open[s]; !in || yes == (s.wait != nil) {
		return
	}
	if yes {
		s.wait = p.waiting.PushBack(s)
		return
	}
	p.waiting.Remove(s.wait)
	s.wait, s.asked = nil, true
}

// Serve answers HTTP CONNECT, plain HTTP and SOCKS5 on a listener until it
// fails or Close is called; then the error is nil. It closes the listener.
func (p *Proxy) Serve(l net.Listener) error {
	return p.accept(l, true, p.serveClient)
}

// ServeFixed connects everything that arrives on a listener to one address of
// this machine, such as 127.0.0.1:5432, if CheckAddr lets it: a port of the
// host that is open to the sandbox.
func (p *Proxy) ServeFixed(l net.Listener, target string) error {
	addr, err := netip.ParseAddrPort(target)
	if err != nil {
		l.Close()
		return fmt.Errorf("local port: %w", err)
	}
	c := policy.Connect{Host: policy.HostAddr(addr.Addr()), Port: addr.Port()}
	return p.accept(l, false, func(conn net.Conn, s *slot) {
		p.serveFixed(conn, Request{Connect: c, Via: ViaLocal, Peer: peerOf(conn)})
	})
}

// accept serves what arrives on l. Where a client speaks first, its connection
// is one that waits from the start: before its goroutine runs, too, it makes
// way for others.
func (p *Proxy) accept(l net.Listener, clientFirst bool, serve func(net.Conn, *slot)) error {
	self, err := p.enter(l, false)
	if err != nil {
		l.Close()
		return err
	}
	defer p.leave(self)
	for pause := time.Duration(0); ; {
		c, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
		case p.ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default: // no descriptor left, or a client that went away at once
			p.dropWaiting()
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			select {
			case <-time.After(pause):
			case <-p.ctx.Done():
				return nil
			}
			continue
		}
		s, err := p.enter(c, true)
		if err != nil {
			p.turnAway(c, err)
			continue
		}
		if clientFirst {
			p.waits(s, true)
		}
		go func() {
			defer p.leave(s)
			defer p.caught("client")
			keepAlive(c)
			serve(c, s)
		}()
	}
}

// dropWaiting frees a descriptor, if a connection waits without a request.
func (p *Proxy) dropWaiting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.silent(); s != nil {
		s.turnOut()
	}
}

// caught ends a goroutine that panicked without ending the supervisor.
func (p *Proxy) caught(where string) {
	if v := recover(); v != nil {
		_ = p.record(Event{ // a denial holds without a record
			Decision: policy.Decision{Rule: policy.Rule{ID: "egress:panic", Text: "an error in the egress itself"}},
			Start:    time.Now(), Err: Line(fmt.Sprintf("%s: %v", where, v), maxErr),
		})
	}
}

// decided records a decision. What is allowed has a flow, to record its end;
// the decision in it is the one that counts.
func (p *Proxy) decided(r Request, d policy.Decision, start time.Time) *flow {
	return &flow{p: p, event: p.recordWho(Event{Request: r, Decision: d, Start: start})}
}

// recordWho records an event with whoever asked.
func (p *Proxy) recordWho(e Event) Event {
	if p.o.Who != nil {
		e.Task, e.PID, e.Command = p.o.Who(e)
	}
	if err := p.record(e); err != nil && e.Decision.Verdict == policy.Allow {
		e.Decision = Unrecorded(err)
	}
	return e
}

func (p *Proxy) record(e Event) error {
	if p.o.Record == nil {
		return nil
	}
	return p.o.Record(e)
}

// Unrecorded is the decision about what would be allowed, but cannot be
// recorded.
func Unrecorded(err error) policy.Decision {
	return policy.Decision{Rule: policy.Rule{
		ID: "log:unwritten", Text: "it would be allowed, but that cannot be recorded (" + errLine(err) + ")",
		Lift: "make the log writable: bawn log verify says where it is",
	}}
}

// keepAlive finds out within two minutes that a silent peer is gone.
func keepAlive(c net.Conn) {
	if t := tcpOf(c); t != nil {
		t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 60 * time.Second, Interval: 15 * time.Second, Count: 4})
	}
}

// tcpOf finds the TCP connection of the kernel under c, or nil.
func tcpOf(c net.Conn) *net.TCPConn {
	for {
		switch v := c.(type) {
		case *net.TCPConn:
			return v
		case *reader:
			c = v.Conn
		case *Conn:
			c = v.reader.Conn
		default:
			return nil
		}
	}
}

func peerOf(c net.Conn) netip.AddrPort {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}
