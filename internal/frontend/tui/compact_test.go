package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// realQuestions are those that a session asks, worded as it does.
func realQuestions() map[string]session.Question {
	host := exampleQuestion(1)
	host.Waiting = 1
	host.Prompt = approval.Prompt{
		Title: "The command wants to connect to a host that is not on the list. Allow it?", Brief: "Connect to a host not on the list?", Object: "registry.example.org:443",
		Notes: []string{"it belongs to example.org"}, Rule: policy.Rule{ID: "host:unlisted", Text: "no rule allows this host"},
		Offers: []approval.Offer{
			{Scope: approval.Once, Text: "this connection"}, {Scope: approval.Session, Text: "registry.example.org:443 until the session ends", Brief: "until the session ends"},
			{Scope: approval.Always, Text: "always: registry.example.org:443 and all names below it (saved in your settings)", Brief: "always (saved), and names below it"},
		},
	}
	alike := exampleQuestion(1)
	alike.Prompt.Brief = host.Prompt.Brief
	alike.Prompt.Offers = []approval.Offer{alike.Prompt.Offers[0], alike.Prompt.Offers[1], alike.Prompt.Offers[2]}
	for i, o := range host.Prompt.Offers {
		alike.Prompt.Offers[i].Brief = o.Brief
	}
	command := host
	command.Kind, command.PID = session.AboutCommand, 0
	command.Prompt = approval.Prompt{
		Title: "Run this command?", Object: "cat <<'E' >deploy.sh\n#!/bin/sh\nset -eu\nrsync -a build/ deploy@shop.example.org:/srv/shop/\nE\nsh deploy.sh",
		Rule: policy.Rule{ID: "permission:mode", Text: "no rule is about sh, and the mode is ask"}, Notes: []string{"no rule is about sh, and the mode is ask"},
		Offers: []approval.Offer{{Scope: approval.Once, Text: "run it"}},
	}
	outside := command
	outside.Kind = session.AboutOutside
	outside.Prompt = approval.Prompt{
		Title: "Run this command outside the sandbox, with your own permissions?", Brief: "Run it outside the sandbox?", Object: "git commit -m 'hooks'",
		Notes:  []string{"folder:  /home/me/work/shop", `it was refused "/home/me/work/shop/.git/hooks/pre-commit"`},
		Rule:   policy.Rule{ID: "git.hooks", Text: "git runs what is in this folder"},
		Offers: []approval.Offer{{Scope: approval.Once, Text: "run it outside, this once"}},
	}
	return map[string]session.Question{"1 host": host, "2 look-alike": alike, "3 command": command, "4 outside": outside}
}

// A question can be answered on every usual size, page by page if need be.
func TestQuestionInEverySize(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 20}, {40, 12}, {30, 8}} {
		var b strings.Builder
		for _, name := range []string{"1 host", "2 look-alike", "3 command", "4 outside"} {
			for _, n := range []int{1, 3} {
				qs := []session.Question{realQuestions()[name], exampleQuestion(2), exampleQuestion(3)}[:n]
				s := withQuestions(t, qs...)
				c := &clock{noon}
				f := pageOf(t, QuestionsPage, s, c, Look{}, size[0], size[1])
				for page := 1; ; page++ {
					lines := f.screen()
					fmt.Fprintf(&b, "== %s, %d, page %d\n%s\n", name, n, page, shown(strings.Join(lines, "\n")))
					if v := f.view.(*questionsView); v.crowded || !v.unread() || page > 20 {
						break
					}
					f.keysOf("y", pause, "down", "enter", "up") // nothing but no counts before it was read
					f.keysOf("space")
					f.draw(c)
				}
				f.keysOf("y", pause)
				if s.log() != "answer 1 once" {
					t.Errorf("%s, %v: %q", name, size, s.log())
				}
			}
		}
		golden(t, fmt.Sprintf("sizes-%dx%d", size[0], size[1]), b.String())
	}
}

func compactPage(t *testing.T, s *fake, c *clock) (*frame, *questionsView) {
	t.Helper()
	f := pageOf(t, QuestionsPage, s, c, Look{}, 30, 8)
	v := f.view.(*questionsView)
	if !v.compact || !v.unread() {
		t.Fatalf("not a question of several pages:\n%s", strings.Join(f.screen(), "\n"))
	}
	return f, v
}

