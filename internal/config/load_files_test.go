//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bawn/internal/policy"
)

// Who could have written the user's and the managed files decides whether
// they count.
func TestFilesOfOthersAreRefused(t *testing.T) {
	text := "[sandbox]\nallowed_domains = ['a.example']\n"
	setups := map[string]func(w *world) string{
		"user":         func(w *world) string { return w.write(w.userFile(), text) },
		"saved":        func(w *world) string { return w.write(w.savedFile(), text) },
		"managed":      func(w *world) string { return w.write(w.managed+"/config.toml", text) },
		"requirements": func(w *world) string { return w.write(w.managed+"/requirements.toml", text) },
	}
	for name, set := range setups {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			path := set(w)
			w.load() // the twin: as it should be
			for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
				chmod(t, path, mode)
				w.refused("others may write it", filepath.Base(path))
			}
			chmod(t, path, 0o644)
			w.load()
			dir := filepath.Dir(path)
			chmod(t, dir, 0o777)
			w.refused("others may write it")
			chmod(t, dir, 0o755)
			w.load()
			if os.Geteuid() == 0 {
				if err := os.Chown(path, 12345, -1); err != nil {
					t.Fatal(err)
				}
				w.refused("belongs to user 12345")
				if err := os.Chown(path, 0, -1); err != nil {
					t.Fatal(err)
				}
			}
			// What is no plain file.
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			w.refused("not a regular file")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			w.mkdir(path)
			w.refused("not a regular file")
		})
	}
}

func chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Tools that keep settings elsewhere link to them: followed, under the same
// rules, but not into the workspace.
func TestLinkedUserFile(t *testing.T) {
	w := newWorld(t)
	target := w.write(w.root+"/dotfiles/bawn.toml", "[sandbox]\ndefault_tier = 'airlock'\n")
	w.mkdir(filepath.Dir(w.userFile()))
	link := func(to string) {
		os.Remove(w.userFile())
		if err := os.Symlink(to, w.userFile()); err != nil {
			t.Fatal(err)
		}
	}
	link(target)
	c := w.load()
	if tier, _ := c.Tier(false); tier != policy.Airlock || len(c.Files()) != 1 || c.Files()[0] != target {
		t.Errorf("tier %v, files %q", tier, c.Files())
	}
	chmod(t, target, 0o666)
	w.refused("others may write it")
	chmod(t, target, 0o600)
	chmod(t, filepath.Dir(target), 0o777)
	w.refused("others may write it")
	chmod(t, filepath.Dir(target), 0o755)
	w.load()
	link(w.write(w.dir+"/planted.toml", "[sandbox]\ndefault_tier = 'open'\n"))
	w.refused("link into the workspace")
	link(w.root + "/nothing")
	w.refused("cannot be followed")
	link("/dev/zero")
	if _, err := Load(w.options()); !errors.Is(err, policy.ErrRefused) {
		t.Errorf("/dev/zero: %v", err)
	}
}

// The project's file comes from anybody: no link is followed to it, nothing
// is waited for, and it has a limit.
func TestProjectFileTraps(t *testing.T) {
	secret := "-----BEGIN OPENSSH PRIVATE KEY-----"
	for name, set := range map[string]func(w *world){
		"link to a secret": func(w *world) {
			w.mkdir(w.dir + "/.bawn")
			os.Symlink(w.write(w.home+"/.ssh/id", secret), w.projectFile())
		},
		"folder is a link": func(w *world) {
			w.write(w.root+"/elsewhere/config.toml", secret)
			os.Symlink(w.root+"/elsewhere", w.dir+"/.bawn")
		},
		"folder is a file": func(w *world) { w.write(w.dir+"/.bawn", "x") },
		"fifo": func(w *world) {
			w.mkdir(w.dir + "/.bawn")
			syscall.Mkfifo(w.projectFile(), 0o644)
		},
		"device link": func(w *world) {
			w.mkdir(w.dir + "/.bawn")
			os.Symlink("/dev/zero", w.projectFile())
		},
		"folder":     func(w *world) { w.mkdir(w.projectFile()) },
		"too big":    func(w *world) { w.write(w.projectFile(), strings.Repeat("#\n", MaxProject/2+1)) },
		"not TOML":   func(w *world) { w.write(w.projectFile(), "allow-host = *\n") },
		"other keys": func(w *world) { w.write(w.projectFile(), "[sandbox]\nallow_host = ['*']\n") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			set(w)
			_, err := Load(w.options())
			if !errors.Is(err, policy.ErrRefused) || strings.Contains(err.Error(), "OPENSSH") {
				t.Errorf("got %v", err)
			}
		})
	}
	w := newWorld(t)
	w.write(w.projectFile(), strings.Repeat("#\n", MaxProject/2))
	w.load() // the twin: as big as may be
	chmod(t, w.projectFile(), 0o666)
	w.load() // a repository's modes say nothing
}

func TestTrustErrorRefuses(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	bad := errors.New("the store is broken")
	o.Trusted = func(string, []byte) (bool, error) { return true, bad }
	if _, err := Load(o); err != nil {
		t.Errorf("without a project's file the store was asked: %v", err)
	}
	w.write(w.projectFile(), "[sandbox]\nallowed_domains = ['*']\n")
	if _, err := Load(o); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
}
