//go:build linux && !race

package launchtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }

// choices is the line at which keys begin to count.
const choices = "Answer and Enter [y/N]: "

// box is a run whose user has a settings file and a program of their own in
// PATH, out of reach for the sandbox: it says where it runs.
func box(t *testing.T, config string) *sandboxtest.Box {
	t.Helper()
	b := sandboxtest.New(t, "native")
	settings(t, b, config)
	tools := filepath.Join(filepath.Dir(b.Home), "tools")
	script(t, filepath.Join(tools, "mytool"), `echo "ran ${BAWN_TIER:-outside} $# $*"`)
	b.Env = append(b.Env, "PATH="+tools+":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
	return b
}

func settings(t *testing.T, b *sandboxtest.Box, config string) {
	t.Helper()
	file := filepath.Join(b.Home, ".config/bawn/config.toml")
	sandboxtest.Write(t, file, config)
	for _, p := range []string{filepath.Dir(filepath.Dir(file)), filepath.Dir(file), file} {
		if err := os.Chmod(p, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func script(t *testing.T, path, text string) {
	t.Helper()
	sandboxtest.Write(t, path, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

const excludes = "[sandbox]\nexclude = [\"mytool *\"]\n"

func onScreen(t *testing.T, b *sandboxtest.Box, args ...string) sandboxtest.Screen {
	t.Helper()
	s := sandboxtest.OpenScreen(t)
	s.Start(t, b.Command(args...))
	return s
}

// B124, C3: an excluded command runs outside with any arguments, after a yes.
func TestB124_ExcludedRunsOutsideAfterYes(t *testing.T) {
	b := box(t, excludes)
	s := onScreen(t, b, "mytool", "--flag", "a b")
	shown := s.Wait(t, choices)
	words := strings.Join(strings.Fields(shown), " ") // however long the paths are
	for _, want := range []string{"mytool --flag 'a b' ", "/tools/mytool ", "rule: exclude:mytool * (" + b.Home + "/.config/bawn/config.toml:2) "} {
		if !strings.Contains(words, want) {
			t.Errorf("the question does not show %q:\n%s", want, shown)
		}
	}
	s.Send(t, "y\r")
	s.Wait(t, "outside the sandbox (approved, exclude:mytool *")
	s.Wait(t, "ran outside 2 --flag a b\r\n")
	if code := s.Code(t); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// What is not a yes is a no: then nothing runs at all, and the terminal is as
// it was.
func TestAnswersThatAreNo(t *testing.T) {
	for name, keys := range map[string]string{
		"Enter": "\r", "Esc": "\x1b", "no": "n\r", "arrow": "\x1b[A", "^C": "\x03", "^D": "\x04", "^\\": "\x1c",
		"yes taken back": "y\x7f\r", "y without Enter": "y\x1b",
		"Esc and more than is read": "\x1b" + strings.Repeat("x", 100),
	} {
		t.Run(name, func(t *testing.T) {
			s := sandboxtest.OpenScreen(t)
			before := s.Modes(t)
			s.Start(t, box(t, excludes).Command("mytool", "x"))
			s.Wait(t, choices)
			s.Send(t, keys)
			if code := s.Code(t); code != 125 || strings.Contains(s.Text(), "ran ") || !strings.Contains(s.Text(), "not run: the answer was no") {
				t.Errorf("exit %d:\n%s", code, s.Text())
			}
			if after := s.Modes(t); after != before {
				t.Errorf("modes %+v, were %+v", after, before)
			}
			if left := s.Pending(t); left != "" {
				t.Errorf("%q is left for the shell to read", left)
			}
		})
	}
}

// An answer that was not offered is none: the question stays.
func TestOnlyWhatIsOfferedCounts(t *testing.T) {
	s := onScreen(t, box(t, excludes), "mytool")
	for _, keys := range []string{"a\r", "s\r", "yy\r", "ye\r", "1\r"} {
		s.Wait(t, choices)
		s.Send(t, keys+"y\r") // what is typed ahead counts for nothing
	}
	s.Wait(t, choices)
	s.Send(t, "Yes\r")
	s.Wait(t, "ran outside 0")
	if code := s.Code(t); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// Keys that were typed before the question was there do not answer it.
func TestEarlyKeysDoNotAnswer(t *testing.T) {
	b := box(t, excludes)
	s := sandboxtest.OpenScreen(t)
	s.Send(t, "y\ny\ny\n")
	s.Start(t, b.Command("mytool"))
	s.Wait(t, "outside the sandbox, with your own permissions?")
	s.Send(t, "y\n") // while it is being written
	s.Wait(t, choices)
	s.Send(t, "\r")
	if code := s.Code(t); code != 125 || strings.Contains(s.Text(), "ran ") {
		t.Errorf("exit %d:\n%s", code, s.Text())
	}
}

// A terminal that goes away is no answer.
func TestHangUpDenies(t *testing.T) {
	b := box(t, excludes)
	mark := filepath.Join(filepath.Dir(b.Home), "mark")
	script(t, filepath.Join(filepath.Dir(b.Home), "tools/mytool"), "echo >"+mark)
	s := sandboxtest.OpenScreen(t)
	// The leader of the session, and so whom the hang-up ends, is a shell.
	sh := exec.Command("sh", "-c", `trap '' HUP; "$@"; echo $? >`+mark+`.code`, "sh")
	cmd := b.Command("mytool")
	sh.Args, sh.Dir, sh.Env = append(sh.Args, cmd.Args...), cmd.Dir, cmd.Env
	errs, err := os.Create(mark + ".err")
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	sh.Stderr = errs
	s.Start(t, sh)
	s.Wait(t, choices)
	s.HangUp()
	sandboxtest.Until(t, mark+".code")
	if code, _ := os.ReadFile(mark + ".code"); string(code) != "125\n" {
		text, _ := os.ReadFile(mark + ".err")
		t.Errorf("exit %s%s", code, text)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
}

// Whoever is not in the terminal's foreground is not asked, nor is anybody with
// --no-prompt, without a terminal, or while another program has the terminal:
// the command stays in the sandbox, at once.
func TestB119_NobodyToAskStaysInside(t *testing.T) {
	b := box(t, excludes)
	inside := func(t *testing.T, text string) {
		t.Helper()
		if !strings.Contains(text, "ran guarded 1 x") && !strings.Contains(text, "ran workspace-write 1 x") || strings.Contains(text, "Answer") {
			t.Errorf("it should have run in the sandbox, unasked:\n%s", text)
		}
	}
	t.Run("no terminal", func(t *testing.T) {
		r := b.Run(t, "mytool", "x").OK(t)
		inside(t, r.Stdout)
		if !strings.Contains(r.Stderr, "nothing leaves the sandbox") {
			t.Errorf("no reason is given: %s", r.Stderr)
		}
	})
	t.Run("no prompt", func(t *testing.T) {
		c := *b
		c.Flags = []string{"--no-prompt"}
		s := onScreen(t, &c, "mytool", "x")
		s.Code(t)
		inside(t, s.Text())
	})
	t.Run("fixed mode", func(t *testing.T) {
		c := *b
		c.Flags = []string{"--sandbox", "workspace-write"}
		s := onScreen(t, &c, "mytool", "x")
		s.Code(t)
		inside(t, s.Text())
	})
	t.Run("background", func(t *testing.T) {
		cmd := b.Command("mytool", "x")
		sh := exec.Command("bash", "-c", `set -m; "$@" & wait %1; echo "code $?"`, "bash")
		sh.Args, sh.Dir, sh.Env = append(sh.Args, cmd.Args...), cmd.Dir, cmd.Env
		s := sandboxtest.OpenScreen(t)
		s.Start(t, sh)
		s.Code(t)
		inside(t, s.Text())
	})
	t.Run("raw terminal", func(t *testing.T) {
		cmd := b.Command("mytool", "x")
		sh := exec.Command("sh", "-c", `stty -icanon; "$@"`, "sh")
		sh.Args, sh.Dir, sh.Env = append(sh.Args, cmd.Args...), cmd.Dir, cmd.Env
		s := sandboxtest.OpenScreen(t)
		s.Start(t, sh)
		s.Code(t)
		inside(t, s.Text())
	})
}

// B120: questions and notices never reach standard output.
func TestB120_NothingOnStdout(t *testing.T) {
	b := box(t, excludes)
	cmd := b.Command("mytool", "x")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	s := sandboxtest.OpenScreen(t)
	s.Start(t, cmd)
	w.Close()
	s.Wait(t, choices)
	s.Send(t, "yes\r")
	if code := s.Code(t); code != 0 {
		t.Errorf("exit %d: %s", code, s.Text())
	}
	out := make([]byte, 4096)
	n, _ := r.Read(out)
	if got := string(out[:n]); got != "ran outside 1 x\n" {
		t.Errorf("standard output is %q", got)
	}
}

// A signal that ends bawn leaves the terminal as it was.
func TestSignalWithdrawsTheQuestion(t *testing.T) {
	s := sandboxtest.OpenScreen(t)
	before := s.Modes(t)
	cmd := box(t, excludes).Command("mytool")
	s.Start(t, cmd)
	s.Wait(t, choices)
	if m := s.Modes(t); m.Lflag&unix.ICANON != 0 {
		t.Error("the twin: the question did not change the modes")
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.Code(t); code != 125 || strings.Contains(s.Text(), "ran ") {
		t.Errorf("exit %d: %s", code, s.Text())
	}
	if after := s.Modes(t); after != before {
		t.Errorf("modes %+v, were %+v", after, before)
	}
}
