//go:build linux

package egresstest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// N7 under bubblewrap, which has no transparent mode: through the proxy.
func TestN7_UnderBubblewrap(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "bwrap")
	s := b.shOnScreen(t, curl+"get http://other.test:18080/x; echo done")
	s.Wait(t, hostChoices)
	s.Send(t, "y\r")
	s.Wait(t, "hello other.test:18080 /x")
	s.Wait(t, "done")
	if code := s.Code(t); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// Under an agent, whose pipes are the command's streams, the question appears
// on the terminal that bawn was started from (B120: and nowhere else).
func TestN7_StreamsArePipes(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	out := filepath.Join(b.Home, "out")
	cmd := b.command(context.Background(), "bash", "--norc", "-c", curl+"get http://other.test:18080/x")
	sh := exec.Command("sh", append([]string{"-c", `"$@" </dev/null >` + out + ` 2>&1; echo "code $?"`, "sh"}, cmd.Args...)...)
	sh.Dir, sh.Env = cmd.Dir, cmd.Env
	s := sandboxtest.OpenScreen(t)
	before := s.Modes(t)
	s.Start(t, sh)
	s.Wait(t, hostChoices)
	s.Send(t, "y\r")
	s.Wait(t, "code 0")
	s.Code(t)
	if text, err := os.ReadFile(out); err != nil || string(text) != "hello other.test:18080 /x 0\n" {
		t.Errorf("the streams hold %q, %v", text, err)
	}
	if strings.Contains(s.Text(), "hello") {
		t.Errorf("the terminal shows the command's output: %s", s.Text())
	}
	if after := s.Modes(t); after != before {
		t.Errorf("modes %+v, were %+v", after, before)
	}
}
