package transparent

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bawn/internal/policy"
)

// count checks the table's numbers against its contents.
func count(t interface{ Fatalf(string, ...any) }, tab *table) {
	pending, live := 0, 0
	for a, f := range tab.byAlias {
		if f.alias != a || tab.byEnds[f.ends] != f {
			t.Fatalf("flow %+v is not under both of its names", f)
		}
		if f.state == held {
			pending++
		}
		if !f.finished {
			live++
		}
		if f.finished != f.over() {
			t.Fatalf("flow %+v: over %v", f, f.over())
		}
	}
	if len(tab.byEnds) != len(tab.byAlias) || pending != tab.pending || live != tab.live {
		t.Fatalf("%d and %d flows, %d pending (%d), %d live (%d)", len(tab.byEnds), len(tab.byAlias), tab.pending, pending, tab.live, live)
	}
	if tab.live > maxFlows || tab.pending > maxPending || len(tab.finished) > maxFinished {
		t.Fatalf("%d live, %d pending, %d finished", tab.live, tab.pending, len(tab.finished))
	}
}

// However flows come and go, the table's counts are right and it ends empty.
func TestTableCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := newTable()
		now := time.Now()
		var flows []*flow
		pick := func() *flow { return flows[rapid.IntRange(0, len(flows)-1).Draw(t, "flow")] }
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
			op := rapid.IntRange(0, 5).Draw(t, "op")
			if len(flows) == 0 {
				op = 0
			}
			switch op {
			case 0:
				id := ends{src: inside, dst: far, srcPort: uint16(rapid.IntRange(1, 4).Draw(t, "port"))}
				if tab.byEnds[id] == nil {
					flows = append(flows, tab.add(id, 1, now))
				}
			case 1:
				if f := pick(); f.state < closed {
					tab.set(f, f.state+1, now)
				}
			case 2:
				f := pick()
				f.finClient, f.finRelay = true, true
				tab.settle(f)
			case 3:
				f := pick()
				f.rst = true
				tab.settle(f)
			case 4:
				tab.drop(pick())
			case 5:
				tab.sweep(now)
			}
			count(t, &tab)
		}
		for _, f := range flows {
			f.rst = true
			tab.set(f, closed, now)
		}
		if _, watch := tab.sweep(now.Add(time.Hour)); watch || len(tab.byAlias) != 0 || len(tab.byEnds) != 0 || tab.live != 0 || tab.pending != 0 {
			t.Fatalf("left over: %+v", tab)
		}
	})
}

func TestTableBounds(t *testing.T) {
	tab, now := newTable(), time.Now()
	id := func(i int) ends { return ends{src: inside, dst: far, srcPort: uint16(i), dstPort: 80} }
	for i := range maxPending {
		if tab.add(id(i), 1, now) == nil {
			t.Fatalf("full at %d", i)
		}
	}
	if tab.add(id(maxPending), 1, now) != nil {
		t.Error("more wait than may")
	}
	n := 0
	for ; tab.live < maxFlows; n++ {
		tab.set(tab.byEnds[id(n)], opening, now)
		if tab.add(id(maxPending+n), 1, now) == nil {
			t.Fatalf("full at %d flows", tab.live)
		}
	}
	tab.set(tab.byEnds[id(n)], opening, now)
	if tab.add(id(60000), 1, now) != nil {
		t.Error("more flows than may be")
	}
	for i := range maxFlows {
		f := tab.byEnds[id(i)]
		f.rst = true
		tab.set(f, closed, now)
	}
	count(t, &tab)
	if tab.live != 0 || len(tab.byAlias) != maxFinished {
		t.Errorf("%d live, %d kept", tab.live, len(tab.byAlias))
	}
}

func TestTimeouts(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name   string
		state  state
		gap    time.Duration // before the last SYN
		after  time.Duration
		gone   bool
		refuse bool
	}{
		{"first SYN", held, 0, 3 * time.Second, false, false},
		{"no second SYN", held, 0, 5 * time.Second, true, false},
		{"late SYN", held, 64 * time.Second, 125 * time.Second, false, false},
		{"no late SYN", held, 64 * time.Second, 131 * time.Second, true, false},
		{"no answer", held, 64 * time.Minute, holdTimeout + 1, true, true},
		{"opening", opening, 0, openTimeout, false, false},
		{"not opened", opening, 0, openTimeout + 1, true, false},
		{"joined", joined, 0, 1000 * time.Hour, false, false},
		{"closing", closed, 0, closedTimeout, false, false},
		{"closed", closed, 0, closedTimeout + 1, true, false},
	} {
		tab := newTable()
		f := tab.add(ends{}, 1, now)
		f.gap = c.gap
		f.syn = []byte("syn")
		if c.state != held {
			tab.set(f, c.state, now)
		}
		refuse, _ := tab.sweep(now.Add(c.after))
		if tab.has(f) == c.gone || (len(refuse) == 1) != c.refuse {
			t.Errorf("%s: gone %v, refused %q", c.name, !tab.has(f), refuse)
		}
		count(t, &tab)
	}
}

