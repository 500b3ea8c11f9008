package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"bawn/internal/policy"
	"bawn/internal/session"
)

func TestPages(t *testing.T) {
	c := &clock{noon}
	for name, page := range map[string]Page{
		"sandbox": SandboxPage, "network": NetworkPage, "denied": DeniedPage, "policy": PolicyPage, "tasks": TasksPage, "config": ConfigPage, "help": HelpPage, "open": OpenPage, "clone": ClonePage,
	} {
		goldenPage(t, name, func(l Look, w, h int) *frame {
			c.t = noon
			s := exampleSession(t)
			s.st.FreshClone = true
			return pageOf(t, page, s, c, l, w, h)
		})
	}
	goldenPage(t, "details", func(l Look, w, h int) *frame {
		f := pageOf(t, ConfigPage, exampleSession(t), c, l, w, h)
		f.keysOf("down", "enter")
		return f
	})
	goldenPage(t, "output", func(l Look, w, h int) *frame {
		f := pageOf(t, TasksPage, exampleSession(t), c, l, w, h)
		f.keysOf("home", "down", "enter")
		return f
	})
	goldenPage(t, "try", func(l Look, w, h int) *frame {
		f := pageOf(t, PolicyPage, exampleSession(t), c, l, w, h)
		f.keysOf("t")
		f.Update(tea.PasteMsg{Content: "connect tracking.example:443\n"})
		f.keysOf("enter")
		return f
	})
	goldenPage(t, "allow", func(l Look, w, h int) *frame {
		f := pageOf(t, NetworkPage, exampleSession(t), c, l, w, h)
		f.keysOf("home", "down", "a")
		return f
	})
}

func TestNextTier(t *testing.T) {
	for _, tt := range []struct {
		tier policy.Tier
		mode policy.Mode
		err  error
		note string
		ask  Page
		did  string
	}{
		{tier: policy.Open, note: "Sandbox: guarded (new commands)", did: "tier guarded"},
		{tier: policy.Guarded, note: "Sandbox: airlock (new commands)", did: "tier airlock"},
		{tier: policy.Airlock, ask: OpenPage},
		{tier: policy.Open, err: errors.New("this system has no sandbox"), note: "Sandbox: still open: this system has no sandbox", did: "tier guarded"},
		{tier: policy.Guarded, mode: policy.WorkspaceWrite, note: "Sandbox: workspace-write is fixed for this session (--sandbox)"},
		{tier: policy.Airlock, mode: policy.ReadOnlyMode, note: "Sandbox: read-only is fixed for this session (--sandbox)"},
		{tier: policy.Open, mode: policy.DangerFullAccess, note: "Sandbox: danger-full-access is fixed for this session (--sandbox)"},
	} {
		s := &fake{st: session.State{Tier: tt.tier, Mode: tt.mode}, err: tt.err}
		if note, ask := NextTier(s); note != tt.note || ask != tt.ask || s.log() != tt.did {
			t.Errorf("%+v: %q, %v, %q", tt, note, ask, s.log())
		}
	}
}

// A tier that holds but could not be saved is not called the old one.
func TestTierThatIsNotSaved(t *testing.T) {
	s := &fake{st: session.State{Tier: policy.Open}, saveErr: errors.New("the disk is full")}
	if note, _ := NextTier(s); note != "Sandbox: guarded (new commands), in this session only: the disk is full" {
		t.Error(note)
	}
}

// From airlock to open a person is asked: y or Enter switches, n or Esc keeps.
func TestOpenIsAskedAbout(t *testing.T) {
	for keys, want := range map[string]string{"y …": "tier open", "y": "-", "y enter …": "-", "y esc …": "-", "y y …": "-", "enter": "tier open", "n": "", "esc": "", "down enter": "tier open", "up enter": "", "x": "-", "alt+s": "-"} {
		s := &fake{st: session.State{Tier: policy.Airlock}}
		f := pageOf(t, OpenPage, s, &clock{noon}, Look{}, 80, 24)
		f.keysOf(strings.Fields(keys)...)
		if s.log() != strings.Trim(want, "-") || f.done != (want != "-") {
			t.Errorf("%s: %q, done %v", keys, s.log(), f.done)
		}
		if want == "tier open" && f.note != "Sandbox: open (new commands)" {
			t.Errorf("%s: note %q", keys, f.note)
		}
	}
	early := &fake{st: session.State{Tier: policy.Airlock}}
	c := &clock{noon}
	f := newFrame(OpenPage, early, testOptions(c))
	f.show()
	f.keysOf("enter", "y", pause)
	if early.log() != "" || f.done {
		t.Errorf("a key from before the question: %q", early.log())
	}
	for _, st := range []session.State{{Tier: policy.Open}, {Tier: policy.Airlock, Mode: policy.ReadOnlyMode}} {
		s := &fake{st: st}
		if f := pageOf(t, OpenPage, s, &clock{noon}, Look{}, 80, 24); !f.done || f.dialog != nil {
			t.Errorf("%+v: there is a question", st)
		}
	}
}

