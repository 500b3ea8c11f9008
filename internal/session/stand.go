//go:build unix

package session

import (
	"errors"
	"net/netip"
	"sync"

	"bawn/internal/sandbox"
)

// Stand starts a command for which this process itself stands, by Follow: on
// its own streams, without a screen.
func (s *Session) Stand(c Start, client Client) (*Standing, error) {
	st := &Standing{s: s, events: make(chan sandbox.Event, 8), gone: make(chan struct{})}
	client.Event = func(ev sandbox.Event, end Ended) {
		if ev.Kind == sandbox.EventExited || ev.Kind == sandbox.EventFailed {
			st.Ended = end
		}
		select {
		case st.events <- ev:
		case <-st.gone:
			if ev.TTY != nil {
				ev.TTY.Close()
			}
		}
	}
	c.Kind = Attached
	var err error
	st.id, err = s.Serve(c, client)
	if err != nil {
		return nil, err
	}
	return st, nil
}

// Standing is a sandbox.Process for a command of a session in this process.
type Standing struct {
	Ended Ended // what there is to tell of it, once it has ended

	s      *Session
	id     int
	events chan sandbox.Event
	gone   chan struct{}
	close  sync.Once
}

// Next implements sandbox.Process.
func (p *Standing) Next() (sandbox.Event, error) { return <-p.events, nil }

// Signal implements sandbox.Process.
func (p *Standing) Signal(sig int) error {
	p.s.Signal(p.id, sig)
	return nil
}

// Ack implements sandbox.Process.
func (p *Standing) Ack() error {
	p.s.Ack(p.id)
	return nil
}

// Kill implements sandbox.Process.
func (p *Standing) Kill() { p.s.Kill(p.id) }

// Connect, Owner and Wait implement sandbox.Process: that is the session's.
func (p *Standing) Connect(uint16) error               { return errors.New("the session connects") }
func (p *Standing) Owner(netip.AddrPort) (int, string) { return 0, "" }
func (p *Standing) Wait()                              {}

// Close implements sandbox.Process.
func (p *Standing) Close() error {
	p.close.Do(func() { close(p.gone) })
	p.s.Kill(p.id)
	return nil
}
