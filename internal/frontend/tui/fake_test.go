package tui

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// fake is a session that does what it is told and remembers it.
type fake struct {
	mu      sync.Mutex
	st      session.State
	conns   []session.Connection
	denials []session.Denial
	pol     policy.Policy
	output  string
	did     []string
	err     error // of every change
	saveErr error // of keeping a tier
	changes chan struct{}
}

func (f *fake) did1(format string, a ...any) { f.did = append(f.did, fmt.Sprintf(format, a...)) }

func (f *fake) State() session.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := f.st
	st.Questions = append([]session.Question(nil), st.Questions...)
	st.Tasks = append([]session.Task(nil), st.Tasks...)
	return st
}

func (f *fake) Changes() (<-chan struct{}, func()) {
	if f.changes == nil {
		f.changes = make(chan struct{}, 1)
	}
	return f.changes, func() {}
}

func (f *fake) SetTier(t policy.Tier) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did1("tier %s", t)
	if f.err != nil {
		return "", f.err
	}
	f.st.Tier = t
	return "", f.saveErr
}

func (f *fake) SetPermission(m policy.PermissionMode) error {
	f.did1("permission %s", m)
	return f.err
}

func (f *fake) Stage(on bool) error {
	f.did1("stage %v", on)
	return f.err
}

func (f *fake) AnswerFreshClone(airlock bool) error {
	f.did1("clone %v", airlock)
	return f.err
}

func (f *fake) Answer(id int, s approval.Scope) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, q := range f.st.Questions {
		if q.ID == id {
			f.did1("answer %d %s", id, s)
			f.st.Questions = append(append([]session.Question(nil), f.st.Questions[:i]...), f.st.Questions[i+1:]...)
			return true
		}
	}
	return false
}

func (f *fake) DenyAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did1("deny all")
	f.st.Questions = nil
}

func (f *fake) Connections() []session.Connection { return f.conns }
func (f *fake) Denials() []session.Denial         { return f.denials }
func (f *fake) AllowHost(rule string, s approval.Scope) error {
	f.did1("allow %s %s", rule, s)
	return f.err
}

func (f *fake) DenyHost(rule string, s approval.Scope) error {
	f.did1("deny %s %s", rule, s)
	return f.err
}
func (f *fake) Publish(at session.Publish) error {
	f.did1("publish %s", at)
	return f.err
}
func (f *fake) Policy() policy.Policy            { return f.pol }
func (f *fake) Start(session.Start) (int, error) { return 0, errors.New("the fake starts nothing") }
func (f *fake) Output(int, int) ([]byte, error)  { return []byte(f.output), f.err }
func (f *fake) Stop(task int) error {
	f.did1("stop %d", task)
	return f.err
}

func (f *fake) log() string { return strings.Join(f.did, "; ") }

// logged is log while a page runs.
func (f *fake) logged() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log()
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// clock is a time that tests move.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

