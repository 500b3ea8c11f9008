package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bawn/internal/policy"
)

// flow is one allowed request until its end is recorded.
type flow struct {
	p     *Proxy
	event Event
	over  atomic.Bool
}

// end records the end, the first time.
func (f *flow) end(up, down int64, err error) {
	if f.over.Swap(true) {
		return
	}
	e := f.event
	e.End, e.Duration, e.Up, e.Down, e.Err = true, time.Since(e.Start), up, down, errLine(err)
	_ = f.p.record(e) // it is over
}

// fail records the end of a request for which no connection came about.
func (f *flow) fail(err error) {
	f.event.Unreached = unreached(err)
	f.end(0, 0, err)
}

// decide asks for the verdict on r; it does not record it.
func (p *Proxy) decide(ctx context.Context, r Request) policy.Decision {
	if p.o.Decide == nil {
		return policy.Decision{Rule: policy.Rule{ID: "egress:closed", Text: "no connection leaves this sandbox"}}
	}
	return p.o.Decide(ctx, r)
}

// connect decides r, resolves, checks and dials. It records the one decision
// that counts: the address's if that is a denial. The flow is nil if r was
// not allowed.
func (p *Proxy) connect(ctx context.Context, r Request) (*reader, *flow, error) {
	start := time.Now()
	return p.dialDecided(ctx, r, start, p.decide(ctx, r))
}

func (p *Proxy) dialDecided(ctx context.Context, r Request, start time.Time, d policy.Decision) (*reader, *flow, error) {
	if d.Verdict != policy.Allow {
		p.decided(r, d, start)
		return nil, nil, &DeniedError{d}
	}
	ctx, cancel := context.WithTimeout(ctx, p.limits.DialTime)
	defer cancel()
	via := p.o.Upstream.route(r)
	addrs, unresolved := p.addresses(ctx, r.Connect, via != nil)
	addrs, refusal := p.checked(r.Connect, addrs)
	if refusal != nil {
		d = *refusal
	}
	f := p.decided(r, d, start)
	if d := f.event.Decision; d.Verdict != policy.Allow {
		return nil, nil, &DeniedError{d}
	}
	var c *reader
	err := unresolved
	switch {
	case err != nil:
	case via != nil:
		c, err = p.dialUpstream(ctx, via, r)
	default:
		c, err = p.dialAddrs(ctx, r.Connect, addrs)
	}
	if err != nil {
		f.fail(err)
		return nil, f, err
	}
	if via == nil {
		f.event.Addr = peerOf(c)
	}
	keepAlive(c)
	return c, f, nil
}

// addresses gives what a host may be dialled at. With an upstream proxy a
// name has none here: the proxy resolves it.
func (p *Proxy) addresses(ctx context.Context, c policy.Connect, upstream bool) ([]netip.AddrPort, error) {
	if a, ok := c.Host.Addr(); ok {
		return []netip.AddrPort{netip.AddrPortFrom(a, c.Port)}, nil
	}
	if upstream {
		return nil, nil
	}
	resolve := p.o.Resolve
	if resolve == nil {
		resolve = HostResolver("ip")
	}
	found, err := resolve(ctx, c.Host)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve %s: %w", c.Host, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("cannot resolve %s: it has no address", c.Host)
	}
	var out []netip.AddrPort
	for _, a := range found[:min(len(found), maxAddresses)] {
		out = append(out, netip.AddrPortFrom(a.Unmap(), c.Port))
	}
	return out, nil
}

// HostResolver resolves as the host does, to addresses of the network: "ip",
// "ip4" or "ip6". A name with a dot is taken as complete, so that a search
// domain cannot make another name of it.
func HostResolver(network string) func(context.Context, policy.Host) ([]netip.Addr, error) {
	return func(ctx context.Context, h policy.Host) ([]netip.Addr, error) {
		name := h.String()
		if strings.Contains(name, ".") {
			name += "."
		}
		return resolver.LookupNetIP(ctx, network, name)
	}
}

// resolver is that of every build: on Linux one with a C library would ask that
// where it looks for names in other places (LDAP, mDNS) than a release does.
var resolver = &net.Resolver{PreferGo: runtime.GOOS != "darwin"}

// checked keeps the addresses that may be dialled. If none is left the name
// is refused, with the reason of the first one.
func (p *Proxy) checked(c policy.Connect, addrs []netip.AddrPort) ([]netip.AddrPort, *policy.Decision) {
	var ok []netip.AddrPort
	var refusal *policy.Decision
	for _, a := range addrs {
		d := p.checkAddr(c.Host, a)
		if d.Verdict == policy.Allow {
			ok = append(ok, a)
		} else if refusal == nil {
			refusal = &d
		}
	}
	if len(ok) > 0 {
		return ok, nil
	}
	return nil, refusal
}

