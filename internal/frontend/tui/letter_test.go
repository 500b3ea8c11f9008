package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"bawn/internal/policy"
	"bawn/internal/session"
)

// A word that begins with an answer is none, typed after a pause at a question
// or a dialog, with Enter or without; nor is one letter and Enter, nor a key held
// down. The letter alone is one.
func TestWordsThatBeginWithAnAnswer(t *testing.T) {
	for name, asks := range map[string]func(c *clock) (*frame, func() string, string){
		"question": func(c *clock) (*frame, func() string, string) {
			s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
			return pageOf(t, QuestionsPage, s, c, Look{}, 80, 24), s.log, "answer 1 once"
		},
		"open": func(c *clock) (*frame, func() string, string) {
			s := &fake{st: session.State{Tier: policy.Airlock}}
			return pageOf(t, OpenPage, s, c, Look{}, 80, 24), s.log, "tier open"
		},
	} {
		for _, words := range []string{"at", "at enter", "yes enter", "yarn enter", "a b", "aa", "yyyyyyyy", "y enter", "y esc", "y n", "s down enter", "y up enter", "a tab", "y pgdown", "s space x", "y alt+s enter"} {
			c := &clock{noon}
			f, log, yes := asks(c)
			var keys []string
			for word := range strings.FieldsSeq(words) {
				if _, named := keyNames[word]; named {
					keys = append(keys, word)
				} else {
					keys = append(keys, strings.Split(word, "")...)
				}
			}
			f.keysOf(keys[0])
			if name == "question" || keys[0] == "y" {
				if text := ansi.Strip(strings.Join(f.screen(), "\n")); !strings.Contains(text, keys[0]+" counts if no key follows") || !strings.Contains(text, "… "+keys[0]+"  ") {
					t.Errorf("%s, %s: nobody is told\n%s", name, words, text)
				}
			}
			first := letterMsg(f.letters)
			for _, k := range keys[1:] {
				c.t = c.t.Add(quiet / 3)
				f.keysOf(k)
				f.Update(first) // the tick of the first comes, and is over
				f.places(len(f.guard.asked))
			}
			f.pause()
			if log() != "" || f.done {
				t.Errorf("%s, %s: %q, done %v", name, words, log(), f.done)
			}
			if text := ansi.Strip(strings.Join(f.screen(), "\n")); !strings.Contains(text, "› n  ") || strings.Contains(text, "… ") {
				t.Errorf("%s, after %s no is not highlighted:\n%s", name, words, text)
			}
			c.t = c.t.Add(quiet)
			f.keysOf("y", pause) // the twin
			if log() != yes {
				t.Errorf("%s, after %s the letter alone: %q", name, words, log())
			}
		}
	}
}

// What is pasted answers nothing, takes a letter back, and is typing.
func TestPasteAtAQuestion(t *testing.T) {
	for name, msgs := range map[string][]tea.Msg{
		"y and a paste":          {keyOf("y"), tea.PasteMsg{Content: "es"}},
		"y and a paste's begin":  {keyOf("y"), tea.PasteStartMsg{}},
		"a paste and y":          {tea.PasteStartMsg{}, tea.PasteMsg{Content: "y"}, tea.PasteEndMsg{}, keyOf("y")},
		"a paste and Enter":      {tea.PasteMsg{Content: "make"}, keyOf("enter")},
		"down, a paste, Enter":   {keyOf("down"), tea.PasteMsg{Content: "make"}, keyOf("enter")},
		"pasted without its own": {keyOf("y"), keyOf("e"), keyOf("s"), keyOf("enter")},
	} {
		q, d := withQuestions(t, exampleQuestion(1)), &fake{st: session.State{Tier: policy.Airlock}}
		c := &clock{noon}
		for _, f := range []*frame{pageOf(t, QuestionsPage, q, c, Look{}, 80, 24), pageOf(t, OpenPage, d, c, Look{}, 80, 24)} {
			for _, m := range msgs {
				f.Update(m)
			}
			f.pause()
			c.t = c.t.Add(quiet)
			f.keysOf("enter") // no is highlighted
		}
		if q.log() != "answer 1 no" || d.log() != "" {
			t.Errorf("%s: %q, %q", name, q.log(), d.log())
		}
	}
}

