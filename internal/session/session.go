//go:build unix

package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"bawn/internal/approval"
	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/shell/plain"
)

// Setup is what a Session is made from. What is nil is not offered.
type Setup struct {
	Workspace string // real
	// Trusted: a person has trusted the settings of the workspace.
	Trusted bool
	Tier    policy.Tier
	Mode    policy.Mode
	// Permission is the mode for commands without a rule (SPEC C1), and
	// MayPermit refuses one that the requirements exclude.
	Permission policy.PermissionMode
	MayPermit  func(policy.PermissionMode) error
	// Environ is the host's, for commands that are typed here.
	Environ []string

	// Settle makes the policy of one command in a tier, and looks at the host
	// anew; the zero command is any. An error says why nothing runs there.
	Settle func(policy.Tier, Command) (policy.Policy, sandbox.Host, error)
	// Decide says what becomes of a command before it starts.
	Decide func(Command, Asking) Outcome
	// Agent completes the command of bawn wrap's agent, whose policy this is.
	Agent func(policy.Policy, *sandbox.Command)
	// NoAsk: nobody is there to ask.
	NoAsk bool
	// Shell are the words that run shell text.
	Shell func(text string) []string
	// Program opens what may run outside the sandbox and checks it once more:
	// path is what to execute until release is called.
	Program func(plain.Outside, policy.Policy) (path string, release func(), err error)

	// Stage begins a layer for what commands write, and Kept are the words by
	// which bawn itself keeps, shows or discards one.
	Stage func(policy.Policy, sandbox.Host) (Staging, error)
	Kept  func(id string, words []string) []string

	Backend sandbox.Backend
	// Keeper starts what all commands share; an error that is ErrUnavailable
	// means that each has a network of its own.
	Keeper    func() (sandbox.Keeper, error)
	Upstream  *egress.Upstream
	ProxyOnly bool

	// SaveTier keeps the tier for the next session and says where; "" is
	// nowhere, because the workspace is not trusted.
	SaveTier func(policy.Tier) (where string, err error)
	// Present reports whether a person can be asked now; nil is always. Without
	// one commands are decided about as with NoAsk.
	Present func() bool
	// SaveAllowed and SaveDenied keep a host in the user's settings.
	SaveAllowed, SaveDenied func(rule string) error
	// FreshClone: airlock is to be suggested; Suggested notes the answer.
	FreshClone bool
	Suggested  func() error
	// Folder is where the output of background commands is kept, in files
	// without a name.
	Folder string
	// Recorder begins the record of one command, and one of the session itself.
	Recorder func() Recorder
	// Notice tells a person what they do not get.
	Notice func(line string)
}

// Asking is who wants a command to run, and under what.
type Asking struct {
	Policy policy.Policy
	Dir    string // its working folder, links resolved
	CanAsk bool
	// Agent: nobody typed the command, so that the mode counts as well.
	Agent bool
	Mode  policy.PermissionMode
	// Stays: no exclusion or escape hatch holds for it.
	Stays bool
}

// Sibling is what a command may ask of the session from inside its sandbox: a
// sandbox beside its own that can do no more.
type Sibling struct {
	Tier     policy.Tier
	NoEgress bool
	Asking   []string // Client.Asking
}

// InnerSocket makes the socket by which a command asks. path is shown in its sandbox;
// shown is to be called when it stands there, and end when the command has
// ended, which ends its siblings.
type InnerSocket func(Sibling) (path string, shown, end func(), err error)

