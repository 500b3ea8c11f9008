package setup

import (
	"os"
	"path/filepath"
	"testing"
)

// killed leaves what a set-up leaves that is killed: the record, the first files
// whole, and of the next the folders and the beginning of its new content.
func (w *world) killed(t *testing.T, agent string, whole int) (files int) {
	t.Helper()
	held, err := w.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	changes, err := Plan(Find(agent), w.p, w.settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.save(held.noted(Find(agent), w.p, changes)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Dir, "."+recordName+".new"), "{")
	for i, c := range changes {
		if i < whole {
			if err := c.write(); err != nil {
				t.Fatal(err)
			}
		} else if i == whole {
			write(t, filepath.Join(filepath.Dir(c.real), "."+filepath.Base(c.real)+".new"), "{")
		}
	}
	return len(changes)
}

// Of a set-up that was killed nothing is left when it is taken back, also where
// it was set up again before.
func TestKilledSetup(t *testing.T) {
	for _, agent := range Names() {
		for _, again := range []bool{false, true} {
			for whole, files := 0, 1; whole <= files; whole++ {
				w := newWorld(t)
				before := w.tree(t)
				files = w.killed(t, agent, whole)
				if again {
					if err := w.apply(t, agent); err != nil {
						t.Fatal(err)
					}
				}
				w.undo(t, agent)
				if after := w.tree(t); !same(before, after) {
					t.Errorf("%s, killed after %d files, again %v: %v", agent, whole, again, after)
				}
				if left, _ := filepath.Glob(filepath.Join(w.Dir, ".*.new")); len(left) > 0 {
					t.Errorf("%s: %v is left", agent, left)
				}
			}
		}
	}
}

// Neither is of one that was killed while it was taken back: the file is gone,
// its folders are not.
func TestKilledUndo(t *testing.T) {
	for _, again := range []bool{false, true} {
		w := newWorld(t)
		before := w.tree(t)
		if err := w.apply(t, "gemini"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(w.path("gemini")); err != nil {
			t.Fatal(err)
		}
		if again {
			if err := w.apply(t, "gemini"); err != nil {
				t.Fatal(err)
			}
		}
		w.undo(t, "gemini")
		if after := w.tree(t); !same(before, after) {
			t.Errorf("again %v: %v", again, after)
		}
	}
}

// A set-up that does not work leaves no folder either.
func TestFailedSetupLeavesNoFolder(t *testing.T) {
	for _, agent := range Names() {
		w := newWorld(t)
		before := w.tree(t)
		if err := w.make(t, agent, nil, func() error { return os.ErrInvalid }); err == nil {
			t.Fatal("no error")
		}
		if after := w.tree(t); !same(before, after) {
			t.Errorf("%s: %v", agent, after)
		}
	}
}
