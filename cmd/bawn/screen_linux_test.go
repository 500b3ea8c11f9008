//go:build !race

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/vterm"
)

// bawn without a command is a session: commands run in the sandbox one after
// the other with one temp, the tier switches for those to come and is kept, and
// a terminal is as it was at the end.
func TestT3_T4_T9_Session(t *testing.T) {
	b := room(t)
	sandboxtest.Write(t, b.Home+"/.ssh/id", "secret")
	term, cmd := sessionOn(t, b)
	shows(t, term, "guarded", "0 allowed")
	types(t, term, "cd; cat .ssh/id; cd - >/dev/null; echo mark > /tmp/m; echo in > file\r")
	shows(t, term, "Permission denied", "exit 0")
	idle(t, term)
	types(t, term, "cat /tmp/m; echo $BAWN_TIER | tr a-z A-Z\r")
	shows(t, term, "mark", "GUARDED", "exit 0")
	idle(t, term)
	types(t, term, "\x1bs")
	shows(t, term, "Sandbox: airlock (new commands)")
	types(t, term, "cat /tmp/m; echo $BAWN_TIER | tr a-z A-Z\r")
	shows(t, term, "AIRLOCK")
	idle(t, term)
	types(t, term, "\x1bs") // to open, which is asked about
	shows(t, term, "Switch sandbox to open?")
	answers(t, term, "Switch sandbox to open?", "n", "> ")
	shows(t, term, "airlock")
	types(t, term, "/quit\r")
	if code := quits(t, cmd); code != 0 {
		t.Errorf("exit %d", code)
	}
	if text, err := os.ReadFile(filepath.Join(b.Workspace, ".bawn/config.toml")); err != nil || !strings.Contains(string(text), `"airlock"`) {
		t.Errorf("the tier was not kept: %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(b.Workspace, "file")); err != nil {
		t.Errorf("what a command wrote: %v", err)
	}
	again, cmd := onScreen(t, b)
	shows(t, again, "airlock", "network off")
	types(t, again, "\x04")
	quits(t, cmd)
}

// A host that no rule covers is a question on the session's screen; the
// connection waits, and no is an answer that the command sees at once.
func TestN7_QuestionOnTheScreen(t *testing.T) {
	b := room(t)
	term, cmd := sessionOn(t, b)
	types(t, term, "h=unlisted.example; curl -sS https://$h; echo ended $?\r")
	shows(t, term, "bawn asks", "unlisted.example:443", "host:unlisted")
	answers(t, term, "bawn asks", "\x1b", "ended 56")
	shows(t, term, "1 denied", "exit 0")
	leaves(t, term, cmd)
}

// bawn wrap gives an agent the screen, runs what it starts by bawn run beside
// it, and ends with its exit code.
func TestWrap(t *testing.T) {
	b := room(t)
	bin := sandboxtest.Binary()
	agent := `echo ready; read line; "$0" run -- sh -c 'echo "inner $BAWN_TIER"'; echo "got $line"; exit 7`
	term, cmd := onScreen(t, b, "wrap", "--", "sh", "-c", agent, bin)
	shows(t, term, "ready")
	types(t, term, "words\r")
	// What an agent starts is asked about, unless the mode or a rule says else.
	shows(t, term, "bawn asks", "no rule is about sh")
	answers(t, term, "bawn asks", "y", "got words")
	if code := quits(t, cmd); code != 7 {
		t.Errorf("exit %d", code)
	}
	// Without a terminal it is bawn run.
	if r := b.Bawn(t, "wrap", "--", "sh", "-c", "echo headless; exit 5"); r.Code != 5 || r.Stdout != "headless\n" {
		t.Errorf("%+v", r)
	}
}

// An agent that fails leaves a terminal without the session's pages: what it was
// refused is said there, as bawn run says it.
func TestWrapSaysWhatWasRefused(t *testing.T) {
	for code, want := range map[string]bool{"3": true, "0": false} {
		b := room(t)
		term, cmd := onScreen(t, b, "wrap", "--", "sh", "-c", "echo x >~/refused; exit "+code)
		quits(t, cmd)
		if _, err := term.Slave.WriteString("\r\nover"); err != nil {
			t.Fatal(err)
		}
		shows(t, term, "cannot create", "over")
		text := strings.ReplaceAll(term.Text(), "\n", "")
		if got := strings.Contains(text, `bawn: denied "`+b.Home+`/refused" to sh: `); got != want {
			t.Errorf("exit %s: %v, want %v\n%s", code, got, want, term.Text())
		}
	}
}

// When bawn is killed, or told to end, nothing of the session is left.
func TestSessionEnds(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		b := room(t)
		term, cmd := sessionOn(t, b)
		types(t, term, "echo up; sleep 1000\r")
		shows(t, term, "up", "1 running")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		left, _ := os.ReadDir(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bawn"))
		if sig == syscall.SIGTERM && len(left) > 0 {
			t.Errorf("%v left %v", sig, left)
		}
		if code := cmd.ProcessState.ExitCode(); sig == syscall.SIGTERM && code != 143 {
			t.Errorf("exit %d", code)
		}
	}
}

// Where there is no terminal a session is refused, and says what to do.
func TestSessionNeedsATerminal(t *testing.T) {
	b := room(t)
	for _, args := range [][]string{{"--tier", "airlock"}, {"--plain"}} {
		if r := b.Bawn(t, args...); r.Code != exitRefused || !strings.Contains(r.Stderr, "needs a terminal") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := b.Bawn(t, "wrap"); r.Code != exitRefused || !strings.Contains(r.Stderr, "no command given") {
		t.Errorf("%+v", r)
	}
}

// A terminal that goes away ends the session, also where SIGHUP is ignored.
func TestSessionHangsUp(t *testing.T) {
	for _, how := range []string{"exec", "trap '' HUP; exec"} {
		b := room(t)
		term, err := vterm.Open(90, 24)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", how+` "$0"`, sandboxtest.Binary())
		cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "TERM=xterm-256color")
		if err := term.Start(cmd); err != nil {
			t.Fatal(err)
		}
		shows(t, term, "0 allowed")
		types(t, term, "echo up; sleep 1000\r")
		shows(t, term, "up", "1 running")
		if err := term.Close(); err != nil {
			t.Error(err)
		}
		if code := quits(t, cmd); code != 129 {
			t.Errorf("%s: exit %d", how, code)
		}
	}
}
