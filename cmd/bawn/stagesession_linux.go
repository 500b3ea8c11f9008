package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bawn/internal/audit"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/staged"
)

// sessionLayer is a staged run that the commands of a session share.
type sessionLayer struct {
	log *recorder

	mu   sync.Mutex
	run  *staged.Run
	meta staged.Meta // as it began
	dir  string
	tier policy.Tier // the widest that wrote it
}

// stageSession makes layers for a session.
func (f *runFlags) stageSession(log *audit.Log) func(policy.Policy, sandbox.Host) (session.Staging, error) {
	return func(p policy.Policy, host sandbox.Host) (session.Staging, error) {
		refuse := func(why string) error {
			return &policy.RefusedError{What: "/stage", Why: why, Lift: "go on without"}
		}
		roots := sandbox.StagedRoots(p, host)
		switch {
		case madeState() == "":
			return nil, refuse("there is no folder to keep it in: neither HOME nor XDG_STATE_HOME names one")
		case len(roots) == 0:
			return nil, refuse("commands may write no folder")
		}
		if err := staged.CheckMounts(roots); err != nil {
			return nil, refuse(err.Error())
		}
		rec := recorderIn(log, func(string) {})
		l := &sessionLayer{log: rec, tier: p.Tier()}
		var err error
		if l.run, err = f.newStaged(p, roots, rec, staged.Meta{Command: "a session", Started: time.Now()}); err != nil {
			return nil, refuse(err.Error())
		}
		l.meta, l.dir = l.run.Meta, l.run.Dir()
		return l, nil
	}
}

// keptWords are those by which bawn itself does what /keep and its like say.
func keptWords(workspace string) func(id string, words []string) []string {
	return func(id string, words []string) []string {
		out := []string{"bawn", words[0]}
		if id != "" {
			out = append(out, id)
		} else {
			out = append(out, "-C", workspace)
		}
		return append(out, words[1:]...)
	}
}

// ID implements session.Staging.
func (l *sessionLayer) ID() string { return l.meta.ID }

// Layers implements session.Staging.
func (l *sessionLayer) Layers() sandbox.Staged {
	s := sandbox.Staged{Dir: l.dir, Since: l.meta.Since}
	for _, r := range l.meta.Roots {
		s.Roots = append(s.Roots, r.Path)
	}
	return s
}

// Admit implements session.Staging.
func (l *sessionLayer) Admit(p policy.Policy, host sandbox.Host) error {
	have := l.Layers().Roots
	for _, path := range sandbox.StagedRoots(p, host) {
		if !slices.Contains(have, path) {
			return &policy.RefusedError{
				What: "the command", Why: fmt.Sprintf("it may write %s, which commands could not when the session was staged, and that has no layer", path),
				Lift: "/stage off and /stage begins another layer; what is staged by then stays for bawn keep " + l.meta.ID[:8],
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run == nil {
		return errors.New("what is staged is being kept")
	}
	if p.Tier() <= l.tier {
		return nil
	}
	if err := l.run.Widen(p.Tier().String()); err != nil {
		return err
	}
	l.tier = p.Tier()
	return nil
}

// Release implements session.Staging.
func (l *sessionLayer) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run.Close()
	l.run = nil
}

// Resume implements session.Staging.
func (l *sessionLayer) Resume() (left bool, err error) {
	run, err := stagedStore().Open(l.meta.ID)
	if errors.Is(err, staged.ErrNone) {
		return false, nil
	}
	if err == nil {
		if err = run.Resume(); err != nil {
			run.Close()
		}
	}
	if err != nil {
		return false, fmt.Errorf("what is staged as %s: %w", l.meta.ID[:8], err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = run
	return true, nil
}

// End implements session.Staging.
func (l *sessionLayer) End() []string {
	l.mu.Lock()
	run := l.run
	l.run = nil
	l.mu.Unlock()
	if run == nil {
		return nil
	}
	defer run.Close()
	_, lines, wrong := endStaged(run, 0, l.log, (*staged.Run).Discard)
	return append(wrong, lines...)
}