func TestFreshClone(t *testing.T) {
	for keys, want := range map[string]string{"enter": "clone true", "y …": "clone true", "n": "clone false", "esc": "clone false"} {
		s := &fake{st: session.State{Tier: policy.Guarded, FreshClone: true}}
		f := pageOf(t, ClonePage, s, &clock{noon}, Look{}, 80, 24)
		if !strings.Contains(strings.Join(f.screen(), "\n"), "Fresh clone: use airlock sandbox?") {
			t.Error("not the question of T6")
		}
		f.keysOf(strings.Fields(keys)...)
		if s.log() != want || !f.done {
			t.Errorf("%s: %q", keys, s.log())
		}
	}
	if f := pageOf(t, ClonePage, &fake{}, &clock{noon}, Look{}, 80, 24); !f.done {
		t.Error("it is suggested without reason")
	}
}

func TestSandboxPage(t *testing.T) {
	s := &fake{st: session.State{Tier: policy.Guarded}}
	f := pageOf(t, SandboxPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("down", "enter")
	if s.log() != "tier airlock" || f.note != "Sandbox: airlock (new commands)" {
		t.Errorf("%q, %q", s.log(), f.note)
	}
	f.keysOf("home", "enter", "y", pause) // the question has just been drawn
	if f.dialog == nil || s.st.Tier != policy.Airlock {
		t.Fatal("no question before open")
	}
	f.keysOf("esc")
	if f.dialog == nil {
		t.Error("a key from before the question closes it")
	}
}

// The row of the tier goes through the tiers as Alt+S does; Backspace leaves
// the details (SPEC T5).
func TestConfigPage(t *testing.T) {
	c := &clock{noon}
	s := exampleSession(t)
	f := pageOf(t, ConfigPage, s, c, Look{}, 80, 24)
	f.keysOf("enter")
	if s.log() != "tier airlock" || !strings.Contains(strings.Join(f.screen(), "\n"), "Sandbox tier      airlock") {
		t.Errorf("%q\n%s", s.log(), strings.Join(f.screen(), "\n"))
	}
	f.keysOf("enter")
	f.draw(c)
	f.keysOf("enter")
	if s.log() != "tier airlock; tier open" {
		t.Errorf("%q", s.log())
	}
	f.keysOf("down", "enter")
	if text := strings.Join(f.screen(), "\n"); !strings.Contains(text, "unrestricted") || !strings.Contains(text, "nothing is enforced") {
		t.Errorf("details of open:\n%s", text)
	}
	s.st.Tier = policy.Guarded
	if text := strings.Join(f.screen(), "\n"); !strings.Contains(text, "/work/shop") || !strings.Contains(text, "Linux namespaces") {
		t.Errorf("details of guarded:\n%s", text)
	}
	f.keysOf("backspace")
	if !strings.Contains(strings.Join(f.screen(), "\n"), "Sandbox policy") || f.done {
		t.Error("Backspace does not go back")
	}
	s.st.Mode = policy.WorkspaceWrite
	f.keysOf("up", "enter")
	if s.st.Tier != policy.Guarded || !strings.Contains(strings.Join(f.screen(), "\n"), "workspace-write (fixed)") {
		t.Errorf("a fixed mode was switched, or does not show:\n%s", strings.Join(f.screen(), "\n"))
	}
}

func TestNetworkPage(t *testing.T) {
	c := &clock{noon}
	s := exampleSession(t)
	f := pageOf(t, NetworkPage, s, c, Look{}, 80, 24)
	text := func() string { return strings.Join(f.screen(), "\n") }
	f.keysOf("/", "t", "r", "a", "c")
	if !strings.Contains(text(), "tracker.example") || strings.Contains(text(), "npmjs") || !strings.Contains(text(), "1 connection of 4") {
		t.Errorf("filtered:\n%s", text())
	}
	f.keysOf("enter", "d")
	if f.dialog == nil {
		t.Fatal("no question about the scope")
	}
	f.draw(c)
	f.keysOf("enter")
	if s.log() != "" {
		t.Errorf("Enter on the safe answer did %q", s.log())
	}
	f.keysOf("a")
	f.draw(c)
	f.keysOf("s", pause)
	if s.log() != "allow tracker.example:443 session" || !strings.Contains(text(), "tracker.example:443 is allowed for this session") {
		t.Errorf("%q\n%s", s.log(), text())
	}
	f.keysOf("d")
	f.draw(c)
	f.keysOf("a", pause)
	if s.did[1] != "deny tracker.example:443 always" {
		t.Errorf("%q", s.log())
	}
	f.keysOf("esc", "p") // the filter goes, then it pauses
	s.conns = append(s.conns, session.Connection{ID: 5, Time: noon, Host: "late.example", Port: 443})
	f.Update(changed{})
	if strings.Contains(text(), "late.example") || !strings.Contains(text(), "paused") || !strings.Contains(text(), "npmjs") {
		t.Errorf("paused:\n%s", text())
	}
	f.keysOf("p", "end")
	if !strings.Contains(text(), "late.example") || f.done {
		t.Errorf("the twin:\n%s", text())
	}
	s.conns = append(s.conns, session.Connection{ID: 6, Time: noon, Host: "later.example", Port: 443})
	f.Update(changed{})
	if v := f.view.(*networkView); v.list.at != 5 {
		t.Errorf("the cursor does not follow the end: %d", v.list.at)
	}
	f.keysOf("up", "up")
	s.conns = s.conns[1:]
	f.Update(changed{})
	if v := f.view.(*networkView); v.shown[v.list.at].ID != 4 {
		t.Errorf("the cursor went to connection %d", v.shown[v.list.at].ID)
	}
}

func TestTasksPage(t *testing.T) {
	s := exampleSession(t)
	f := pageOf(t, TasksPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("down", "x")
	if s.log() != "stop 2" {
		t.Errorf("%q", s.log())
	}
	f.keysOf("enter")
	text := strings.Join(f.screen(), "\n")
	if !strings.Contains(text, "ready on 3000") || !strings.Contains(text, "building 100%") || strings.Contains(text, "10%\r") || strings.Contains(text, "title") {
		t.Errorf("output:\n%q", text)
	}
	f.keysOf("esc", "esc")
	if !f.done {
		t.Error("it cannot be left")
	}
	s.output = "a\u202eb\x00c\x1b[2Jd"
	f = pageOf(t, TasksPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("home", "down", "enter")
	if text := strings.Join(f.screen(), "\n"); !strings.Contains(text, `a\u202eb\x00cd`) {
		t.Errorf("output that acts on a terminal:\n%q", text)
	}
	s.err = errors.New("the task has no output")
	f = pageOf(t, TasksPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("enter")
	if !strings.Contains(strings.Join(f.screen(), "\n"), "the task has no output") {
		t.Error("the error does not show")
	}
}

// On a page the session's keys do what they do elsewhere.
func TestActionsOnAPage(t *testing.T) {
	s := exampleSession(t)
	f := pageOf(t, TasksPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("alt+s")
	if s.log() != "tier airlock" || f.note != "Sandbox: airlock (new commands)" {
		t.Errorf("%q, %q", s.log(), f.note)
	}
	f.keysOf("alt+s")
	if f.dialog == nil {
		t.Error("open without a question")
	}
	f = pageOf(t, TasksPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("f1")
	if _, ok := f.view.(*helpView); !ok {
		t.Errorf("f1 leads to %T", f.view)
	}
	f.keysOf(`ctrl+\`, "n")
	if _, ok := f.view.(*networkView); !ok {
		t.Errorf("the prefix and n lead to %T", f.view)
	}
	f.keysOf(`ctrl+\`, "q")
	if !f.done {
		t.Error("a page of questions without one")
	}
	f = pageOf(t, TasksPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf(`ctrl+\`, "x", "n") // x is no letter of an action: it is swallowed
	if _, ok := f.view.(*tasksView); !ok || s.log() != "tier airlock" {
		t.Errorf("%T, %q", f.view, s.log())
	}
}

func TestDeniedPage(t *testing.T) {
	c := &clock{noon}
	s := exampleSession(t)
	f := pageOf(t, DeniedPage, s, c, Look{}, 80, 24)
	f.keysOf("a")
	f.draw(c)
	f.keysOf("s", pause)
	if s.log() != "allow tracker.example:443 session" {
		t.Errorf("%q", s.log())
	}
	f.keysOf("down", "a")
	if f.dialog != nil || len(s.did) != 1 {
		t.Error("a file is allowed like a host")
	}
}

// The help names every action, every way to it and every slash command.
func TestHelpIsComplete(t *testing.T) {
	text := strings.Join(helpText(testOptions(&clock{noon}), 80), "\n")
	for a := NoAction + 1; a < numActions; a++ {
		if k := testKeys.spelled(a); k == "" || !strings.Contains(text, k) {
			t.Errorf("action %d, %q, is not in the help", a, k)
		}
		if letter := actions[a].letter; letter != "" && AfterPrefix(letter) != a {
			t.Errorf("two actions have the letter %s", letter)
		}
	}
	for _, s := range slashes {
		if !strings.Contains(text, "/"+s.name) {
			t.Errorf("/%s is not in the help", s.name)
		}
	}
	// So is every key that a page names in its last line.
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
	for p := SandboxPage; p <= HelpPage; p++ {
		s := exampleSession(t)
		s.st.Questions = []session.Question{exampleQuestion(1)}
		f := pageOf(t, p, s, &clock{noon}, Look{}, 40, 12)
		for _, h := range f.view.keys() {
			for k := range strings.SplitSeq(h.key, "/") {
				if k != "" && !slices.Contains(words, k) {
					t.Errorf("%s of page %d is not in the help", k, p)
				}
			}
		}
	}
	// And the letter of the help comes first behind the prefix, where the bar is narrow.
	if first := prefixLetters(); !strings.HasPrefix(first, "h help  s tier") {
		t.Errorf("the letters are %q", first)
	}
}

func TestKeymap(t *testing.T) {
	keys := map[string][]string{"cycle_sandbox_tier": {"alt+s", "f6"}, "prefix": {"ctrl+o"}, "show_tasks": {"alt+t"}}
	m, err := NewKeymap(func(a string) []string { return keys[a] })
	if err != nil || m.Action("f6") != CycleTier || m.Action("alt+t") != ShowTasks || m.Action("x") != NoAction || m.Action("") != NoAction {
		t.Errorf("%v, %v", m, err)
	}
	if got := m.spelled(CycleTier); got != "alt+s, f6, ctrl+o s" {
		t.Error(got)
	}
	if AfterPrefix("") != NoAction || AfterPrefix("é") != NoAction || ShowTasks.Page() != TasksPage || CycleTier.Page() != NoPage {
		t.Error("letters or pages")
	}
	keys["show_help"] = []string{"f6"}
	if _, err := NewKeymap(func(a string) []string { return keys[a] }); err == nil || !strings.Contains(err.Error(), "f6 is the key of both cycle_sandbox_tier and show_help") {
		t.Errorf("a key with two actions: %v", err)
	}
}

// No key and no size breaks a page, and no text of the session acts on the
// terminal.
func TestPagesHoldWhateverComes(t *testing.T) {
	names := slices.Sorted(func(yield func(string) bool) {
		for k := range keyNames {
			if k != "esc" && k != "ctrl+c" && !yield(k) {
				return
			}
		}
		for _, k := range []string{"j", "k", "g", "G", "a", "d", "t", "x", "p", "/", "s", "y", "n", "日", "\u0301"} {
			if !yield(k) {
				return
			}
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		text := anyText()
		rule := policy.Rule{ID: "x" + text.Draw(rt, "id"), Text: text.Draw(rt, "text"), Lift: text.Draw(rt, "lift"), Origin: policy.Origin{File: text.Draw(rt, "file")}}
		s := exampleSession(t)
		s.output = text.Draw(rt, "output")
		s.st.NoNetwork, s.st.Tasks[0].Command, s.st.Tasks[3].Reason = text.Draw(rt, "no network"), text.Draw(rt, "command"), text.Draw(rt, "reason")
		s.conns[0].Host, s.conns[1].Command, s.conns[2].Err, s.conns[3].Via = text.Draw(rt, "host"), text.Draw(rt, "who"), text.Draw(rt, "err"), text.Draw(rt, "via")
		s.conns[1].Decision.Rule = rule
		s.denials[0].Rule, s.denials[1].Path, s.denials[2].Command = rule, text.Draw(rt, "path"), text.Draw(rt, "denied")
		if rapid.Bool().Draw(rt, "fails") {
			s.err = errors.New(text.Draw(rt, "error"))
		}
		if rapid.Bool().Draw(rt, "empty") {
			s.conns, s.denials, s.st.Tasks = nil, nil, nil
		}
		c := &clock{noon}
		l := Look{Color: rapid.Bool().Draw(rt, "color"), ASCII: rapid.Bool().Draw(rt, "ascii")}
		p := rapid.SampledFrom([]Page{SandboxPage, NetworkPage, DeniedPage, PolicyPage, TasksPage, ConfigPage, HelpPage, OpenPage}).Draw(rt, "page")
		w, h := rapid.IntRange(1, 130).Draw(rt, "w"), rapid.IntRange(1, 50).Draw(rt, "h")
		f := pageOf(t, p, s, c, l, w, h)
		for range rapid.IntRange(0, 20).Draw(rt, "n") {
			if rapid.IntRange(0, 4).Draw(rt, "resize") == 0 {
				w, h = rapid.IntRange(1, 130).Draw(rt, "w"), rapid.IntRange(1, 50).Draw(rt, "h")
				f.Update(tea.WindowSizeMsg{Width: w, Height: h})
			}
			if rapid.IntRange(0, 4).Draw(rt, "paste") == 0 {
				f.Update(tea.PasteMsg{Content: text.Draw(rt, "pasted")})
			}
			f.keysOf(rapid.SampledFrom(names).Draw(rt, "key"))
			if rapid.Bool().Draw(rt, "pause") {
				f.pause()
			}
			f.Update(changed{})
			if f.done {
				return
			}
			f.draw(c)
			lines := f.screen()
			if len(lines) > h {
				rt.Fatalf("%d lines of %d", len(lines), h)
			}
			for _, s := range lines {
				if width(s) > w {
					rt.Fatalf("%d cells of %d: %q", width(s), w, s)
				}
				onlyStyles(rt, s, l)
			}
		}
	})
}

// On small terminals every page has its place, and says what its keys do.
func TestSmallPages(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {40, 12}, {30, 8}} {
		var b strings.Builder
		show := func(name string, f *frame) {
			lines := f.screen()
			for _, s := range lines {
				if width(s) > size[0] {
					t.Errorf("%s, %v: %d cells: %q", name, size, width(s), s)
				}
			}
			if len(lines) > size[1] {
				t.Errorf("%s, %v: %d lines", name, size, len(lines))
			}
			b.WriteString("== " + name + "\n" + shown(strings.Join(lines, "\n")) + "\n")
		}
		for _, p := range []struct {
			name string
			page Page
			keys []string
		}{
			{"sandbox", SandboxPage, nil}, {"network", NetworkPage, nil}, {"allow", NetworkPage, []string{"home", "down", "a"}}, {"denied", DeniedPage, nil}, {"policy", PolicyPage, nil},
			{"tasks", TasksPage, nil}, {"output", TasksPage, []string{"home", "down", "enter"}}, {"config", ConfigPage, nil}, {"details", ConfigPage, []string{"down", "enter"}},
			{"help", HelpPage, nil}, {"open", OpenPage, nil}, {"clone", ClonePage, nil},
		} {
			s := exampleSession(t)
			s.st.FreshClone = true
			f := pageOf(t, p.page, s, &clock{noon}, Look{}, size[0], size[1])
			f.keysOf(p.keys...)
			show(p.name, f)
		}
		show("question", pageOf(t, QuestionsPage, withQuestions(t, exampleQuestion(1), exampleQuestion(2)), &clock{noon}, Look{}, size[0], size[1]))
		golden(t, fmt.Sprintf("small-%dx%d", size[0], size[1]), b.String())
	}
}

// A dialog that does not fit takes no yes.
func TestTooSmallForADialog(t *testing.T) {
	for _, size := range [][2]int{{80, 4}, {12, 24}, {30, 6}, {40, 24}, {80, 5}, {30, 8}} {
		s := &fake{st: session.State{Tier: policy.Airlock}}
		f := pageOf(t, OpenPage, s, &clock{noon}, Look{}, size[0], size[1])
		f.screen()
		f.keysOf("down", "y", pause)
		fits := size[0]*size[1] >= 240 && size[0] >= minQuestion && size != [2]int{80, 4}
		if want := map[bool]string{true: "tier open"}[fits]; s.logged() != want {
			t.Errorf("%v: %q", size, s.logged())
		}
	}
}