// The terminal, if it answers, is asked for what was typed until then: on a slow
// line the rest of the word may still be on its way.
func TestLetterOnASlowLine(t *testing.T) {
	s := withQuestions(t, exampleQuestion(1))
	c := &clock{noon}
	f := pageOf(t, QuestionsPage, s, c, Look{}, 80, 24)
	f.keysOf("a")
	f.Update(letterMsg(f.letters))
	f.places(len(f.guard.asked) - 1)
	if s.log() != "" {
		t.Fatalf("before all of the terminal's answers: %q", s.log())
	}
	f.Update(keyOf("t"))
	f.places(len(f.guard.asked))
	f.Update(letterMuteMsg(f.letters))
	if s.log() != "" {
		t.Fatalf("a word: %q", s.log())
	}
	c.t = c.t.Add(quiet)
	f.keysOf("a")
	f.Update(letterMuteMsg(f.letters)) // of no question yet
	if s.log() != "" {
		t.Fatalf("it was not asked: %q", s.log())
	}
	f.Update(letterMsg(f.letters))
	f.Update(letterMuteMsg(f.letters - 1))
	if s.log() != "" {
		t.Fatalf("the time of another letter: %q", s.log())
	}
	f.Update(letterMuteMsg(f.letters)) // it says no more
	if s.log() != "answer 1 always" {
		t.Fatalf("the twin: %q", s.log())
	}
	// Where the terminal answers nothing the while alone counts.
	s = withQuestions(t, exampleQuestion(1))
	f = newFrame(QuestionsPage, s, testOptions(c))
	f.View()
	f.Update(drawnMsg(f.guard.id))
	f.Update(muteMsg(f.guard.id))
	c.t = c.t.Add(quiet)
	f.Update(keyOf("y"))
	if s.log() != "" {
		t.Fatalf("at once: %q", s.log())
	}
	f.Update(letterMsg(f.letters))
	if s.log() != "answer 1 once" {
		t.Fatalf("a silent terminal: %q", s.log())
	}
}

// A letter is about the question that was on the screen, in its size.
func TestLetterOfAnotherQuestion(t *testing.T) {
	for name, then := range map[string]func(s *fake, f *frame){
		"another in its place": func(s *fake, f *frame) { s.st.Questions = s.st.Questions[1:]; f.Update(changed{}) },
		"another size":         func(_ *fake, f *frame) { f.Update(tea.WindowSizeMsg{Width: 81, Height: 24}) },
		"none is left":         func(s *fake, f *frame) { s.st.Questions = nil; f.Update(changed{}) },
	} {
		s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
		f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, 80, 24)
		f.keysOf("y")
		then(s, f)
		f.show()
		f.pause()
		if s.log() != "" {
			t.Errorf("%s: %q", name, s.log())
		}
	}
	// More that wait, and a second that passes, change nothing.
	s := withQuestions(t, exampleQuestion(1))
	f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, 80, 24)
	f.keysOf("y")
	s.st.Questions = append(s.st.Questions, exampleQuestion(2))
	f.Update(changed{})
	f.Update(secondMsg{})
	f.pause()
	if s.log() != "answer 1 once" {
		t.Errorf("the twin: %q", s.log())
	}
}

// That a letter waits, and that it was taken back, shows in every size.
func TestLetterShows(t *testing.T) {
	c := &clock{noon}
	goldenPage(t, "letter", func(l Look, w, h int) *frame {
		c.t = noon
		f := pageOf(t, QuestionsPage, withQuestions(t, exampleQuestion(1), exampleQuestion(2)), c, l, w, h)
		f.keysOf("y")
		return f
	})
	for _, size := range [][2]int{{80, 24}, {60, 20}, {40, 12}, {30, 8}} {
		q, d := withQuestions(t, realQuestions()["4 outside"]), &fake{st: session.State{Tier: policy.Airlock}}
		c.t = noon
		for _, f := range []*frame{pageOf(t, QuestionsPage, q, c, Look{ASCII: true}, size[0], size[1]), pageOf(t, OpenPage, d, c, Look{ASCII: true}, size[0], size[1])} {
			if v, ok := f.view.(*questionsView); ok {
				for v.unread() {
					f.keysOf("space")
					f.draw(c)
				}
			}
			text := func() string { return ansi.Strip(strings.Join(f.screen(), "\n")) }
			f.keysOf("y")
			if s := text(); !strings.Contains(s, "any key takes it back") || !strings.Contains(s, "~ y") && !strings.Contains(s, "~y") {
				t.Errorf("%v, waiting:\n%s", size, s)
			}
			f.keysOf("e")
			if s := text(); !strings.Contains(s, "y counts only alone") || strings.Contains(s, "~ y") || strings.Contains(s, "~y") {
				t.Errorf("%v, taken back:\n%s", size, s)
			}
			f.keysOf("s")
			if s := text(); strings.Contains(s, "counts only alone") {
				t.Errorf("%v, it stays:\n%s", size, s)
			}
		}
	}
}
