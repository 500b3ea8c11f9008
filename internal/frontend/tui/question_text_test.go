package tui

import (
	"context"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// Whatever the texts of a question hold, the terminal gets bawn's styles and
// characters that print, in lines that fit; and what it is about can be read.
func TestQuestionIsText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := anyText()
		q := session.Question{
			ID: 1, Kind: session.AboutHost, Deadline: noon, Task: 1, PID: 2, Command: text.Draw(rt, "command"), Dir: text.Draw(rt, "dir"), Waiting: 2,
			Prompt: approval.Prompt{
				Title: text.Draw(rt, "title"), Object: text.Draw(rt, "object"), Notes: []string{text.Draw(rt, "note")},
				Rule:   policy.Rule{ID: "x" + text.Draw(rt, "id"), Text: text.Draw(rt, "text"), Origin: policy.Origin{File: text.Draw(rt, "file"), Line: 1}},
				Offers: []approval.Offer{{Scope: approval.Once, Text: text.Draw(rt, "offer")}},
			},
		}
		w, h := rapid.IntRange(1, 120).Draw(rt, "w"), rapid.IntRange(1, 60).Draw(rt, "h")
		l := Look{Color: rapid.Bool().Draw(rt, "color"), ASCII: rapid.Bool().Draw(rt, "ascii")}
		f := pageOf(t, QuestionsPage, withQuestions(t, q, exampleQuestion(2)), &clock{noon}, l, w, h)
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
	})
}

// A command that a question is about, and the folder that its note names, are
// on the screen once.
func TestQuestionSaysThingsOnce(t *testing.T) {
	q := exampleQuestion(1)
	q.Kind, q.Command, q.PID = session.AboutOutside, "make install", 0
	q.Prompt = approval.Prompt{Title: "Run it outside?", Object: q.Command, Notes: []string{"folder:  " + q.Dir}, Offers: []approval.Offer{{Scope: approval.Once, Text: "once"}}}
	for _, size := range [][2]int{{80, 24}, {34, 40}} {
		text := ansi.Strip(strings.Join(pageOf(t, QuestionsPage, withQuestions(t, q), &clock{noon}, Look{}, size[0], size[1]).screen(), "\n"))
		for _, once := range []string{q.Command, "shop"} {
			if n := strings.Count(text, once); n != 1 {
				t.Errorf("%s is there %d times:\n%s", once, n, text)
			}
		}
	}
	a := &asker{answers: []approval.Answer{{Given: true}}}
	if _, err := Show(context.Background(), QuestionsPage, withQuestions(t, q), IO{}, plainOptions(a)); err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(a.asked[0].Notes, "\n"); strings.Count(notes, q.Command) != 0 || strings.Count(notes, q.Dir) != 1 {
		t.Error(notes)
	}
}
