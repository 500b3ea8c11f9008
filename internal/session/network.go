//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/egress"
	"bawn/internal/egress/transparent"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Egress is how one run reaches the network: through the supervisor, which
// decides about each connection and dials it itself.
type Egress struct {
	// Upstream is the host's own proxy, or nil.
	Upstream *egress.Upstream
	// Publish shows ports of the sandbox's loopback on the host.
	Publish []Publish
	// ProxyOnly asks for no transparent mode: the launcher cannot make it.
	ProxyOnly bool
	// Secret, if it is not empty, says that commands share the host's loopback
	// (macOS): the egress listens there, at a port of its own, and this is the
	// password that tells the run's clients from everybody else's. The sandbox
	// is asked for no network, and without one its loopback is closed.
	Secret string
	// Notice tells a person what they do not get; it may be nil.
	Notice func(line string)
	// Record is told of every decision about the network, allowed ones too,
	// with who asked and why, and of every end with the bytes: see
	// egress.Event.Complete. It is called from many goroutines, each of which
	// waits for it, and it keeps what is to be kept: a run itself remembers
	// denials alone. What it cannot keep of a decision to allow is denied. nil
	// keeps nothing, and nobody who was allowed is looked for.
	Record func(egress.Event) error
}

// network is the egress of one run while it lives. A nil one does nothing.
type network struct {
	e       *Egress
	policy  policy.Policy
	ask     *questions
	inside  sandbox.Network // what the sandbox is to make
	set     []string        // variables inside
	proxy   *egress.Proxy
	engine  *transparent.Engine
	publish publisher
	denied  denials
	missed  unreached
	serving sync.WaitGroup
	closing atomic.Bool

	looks    looks
	mu       sync.RWMutex // held while a process is looked through
	members  []member
	starting sync.RWMutex // read by commands that start and have not entered
}

// member is a sandbox whose processes use the network.
type member struct {
	sandbox.Process
	source
}

// enter and leave say whose processes are looked through. Nothing is asked of
// one that has left: its pid may be another's by then.
func (n *network) enter(p sandbox.Process, of source) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.members = append(n.members, member{p, of})
}

func (n *network) leave(p sandbox.Process) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.members = slices.DeleteFunc(n.members, func(m member) bool { return m.Process == p })
}

// begin is called before a command is started that enters: it may connect
// before it has. done is called when it has entered, or failed to start.
func (n *network) begin() (done func()) {
	if n == nil {
		return func() {}
	}
	n.starting.RLock()
	return n.starting.RUnlock
}

// find looks for the process with this end of a connection, once more when
// those that were about to enter have done so.
func (n *network) find(peer netip.AddrPort) source {
	if s := n.look(peer); s.pid != 0 {
		return s
	}
	n.entered()
	return n.look(peer)
}

// entered waits until the commands that have begun to start have entered, or
// failed to start: until nobody reads the lock.
func (n *network) entered() {
	n.starting.Lock()
	defer n.starting.Unlock()
}

func (n *network) look(peer netip.AddrPort) source {
	defer n.looks.begin()()
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, m := range n.members {
		if pid, command := m.Owner(peer); pid != 0 {
			m.pid, m.process = pid, egress.Line(command, maxCommand) // a command names itself
			return m.source
		}
	}
	return n.sole()
}

// only is the one that uses the network, if it is one.
func (n *network) only() source {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.sole()
}

func (n *network) sole() source {
	if len(n.members) != 1 {
		return source{}
	}
	return n.members[0].source
}

