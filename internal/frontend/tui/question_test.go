package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

func withQuestions(t testing.TB, qs ...session.Question) *fake {
	s := exampleSession(t)
	s.st.Questions = qs
	return s
}

// goldenPage compares a page in all widths, and in all looks at 80.
func goldenPage(t *testing.T, name string, page func(look Look, w, h int) *frame) {
	t.Helper()
	for lookName, look := range looks {
		var b strings.Builder
		for _, w := range widths {
			if w != 80 && lookName != "no-color" {
				continue
			}
			f := page(look, w, 24)
			lines := f.screen()
			for _, s := range lines {
				if width(s) > w {
					t.Errorf("%s, %d: %d cells: %q", name, w, width(s), s)
				}
				onlyStyles(t, s, look)
			}
			if len(lines) > 24 {
				t.Errorf("%s, %d: %d lines", name, w, len(lines))
			}
			fmt.Fprintf(&b, "%d:\n%s\n", w, shown(strings.Join(lines, "\n")))
		}
		golden(t, name+"-"+lookName, b.String())
	}
}

func TestQuestionPage(t *testing.T) {
	command := session.Question{
		ID: 9, Kind: session.AboutOutside, Deadline: noon.Add(5 * time.Minute), Task: 3, Command: "make deploy", Dir: "/home/me/work/shop",
		Prompt: approval.Prompt{
			Title: "A file was out of reach. Run this one command outside the sandbox?", Object: "printf '\x1b[2J\u202e' >x\nmake deploy" + strings.Repeat(" && echo this is a very long command", 30) + "; rm -rf ~",
			Notes: []string{"it has all your permissions there"}, Rule: policy.Rule{ID: "root", Text: "the system is read-only in the sandbox"},
			Offers: []approval.Offer{{Scope: approval.Once, Text: "run it outside, this once"}},
		},
	}
	c := &clock{noon}
	goldenPage(t, "question", func(l Look, w, h int) *frame {
		c.t = noon
		return pageOf(t, QuestionsPage, withQuestions(t, exampleQuestion(1), exampleQuestion(2), command), c, l, w, h)
	})
	goldenPage(t, "question-command", func(l Look, w, h int) *frame {
		c.t = noon
		return pageOf(t, QuestionsPage, withQuestions(t, command), c, l, w, h)
	})
}

// A136: what is asked about is shown in ASCII, with the warning.
func TestA136_QuestionShowsTheLookAlike(t *testing.T) {
	f := pageOf(t, QuestionsPage, withQuestions(t, exampleQuestion(1)), &clock{noon}, Look{}, 80, 24)
	text := ansi.Strip(strings.Join(f.screen(), " "))
	for _, want := range []string{"xn--pypi-4ve.example:443", "careful: it reads", "host:unlisted (/home/me/.config/bawn/config.toml:4)", "npm install left-pad", "process 1234 of task 3", "5 connections"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, strings.Join(f.screen(), "\n"))
		}
	}
}

// Somebody who types something else, with a pause before it, answers nothing by
// a word that does not begin with an answer; nor by Enter after it.
func TestTypingAtAQuestion(t *testing.T) {
	for _, words := range []string{"make enter", "cat enter", "just enter", "jk lmn enter", "up x enter", "please look at", "rm -rf x enter"} {
		s, c := withQuestions(t, exampleQuestion(1), exampleQuestion(2)), &clock{noon}
		f := pageOf(t, QuestionsPage, s, c, Look{}, 80, 24)
		c.t = c.t.Add(quiet)
		for word := range strings.FieldsSeq(words) {
			keys := []string{word}
			if word != "enter" && word != "up" {
				keys = strings.Split(word, "")
			}
			for _, k := range keys {
				f.keysOf(k)
				c.t = c.t.Add(quiet / 3)
			}
		}
		if s.log() != "" || f.done {
			t.Errorf("%s: %q, done %v", words, s.log(), f.done)
		}
		// Its twin: after a while without a key an answer is one, from the safe one on.
		c.t = c.t.Add(quiet)
		f.keysOf("enter")
		if s.log() != "answer 1 no" {
			t.Errorf("after %s: %q", words, s.log())
		}
	}
}

