//go:build linux

package sandboxtest

import (
	"os"
	"testing"
)

// Programs that live on a terminal do so inside.
func TestTTY_Programs(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Workspace+"/text", "first line\nlast line\n")
		s := b.onTTY(t, "sh", "-c", `set -e
tmux -f /dev/null new-session -d -x 80 -y 24 'sh -c "echo in-tmux-\$((40+2)); exec cat"'
until tmux capture-pane -p | grep in-tmux-42; do sleep 0.02; done
tmux send-keys typed Enter
until tmux capture-pane -p | grep -c typed | grep -q 2; do sleep 0.02; done
tmux kill-server; echo tmux-over`)
		s.wait(t, "in-tmux-42\r\n")
		s.wait(t, "tmux-over\r\n")
		if c := s.code(t); c != 0 {
			t.Errorf("tmux: exit %d, screen %q", c, s.text())
		}

		s = b.onTTY(t, "less", "text")
		s.wait(t, "last line")
		s.send(t, "q")
		if c := s.code(t); c != 0 {
			t.Errorf("less: exit %d", c)
		}

		s = b.onTTY(t, "vim", "-u", "NONE", "-N", "-n", "text")
		s.wait(t, "last line")
		s.send(t, ":s/first/1st/\r:wq\r")
		if c := s.code(t); c != 0 {
			t.Errorf("vim: exit %d, screen %q", c, s.text())
		}
		if data, _ := os.ReadFile(b.Workspace + "/text"); string(data) != "1st line\nlast line\n" {
			t.Errorf("vim wrote %q", data)
		}
		if r := b.Run(t, "vim", "-u", "NONE", "-es", "-c", "%s/last/final/", "-c", "wq", "text"); r.Code != 0 {
			t.Errorf("vim -es: %+v", r)
		}
		if data, _ := os.ReadFile(b.Workspace + "/text"); string(data) != "1st line\nfinal line\n" {
			t.Errorf("vim -es wrote %q", data)
		}
	})
}
