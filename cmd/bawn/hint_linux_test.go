//go:build !race

package main

import (
	"os"
	"path/filepath"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
)

// C5: a read of a hidden place, which only the program itself sees, is told as
// a denial of its task; an error that the policy did not cause is not.
func TestC5_ErrorTextOfATask(t *testing.T) {
	b := room(t)
	secret, locked := filepath.Join(b.Home, ".ssh", "id"), filepath.Join(b.Workspace, "locked")
	sandboxtest.Write(t, secret, "x")
	sandboxtest.Write(t, locked, "x")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	s := newTestSession(t, &runFlags{})
	for _, c := range []struct {
		text   string
		denied int
	}{
		{"cat " + secret, 1},
		{"cat " + secret + "; cat " + secret + "; touch " + secret + "; false", 1}, // which the guard saw
		{"cat " + secret + "; true", 0},
		{"cat " + locked, 0},
		{"cat " + b.Workspace + "/nothing", 0},
		{"echo 'cat: " + locked + ": Permission denied'; false", 0},
	} {
		if task, out := ended(t, s, started(t, s, c.text)); task.Denied != c.denied {
			t.Errorf("%q: %d denials, want %d\n%s", c.text, task.Denied, c.denied, out)
		}
	}
	var read []session.Denial
	for _, d := range s.Denials() {
		if d.FromText {
			read = append(read, d)
		}
	}
	if len(read) != 1 || read[0].Path != secret || read[0].Kind() != "read" || read[0].Rule.Text != "SSH keys are hidden from sandboxed commands" {
		t.Errorf("the denials are %+v", s.Denials())
	}
	if _, err := s.Start(session.Start{Text: "true", Kind: session.Background}); err != nil {
		t.Error(err)
	}
}
