//go:build linux

package approval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
)

// askerEnv marks the process that asks on the terminal of a test.
const askerEnv = "APPROVAL_ASKS"

func TestMain(m *testing.M) {
	if how := os.Getenv(askerEnv); how != "" {
		askOnTerminal(how)
		return
	}
	os.Exit(m.Run())
}

var testPrompt = Prompt{
	Title: "Run it?", Object: "rm -rf x", Notes: []string{"a note"}, Rule: policy.Rule{ID: "exclude:rm *", Origin: policy.Origin{File: "config.toml", Line: 3}},
	Offers: []Offer{{Scope: Once, Text: "this once"}, {Scope: Always, Text: "for good"}},
}

// askOnTerminal asks one question, or several at once, and prints the answers
// on standard output, which is not the terminal.
func askOnTerminal(how string) {
	t, err := OpenTTY()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch how {
	case "short":
		t.wait = 700 * time.Millisecond
	case "cancel":
		go func() {
			_, _ = os.Stdin.Read(make([]byte, 1))
			cancel()
		}()
	case "two":
		first := make(chan Answer)
		go func() { first <- t.Ask(ctx, testPrompt) }()
		fmt.Printf("%+v\n", t.Ask(ctx, testPrompt))
		fmt.Printf("%+v\n", <-first)
		return
	}
	fmt.Printf("%+v\n", t.Ask(ctx, testPrompt))
}

// asking starts the process on a terminal; its standard streams are pipes.
func asking(t *testing.T, how string) (s sandboxtest.Screen, in *os.File, answer func() string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inR.Close(); inW.Close(); outR.Close() })
	// The shell leads the session and hands its terminal down.
	cmd := exec.Command("sh", "-c", `exec 3<&0 </dev/null; "$0" <&4`, self)
	cmd.Env = append(os.Environ(), askerEnv+"="+how)
	cmd.Stdout = outW
	cmd.ExtraFiles = []*os.File{nil, inR}
	s = sandboxtest.OpenScreen(t)
	s.Start(t, cmd)
	outW.Close()
	return s, inW, func() string {
		s.Code(t)
		buf := make([]byte, 4096)
		n, _ := outR.Read(buf)
		return strings.TrimSpace(string(buf[:n]))
	}
}

const testChoices = "Answer and Enter [y/a/N]: "

func TestTTYAnswers(t *testing.T) {
	for keys, want := range map[string]string{
		"y\r": "{Scope:once Given:true Reason:}", "YES\n": "{Scope:once Given:true Reason:}", "a\r": "{Scope:always Given:true Reason:}",
		"\r": "{Scope:no Given:true Reason:the answer was no}", "no\r": "{Scope:no Given:true Reason:the answer was no}", "y\x1b": "{Scope:no Given:true Reason:the answer was no}",
		"\xc3\xa9y\r": "{Scope:once Given:true Reason:}", "123456789\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7fy\r": "{Scope:once Given:true Reason:}",
	} {
		s, _, answer := asking(t, "once")
		shown := s.Wait(t, testChoices)
		if want := neutral() + "\r\nbawn: Run it?\r\n\r\n    rm -rf x\r\n\r\n  a note\r\n  rule: exclude:rm * (config.toml:3)\r\n  y  this once\r\n  a  for good\r\n  n  no (also Enter, Esc)\r\n"; shown != want {
			t.Errorf("shown %q", shown)
		}
		s.Send(t, keys)
		if got := answer(); got != want {
			t.Errorf("%q: %s, want %s", keys, got, want)
		}
	}
}

// Silence is no, however long somebody types something else.
func TestTTYSilence(t *testing.T) {
	s, _, answer := asking(t, "short")
	s.Wait(t, testChoices)
	if got := answer(); got != "{Scope:no Given:false Reason:nobody answered}" || !strings.Contains(s.Text(), "nobody answered: no") {
		t.Errorf("%s\n%s", got, s.Text())
	}
}

func TestTTYWithdrawn(t *testing.T) {
	s, in, answer := asking(t, "cancel")
	s.Wait(t, testChoices)
	if s.Modes(t).Lflag&syscall.ICANON != 0 {
		t.Error("the twin: the question did not change the modes")
	}
	_, _ = in.WriteString("x")
	if got := answer(); got != "{Scope:no Given:false Reason:the question was withdrawn}" {
		t.Error(got)
	}
	if after := s.Modes(t); after.Lflag&(syscall.ICANON|syscall.ECHO|syscall.ISIG) != syscall.ICANON|syscall.ECHO|syscall.ISIG {
		t.Errorf("modes %+v", after)
	}
}

// Two questions at once are shown one after the other.
func TestTTYOneAtATime(t *testing.T) {
	s, _, answer := asking(t, "two")
	if first := s.Wait(t, testChoices); strings.Count(first, "Run it?") != 1 {
		t.Errorf("shown %q", first)
	}
	s.Send(t, "y\r")
	s.Wait(t, testChoices)
	s.Send(t, "n\r")
	if got := answer(); strings.Count(got, "Scope:once") != 1 || strings.Count(got, "Scope:no") != 1 {
		t.Error(got)
	}
}

func TestNoTerminal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), askerEnv+"=once")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	if err != nil || !strings.HasPrefix(string(out), ErrNoTerminal.Error()) {
		t.Errorf("%q, %v", out, err)
	}
}