func TestQuestionAnswers(t *testing.T) {
	for keys, want := range map[string]string{
		"enter": "answer 1 no", "esc": "answer 1 no", "n": "answer 1 no", "ctrl+c": "answer 1 no",
		"y …": "answer 1 once", "s …": "answer 1 session", "a …": "answer 1 always", "N": "deny all",
		"y": "", "s": "", "a": "", "y enter …": "", "y y …": "", "y n …": "", "y esc …": "", "a t …": "", "y tab …": "", "y space …": "", "s down …": "",
		"down enter": "answer 1 once", "down down enter": "answer 1 session", "down up enter": "answer 1 no", "up enter": "answer 1 no", "up up enter": "answer 1 no",
		"down down down down down enter": "deny all", "j j enter": "answer 1 session", "j k enter": "answer 1 no", "down x enter": "",
		"down esc": "answer 1 no", "Y": "", "x": "", "A": "", "tab": "", "q": "", "alt+s": "",
	} {
		s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
		f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, 80, 24)
		f.keysOf(strings.Fields(keys)...)
		if s.log() != want {
			t.Errorf("%s: %q, want %q", keys, s.log(), want)
		}
		if f.done != (keys == "tab" || want == "deny all") {
			t.Errorf("%s: done %v", keys, f.done)
		}
	}
}

// A key counts when the question has been on the screen for a while in which
// none was pressed; each question anew.
func TestKeysBeforeTheQuestionDoNotCount(t *testing.T) {
	s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
	c := &clock{noon}
	f := newFrame(QuestionsPage, s, testOptions(c))
	press := func(k string, after time.Duration) {
		c.t = c.t.Add(after)
		f.Update(keyOf(k))
		f.pause()
	}
	press("y", time.Hour) // it was never drawn
	f.show()
	press("y", quiet-1) // too soon
	press("y", quiet-1) // somebody is typing
	press("down", quiet-1)
	press("enter", quiet-1)
	if s.log() != "" {
		t.Fatalf("answered: %s", s.log())
	}
	press("y", quiet)
	if s.log() != "answer 1 once" {
		t.Fatalf("the twin: %q", s.log())
	}
	press("y", time.Hour) // the next one was not drawn
	f.show()
	press("enter", quiet-1)
	if s.log() != "answer 1 once" {
		t.Fatalf("two questions with one key: %s", s.log())
	}
	press("y", quiet)
	if s.log() != "answer 1 once; answer 2 once" || !f.done {
		t.Fatalf("the second twin: %q", s.log())
	}
}

// Only the terminal's answer to the guard's own question counts, and the lack
// of one after a while; not what was asked about an earlier question.
func TestWhatCountsAsShown(t *testing.T) {
	type answers int // to so many of the guard's questions
	cursor, all := tea.CursorPositionMsg{X: 4, Y: 5}, answers(len(places{}))
	for name, tt := range map[string]struct {
		msgs []tea.Msg
		want bool
	}{
		"nothing":                {nil, false},
		"an answer to others":    {[]tea.Msg{cursor}, false},
		"drawn":                  {[]tea.Msg{drawnMsg(2)}, false},
		"an earlier one drawn":   {[]tea.Msg{drawnMsg(1), all}, false},
		"a command's answers":    {[]tea.Msg{drawnMsg(2), cursor, cursor, cursor, cursor}, false},
		"some of the answers":    {[]tea.Msg{drawnMsg(2), all - 1}, false},
		"an earlier one's time":  {[]tea.Msg{drawnMsg(2), muteMsg(1)}, false},
		"drawn, answered":        {[]tea.Msg{drawnMsg(2), cursor, all}, true},
		"drawn, without answers": {[]tea.Msg{drawnMsg(2), muteMsg(2)}, true},
	} {
		s, c := withQuestions(t, exampleQuestion(1)), &clock{noon}
		f := newFrame(QuestionsPage, s, testOptions(c))
		s.st.Questions = []session.Question{exampleQuestion(2)}
		f.Update(changed{})
		for _, m := range tt.msgs {
			if n, ok := m.(answers); ok {
				f.places(int(n))
			} else {
				f.Update(m)
			}
		}
		c.t = c.t.Add(time.Hour)
		f.View()
		f.Update(keyOf("y"))
		f.pause()
		if got := s.log() != ""; got != tt.want {
			t.Errorf("%s: answered %v", name, got)
		}
	}
}

// A terminal that has answered in this session is asked again before a later
// question is taken to be shown: what a command wrote may be on its way to it.
func TestPatienceWithATerminalThatAnswers(t *testing.T) {
	o := testOptions(&clock{noon})
	o.answers = new(atomic.Bool)
	page := func() *frame { return newFrame(QuestionsPage, withQuestions(t, exampleQuestion(1)), o) }
	silent := func(f *frame) (times int) {
		f.Update(drawnMsg(f.guard.id))
		for times = 1; !f.guard.shown && times < 100; times++ {
			f.Update(muteMsg(f.guard.id))
		}
		return times - 1
	}
	if n := silent(page()); n != 1 {
		t.Errorf("asked %d times, of which nothing is known", n)
	}
	f := page()
	f.Update(drawnMsg(f.guard.id))
	f.places(len(places{}))
	if !f.guard.shown || !o.answers.Load() {
		t.Fatal("the answer was not taken")
	}
	if n := silent(page()); n != maxAsked {
		t.Errorf("asked %d times, one that answers", n)
	}
	f = page()
	f.Update(drawnMsg(f.guard.id))
	f.Update(muteMsg(f.guard.id))
	if f.guard.shown {
		t.Fatal("shown without an answer")
	}
	if f.places(len(places{})); !f.guard.shown {
		t.Error("the answer to the second time was not taken")
	}
}

