//go:build linux

package egresstest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/sandboxtest"
)

// hostChoices is the line at which keys begin to count.
const hostChoices = "Answer and Enter [y/s/a/N]: "

// onScreen runs a command in the world on a terminal of its own.
func (b *Box) onScreen(t *testing.T, args ...string) sandboxtest.Screen {
	t.Helper()
	s := sandboxtest.OpenScreen(t)
	s.Start(t, b.command(context.Background(), args...))
	return s
}

func (b *Box) shOnScreen(t *testing.T, text string) sandboxtest.Screen {
	t.Helper()
	return b.onScreen(t, "bash", "--norc", "-c", text)
}

// curl asks for a page in a way that the check before the run does not read.
const curl = `curl=curl; get() { $curl -sS --max-time 60 "$@"; }; `

// N7: an unlisted host is a question; the connection is held meanwhile, and no
// name is resolved before the yes. Through the proxy and without it.
func TestN7_UnlistedHostIsAsked(t *testing.T) {
	w := NewWorld(t)
	for name, get := range map[string]string{"proxy": "get", "direct": "get --noproxy '*'"} {
		t.Run(name, func(t *testing.T) {
			before := w.Hits(t, "11.0.0.11:18080")
			b := NewBox(t, w, "native")
			s := b.shOnScreen(t, curl+get+" http://other.test:18080/x; echo done")
			shown := s.Wait(t, hostChoices)
			for _, want := range []string{"    other.test:18080\r\n", "rule: host:unlisted", "always: other.test:18080 and all names below it"} {
				if !strings.Contains(shown, want) {
					t.Errorf("the question does not show %q:\n%s", want, shown)
				}
			}
			if n := w.Hits(t, "11.0.0.11:18080"); n != before {
				t.Errorf("A18: it was connected to before the answer")
			}
			s.Send(t, "y\r")
			s.Wait(t, "hello other.test:18080 /x")
			s.Wait(t, "done")
			if code := s.Code(t); code != 0 {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// A18: a name that waits for an answer, or is denied, is never looked up.
func TestA18_NoQueryBeforeTheAnswer(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	s := b.shOnScreen(t, curl+"get http://s3cr3t.other.test:18080/; get --noproxy '*' http://s4cr3t.other.test:18080/; echo done")
	for range 2 {
		s.Wait(t, hostChoices)
		if q := w.Queries(t); strings.Contains(q, "cr3t") {
			t.Errorf("asked the name server: %s", q)
		}
		s.Send(t, "\x1b")
	}
	s.Wait(t, "done")
	s.Code(t)
	if q := w.Queries(t); strings.Contains(q, "cr3t") {
		t.Errorf("asked the name server: %s", q)
	}
}

// A139: an answer reaches as far as was shown: once is one connection, session
// is this host and port in this run, no holds in this run.
func TestA139_AnswersReachAsFarAsShown(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	s := b.shOnScreen(t, curl+`for u in other.test:18080 other.test:18080 other.test:18080 evil.test:18080 evil.test:80 sub.other.test:18080 sub.other.test:18080; do get -o /dev/null -w "%{http_code}
" http://$u/ | sed "s|^|$u |"; done; echo done`)
	var want []string
	for _, step := range []struct{ question, key, result string }{
		{"other.test:18080", "y\r", "other.test:18080 200"},
		{"other.test:18080", "s\r", "other.test:18080 200"},
		{"", "", "other.test:18080 200"},
		{"evil.test:18080", "session\r", "evil.test:18080 200"},
		{"evil.test:80", "y\r", "evil.test:80 200"},
		{"sub.other.test:18080", "n\r", "sub.other.test:18080 403"},
		{"", "", "sub.other.test:18080 403"},
	} {
		if step.question != "" {
			if shown := s.Wait(t, hostChoices); !strings.Contains(shown, "    "+step.question+"\r\n") {
				t.Fatalf("not asked about %s:\n%s", step.question, shown)
			}
			s.Send(t, step.key)
		}
		want = append(want, step.result)
	}
	s.Wait(t, "done")
	s.Code(t)
	var got []string
	for line := range strings.Lines(s.Text()) {
		if f := strings.Fields(line); len(f) == 2 && len(f[1]) == 3 && strings.Contains(f[0], ".test:") {
			got = append(got, f[0]+" "+f[1])
		}
	}
	if !slices.Equal(got, want) || strings.Count(s.Text(), "Answer") != 5 {
		t.Errorf("results %q, want %q:\n%s", got, want, s.Text())
	}
	// The next run asks anew.
	s = b.shOnScreen(t, curl+"get http://other.test:18080/")
	s.Wait(t, hostChoices)
	s.Send(t, "\r")
	s.Code(t)
}

// Always is saved in the user's settings, for the host, its port and the names
// below it; nothing of a host that many own is.
func TestN7_AlwaysIsSaved(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	s := b.shOnScreen(t, curl+"get http://other.test:18080/one; get http://other.test:18080/two")
	s.Wait(t, hostChoices)
	s.Send(t, "a\r")
	s.Wait(t, "hello other.test:18080 /one")
	if rest := s.Wait(t, "hello other.test:18080 /two"); strings.Contains(rest, "Answer") {
		t.Errorf("asked again: %s", rest)
	}
	s.Code(t)
	saved, err := os.ReadFile(filepath.Join(b.Home, ".config/bawn/allowed.toml"))
	if err != nil || !strings.Contains(string(saved), `"other.test:18080"`) {
		t.Errorf("saved %q, %v", saved, err)
	}
	if r := b.Sh(t, curl+"get http://other.test:18080/three"); !strings.Contains(r.Stdout, "hello other.test:18080 /three") {
		t.Errorf("the next run, with nobody to ask: %s%s", r.Stdout, r.Stderr)
	}
	if r := b.Sh(t, curl+"get -f http://other.test:80/"); r.Code == 0 {
		t.Error("another port was allowed")
	}
	s = b.shOnScreen(t, curl+"get http://github.io:18080/") // a public suffix
	if shown := s.Wait(t, "Answer and Enter [y/s/N]: "); strings.Contains(shown, "always") {
		t.Errorf("it could be kept:\n%s", shown)
	}
	s.Send(t, "n\r")
	s.Code(t)
}

// What is denied by a rule, or leads to the machine's own network, is not a
// question, and no yes changes it.
func TestN7_NoAnswerOverturnsADeny(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	b.Flags = []string{"--deny-domain", "evil.test"}
	s := b.shOnScreen(t, curl+"get -o /dev/null -w '%{http_code}\n' http://evil.test:18080/; get -o /dev/null -w '%{http_code}\n' http://10.1.2.3:18080/; get -w '%{http_code}\n' -o /dev/null http://intra.test:18080/; echo done")
	s.Wait(t, hostChoices)
	s.Send(t, "y\r")
	s.Wait(t, "done")
	s.Code(t)
	// What was written just before the question may come after it.
	if out := s.Text(); strings.Count(out, "Answer and Enter") != 1 || !strings.Contains(out, "    intra.test:18080\r\n") || strings.Count(out, "403\r\n") != 3 {
		t.Errorf("asked about what is denied, or not denied:\n%s", out)
	}
	if n := w.Hits(t, "10.1.2.3:18080"); n != 0 {
		t.Errorf("a yes led to an internal address (%d connections)", n)
	}
}

// B123: a program that owns the screen, in raw mode and in the middle of a
// control sequence, cannot hide the question or read the answer; afterwards the
// terminal is its own again, and it is told to draw.
func TestB123_QuestionOverAFullScreenProgram(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	name := b.Python(t, `
import os, signal, subprocess, sys, termios, tty
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
tty.setraw(0)
os.write(1, b"\x1b[?1049h\x1b[8m\x1b(0\x1b]0;")
p = subprocess.Popen(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://other.test:18080/"], stdout=subprocess.PIPE)
out = p.communicate()[0].decode()
os.write(1, b"\x07shown-late ")
signal.sigwait([signal.SIGWINCH])
os.write(1, ("code " + out + " ready\r\n").encode())
os.write(1, b"key " + os.read(0, 1) + b"\r\n")
`)
	s := sandboxtest.OpenScreen(t)
	before := s.Modes(t)
	s.Start(t, b.command(context.Background(), "python3", name))
	shown := s.Wait(t, hostChoices)
	if i := strings.Index(shown, "\x18\x1b\\"); i < 0 || i > strings.Index(shown, "bawn: The command wants") {
		t.Errorf("the question is shown into a control sequence: %q", shown)
	}
	s.Send(t, "y\r")
	s.Wait(t, "code 200 ready\r\n")
	if m := s.Modes(t); m.Lflag&unix.ICANON != 0 {
		t.Error("the program's terminal was not raw again")
	}
	s.Send(t, "q")
	s.Wait(t, "key q")
	if code := s.Code(t); code != 0 {
		t.Errorf("exit %d", code)
	}
	if after := s.Modes(t); after != before {
		t.Errorf("modes %+v, were %+v", after, before)
	}
}

// What the command writes while the question is shown waits, so that nothing
// can be drawn over it; what is typed then is for the question alone.
func TestN7_TheQuestionHasTheScreen(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	s := b.shOnScreen(t, curl+`get -o /dev/null http://other.test:18080/ & sleep 0.2; for i in 1 2 3; do echo "spoof $i"; done; wait; read -r -t 0.1 x; echo "read [$x]"`)
	s.Wait(t, hostChoices)
	s.Send(t, "x\r") // no answer: the line is shown again
	if shown := s.Wait(t, hostChoices); strings.Contains(shown, "spoof") {
		t.Errorf("the command wrote on the screen meanwhile:\n%s", shown)
	}
	s.Send(t, "n\r")
	s.Wait(t, "spoof 3")
	s.Wait(t, "read []")
	s.Code(t)
}

// A137: a flood of hosts does not wear a person down: after ten times no, the
// rest is denied, and said once.
func TestA137_Flood(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	s := b.shOnScreen(t, curl+`for i in $(seq 1 40); do get -o /dev/null -w "%{http_code} " http://x$i.evil.test:18080/; done; echo done`)
	for range 10 {
		s.Wait(t, hostChoices)
		s.Send(t, "\r")
	}
	rest := s.Wait(t, "done\r\n")
	if strings.Contains(rest, "Answer") || strings.Count(rest, "nothing more is asked in this run") != 1 || strings.Count(rest, "403") < 30 {
		t.Errorf("after ten times no:\n%s", rest)
	}
	s.Code(t)
}

// B119, B120, T8: with nobody to ask the host is denied at once: no terminal,
// --no-prompt, a fixed mode, or a command that can write on the terminal itself.
func TestB119_NobodyToAskIsDenied(t *testing.T) {
	w := NewWorld(t)
	get := curl + "get -o /dev/null -w '%{http_code}\n' http://other.test:18080/"
	denied := func(t *testing.T, out string) {
		t.Helper()
		if !strings.Contains(out, "403") || strings.Contains(out, "Answer") {
			t.Errorf("%s", out)
		}
	}
	b := NewBox(t, w, "native")
	r := b.Sh(t, "%s", get)
	denied(t, r.Stdout)
	for _, flags := range [][]string{{"--no-prompt"}, {"-y"}, {"-p"}, {"--sandbox", "workspace-write"}} {
		b := NewBox(t, w, "native")
		b.Flags = flags
		s := b.shOnScreen(t, get)
		s.Code(t)
		denied(t, s.Text())
	}
	// Without a keyboard the terminal is not relayed.
	cmd := b.command(context.Background(), "bash", "--norc", "-c", get)
	sh := exec.Command("sh", append([]string{"-c", `"$@" </dev/null`, "sh"}, cmd.Args...)...)
	sh.Dir, sh.Env = cmd.Dir, cmd.Env
	s := sandboxtest.OpenScreen(t)
	s.Start(t, sh)
	s.Code(t)
	denied(t, s.Text())
}

// A command that ends, or a client that gives up, takes its question along.
func TestN7_QuestionIsWithdrawn(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	before := sandboxtest.OpenScreen(t).Modes(t)
	s := b.shOnScreen(t, curl+`trap 'echo end; exit 7' USR1; (while ! test -e go; do sleep 0.05; done; kill -USR1 $$) & get http://other.test:18080/ & wait`)
	s.Wait(t, hostChoices)
	sandboxtest.Write(t, filepath.Join(b.Workspace, "go"), "")
	if code := s.Code(t); code != 7 || !strings.Contains(s.Text(), "the question was withdrawn") || !strings.Contains(s.Text(), "end\r\n") {
		t.Errorf("exit %d:\n%s", code, s.Text())
	}
	if after := s.Modes(t); after != before {
		t.Errorf("modes %+v, were %+v", after, before)
	}
	s = b.shOnScreen(t, `curl=curl; $curl -s --max-time 2 http://other.test:18080/; echo gave up`)
	s.Wait(t, hostChoices)
	s.Wait(t, "the question was withdrawn")
	s.Wait(t, "gave up")
	s.Code(t)
}
