//go:build unix

package session

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// maxPorts bounds what a session shows on the host.
const maxPorts = 64

// ports are those of the network of its guarded commands that a session shows on
// the host, as long as it lives. The keeper makes the sockets inside.
type ports struct {
	publisher
	s    *Session
	list []Publish // guarded by the publisher's mu
}

// Publish shows a port of the session's guarded commands on the host until the
// session ends. It is a way in and out: there is none to airlock.
func (s *Session) Publish(at Publish) error {
	refuse := func(why, lift string) error {
		return &policy.RefusedError{What: "publishing " + at.String(), Why: why, Lift: lift}
	}
	s.mu.Lock()
	p := s.policy
	s.mu.Unlock()
	switch {
	case !p.Sandboxed():
		return refuse("in the open tier the loopback of commands is the host's own: what listens there can be reached already", "switch to guarded first")
	case !p.HasNetwork():
		why := p.NoNetwork()
		return refuse(why.Text+", and a published port is a way in and out", why.Lift)
	}
	one, err := s.lanes.enter(p, Start{}, nil)
	if err != nil {
		return err
	}
	if one.own {
		one.close()
		if one.net == nil {
			return refuse("commands have no network: "+s.lanes.why(), "mend that first")
		}
		return refuse("here each command of a session has a network of its own", "bawn run --session none --publish PORT shows that of one command")
	}
	return s.ports.show(at)
}

func (p *ports) show(at Publish) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return ErrClosed
	case len(p.list) >= maxPorts:
		return fmt.Errorf("%d ports are published already", len(p.list))
	}
	l, err := at.listen()
	if err != nil {
		return err
	}
	if p.open == nil {
		p.open, p.max = map[net.Conn]struct{}{}, max(1, min(maxPublished, openFiles().Conns/4))
	}
	one := published{l, at.Port}
	p.servers, p.list = append(p.servers, one), append(p.list, at)
	p.accept(one, p.take)
	p.s.watchers.tell()
	return nil
}

func (p *ports) shown() []Publish {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

// take connects a client of the host. Each port has the keeper make one socket at
// a time: commands that start wait for it too.
func (p *ports) take(c net.Conn, port uint16) bool {
	p.mu.Lock()
	ok := !p.closed && len(p.open) < p.max
	if ok {
		p.open[c] = struct{}{}
	}
	p.mu.Unlock()
	if !ok {
		return false
	}
	inside, relay, err := p.s.lanes.connect(port)
	if err != nil { // nobody listens there
		p.drop(c)
		return true
	}
	p.work.Go(func() {
		defer p.drop(c)
		_ = relay.Relay(c, inside, policy.Host{})
	})
	return true
}

// connect returns a connection to a port of the guarded commands' loopback, and
// what relays it.
func (l *lanes) connect(port uint16) (net.Conn, *egress.Proxy, error) {
	l.mu.Lock()
	one := l.shared[classGuarded]
	l.mu.Unlock()
	if one == nil {
		return nil, nil, errors.New("no guarded command has run")
	}
	shared, ok := one.backend.(sandbox.Shared)
	if !ok {
		return nil, nil, errors.New("the network is not shared")
	}
	f, err := shared.Connect(port)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	c, err := net.FileConn(f)
	return c, one.net.proxy, err
}
