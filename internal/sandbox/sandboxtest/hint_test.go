//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"
)

// C5: on a terminal, where bawn passes on what the command writes, a read of a
// hidden place is told as a denial; a file's own mode is none.
func TestC5_ErrorTextOnATerminal(t *testing.T) {
	EachLauncher(t, func(t *testing.T, launcher string) {
		for _, c := range []struct{ name, command, want string }{
			{"hidden", "cat ~/.ssh/id", `denied reading "HOME/.ssh/id" (by its error text): SSH keys are hidden from sandboxed commands`},
			{"its own mode", "cat $PWD/locked", ""},
			{"missing", "cat $PWD/nothing", ""},
			{"no failure", "cat ~/.ssh/id; true", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				b := New(t, launcher)
				Write(t, b.Home+"/.ssh/id", "x")
				Write(t, b.Workspace+"/locked", "x")
				if err := os.Chmod(b.Workspace+"/locked", 0); err != nil {
					t.Fatal(err)
				}
				s := openTTY(t)
				b.Env = append(b.Env, "TERM=xterm")
				s.start(t, b.command("sh", "-c", c.command))
				code := s.code(t)
				text := s.text()
				if want := strings.ReplaceAll(c.want, "HOME", b.Home); want != "" && !strings.Contains(text, want) || want == "" && strings.Contains(text, "denied reading") {
					t.Errorf("exit %d, want %q:\n%s", code, want, text)
				}
			})
		}
	})
}
