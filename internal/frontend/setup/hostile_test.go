package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// project is a world with a project, for which agents are set up.
func project(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.p.Project = filepath.Join(w.p.Home, "src/app")
	if err := os.MkdirAll(w.p.Project, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

func projects(t *testing.T, f func(t *testing.T, agent string)) {
	for _, a := range agents() {
		if a.project {
			t.Run(a.Name, func(t *testing.T) { f(t, a.Name) })
		}
	}
}

// A project does not choose, by a link in it, which file of the user's is
// changed and then taken away.
func TestLinksOutOfAProject(t *testing.T) {
	projects(t, func(t *testing.T, agent string) {
		for _, c := range []struct {
			name string
			link func(path, outside string) (from, to string)
		}{
			{"file", func(path, outside string) (string, string) { return path, outside + "/notes.json" }},
			{"folder", func(path, outside string) (string, string) { return filepath.Dir(path), outside }},
			{"folder that is not there", func(path, outside string) (string, string) { return filepath.Dir(path), outside + "/none" }},
		} {
			w := project(t)
			path, outside := w.path(agent), filepath.Join(w.p.Home, "notes")
			write(t, outside+"/notes.json", "{}\n")
			from, to := c.link(path, outside)
			if from == w.p.Project {
				continue // the file lies in the project itself
			}
			if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, from); err != nil {
				t.Fatal(err)
			}
			before := w.tree(t)
			if err := w.apply(t, agent); err == nil || !strings.Contains(err.Error(), "link") {
				t.Errorf("%s: %v", c.name, err)
			}
			if after := w.tree(t); !same(before, after) {
				t.Errorf("%s: changed: %v", c.name, after)
			}
		}
		// One inside the project is the project's own business.
		w := project(t)
		path := w.path(agent)
		if filepath.Dir(path) == w.p.Project {
			return
		}
		write(t, filepath.Join(w.p.Project, "elsewhere/x"), "")
		if err := os.MkdirAll(filepath.Dir(filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(w.p.Project, "elsewhere"), filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		before := w.tree(t)
		if err := w.apply(t, agent); err != nil {
			t.Fatal(err)
		}
		if w.undo(t, agent); !same(before, w.tree(t)) {
			t.Error("not as it was")
		}
	})
}

// A folder that becomes a link between the plan and the change is not followed.
func TestLinkMeanwhile(t *testing.T) {
	projects(t, func(t *testing.T, agent string) {
		w := project(t)
		dir, outside := filepath.Dir(w.path(agent)), filepath.Join(w.p.Home, "notes")
		if dir == w.p.Project {
			return
		}
		write(t, outside+"/x", "")
		changes, err := Plan(Find(agent), w.p, w.settings)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, dir); err != nil {
			t.Fatal(err)
		}
		before := w.tree(t)
		if err := w.make(t, agent, changes, good); err == nil {
			t.Error("it was followed")
		}
		if after := w.tree(t); !same(before, after) {
			t.Errorf("changed: %v", after)
		}
	})
}

// Somebody else's file in the place of one that is all bawn's stays, when an
// agent is set up and when that is taken back.
func TestAnothersFile(t *testing.T) {
	for _, agent := range []string{"opencode", "copilot", "goose"} {
		w := newWorld(t)
		for _, f := range Find(agent).files(w.p) {
			for _, text := range []string{"theirs\n", ""} {
				write(t, f.path, text)
				before := w.tree(t)
				if err := w.apply(t, agent); err == nil || !strings.Contains(err.Error(), "somebody else's") {
					t.Errorf("%s: %v", f.path, err)
				}
				w.undo(t, agent)
				if !same(before, w.tree(t)) {
					t.Errorf("%s is gone, or changed", f.path)
				}
			}
			if err := os.Remove(f.path); err != nil {
				t.Fatal(err)
			}
		}
		// One of an older bawn is taken over, whatever path that had.
		if err := w.apply(t, agent); err != nil {
			t.Fatal(err)
		}
		w.p.Program = "/opt/new/bawn"
		if err := os.RemoveAll(filepath.Join(w.Dir, recordName)); err != nil {
			t.Fatal(err)
		}
		if err := w.apply(t, agent); err != nil {
			t.Error(err)
		}
		if list := w.undo(t, agent); len(list) == 0 {
			t.Error("nothing was taken back")
		}
		for _, f := range Find(agent).files(w.p) {
			if _, err := os.Lstat(f.path); err == nil {
				t.Errorf("%s is still there", f.path)
			}
		}
	}
}

// An empty file is empty again.
func TestEmptyFile(t *testing.T) {
	for _, agent := range []string{"claude", "gemini", "cursor", "crush"} {
		w := newWorld(t)
		write(t, w.path(agent), "")
		if err := w.apply(t, agent); err != nil {
			t.Fatal(err)
		}
		if w.undo(t, agent); read(t, w.path(agent)) != "" {
			t.Errorf("%s: %q", agent, read(t, w.path(agent)))
		}
	}
}