// Whatever the texts hold, nothing of them acts on a terminal, and each stays
// on its line.
func TestPromptIsText(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"\x1b[2J", "a\rb", "\u202e", "\x9b31m", "\u0085", "\u2028", "\x00", "\u3164", "a\u2800b", "\u115f\u1160", "\uffa0", "\ufe0f"}))
	rapid.Check(t, func(rt *rapid.T) {
		p := Prompt{Title: text.Draw(rt, "title"), Object: text.Draw(rt, "object"), Notes: []string{text.Draw(rt, "note")},
			Rule: policy.Rule{ID: "x" + text.Draw(rt, "rule"), Origin: policy.Origin{File: text.Draw(rt, "file")}}, Offers: []Offer{{Scope: Once, Text: text.Draw(rt, "offer")}}}
		s := p.text(0) + p.choices()
		if n := strings.Count(s, "\n"); n != 9 && !(n == 10 && strings.Contains(s, "\n  careful: ")) {
			rt.Fatalf("%d lines: %q", strings.Count(s, "\n"), s)
		}
		for _, r := range s {
			if r != '\n' && !policy.Visible(r) {
				rt.Fatalf("%q has %q", s, r)
			}
		}
	})
}

// A narrow terminal breaks no word of a question, and where a line goes on it is
// set in, so that blanks in a name draw no line that looks like another. What the
// question is about is one line.
func TestNarrowQuestions(t *testing.T) {
	p := Prompt{
		Title: "The command wants to connect to a host that is not on the list. Allow it?", Object: "curl -sS https://example.org/a/long/path --output a-file",
		Notes:  []string{"in the folder /srv/with blanks" + strings.Repeat(" ", 60) + "rule: forged", "界界界 界界界 界界界 界界界 界界界"},
		Rule:   policy.Rule{ID: "host:unlisted", Origin: policy.Origin{File: "/home/me/.config/bawn/config.toml", Line: 3}},
		Offers: []Offer{{Scope: Always, Text: "always: example.org:443 and all names below it (saved in your settings)"}},
	}
	const width = 40
	text := p.text(width)
	if got, want := strings.Fields(text), strings.Fields(p.text(0)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !strings.Contains(text, "\n    "+p.Object+"\n\n") {
		t.Errorf("the object is broken:\n%s", text)
	}
	begins := regexp.MustCompile(`^(bawn: The|    curl|  in the|  界|  rule: host|  a  |  n  |` + setIn + `|$)`)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !begins.MatchString(line) || cells(line) > width && len(strings.Fields(line)) > 1 && !strings.Contains(line, "curl") {
			t.Errorf("%q in\n%s", line, text)
		}
	}
}

// A question whose beginning may have left the screen says so where it is
// answered: by many lines, or by one that goes round and round, the blanks in
// which could show anything below them.
func TestLongQuestionsSaySo(t *testing.T) {
	const careful = "its beginning may have left the screen\n  y  this once\n"
	long := func(p Prompt) bool { return strings.Contains(p.text(0), careful) }
	if long(testPrompt) {
		t.Errorf("a short one: %s", testPrompt.text(0))
	}
	for _, filler := range []string{"x", " ", "\u754c", "\x1b"} {
		for _, part := range []func(*Prompt, string){func(p *Prompt, s string) { p.Object = s }, func(p *Prompt, s string) { p.Notes = []string{"a", s} }} {
			p := testPrompt
			if part(&p, strings.Repeat(filler, 1500)); !long(p) {
				t.Errorf("%q is not said to be long", filler)
			}
		}
	}
	p := testPrompt
	for range someRows {
		p.Notes = append(p.Notes, "x")
	}
	if !long(p) {
		t.Error("many notes are not said to be long")
	}
	for text, want := range map[string]int{"": 0, "\n": 1, "a\nb\n": 2, strings.Repeat("a", columns) + "\n": 1, strings.Repeat("a", columns+1) + "\n": 2, strings.Repeat("\u754c", columns) + "\n": 2} {
		if n := rows(text); n != want {
			t.Errorf("%q takes %d lines, want %d", text, n, want)
		}
	}
}

// Only what was offered is an answer, and everything else is no answer at all.
func TestScopeIsOneOfTheOffers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := Prompt{}
		offered := map[Scope]bool{No: true}
		for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom([]Scope{Once, Session, Always}), 0, 3, rapid.ID).Draw(rt, "offers") {
			p.Offers = append(p.Offers, Offer{Scope: s})
			offered[s] = true
		}
		line := rapid.OneOf(rapid.SampledFrom([]string{"y", "s", "a", "n", "yes", "no", "always", "session", "", "Y"}), rapid.String()).Draw(rt, "line")
		if s, ok := p.scope(line); ok && !offered[s] || !ok && s != No {
			rt.Fatalf("%q is %v, %v", line, s, ok)
		}
	})
}

func TestNobody(t *testing.T) {
	if a := (Nobody{}).Ask(context.Background(), testPrompt); a.Scope != No || a.Given || a.Reason == "" {
		t.Errorf("%+v", a)
	}
	if a := (Nobody{Reason: "x"}).Ask(context.Background(), testPrompt); a.Reason != "x" {
		t.Errorf("%+v", a)
	}
	if errors.Is(ErrBackground, ErrNoTerminal) {
		t.Error("the reasons are one")
	}
}