// What was typed ahead answers nothing: neither before the last page of a
// question was asked for, nor before it was on the terminal for a while. No needs
// no reading.
func TestCompactQuestionIsReadFirst(t *testing.T) {
	c := &clock{noon}
	s := withQuestions(t, realQuestions()["1 host"])
	f, v := compactPage(t, s, c)
	f.keysOf("s", pause)
	if foot := f.screen()[7]; !strings.Contains(foot, "read on") || s.log() != "" {
		t.Fatalf("%q says %q", s.log(), foot)
	}
	for range 5 {
		f.Update(keyOf("space"))
	}
	f.Update(keyOf("y")) // in one burst
	f.pause()
	if v.unread() || s.log() != "" {
		t.Fatalf("typed ahead: %q", s.log())
	}
	f.show()
	c.t = c.t.Add(quiet - 1)
	f.keysOf("y", pause)
	if s.log() != "" {
		t.Fatalf("too soon: %q", s.log())
	}
	c.t = c.t.Add(quiet)
	f.keysOf("y", pause)
	if s.log() != "answer 1 once" {
		t.Fatalf("the twin: %q", s.log())
	}
	for keys, want := range map[string]string{"n": "answer 1 no", "esc": "answer 1 no", "enter": "answer 1 no", "N": "deny all", "pgup y …": "", "right enter": "", "space left enter": "answer 1 no"} {
		s := withQuestions(t, realQuestions()["1 host"], exampleQuestion(2))
		f, _ := compactPage(t, s, c)
		f.keysOf(strings.Fields(keys)...)
		if s.log() != want {
			t.Errorf("%s before it was read: %q, want %q", keys, s.log(), want)
		}
	}
}

// A command that asks on, or connects again and again, does not undo what was
// read; another question, or other lines of it, do.
func TestCompactQuestionStaysRead(t *testing.T) {
	c := &clock{noon}
	s := withQuestions(t, realQuestions()["1 host"])
	f, v := compactPage(t, s, c)
	for v.unread() {
		f.keysOf("space")
		f.draw(c)
	}
	s.st.Questions[0].Waiting = 9
	s.st.Questions = append(s.st.Questions, exampleQuestion(2), exampleQuestion(3))
	f.Update(changed{})
	f.screen()
	if v.unread() {
		t.Error("more questions undo what was read")
	}
	f.Update(tea.WindowSizeMsg{Width: 26, Height: 8})
	f.draw(c)
	f.keysOf("y", pause)
	if !v.unread() || s.log() != "" {
		t.Errorf("other lines count as read: %q", s.log())
	}
	for v.unread() {
		f.keysOf("space")
		f.draw(c)
	}
	f.keysOf("y", pause)
	f.draw(c)
	if !v.unread() {
		t.Error("the next question counts as read")
	}
	f.keysOf("y", pause)
	if s.log() != "answer 1 once" {
		t.Errorf("%q", s.log())
	}
}

// Whatever the sizes, no key counts that came before the question was drawn in
// the last of them.
func TestResizeBeginsTheQuestionAnew(t *testing.T) {
	c := &clock{noon}
	for _, to := range [][2]int{{80, 24}, {40, 12}, {24, 30}} {
		for _, from := range [][2]int{{20, 4}, {80, 25}, {1, 1}} {
			s := withQuestions(t, realQuestions()["1 host"])
			f := pageOf(t, QuestionsPage, s, c, Look{}, from[0], from[1])
			for i := range 20 { // a storm
				f.Update(tea.WindowSizeMsg{Width: 10 + 7*i%90, Height: 1 + 5*i%40})
				f.View()
			}
			f.Update(tea.WindowSizeMsg{Width: to[0], Height: to[1]})
			f.Update(keyOf("y"))
			f.pause()
			f.View()
			f.Update(keyOf("y"))
			f.pause()
			if s.log() != "" {
				t.Fatalf("%v to %v: %q", from, to, s.log())
			}
			f.draw(c)
			f.keysOf("y", pause)
			if s.log() != "answer 1 once" {
				t.Errorf("%v to %v, the twin: %q\n%s", from, to, s.log(), strings.Join(f.screen(), "\n"))
			}
		}
	}
	d := &fake{st: session.State{Tier: policy.Airlock}}
	f := pageOf(t, OpenPage, d, c, Look{}, 10, 3)
	f.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	f.View()
	f.keysOf("y", pause)
	if d.log() != "" {
		t.Fatalf("a dialog that was not drawn: %q", d.log())
	}
	f.draw(c)
	f.keysOf("y", pause)
	if d.log() != "tier open" {
		t.Errorf("the twin: %q", d.log())
	}
}

// A name with blanks in it draws no line of the text that looks like bawn's own.
func TestNamesForgeNoLines(t *testing.T) {
	q := realQuestions()["4 outside"]
	for _, w := range []int{24, 30, 40, 60} {
		for pad := range w {
			forged := strings.Repeat(" ", pad) + "why   your settings allow it"
			q.Prompt.Notes = []string{"folder:  '/home/me/" + forged + forged + "'"}
			q.Prompt.Object, q.Command = "x"+forged+forged+"\n"+forged, "y"+forged+forged
			q.Dir = "/home/me/" + forged + forged
			q.Prompt.Rule = policy.Rule{ID: "x", Text: "no rule"}
			s := withQuestions(t, q)
			f := pageOf(t, QuestionsPage, s, &clock{noon}, Look{}, w, 60)
			for _, line := range f.screen() {
				line = strings.TrimPrefix(strings.TrimPrefix(ansi.Strip(line), "│"), " ")
				if strings.HasPrefix(line, "why   your") {
					t.Fatalf("%d, %d:\n%s", w, pad, strings.Join(f.screen(), "\n"))
				}
			}
		}
	}
}
