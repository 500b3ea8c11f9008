//go:build unix

package session

import (
	"errors"
	"fmt"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Staging is a layer in which commands of a session write, in the place of the
// folders that the policy opens. Its methods may be called at once.
type Staging interface {
	ID() string
	Layers() sandbox.Staged
	// Admit is asked before a command under the policy: an error says why what it
	// may write has no place in the layer.
	Admit(policy.Policy, sandbox.Host) error
	// Release lets go of it, so that another process can keep or discard it, and
	// Resume takes it again. left is false if all of it was kept or discarded.
	Release()
	Resume() (left bool, err error)
	// End lets go of it for good, and of one in which nothing is staged with all
	// of it. The lines say what is staged, and how to go on.
	End() []string
}

// staged is whether commands write a layer. It is guarded by the session's mu.
type staged struct {
	on   bool
	run  Staging // nil: it could not be made, see why
	why  string  // why nothing can start
	busy bool    // it is being switched, or kept: nothing starts
}

var errOpenStaged = &policy.RefusedError{
	What: "the tier open", Why: "the session is staged, and without a sandbox the workspace itself is written", Lift: "/stage off first",
}

// Stage switches whether what commands write is staged. None may run
// meanwhile: those that do write where they began to.
func (s *Session) Stage(on bool) error {
	s.mu.Lock()
	err := s.mayStage(on)
	if err == nil {
		s.staged.busy = true
	}
	tier := s.tier
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if !on {
		s.unstage()
		s.watchers.tell()
		return nil
	}
	run, err := s.newLayer(tier)
	s.mu.Lock()
	s.staged.busy = false
	switch {
	case err != nil:
	case s.closed:
		err = ErrClosed
	default:
		s.staged, run = staged{on: true, run: run}, nil
	}
	s.mu.Unlock()
	if run != nil { // closed meanwhile
		s.lanes.lift()
		run.End()
	}
	s.watchers.tell()
	return err
}

// mayStage refuses what cannot be. The caller holds mu.
func (s *Session) mayStage(on bool) error {
	refuse := func(why, lift string) error { return &policy.RefusedError{What: "/stage", Why: why, Lift: lift} }
	running := 0
	for _, t := range s.tasks {
		if t.info.Ended.IsZero() {
			running++
		}
	}
	switch {
	case s.closed:
		return ErrClosed
	case s.setup.Stage == nil:
		return refuse("staged runs take an overlay of the Linux kernel and bawn's own launcher", "go on without")
	case s.staged.busy:
		return errStageBusy
	case on && s.staged.run != nil:
		return refuse("the session is staged already", "/diff, /keep, /discard, or /stage off")
	case !on && !s.staged.on:
		return refuse("the session is not staged", "/stage")
	case running > 0:
		return refuse(fmt.Sprintf("commands still run (%d, see /tasks), and go on writing where they began to", running), "wait for them, or end them")
	case on && s.tier == policy.Open:
		return refuse("the open tier has no sandbox in which what is written could be kept apart", "/tier guarded first")
	case on && s.setup.Mode == policy.ReadOnlyMode:
		return refuse("a read-only session writes nothing to keep", "start one without --sandbox read-only")
	}
	return nil
}

var errStageBusy = errors.New("what is staged is being kept, shown or discarded: wait for that")

// newLayer makes one, and mounts it at once: what cannot be is refused here.
func (s *Session) newLayer(tier policy.Tier) (Staging, error) {
	p, host, err := s.setup.Settle(tier, Command{})
	if err != nil {
		return nil, err
	}
	run, err := s.setup.Stage(p, host)
	if err != nil {
		return nil, err
	}
	l := &s.lanes
	l.mu.Lock()
	if err = ErrClosed; !l.closed {
		l.start()
		err = l.lay(run)
	}
	l.mu.Unlock()
	if err != nil {
		run.End()
		return nil, err
	}
	return run, nil
}

// unstage ends the layer, when nothing runs.
func (s *Session) unstage() {
	s.lanes.lift()
	s.mu.Lock()
	run := s.staged.run
	s.staged = staged{}
	s.mu.Unlock()
	if run == nil {
		return
	}
	for _, line := range run.End() {
		s.notice(line)
	}
}

// stageFor is where a command that begins now writes. The caller holds mu.
func (s *Session) stageFor(c Start, running int) (Staging, error) {
	st := &s.staged
	switch {
	case st.busy:
		return nil, errStageBusy
	case len(c.Keep) > 0:
		if st.run != nil && running > 0 {
			return nil, fmt.Errorf("commands still run (%d, see /tasks): what is staged is shown, kept or discarded when none does", running)
		}
		st.busy = st.run != nil
	case !st.on:
	case st.run == nil:
		return nil, &policy.RefusedError{What: "a command of a staged session", Why: st.why, Lift: "/stage tries again, /stage off goes on without"}
	case c.outside:
		return nil, errOpenStaged
	}
	return st.run, nil
}

// keepWords are the command line for words of /keep and its like.
func (s *Session) keepWords(words []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := ""
	if s.staged.run != nil {
		id = s.staged.run.ID()
	}
	if s.setup.Kept == nil {
		return nil
	}
	return s.setup.Kept(id, words)
}

// keep runs bawn itself, which keeps, shows or discards what is staged, as from
// another terminal: it trusts nothing of this session. The layer is its alone
// meanwhile.
func (t *task) keep() (code int, reason string) {
	s := t.s
	if t.staged != nil {
		s.lanes.lift()
		t.staged.Release()
		defer s.resume(t.staged)
	}
	spec := sandbox.Command{Args: t.start.Args, Environ: s.setup.Environ, Dir: s.setup.Workspace, TTY: t.tty()}
	return t.runHost(spec, "/proc/self/exe")
}

// resume goes on with a layer, or with a new one where nothing is left of it.
func (s *Session) resume(run Staging) {
	left, err := run.Resume()
	if err == nil && !left {
		s.mu.Lock()
		tier, closed := s.tier, s.closed
		s.mu.Unlock()
		run = nil
		if !closed {
			run, err = s.newLayer(tier)
		}
	}
	s.mu.Lock()
	s.staged.busy = false
	s.staged.run, s.staged.why = run, ""
	if err != nil {
		s.staged.run, s.staged.why = nil, err.Error()
	}
	s.mu.Unlock()
	if err != nil {
		s.notice("no command can start: " + err.Error() + "; /stage tries again, /stage off goes on without")
	}
	s.watchers.tell()
}

// lay has the keeper hold the layers of run. The caller holds mu.
func (l *lanes) lay(run Staging) error {
	if l.keeper == nil {
		return &policy.RefusedError{What: "/stage", Why: "it takes what bawn's own launcher shares among commands, which cannot be had here", Lift: "go on without: /stage off"}
	}
	if l.laid == run {
		return nil
	}
	l.drop()
	layers, err := l.keeper.Stage(run.Layers().Mounts())
	if err != nil {
		return err
	}
	l.layers, l.laid = layers, run
	return nil
}

// lift has the keeper let go of the layers: another may write them.
func (l *lanes) lift() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

func (l *lanes) drop() {
	if l.layers != nil {
		l.layers.Close()
	}
	l.layers, l.laid = nil, nil
}

// ownTemp gives a command that has a network of its own a temp of its own too.
func ownTemp(mounts []sandbox.Mount) {
	for i := range mounts {
		if mounts[i].Op == sandbox.OpTmpfs {
			mounts[i].Kept = false
		}
	}
}