func (p *Proxy) checkAddr(h policy.Host, a netip.AddrPort) policy.Decision {
	if p.o.CheckAddr == nil {
		return policy.Decision{Rule: policy.Rule{ID: "egress:closed", Text: "no address is allowed"}}
	}
	return p.o.CheckAddr(h, a)
}

// dialAddrs connects to the first address that answers; the next one is tried
// beside it after a while (RFC 8305).
func (p *Proxy) dialAddrs(ctx context.Context, c policy.Connect, addrs []netip.AddrPort) (*reader, error) {
	if len(addrs) == 0 {
		return nil, errors.New("no address to connect to")
	}
	check := func(a netip.AddrPort) error {
		if d := p.checkAddr(c.Host, a); d.Verdict != policy.Allow {
			return &DeniedError{d}
		}
		return nil
	}
	if len(addrs) == 1 {
		return p.dialOne(ctx, addrs[0], check)
	}
	type result struct {
		c   *reader
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(addrs))
	var first error
	started, failed := 0, 0
	var timer <-chan time.Time
	for failed < len(addrs) {
		if started < len(addrs) && timer == nil {
			a := addrs[started]
			started++
			timer = time.After(nextAddress)
			p.wg.Go(func() {
				r := result{err: errors.New("an error in the egress itself")}
				defer func() { results <- r }()
				defer p.caught("dial")
				r.c, r.err = p.dialOne(ctx, a, check)
			})
		}
		select {
		case <-timer:
			timer = nil
			if started == len(addrs) {
				timer = make(chan time.Time)
			}
		case r := <-results:
			if r.err == nil {
				pending := started - failed - 1
				p.wg.Go(func() { // those that come too late
					for range pending {
						if r := <-results; r.c != nil {
							r.c.Close()
						}
					}
				})
				return r.c, nil
			}
			if first == nil {
				first = r.err
			}
			failed++
			if started < len(addrs) {
				timer = nil
			}
		}
	}
	return nil, first
}

// dialOne connects to one literal address. check sees the address that the
// socket is about to connect to, whatever led there.
func (p *Proxy) dialOne(ctx context.Context, a netip.AddrPort, check func(netip.AddrPort) error) (*reader, error) {
	d := net.Dialer{
		Timeout: addressTime,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			real, err := netip.ParseAddrPort(address)
			if err != nil || network != "tcp4" && network != "tcp6" {
				return fmt.Errorf("an unexpected socket: %s %q", network, address)
			}
			return check(netip.AddrPortFrom(real.Addr().Unmap(), real.Port()))
		},
	}
	c, err := d.DialContext(ctx, "tcp", a.String())
	if err != nil {
		return nil, err
	}
	return &reader{Conn: c, p: p}, nil
}

// Dial decides r and connects, for clients that reached the supervisor by
// other means. A refusal is a *DeniedError, and ErrBusy is too many at once.
// The end is recorded when the connection is closed.
func (p *Proxy) Dial(ctx context.Context, r Request) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hold := closerFunc(func() error { cancel(); return nil })
	s, err := p.enter(hold, true)
	if err != nil {
		if err == ErrBusy {
			p.decided(r, busy, time.Now())
		}
		return nil, err
	}
	c, f, err := p.connect(ctx, r)
	if err != nil {
		p.leave(s)
		return nil, err
	}
	conn := &Conn{reader: c, flow: f}
	conn.leave = func() { p.leave(s) }
	p.mu.Lock()
	s.Closer = c.Conn
	closed := p.closed
	p.mu.Unlock()
	if closed {
		conn.Close()
		return nil, ErrClosed
	}
	return conn, nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

// Conn is an allowed connection made by Dial. Close records its end.
type Conn struct {
	*reader
	flow     *flow
	up, down atomic.Int64
	failed   atomic.Pointer[error]
	leave    func()
	once     sync.Once
}

// Read reads from the host.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.reader.Read(b)
	c.down.Add(int64(n))
	return n, err
}

// Write writes to the host.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.reader.Write(b)
	c.up.Add(int64(n))
	return n, err
}

// CloseWrite tells the host that no more will come.
func (c *Conn) CloseWrite() error { return closeWrite(c.reader.Conn) }

// Fail notes why the connection is about to be closed, for the record.
func (c *Conn) Fail(err error) { c.failed.CompareAndSwap(nil, &err) }

// Close ends the connection.
func (c *Conn) Close() error {
	c.once.Do(func() {
		var err error
		if e := c.failed.Load(); e != nil {
			err = *e
		}
		c.leave()
		c.flow.end(c.up.Load(), c.down.Load(), err)
	})
	return nil
}