// Session runs many commands under one policy and supervises them. All methods
// may be called at once.
type Session struct {
	setup Setup
	id    string
	ask   *questions
	rec   Recorder // of what belongs to no command
	lanes lanes
	ports ports
	work  sync.WaitGroup
	// webAllowed: a person has let web_fetch read public hosts.
	webAllowed atomic.Bool

	mu          sync.Mutex
	closed      bool
	tier        policy.Tier
	permission  policy.PermissionMode
	fresh       bool
	tasks       []*task
	lastTask    int
	allowed     int
	connections connections
	denied      denials
	denials     int
	told        map[string]bool // see first
	policy      policy.Policy   // of the tier, as it was settled last

	staged   staged
	inner    InnerSocket
	watchers watchers
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the session has ended")

// New starts a session; nothing runs yet. Close ends it.
func New(setup Setup) (*Session, error) {
	if setup.Mode != policy.NoMode {
		setup.Tier = setup.Mode.Tier()
	}
	p, _, err := setup.Settle(setup.Tier, Command{})
	if err != nil {
		return nil, err
	}
	s := &Session{
		setup: setup, id: strings.ToLower(rand.Text()[:8]), tier: setup.Tier, permission: setup.Permission, policy: p,
		fresh: setup.FreshClone && setup.Mode == policy.NoMode && setup.Tier != policy.Airlock,
	}
	if setup.Mode == policy.NoMode && !setup.NoAsk { // a fixed mode never asks (SPEC T7)
		s.ask = newDesk(setup.SaveAllowed, s.notice, s.watchers.tell, s.late, s.gone)
		s.ask.waits = s.waits
	}
	s.lanes.s, s.ports.s = s, s
	s.ports.room.L = &s.ports.mu
	s.rec = s.recorder()
	if err := s.rec.Start(Command{}, p, "session"); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeInner lets commands that start from now on ask for siblings.
func (s *Session) ServeInner(f InnerSocket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inner = f
}

// ID names the session among others of this user.
func (s *Session) ID() string { return s.id }

// Workspace is its real path.
func (s *Session) Workspace() string { return s.setup.Workspace }

// Close ends all commands, questions and connections, and waits for that.
func (s *Session) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	tasks := slices.Clone(s.tasks)
	s.mu.Unlock()
	for _, t := range tasks {
		t.cancel()
	}
	s.ask.close()
	s.work.Wait()
	s.ports.close()
	err := s.lanes.close()
	s.unstage()
	if !again {
		s.mu.Lock()
		denied := s.denials
		s.mu.Unlock()
		s.rec.End(0, "", denied)
	}
	for _, t := range tasks {
		t.out.Close()
	}
	s.watchers.tell()
	return err
}

func (s *Session) notice(line string) {
	if s.setup.Notice != nil {
		s.setup.Notice(line)
	}
}

// State is the session now.
func (s *Session) State() State {
	why, shown := s.lanes.why(), s.ports.shown()
	var open []Question
	if s.ask != nil {
		open = s.ask.shown()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{
		ID: s.id, Workspace: s.setup.Workspace, Trusted: s.setup.Trusted, Tier: s.tier, Mode: s.setup.Mode, Permission: s.permission,
		Allowed: s.allowed, Denied: s.denials, Asks: s.ask != nil, Questions: open, FreshClone: s.fresh, Published: shown,
	}
	if s.policy.Sandboxed() {
		if !s.policy.HasNetwork() {
			why = s.policy.NoNetwork().Text
			if o := s.policy.NoNetwork().Origin; o != (policy.Origin{}) {
				why += " (" + o.String() + ")"
			}
		}
		st.NoNetwork = why
	}
	if s.staged.on {
		st.Staged = &StagedState{Why: s.staged.why}
		if s.staged.run != nil {
			st.Staged.ID = s.staged.run.ID()
		}
	}
	for _, t := range s.tasks {
		info := t.info
		info.Output = t.out.Size()
		st.Tasks = append(st.Tasks, info)
	}
	return st
}

// shown are the open questions for a person, oldest first.
func (q *questions) shown() []Question {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []Question
	for _, one := range q.list() {
		if one.answered {
			continue // it ends at once
		}
		out = append(out, Question{
			ID: one.id, Kind: one.kind, Prompt: one.prompt, Deadline: one.deadline, Waiting: one.waiting,
			Task: one.from.task, PID: one.from.pid, Command: one.from.command, Dir: one.from.dir,
		})
	}
	return out
}

// Changes gets a token whenever State may be another; tokens that nobody has
// taken are one. stop ends them.
func (s *Session) Changes() (tokens <-chan struct{}, stop func()) { return s.watchers.add() }

// Policy is what commands started now may do.
func (s *Session) Policy() policy.Policy {
	s.mu.Lock()
	p := s.policy
	s.mu.Unlock()
	return s.answered(p)
}

// SetTier switches commands started from now on. saved says where the tier was
// kept for the next session, "" if nowhere (SPEC T3, T4).
func (s *Session) SetTier(t policy.Tier) (saved string, err error) {
	if err := s.switchTier(t); err != nil {
		return "", err
	}
	if s.setup.SaveTier == nil {
		return "", nil
	}
	return s.setup.SaveTier(t)
}

func (s *Session) switchTier(t policy.Tier) error {
	if m := s.setup.Mode; m != policy.NoMode {
		return &policy.RefusedError{
			What: "the tier " + t.String(), Why: "--sandbox " + m.String() + " fixes the mode of this session", Lift: "start one without --sandbox",
		}
	}
	if t > policy.Open {
		return fmt.Errorf("unknown tier %d", t)
	}
	p, _, err := s.setup.Settle(t, Command{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if s.staged.on && t == policy.Open {
		s.mu.Unlock()
		return errOpenStaged
	}
	s.tier, s.policy = t, p
	if p.Sandboxed() { // before a command has to wait for it
		s.work.Go(func() { s.lanes.prepare(p) })
	}
	s.mu.Unlock()
	s.watchers.tell()
	return nil
}

// SetPermission says how commands without a rule are treated from now on.
func (s *Session) SetPermission(m policy.PermissionMode) error {
	if m > policy.BypassMode {
		return fmt.Errorf("unknown permission mode %d", m)
	}
	if s.setup.MayPermit != nil {
		if err := s.setup.MayPermit(m); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.permission = m
	s.mu.Unlock()
	s.watchers.tell()
	return nil
}

// AnswerFreshClone settles the suggestion of SPEC T6: a yes holds for this
// session.
func (s *Session) AnswerFreshClone(airlock bool) error {
	s.mu.Lock()
	was := s.fresh
	s.fresh = false
	s.mu.Unlock()
	if !was {
		return nil
	}
	s.watchers.tell()
	var err error
	if airlock {
		err = s.switchTier(policy.Airlock)
	}
	if s.setup.Suggested != nil {
		err = errors.Join(err, s.setup.Suggested())
	}
	return err
}

// Answer settles a question; false if it is gone. Only scopes that the prompt
// offers, and No, have an effect.
func (s *Session) Answer(id int, scope approval.Scope) bool {
	if s.ask == nil || !s.ask.answer(id, scope) {
		return false
	}
	s.watchers.tell()
	return true
}

// canAsk reports whether a command that starts now has somebody to ask.
func (s *Session) canAsk() bool {
	return s.ask != nil && (s.setup.Present == nil || s.setup.Present())
}

// Withdraw ends a question that no person can be shown any more, or that was
// dismissed: what waits for it is refused, and who comes later asks anew.
func (s *Session) Withdraw(id int, why string) {
	if s.ask != nil {
		s.ask.drop(id, why)
	}
}

// DenyAll says no to every open question.
func (s *Session) DenyAll() {
	if s.ask != nil {
		s.ask.denyAll()
	}
}

// watchers are told that something changed.
type watchers struct {
	mu   sync.Mutex
	list map[chan struct{}]bool
}

func (w *watchers) add() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = map[chan struct{}]bool{}
	}
	w.list[c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.list, c)
	}
}

func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.list {
		select {
		case c <- struct{}{}:
		default: // one is enough
		}
	}
}