// tape stands for the device: it yields packets and keeps those written.
type tape struct {
	in   chan []byte
	end  chan struct{}
	once sync.Once
	mu   sync.Mutex
	out  [][]byte
	sent chan []byte // the first few of them
}

func newTape() *tape {
	return &tape{in: make(chan []byte), end: make(chan struct{}), sent: make(chan []byte, 8)}
}

func (d *tape) Read(b []byte) (int, error) {
	select {
	case p := <-d.in:
		return copy(b, p), nil
	case <-d.end:
		return 0, io.EOF
	}
}

func (d *tape) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b = append([]byte(nil), b...)
	d.out = append(d.out, b)
	select {
	case d.sent <- b:
	default:
	}
	return len(b), nil
}

func (d *tape) Close() error { d.once.Do(func() { close(d.end) }); return nil }

// deaf is a listener that nobody reaches.
type deaf struct{ end chan struct{} }

func (l deaf) Accept() (net.Conn, error) { <-l.end; return nil, net.ErrClosed }
func (l deaf) Close() error              { close(l.end); return nil }
func (l deaf) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IP(inside[:]), Port: 9}
}

func testEngine(t testing.TB) (*Engine, *tape) {
	t.Helper()
	d := newTape()
	e, err := New(Options{
		TUN: d, Relay: deaf{make(chan struct{})}, Name: testResolver().Name,
		Dial: func(_ context.Context, _ policy.Host, port uint16, _ netip.AddrPort) (net.Conn, error) {
			switch port % 3 {
			case 0:
				return nil, errors.New("denied")
			case 1:
				panic("dial")
			}
			c, _ := net.Pipe()
			return c, nil
		},
		Join: func(policy.Host, net.Conn, net.Conn) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, d
}

// Any sequence of packets: the engine lives, its counts are right, and what
// it sends is well formed.
func FuzzEngine(f *testing.F) {
	var all []byte
	for _, b := range seedPackets() {
		one := append([]byte{1, byte(len(b))}, b...)
		f.Add(one)
		all = append(all, one...)
	}
	f.Add(all)
	for port := uint16(443); port < 446; port++ {
		var talk []byte
		for _, p := range [][]byte{
			made(tcpProtocol, inside, far, 40000, port, flagSYN, 1, ""),
			made(tcpProtocol, inside, far, 40000, port, flagSYN, 1, ""),
			made(tcpProtocol, inside, far, 40000, port, flagACK, 1, "data"),
			made(tcpProtocol, inside, ipv4{198, 19, 0, 0}, 9, 40000, flagSYN|flagACK, 1, ""),
			made(tcpProtocol, inside, ipv4{198, 19, 0, 0}, 9, 40000, flagFIN|flagACK, 1, ""),
			made(tcpProtocol, inside, far, 40000, port, flagRST, 1, ""),
		} {
			talk = append(append(talk, 1, byte(len(p))), p...)
		}
		f.Add(talk)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, d := testEngine(t)
		for len(data) > 2 {
			n := min(int(data[1]), len(data)-2)
			p := append([]byte(nil), data[2:2+n]...)
			if data[0]&1 != 0 {
				repair(p)
			}
			data = data[2+n:]
			d.in <- p
		}
		e.mu.Lock()
		count(t, &e.table)
		e.mu.Unlock()
		if err := e.Close(); err != nil {
			t.Errorf("the engine ended: %v", err)
		}
		for _, b := range d.out {
			sound(t, b)
			if src := ipv4(b[vnetLen+12:]); src == inside {
				t.Errorf("a packet from the sandbox's own address: % x", b)
			}
		}
	})
}

// A worker that ends takes the rest with it.
func TestEngineFailsClosed(t *testing.T) {
	e, d := testEngine(t)
	_ = d.Close()
	<-e.Done()
	e.workers.Wait()
	if n := e.Flows(); n != 0 {
		t.Errorf("%d flows", n)
	}
	if err := e.err; !errors.Is(err, io.EOF) {
		t.Errorf("ended by %v", err)
	}
}

func TestEngineNeedsSomebodyToDecide(t *testing.T) {
	for name, o := range map[string]Options{
		"nothing":  {},
		"no relay": {TUN: newTape(), Name: testResolver().Name},
		"no dial":  {TUN: newTape(), Relay: deaf{make(chan struct{})}, Name: testResolver().Name},
	} {
		if e, err := New(o); err == nil {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// What has no checksum of its own right is neither decided nor answered.
func TestBadSumIsNothing(t *testing.T) {
	e, d := testEngine(t)
	for _, p := range [][]byte{
		made(tcpProtocol, inside, far, 40000, 443, flagSYN, 0, ""),
		made(tcpProtocol, inside, far, 40000, 443, flagACK, 0, ""),
		made(udpProtocol, inside, far, 40000, 443, 0, 0, "quic"),
	} {
		p[vnetLen+ipLen]++
		d.in <- p
	}
	foreign := made(tcpProtocol, ipv4{198, 18, 0, 3}, far, 40000, 443, flagSYN, 0, "")
	d.in <- foreign
	good := made(tcpProtocol, inside, far, 40000, 443, flagACK, 0, "")
	d.in <- good
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if len(d.out) != 1 || binary.BigEndian.Uint16(d.out[0][vnetLen+ipLen+2:]) != 40000 {
		t.Errorf("answered % x; want the one reset", d.out)
	}
}

type noted struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *noted) Close() error { c.once.Do(func() { close(c.closed) }); return nil }

// A port used again while the old connection still waits: the old question
// ends, and what comes of it is closed, not given to the new connection.
func TestPortReuseWhileHeld(t *testing.T) {
	type call struct {
		ctx    context.Context
		answer chan net.Conn
	}
	calls := make(chan call)
	d := newTape()
	e, err := New(Options{
		TUN: d, Relay: deaf{make(chan struct{})}, Name: testResolver().Name, Join: func(policy.Host, net.Conn, net.Conn) {},
		Dial: func(ctx context.Context, _ policy.Host, _ uint16, _ netip.AddrPort) (net.Conn, error) {
			c := call{ctx, make(chan net.Conn)}
			calls <- c
			return <-c.answer, nil // whatever ctx says
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	syn := func(seq, flags byte) []byte {
		b := made(tcpProtocol, inside, far, 40000, 443, flags, 0, "")
		b[vnetLen+ipLen+7] = seq
		repair(b)
		return b
	}
	d.in <- syn(1, flagSYN)
	first := <-calls
	d.in <- syn(1, flagSYN) // merged
	d.in <- syn(2, flagSYN)
	second := <-calls
	<-first.ctx.Done()
	old, fresh := &noted{closed: make(chan struct{})}, &noted{closed: make(chan struct{})}
	first.answer <- old
	<-old.closed
	if second.ctx.Err() != nil || e.Flows() != 1 {
		t.Errorf("the new connection: %v, %d flows", second.ctx.Err(), e.Flows())
	}
	second.answer <- fresh
	if p, ok := parse(<-d.sent); !ok || p.flags != flagSYN || p.seq() != 2 || p.dstPort != 9 || p.dst != inside {
		t.Errorf("sent %+v, want the new SYN", p)
	}
	// A reset before the relay has it ends what was dialled.
	d.in <- syn(2, flagRST)
	if p, ok := parse(<-d.sent); !ok || p.flags != flagRST || p.dstPort != 9 {
		t.Errorf("sent %+v, want the reset", p)
	}
	<-fresh.closed
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

type comes struct {
	net.Conn
	from *net.TCPAddr
}

func (c comes) RemoteAddr() net.Addr { return c.from }

// Only a connection that a SYN was let through for is joined, and once.
func TestClaimNeedsAnOpeningFlow(t *testing.T) {
	e, _ := testEngine(t)
	defer e.Close()
	e.mu.Lock()
	f := e.table.add(ends{src: inside, dst: far, srcPort: 40000, dstPort: 443}, 1, time.Now())
	e.mu.Unlock()
	client := comes{noConn(), &net.TCPAddr{IP: f.alias.addr[:], Port: 40000}}
	try := func(want bool, when string) {
		t.Helper()
		if got := e.claim(client) != nil; got != want {
			t.Errorf("%s: claimed %v", when, got)
		}
	}
	try(false, "held")
	e.mu.Lock()
	e.table.set(f, opening, time.Now())
	e.mu.Unlock()
	other := comes{noConn(), &net.TCPAddr{IP: f.alias.addr[:], Port: 40001}}
	if e.claim(other) != nil {
		t.Error("another port was claimed")
	}
	try(true, "opening")
	try(false, "joined")
}

func noConn() net.Conn { c, _ := net.Pipe(); return c }