// The question that came in place of another begins anew, and a countdown
// drawn meanwhile does not make it count earlier or later.
func TestAnotherQuestionInItsPlace(t *testing.T) {
	s := withQuestions(t, exampleQuestion(1))
	c := &clock{noon}
	f := pageOf(t, QuestionsPage, s, c, Look{}, 80, 24)
	s.st.Questions = []session.Question{exampleQuestion(2)}
	f.Update(secondMsg{})
	f.keysOf("y", pause)
	if s.log() != "" {
		t.Fatalf("answered: %s", s.log())
	}
	f.draw(c)
	f.Update(secondMsg{})
	f.show()
	f.keysOf("y", pause)
	if s.log() != "answer 2 once" {
		t.Fatalf("the twin: %q", s.log())
	}
}

// When the choices change under the highlight, it goes to the safe one, never
// to what stands in its place; and what is offered stays what was shown.
func TestChoicesThatChange(t *testing.T) {
	s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
	f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("up") // no to all
	s.st.Questions = s.st.Questions[:1]
	f.Update(changed{})
	f.keysOf("enter")
	if s.log() != "answer 1 no" {
		t.Errorf("the highlight went elsewhere: %q", s.log())
	}
	s = withQuestions(t, exampleQuestion(1))
	f = pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("down")
	q := exampleQuestion(1)
	slices.Reverse(q.Prompt.Offers)
	q.Prompt.Object = "another.example:443"
	s.st.Questions = []session.Question{q}
	f.Update(changed{})
	if text := strings.Join(f.screen(), "\n"); strings.Contains(text, "another.example") || !strings.Contains(text, "› y  this connection") {
		t.Errorf("the question changed under the eyes:\n%s", text)
	}
}

// A flood is one question at a time, with the number of the others, and one key
// for all of them.
func TestA137_OneKeyForAFlood(t *testing.T) {
	var qs []session.Question
	for i := range 512 {
		qs = append(qs, exampleQuestion(i+1))
	}
	s := withQuestions(t, qs...)
	f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, 80, 24)
	if text := ansi.Strip(strings.Join(f.screen(), "\n")); !strings.Contains(text, "Question 1 of 512") || !strings.Contains(text, "N  no to all 512 questions") {
		t.Errorf("a flood looks like this:\n%s", text)
	}
	f.keysOf("N")
	if s.log() != "deny all" || !f.done {
		t.Errorf("%q", s.log())
	}
}

func TestQuestionsGone(t *testing.T) {
	s := withQuestions(t, exampleQuestion(1))
	f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, 80, 24)
	s.st.Questions = nil
	if _, cmd := f.Update(changed{}); !f.done || cmd == nil {
		t.Error("the page stays without a question")
	}
	if f := newFrame(QuestionsPage, withQuestions(t), testOptions(&clock{noon})); !f.done {
		t.Error("the page opens without a question")
	}
}

// Only a question counts down; a page where nothing changes does not tick.
func TestOnlyQuestionsTick(t *testing.T) {
	c := &clock{noon}
	for p := SandboxPage; p <= HelpPage; p++ {
		f := pageOf(t, p, withQuestions(t, exampleQuestion(1)), c, Look{}, 80, 24)
		if got := f.ticking; got != (p == QuestionsPage) {
			t.Errorf("page %d ticks: %v", p, got)
		}
	}
}

// Where a question has no room it cannot be allowed, but denied.
func TestTooSmallForAQuestion(t *testing.T) {
	for _, size := range [][2]int{{80, 4}, {23, 24}, {30, 5}, {20, 10}, {3, 24}, {1, 1}} {
		s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
		f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, size[0], size[1])
		f.keysOf("y", pause, "s", pause, "a", pause, "enter", "down", "enter")
		if s.log() != "" {
			t.Errorf("%v: %s", size, s.log())
		}
		if len(f.screen()) > size[1] {
			t.Errorf("%v: %d lines", size, len(f.screen()))
		}
		f.keysOf("esc")
		if s.log() != "answer 1 no" {
			t.Errorf("%v: the twin: %q", size, s.log())
		}
	}
}

