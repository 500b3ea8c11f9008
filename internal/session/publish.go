//go:build unix

package session

import (
	"errors"
	"net"
	"sync"
	"time"

	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

const (
	// maxPublished bounds the connections to published ports that one run
	// serves, if it may have so many files open.
	maxPublished = 1000
	// maxAsked bounds the sockets that are asked for at once. Requests and
	// answers must fit into the control socket's buffers: with both full, the
	// two ends would wait for each other.
	maxAsked = 64
	// acceptPause is waited before what failed, for want of descriptors, is
	// tried again.
	acceptPause = 10 * time.Millisecond
)

// publisher connects clients of the host to ports inside. The sandbox makes
// the sockets, in the order in which they are asked for.
type publisher struct {
	mu      sync.Mutex
	room    sync.Cond // among waiting, or closed
	p       sandbox.Process
	egress  *egress.Proxy // relays
	max     int           // connections at once
	waiting []net.Conn
	open    map[net.Conn]struct{}
	servers []published
	closed  bool
	work    sync.WaitGroup
}

type published struct {
	net.Listener
	port uint16
}

// listen takes the host's port, before anything runs.
func (p *publisher) listen(at Publish) error {
	l, err := at.listen()
	if err != nil {
		return err
	}
	p.servers = append(p.servers, published{l, at.Port})
	return nil
}

// listen takes the host's port.
func (at Publish) listen() (net.Listener, error) {
	if ownPort(at.Port) { // whoever connects would be taken for a command
		return nil, &policy.RefusedError{What: "publishing " + at.String(), Why: "inside the port is the sandbox's own", Lift: "let the server use another port"}
	}
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return nil, &policy.RefusedError{
			What: "publishing " + at.String(), Why: "the host cannot listen there: " + err.Error(), Lift: "free the port, or publish another",
		}
	}
	return l, nil
}

// serve accepts until close.
func (p *publisher) serve(inside sandbox.Process, relay *egress.Proxy) {
	p.mu.Lock()
	p.p, p.egress, p.open, p.room.L = inside, relay, map[net.Conn]struct{}{}, &p.mu
	p.mu.Unlock()
	for _, l := range p.servers {
		p.accept(l, p.ask)
	}
}

// accept hands each connection to take, until close.
func (p *publisher) accept(l published, take func(c net.Conn, port uint16) bool) {
	p.work.Go(func() {
		for {
			c, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil:
				time.Sleep(acceptPause)
			case !take(c, l.port):
				c.Close()
			}
		}
	})
}

// ask requests a socket for c, once there is room.
func (p *publisher) ask(c net.Conn, port uint16) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && len(p.waiting) >= maxAsked {
		p.room.Wait()
	}
	if p.closed || p.p == nil || len(p.open) >= p.max {
		return false
	}
	if p.p.Connect(port) != nil {
		return false
	}
	p.open[c] = struct{}{}
	p.waiting = append(p.waiting, c)
	return true
}

// connected takes the answer to the oldest request.
func (p *publisher) connected(ev sandbox.Event) {
	p.mu.Lock()
	var c net.Conn
	if len(p.waiting) > 0 {
		c = p.waiting[0]
		p.waiting = p.waiting[1:]
		p.room.Signal()
	}
	p.mu.Unlock()
	var inside net.Conn
	if ev.File != nil {
		if c != nil {
			inside, _ = net.FileConn(ev.File)
		}
		ev.File.Close()
	}
	switch {
	case c == nil:
	case inside == nil: // nobody listens there
		p.drop(c)
	default:
		p.work.Go(func() {
			defer p.drop(c)
			_ = p.egress.Relay(c, inside, policy.Host{})
		})
	}
}

func (p *publisher) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
}

func (p *publisher) close() {
	p.mu.Lock()
	p.closed = true
	p.room.Broadcast()
	for _, l := range p.servers {
		l.Close()
	}
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
}
