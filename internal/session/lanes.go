//go:build unix

package session

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// class is which commands have their loopback, and their way out, in common.
type class uint8

const (
	classGuarded class = iota
	classNone          // no connection leaves: airlock, and settings without a network
	classOffline       // commands that were started without an egress (SPEC N9)
	classAgent         // the agent of bawn wrap, which reaches other hosts than its commands
)

// offline is why the last kind has none.
var offline = policy.Rule{ID: "network:without", Text: "the command was started without a way to the network", Lift: "start it without the ! or --no-egress"}

// lanes are the networks of a session: one for each class where a keeper holds
// them, else one for each command.
type lanes struct {
	s *Session

	mu     sync.Mutex
	tried  bool // to start the keeper
	keeper sandbox.Keeper
	shared map[class]*lane
	closed bool
	layers sandbox.Layers // what the keeper holds for laid
	laid   Staging

	failed atomic.Pointer[string] // why guarded commands have no network; nil if they have
}

// lane is a network and what starts commands in it. Without a network there is
// not even a refusal inside.
type lane struct {
	net     *network
	backend sandbox.Backend
	own     bool // of one command, which closes it
}

func (l *lane) close() {
	if !l.own {
		return
	}
	l.net.close()
	if shared, ok := l.backend.(sandbox.Shared); ok {
		shared.Close()
	}
}

// prepare makes what commands under p will need, ahead of them.
func (l *lanes) prepare(p policy.Policy) {
	if one, err := l.enter(p, Start{}, nil); err == nil {
		one.close()
	}
}

// enter returns the network for a command under p, for some one of their own.
// An egress that cannot start leaves the command without one, and a person is
// told. What a command is to write into a layer needs the keeper, which holds it.
func (l *lanes) enter(p policy.Policy, c Start, staged Staging) (*lane, error) {
	one, none, err := l.entered(p, c, staged)
	if none != "" { // told without the lock: who shows it may keep it waiting
		l.s.watchers.tell()
		tell := l.s.notice
		if c.Notice != nil {
			tell = c.Notice
		}
		tell("no network: " + none)
	}
	return one, err
}

// entered does so; none is why there is no network, if that is new.
func (l *lanes) entered(p policy.Policy, c Start, staged Staging) (_ *lane, none string, _ error) {
	of := classGuarded
	switch {
	case c.NoEgress:
		of, p = classOffline, p.WithoutNetwork(offline)
	case !p.HasNetwork():
		of = classNone
	case c.Preset:
		of = classAgent
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, "", ErrClosed
	}
	own := c.Web || p.Profile() != policy.NoProfile // which allows other hosts than the rest
	if !own || staged != nil {
		l.start()
	}
	if staged != nil {
		if err := l.lay(staged); err != nil {
			return nil, "", err
		}
	}
	if one := l.shared[of]; one != nil && !own {
		return one, "", nil
	}
	one, err := l.make(p, of, own, staged != nil)
	if err != nil {
		if of == classGuarded || of == classAgent {
			why := err.Error()
			if old := l.failed.Swap(&why); old == nil || *old != why {
				none = why
			}
		}
		if staged != nil {
			return nil, none, err // beside the keeper nothing can be staged
		}
		return &lane{backend: l.s.setup.Backend, own: true}, none, nil
	}
	if of == classGuarded && l.failed.Swap(nil) != nil {
		l.s.watchers.tell()
	}
	if !one.own {
		l.shared[of] = one
	}
	return one, "", nil
}

// start starts the keeper, once, and again when it is gone.
func (l *lanes) start() {
	if l.keeper != nil {
		select {
		case <-l.keeper.Done():
			l.s.notice("what the commands of this session shared is gone; those that start now share anew")
			_ = l.end()
		default:
			return
		}
	}
	if l.tried || l.s.setup.Keeper == nil {
		return
	}
	k, err := l.s.setup.Keeper()
	if err != nil {
		l.tried = true
		if !errors.Is(err, sandbox.ErrUnavailable) {
			l.s.notice(fmt.Sprintf("commands share no loopback and no temp folder: %v", err))
		}
		return
	}
	l.keeper, l.shared = k, map[class]*lane{}
}

func (l *lanes) make(p policy.Policy, of class, own, kept bool) (*lane, error) {
	s := l.s
	e := &Egress{Upstream: s.setup.Upstream, ProxyOnly: s.setup.ProxyOnly, Notice: s.notice, Record: s.record}
	ask := s.ask
	if of != classGuarded && of != classAgent {
		ask = nil
	}
	net, err := e.open(p, ask)
	if err != nil {
		return nil, err
	}
	if l.keeper == nil || own && !kept {
		return &lane{net: net, backend: s.setup.Backend, own: true}, nil
	}
	shared, err := l.keeper.Network(net.inside)
	if err != nil {
		net.close()
		return nil, err
	}
	net.serve(shared.Sockets(), nil)
	return &lane{net: net, backend: shared, own: own}, nil
}

// why says why guarded commands have no network; "" if they have.
func (l *lanes) why() string {
	if why := l.failed.Load(); why != nil {
		return *why
	}
	return ""
}

// end closes what is shared. The caller holds mu.
func (l *lanes) end() error {
	for _, one := range l.shared {
		one.net.close()
	}
	l.shared = nil
	l.layers, l.laid = nil, nil // which the keeper ends
	if l.keeper == nil {
		return nil
	}
	k := l.keeper
	l.keeper = nil
	return k.Close()
}

func (l *lanes) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.end()
}
