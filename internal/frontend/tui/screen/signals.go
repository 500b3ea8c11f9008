//go:build unix

package screen

import (
	"os"
	"os/signal"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// signals follows the terminal's size, and gives the terminal back while this
// process is stopped.
type signals struct {
	caught chan os.Signal
	stop   chan struct{} // asked for by Stop
	quit   chan struct{}
}

func newSignals() *signals {
	g := &signals{make(chan os.Signal, 8), make(chan struct{}, 1), make(chan struct{})}
	for _, sig := range []os.Signal{unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT, unix.SIGHUP} {
		if !signal.Ignored(sig) { // as under nohup
			signal.Notify(g.caught, sig)
		}
	}
	return g
}

func (g *signals) close() {
	signal.Stop(g.caught)
	close(g.quit)
}

// Stop stops this process and its group, as Ctrl+Z does for a program that
// leaves the terminal as it is. The terminal is given back meanwhile.
func (s *Screen) Stop() {
	select {
	case s.signals.stop <- struct{}{}:
	default:
	}
}

func (s *Screen) watchSignals() {
	for {
		select {
		case <-s.signals.quit:
			return
		case <-s.signals.stop:
			s.stopped(true)
		case sig := <-s.signals.caught:
			switch sig {
			case unix.SIGWINCH:
				s.resize()
			case unix.SIGTSTP:
				s.stopped(false)
			case unix.SIGCONT:
				s.continued()
			case unix.SIGHUP:
				s.keys.hangup(s.o.Hangup)
			}
		}
	}
}

func (s *Screen) stopped(group bool) {
	s.keys.pause()
	defer s.keys.resume()
	s.mu.Lock()
	page := s.held
	if !page {
		s.leave(true)
		s.emit()
		s.held = true
	}
	s.mu.Unlock()
	_ = term.Restore(uintptr(s.fd), s.saved)

	stopSelf(group)
	signal.Notify(s.signals.caught, unix.SIGTSTP)

	// In the background the next call stops this process until it is in front.
	_, _ = term.MakeRaw(uintptr(s.fd))
	s.mu.Lock()
	defer s.mu.Unlock()
	if page {
		return
	}
	s.held = false
	s.measure()
	s.enter()
	s.refresh()
	s.emit()
	s.change.Broadcast()
}

// continued takes the terminal again after a stop that nobody announced
// (SIGSTOP): a shell has set its own modes meanwhile.
func (s *Screen) continued() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held || s.closed {
		return
	}
	_, _ = term.MakeRaw(uintptr(s.fd))
	s.leave(true)
	s.measure()
	s.enter()
	s.refresh()
	s.emit()
}