// open prepares what must be there before the sandbox is planned.
func (e *Egress) open(p policy.Policy, ask *questions) (*network, error) {
	if e == nil {
		return nil, nil
	}
	n := &network{e: e, policy: p, ask: ask, inside: sandbox.Network{Proxy: true}}
	limits := openFiles()
	if n.publish.max = maxPublished; len(e.Publish) > 0 && limits.Conns < 2*maxPublished {
		limits.Conns = max(1, limits.Conns/2)
		n.publish.max = limits.Conns
	}
	if e.Secret != "" {
		if n.inside = (sandbox.Network{}); len(e.Publish) > 0 {
			return nil, &policy.RefusedError{
				What: "--publish", Why: "here the command's loopback is the host's own: what listens there can be reached already", Lift: "leave it out",
			}
		}
	}
	if p.HasNetwork() {
		local, err := localPorts(p.Network().LocalPorts())
		if err != nil {
			return nil, err
		}
		if e.Secret == "" {
			n.inside.Transparent, n.inside.Local = !e.ProxyOnly, local
		}
		n.proxy = egress.New(egress.Options{
			Decide: n.decide, CheckAddr: p.Network().DecideAddr, Upstream: e.Upstream, Record: n.record, Who: n.who, Limits: limits, Secret: e.Secret,
		})
	} else {
		n.proxy = egress.Closed(p.NoNetwork(), egress.Options{Record: n.record, Who: n.who, Limits: limits})
	}
	addr := netip.MustParseAddrPort(sandbox.ProxyAddr)
	if e.Secret != "" && p.HasNetwork() {
		var err error
		if addr, err = n.listen(); err != nil {
			n.close()
			return nil, err
		}
	}
	n.set = egress.Env(addr, e.Secret)
	if !p.HasNetwork() && len(e.Publish) > 0 {
		return nil, &policy.RefusedError{
			What: "--publish", Why: p.NoNetwork().Text + ", and a published port is a way in and out", Lift: p.NoNetwork().Lift,
		}
	}
	for _, at := range e.Publish {
		if err := n.publish.listen(at); err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

// listen serves on the host's loopback.
func (n *network) listen() (netip.AddrPort, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("the egress cannot listen: %w", err)
	}
	n.goServe(func() error { return n.proxy.Serve(l) })
	return l.Addr().(*net.TCPAddr).AddrPort(), nil
}

// openFiles are the limits of an egress for as many files as this process may
// have. Go has raised that to the hard limit, and gives children the old one.
func openFiles() egress.Limits {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return egress.Limits{}.ForFiles(1024)
	}
	return egress.Limits{}.ForFiles(uint64(r.Cur))
}

// localPorts gives each port once: one may be named by a flag and by a file.
func localPorts(ports []uint16) ([]uint16, error) {
	out := slices.Clone(ports)
	slices.Sort(out)
	for _, port := range out {
		if ownPort(port) {
			return nil, &policy.RefusedError{
				What: fmt.Sprintf("local port %d", port), Why: "inside it is the sandbox's own",
				Lift: fmt.Sprintf("allow the host localhost:%d, which is reached through the proxy", port),
			}
		}
	}
	return slices.Compact(out), nil
}

// ownPort reports whether the sandbox itself listens on the port of its loopback.
func ownPort(port uint16) bool {
	return port == dnsPort || port == netip.MustParseAddrPort(sandbox.ProxyAddr).Port()
}

const (
	dnsPort    = 53 // the resolver's
	maxCommand = 64 // bytes of a name, as it is shown
)

// decide answers for one connection, and holds it while a person is asked.
// With nobody to ask, a question is a refusal to the egress (SPEC T8).
func (n *network) decide(ctx context.Context, r egress.Request) policy.Decision {
	if d, ok := n.ask.refused(r.Connect); ok {
		return d
	}
	d := n.policy.Network().Decide(r.Connect)
	return n.ask.decide(ctx, r.Connect, d, func() source { return n.find(r.Peer) })
}

// describe tells the plan of a command what its network is.
func (n *network) describe(c *sandbox.Command) {
	if n != nil {
		c.Net, c.Set = n.inside, append(c.Set, n.set...)
	}
}

// name answers for one name, which is all that a query can ask for. A denied
// one is noted: the client never gets as far as a connection.
func (n *network) name(_ context.Context, h policy.Host) policy.Decision {
	d := n.policy.Network().DecideName(h)
	if d.Verdict == policy.Ask && n.ask != nil {
		return d // it gets an address, and the question comes when it is connected to
	}
	if d.Verdict != policy.Allow {
		d.Verdict = policy.Deny    // with nobody to ask, an unlisted name does not exist
		_ = n.record(egress.Event{ // a denial holds without a record
			Request:  egress.Request{Connect: policy.Connect{Host: h}, Via: egress.ViaName},
			Decision: d, Start: time.Now(), Task: n.only().task,
		})
	}
	return d
}

func denialOf(e egress.Event) Denial {
	return Denial{Host: e.Connect.Host.String(), Port: e.Connect.Port, Rule: e.Decision.Rule, PID: e.PID, Command: e.Command}
}

// who finds the client, if that will be asked for: it takes a walk through
// the processes of the sandbox.
func (n *network) who(e egress.Event) (task, pid int, command string) {
	if n.e.Record == nil && (!isDenial(e) || !n.denied.isNew(denialOf(e))) {
		return 0, 0, ""
	}
	s := n.find(e.Peer)
	return s.task, s.pid, s.process
}

// isDenial reports whether a person is told. A request that nobody can
// understand names no host.
func isDenial(e egress.Event) bool {
	return !e.End && e.Decision.Verdict != policy.Allow && e.Connect.Host != (policy.Host{})
}

func (n *network) record(e egress.Event) (err error) {
	if n.e.Record != nil {
		err = n.e.Record(e)
	}
	if err != nil && e.Decision.Verdict == policy.Allow {
		e.Decision = egress.Unrecorded(err)
	}
	switch {
	case isDenial(e):
		n.denied.add(denialOf(e))
	case e.End:
		n.missed.end(e)
	}
	return err
}

