//go:build linux || darwin

package bawn

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"bawn/internal/config"
	"bawn/internal/egress"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// resolve finds the proxy through which connections leave.
func (u upstream) resolve() (*egress.Upstream, error) {
	switch u.how {
	case config.UpstreamURL:
		return egress.UpstreamAt(u.url, u.origin)
	case config.UpstreamNone:
		if u.set {
			return nil, nil
		}
	}
	return egress.UpstreamFromEnv(os.Getenv)
}

// sandboxed is a command in a sandbox. session.Run has a goroutine of its own.
type sandboxed struct {
	started chan struct{} // closed when the command runs
	done    chan struct{} // closed after result and err are set
	result  session.Result
	err     error

	mu      sync.Mutex
	process sandbox.Process // nil before the boundary stands and after the end
}

func startSandboxed(j job) (running, error) {
	upstream, err := j.upstream.resolve()
	if err != nil {
		return nil, public(err)
	}
	e := &session.Egress{Upstream: upstream}
	way(e)
	s := &sandboxed{started: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.result, s.err = session.Run(j.ctx, session.Options{
			Policy: j.policy, Host: j.host, Command: j.command, Stdio: j.stdio,
			Egress:  e,
			Backend: watched{j.backend(), s, j.release},
		})
	}()
	select {
	case <-s.started:
		return s, nil
	case <-s.done:
	}
	select {
	case <-s.started: // it ran, and has ended already
		return s, nil
	default:
	}
	switch {
	case s.err != nil:
		return nil, public(s.err)
	case s.result.Code == codeNotFound || s.result.Code == codeNotExecutable:
		return nil, &ExecError{Code: s.result.Code, Reason: s.result.Reason}
	}
	return nil, public(errors.New(s.result.Reason))
}

func (s *sandboxed) wait() (int, error) {
	<-s.done
	return s.result.Code, s.err
}

func (s *sandboxed) signal(sig os.Signal) error {
	n, ok := sig.(syscall.Signal)
	if !ok || n <= 0 {
		return errors.New("bawn: unsupported signal")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return os.ErrProcessDone
	}
	if err := s.process.Signal(int(n)); err != nil {
		return os.ErrProcessDone // the sandbox no longer listens
	}
	return nil
}

// watched is a backend that tells a sandboxed what session.Run gets to see.
type watched struct {
	sandbox.Backend
	s       *sandboxed
	release func()
}

func (w watched) Start(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	p, err := w.Backend.Start(spec, stdio)
	if err != nil {
		return nil, err
	}
	// The command has its streams now. Copies that stay open here would keep
	// a reader from seeing the end of a stream that the command closes.
	w.release()
	w.s.mu.Lock()
	w.s.process = p
	w.s.mu.Unlock()
	return watchedProcess{p, w.s}, nil
}

type watchedProcess struct {
	sandbox.Process
	s *sandboxed
}

func (p watchedProcess) Next() (sandbox.Event, error) {
	ev, err := p.Process.Next()
	if err == nil && ev.Kind == sandbox.EventStarted {
		close(p.s.started)
	}
	return ev, err
}

// Close ends the sandbox; signals find it gone from then on.
func (p watchedProcess) Close() error {
	p.s.mu.Lock()
	p.s.process = nil
	p.s.mu.Unlock()
	p.Kill()
	return p.Process.Close()
}