// A long object can be read whole, and its end always shows.
func TestLongObject(t *testing.T) {
	q := exampleQuestion(1)
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprintf("line%03d", i))
	}
	q.Prompt.Object = strings.Join(want, "\n")
	f := pageOf(t, QuestionsPage, withQuestions(t, q), &clock{noon}, Look{}, 80, 24)
	seen := map[string]bool{}
	for range 200 {
		text := strings.Join(f.screen(), "\n")
		for _, w := range want {
			seen[w] = seen[w] || strings.Contains(text, w)
		}
		if !strings.Contains(text, "line199") {
			t.Fatalf("the end does not show:\n%s", text)
		}
		f.keysOf("pgdown")
	}
	for _, w := range want {
		if !seen[w] {
			t.Fatalf("%s never shows", w)
		}
	}
	if text := strings.Join(f.screen(), "\n"); strings.Contains(text, "more lines") {
		t.Errorf("more lines at the end:\n%s", text)
	}
}

// What a question is about is brought into lines once for a width, and again for
// the next question: megabytes of it, from an agent, do not hold up the answer.
func TestLongObjectIsFoldedOnce(t *testing.T) {
	q := exampleQuestion(1)
	q.Prompt.Object = strings.Repeat("echo a long command of many words; ", 1<<20/35)
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		s := withQuestions(t, q, exampleQuestion(2))
		f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, size[0], size[1])
		v := f.view.(*questionsView)
		before := maps.Clone(v.folded)
		for range 3 {
			f.keysOf("pgdown", "j", "k")
			f.Update(secondMsg{})
			f.Update(changed{})
			f.screen()
		}
		if len(before) == 0 || len(v.folded) != len(before) {
			t.Fatalf("%v: %d widths, then %d", size, len(before), len(v.folded))
		}
		for w, one := range v.folded {
			if one != before[w] {
				t.Errorf("%v: folded again for %d", size, w)
			}
		}
		f.keysOf("esc")
		f.screen()
		if text := strings.Join(f.screen(), "\n"); s.log() != "answer 1 no" || !strings.Contains(text, "pypi-4ve.example") {
			t.Errorf("%v, %q: the next question shows\n%s", size, s.log(), text)
		}
	}
}

// No keys lead to a wider answer than the one that was highlighted when Enter
// was pressed, or whose letter was; and only an offered one.
func TestNoKeysWidenAnAnswer(t *testing.T) {
	names := append([]string{"y", "s", "a", "n", "N", "Y", "j", "k", "x", "1", "q", "G", "/", "日"}, slices.Sorted(func(yield func(string) bool) {
		for k := range keyNames {
			if !yield(k) {
				return
			}
		}
	})...)
	rapid.Check(t, func(rt *rapid.T) {
		q := exampleQuestion(1)
		q.Prompt.Offers = nil
		offered := map[approval.Scope]bool{}
		for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom([]approval.Scope{approval.Once, approval.Session, approval.Always, approval.Scope(9), approval.No}), 0, 5, rapid.ID).Draw(rt, "offers") {
			q.Prompt.Offers = append(q.Prompt.Offers, approval.Offer{Scope: s, Text: s.String()})
			offered[s] = true
		}
		s := withQuestions(t, q)
		c := &clock{noon}
		f := pageOf(t, QuestionsPage, s, c, Look{}, rapid.SampledFrom([]int{40, 80}).Draw(rt, "w"), rapid.SampledFrom([]int{5, 14, 24, 50}).Draw(rt, "h"))
		v := f.view.(*questionsView)
		for range rapid.IntRange(0, 30).Draw(rt, "n") {
			k := rapid.SampledFrom(names).Draw(rt, "key")
			highlighted := ""
			if len(v.choices.all) > 0 {
				highlighted = v.choices.all[v.choices.at].key
			}
			if rapid.Bool().Draw(rt, "paste") {
				f.Update(tea.PasteMsg{Content: "y\ra\r"})
			}
			f.keysOf(k)
			letter := map[string]string{"enter": highlighted, "esc": "n", "ctrl+c": "n", "n": "n", "N": "N"}[k]
			if len(s.did) == 0 && rapid.Bool().Draw(rt, "pause") {
				f.pause()
				letter = k // by itself
			}
			c.t = c.t.Add(time.Duration(rapid.IntRange(0, 400).Draw(rt, "ms")) * time.Millisecond)
			if len(s.did) == 0 {
				continue
			}
			want := map[string]string{"y": "answer 1 once", "s": "answer 1 session", "a": "answer 1 always", "n": "answer 1 no", "N": "deny all"}[letter]
			if s.log() != want {
				rt.Fatalf("%q over %q did %q", k, highlighted, s.log())
			}
			for scope, key := range letters {
				if key == letter && !offered[scope] {
					rt.Fatalf("%q was not offered", letter)
				}
			}
			return
		}
	})
}