// serve takes over what the sandbox's network was made with. Without a
// listener inside nothing can get out, so a failure here closes the way.
func (n *network) serve(s *sandbox.Sockets, p sandbox.Process) {
	if n == nil {
		s.Close()
		return
	}
	for line := range strings.Lines(s.Reason) {
		n.notice(strings.TrimSuffix(line, "\n"))
	}
	if err := n.serveProxy(s); err != nil {
		n.notice("no network: " + err.Error())
	}
	if err := n.serveTransparent(s); err != nil {
		n.notice("only programs that use the proxy reach allowed hosts: " + err.Error())
	}
	n.publish.serve(p, n.proxy)
}

func (n *network) notice(line string) {
	if n.e.Notice != nil {
		n.e.Notice(line)
	}
}

func (n *network) serveProxy(s *sandbox.Sockets) error {
	if s.Proxy == nil {
		return errors.New("the sandbox has no listener for it")
	}
	l, err := listener(s.Proxy)
	s.Proxy = nil
	if err != nil {
		return err
	}
	n.goServe(func() error { return n.proxy.Serve(l) })
	for port, f := range s.Local {
		delete(s.Local, port)
		l, err := listener(f)
		if err != nil {
			return err
		}
		target := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port).String()
		n.goServe(func() error { return n.proxy.ServeFixed(l, target) })
	}
	return nil
}

func (n *network) serveTransparent(s *sandbox.Sockets) (err error) {
	defer s.Close() // what has not been taken over
	if len(s.DNSPackets) == 0 {
		return nil // the reason has been told
	}
	o := transparent.Options{Name: n.name, Dial: n.dial, Join: n.join}
	for i, f := range s.DNSPackets {
		c, e := net.FilePacketConn(f)
		if err = errors.Join(err, e); e == nil {
			o.Packet = append(o.Packet, c)
		}
		f.Close()
		s.DNSPackets[i] = nil
	}
	for i, f := range s.DNSStreams {
		l, e := listener(f)
		if err = errors.Join(err, e); e == nil {
			o.Stream = append(o.Stream, l)
		}
		s.DNSStreams[i] = nil
	}
	if s.Relay != nil {
		l, e := listener(s.Relay)
		if err = errors.Join(err, e); e == nil {
			o.Relay = l
			if s.TUN != nil { // a nil file in the interface would be a device
				o.TUN, s.TUN = s.TUN, nil
			}
		}
		s.Relay = nil
	}
	if err != nil {
		for _, c := range o.Packet {
			c.Close()
		}
		for _, l := range o.Stream {
			l.Close()
		}
		if o.Relay != nil {
			o.Relay.Close()
		}
		if o.TUN != nil {
			o.TUN.Close()
		}
		return err
	}
	if n.engine, err = transparent.New(o); err != nil {
		return err
	}
	n.goServe(func() error {
		<-n.engine.Done()
		if !n.closing.Load() {
			n.notice("only programs that use the proxy reach allowed hosts: an error ended the rest")
		}
		return nil
	})
	return nil
}

func (n *network) dial(ctx context.Context, h policy.Host, port uint16, peer netip.AddrPort) (net.Conn, error) {
	return n.proxy.Dial(ctx, egress.Request{Connect: policy.Connect{Host: h, Port: port}, Via: egress.ViaTCP, Peer: peer})
}

// join relays; the first bytes of the client must agree with the host.
func (n *network) join(h policy.Host, client, server net.Conn) { _ = n.proxy.Relay(client, server, h) }

func (n *network) goServe(f func() error) {
	n.serving.Go(func() { _ = f() }) // ends with close
}

// listener takes over a listening socket.
func listener(f *os.File) (net.Listener, error) {
	defer f.Close()
	return net.FileListener(f)
}

// connected hands a socket from inside to the connection that waits for it.
func (n *network) connected(ev sandbox.Event) {
	if n == nil {
		if ev.File != nil {
			ev.File.Close()
		}
		return
	}
	n.publish.connected(ev)
}

// close ends every connection and waits for all that served it.
func (n *network) close() {
	if n == nil {
		return
	}
	n.closing.Store(true)
	n.publish.close()
	if n.engine != nil {
		_ = n.engine.Close()
	}
	_ = n.proxy.Close()
	n.serving.Wait()
}

func (n *network) denials() ([]Denial, int) {
	if n == nil {
		return nil, 0
	}
	return n.denied.list()
}

func (n *network) unreached() []Unreached {
	if n == nil {
		return nil
	}
	return n.missed.list()
}