var testKeys = func() Keymap {
	m, err := NewKeymap(func(a string) []string {
		return map[string][]string{"cycle_sandbox_tier": {"alt+s"}, "prefix": {`ctrl+\`}, "show_help": {"f1"}}[a]
	})
	if err != nil {
		panic(err)
	}
	return m
}()

func testOptions(c *clock) Options {
	return Options{
		Look: Look{Color: true}, Keys: testKeys, Home: "/home/me", Enforced: "Linux namespaces by bawn itself, with the name guard", Now: c.now,
	}
}

// pageOf is a page of a session of w by h, drawn once.
func pageOf(t testing.TB, p Page, s Session, c *clock, look Look, w, h int) *frame {
	t.Helper()
	o := testOptions(c)
	o.Look = look
	f := newFrame(p, s, o)
	f.changes = func() tea.Msg { return nil }
	f.Update(tea.WindowSizeMsg{Width: w, Height: h})
	f.draw(c)
	return f
}

// draw brings the page to the terminal, which takes no time; then a while
// passes in which nobody presses a key.
func (f *frame) draw(c *clock) {
	f.show()
	c.t = c.t.Add(quiet)
}

// show draws the page, and the terminal says so.
func (f *frame) show() {
	f.View()
	f.Update(drawnMsg(f.guard.id))
	f.places(len(f.guard.asked))
}

// places answers the first n that the terminal was asked for.
func (f *frame) places(n int) {
	for _, p := range f.guard.asked[:n] {
		f.Update(tea.CursorPositionMsg(p))
	}
}

// keyNames are what tests press.
var keyNames = map[string]tea.Key{
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "backspace": {Code: tea.KeyBackspace},
	"space": {Code: ' ', Text: " "}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "alt+s": {Code: 's', Mod: tea.ModAlt}, `ctrl+\`: {Code: '\\', Mod: tea.ModCtrl}, "f1": {Code: tea.KeyF1},
}

func keyOf(name string) tea.KeyPressMsg {
	if k, ok := keyNames[name]; ok {
		return tea.KeyPressMsg(k)
	}
	r := []rune(name)
	return tea.KeyPressMsg{Code: r[0], Text: name}
}

// keysOf presses keys; pause is the while in which a yes by its letter becomes one.
func (f *frame) keysOf(names ...string) {
	for _, n := range names {
		if n == pause {
			f.pause()
			continue
		}
		f.Update(keyOf(n))
		f.show()
	}
}

const pause = "…"

// pause lets the while after a letter pass, and the terminal answers.
func (f *frame) pause() {
	f.Update(letterMsg(f.letters))
	if f.letter.asked > 0 {
		f.places(len(f.guard.asked))
	}
}

func exampleQuestion(id int) session.Question {
	return session.Question{
		ID: id, Kind: session.AboutHost, Deadline: noon.Add(4*time.Minute + 32*time.Second), Task: 3, PID: 1234,
		Command: "npm install left-pad", Dir: "/home/me/work/shop", Waiting: 5,
		Prompt: approval.Prompt{
			Title: "The command wants to connect to a host that is not on the list. Allow it?", Object: "xn--pypi-4ve.example:443",
			Notes: []string{"it belongs to xn--pypi-4ve.example", "careful: it reads пypi.example and looks like pypi.example, but is another name"},
			Rule:  policy.Rule{ID: "host:unlisted", Text: "no rule allows this host", Origin: policy.Origin{File: "/home/me/.config/bawn/config.toml", Line: 4}},
			Offers: []approval.Offer{
				{Scope: approval.Once, Text: "this connection"}, {Scope: approval.Session, Text: "xn--pypi-4ve.example:443 until the session ends"},
				{Scope: approval.Always, Text: "always: xn--pypi-4ve.example:443 and all names below it (saved in your settings)"},
			},
		},
	}
}

func examplePolicy(t testing.TB) policy.Policy {
	t.Helper()
	rule, err := policy.ParseHostRule("db.example:5432", policy.Origin{File: "/home/me/.config/bawn/config.toml", Line: 7})
	if err != nil {
		t.Fatal(err)
	}
	deny, err := policy.ParseHostRule("tracking.example", policy.Origin{File: "/home/me/.config/bawn/config.toml", Line: 9})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Config{
		Tier: policy.Guarded, Workspace: "/home/me/work/shop", Homes: []string{"/home/me"},
		Hidden:  []policy.PathRule{policy.FixedRule("/home/me/.ssh", policy.Hidden, "credentials", "keys and passwords are out of reach")},
		Network: policy.NetworkConfig{Allow: []policy.HostRule{rule}, Deny: []policy.HostRule{deny}, LocalPorts: []uint16{5432}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func exampleSession(t testing.TB) *fake {
	t.Helper()
	allow := policy.Decision{Verdict: policy.Allow, Rule: policy.Rule{ID: "host:allow:npmjs.org", Text: "npmjs.org is allowed"}}
	deny := policy.Decision{Rule: policy.Rule{ID: "host:unlisted", Text: "no rule allows tracker.example, and nobody answered", Lift: "bawn allows a host with --allow-domain or in your settings"}}
	return &fake{
		pol: examplePolicy(t), output: "\x1b[32mready\x1b[m on 3000\nbuilding 10%\rbuilding 100%\n\x1b]0;title\x07done\n",
		st: session.State{
			ID: "a1", Workspace: "/home/me/work/shop", Trusted: true, Tier: policy.Guarded, Allowed: 12, Denied: 3,
			Tasks: []session.Task{
				{ID: 1, Kind: session.Foreground, Command: "npm ci", Tier: policy.Guarded, Started: noon.Add(-90 * time.Second), Ended: noon.Add(-60 * time.Second), Code: 0},
				{ID: 2, Kind: session.Background, Command: "npm run dev -- --port 3000", Tier: policy.Guarded, Started: noon.Add(-50 * time.Second), Output: 48_213, Denied: 2},
				{ID: 3, Kind: session.Foreground, Command: "npm test", Tier: policy.Airlock, Started: noon.Add(-40 * time.Second), Ended: noon.Add(-38600 * time.Millisecond), Code: 1, Denied: 1},
				{ID: 4, Kind: session.Attached, Command: "mytool --x", Tier: policy.Guarded, Started: noon, Ended: noon, Code: 127, Reason: "mytool: not found"},
			},
		},
		conns: []session.Connection{
			{ID: 1, Time: noon.Add(-80 * time.Second), Host: "packages.npmjs.org", Port: 443, Via: "CONNECT", Decision: allow, Task: 1, PID: 70, Command: "npm ci", Ended: true, Duration: 1234 * time.Millisecond, Up: 2048, Down: 3_400_000},
			{ID: 2, Time: noon.Add(-45 * time.Second), Host: "tracker.example", Port: 443, Via: "CONNECT", Decision: deny, Task: 2, PID: 81, Command: "node", Ended: true},
			{ID: 3, Time: noon.Add(-12 * time.Second), Host: "packages.npmjs.org", Port: 443, Via: "CONNECT", Decision: allow, Task: 2, PID: 81, Command: "node", Up: 12},
			{ID: 4, Time: noon.Add(-3 * time.Second), Host: "github.com", Port: 22, Via: "TCP", Decision: allow, Task: 2, PID: 90, Command: "ssh", Ended: true, Err: "connection refused"},
		},
		denials: []session.Denial{
			{Host: "tracker.example", Port: 443, Rule: deny.Rule, Count: 7, PID: 81, Command: "node"},
			{Path: "/home/me/.ssh/id_ed25519", Rule: policy.Rule{ID: "credentials", Text: "keys and passwords are out of reach", Lift: "--tier open has no sandbox"}, Count: 1, PID: 12, Command: "cat"},
			{Path: "/home/me/work/shop/.git/hooks/\x1b[2Jx", Rule: policy.Rule{ID: "git.hooks", Text: "git runs what is in this folder", Origin: policy.Origin{File: "built in"}}, Count: 2},
		},
	}
}
