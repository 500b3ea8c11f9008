//go:build linux

package rules_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/gitdir"
	"bawn/internal/sandbox/linux/guard"
	"bawn/internal/sandbox/linux/guard/rules"
)

// sim carries out path operations as the guard would: it resolves the parent,
// asks the rules, and acts on the parent. Without rules it only acts.
type sim struct {
	t      testing.TB
	rules  guard.Rules
	denied []string // ids of the rules that refused
	seen   []string // ids of the rules that were reported
	held   map[uint64]*[]byte
}

// target resolves all of path but the last element; with follow that too, as
// long as it is a link.
func (s *sim) target(path string, follow bool) (guard.Target, func(), error) {
	for range 40 {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return guard.Target{}, nil, err
		}
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return guard.Target{}, nil, err
		}
		t := guard.Target{Dir: fd, DirPath: dir, Name: filepath.Base(path)}
		t.Exists = unix.Fstatat(fd, t.Name, &t.Stat, unix.AT_SYMLINK_NOFOLLOW) == nil
		if !follow || !t.Exists || t.Stat.Mode&unix.S_IFMT != unix.S_IFLNK {
			return t, func() { unix.Close(fd) }, nil
		}
		to, err := os.Readlink(t.Path())
		unix.Close(fd)
		if err != nil {
			return guard.Target{}, nil, err
		}
		if !filepath.IsAbs(to) {
			to = dir + "/" + to
		}
		path = to
	}
	return guard.Target{}, nil, unix.ELOOP
}

// ask returns the verdict, with denials as an error.
func (s *sim) ask(c *guard.Call) (guard.Verdict, error) {
	if s.rules == nil {
		return guard.Verdict{Decision: guard.Allow}, nil
	}
	v := s.rules.Check(c)
	regular := c.Other != nil && c.Other.Stat.Mode&unix.S_IFMT == unix.S_IFREG
	switch {
	case v.Decision == guard.Allow:
		if v.Rule.ID != "" {
			s.seen = append(s.seen, v.Rule.ID)
		}
		return v, nil
	case v.Decision == guard.Held && (c.Op == guard.Create || s.held[c.Target.Stat.Ino] != nil && (c.Op == guard.Open || c.Op == guard.Rename)):
		return v, nil
	case v.Decision == guard.Vet && (c.Op == guard.RenameTo || c.Op == guard.Link) && regular,
		v.Decision == guard.Fixed && (c.Op == guard.Create || c.Op == guard.Open):
		return v, nil
	}
	return v, s.refuse(v, c, nil)
}

func (s *sim) refuse(v guard.Verdict, c *guard.Call, why error) error {
	if v.Rule.ID == "" || v.Rule.Text == "" || v.Rule.Lift == "" {
		s.t.Errorf("%s %q: refused without a reason: %+v", c.Op, c.Target.Path(), v.Rule)
	}
	s.denied = append(s.denied, v.Rule.ID)
	return fmt.Errorf("%s %q: %s: %w: %w", c.Op, c.Target.Path(), v.Rule.ID, errors.Join(why), unix.EACCES)
}

func (s *sim) write(path, content string) error { return s.put(path, content, unix.O_TRUNC) }
func (s *sim) add(path, content string) error   { return s.put(path, content, unix.O_APPEND) }

func (s *sim) put(path, content string, flags int) error {
	t, done, err := s.target(path, true)
	if err != nil {
		return err
	}
	defer done()
	c := guard.Call{Op: guard.Create, Flags: uint64(flags | unix.O_WRONLY | unix.O_CREAT), Mode: 0o777, Target: t}
	if t.Exists {
		c.Op = guard.Open
	}
	v, err := s.ask(&c)
	if err != nil {
		return err
	}
	if v.Decision == guard.Fixed && v.Sealed {
		must(s.t, os.WriteFile(t.Path(), nil, 0o666))
		if content != "" {
			return s.refuse(v, &c, unix.EPERM)
		}
		return nil
	}
	if v.Decision == guard.Fixed {
		return os.WriteFile(t.Path(), v.Content, 0o666)
	}
	f, err := os.OpenFile(t.Path(), flags|os.O_WRONLY|os.O_CREATE, 0o777)
	if err != nil {
		return err
	}
	defer f.Close()
	if v.Decision == guard.Held {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return err
		}
		if s.held == nil {
			s.held = map[uint64]*[]byte{}
		}
		old := []byte{}
		if s.held[st.Ino] != nil && flags&unix.O_APPEND != 0 {
			old = *s.held[st.Ino]
		}
		text := append(old, content...)
		s.held[st.Ino] = &text
		return nil
	}
	_, err = f.WriteString(content)
	return err
}

// keep opens path for writing and leaves it open.
func (s *sim) keep(path string) (*os.File, error) {
	if err := s.add(path, ""); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		s.t.Cleanup(func() { f.Close() })
	}
	return f, err
}

func (s *sim) mkdir(path string) error {
	t, done, err := s.target(path, false)
	if err != nil {
		return err
	}
	defer done()
	if t.Exists {
		return unix.EEXIST
	}
	if _, err := s.ask(&guard.Call{Op: guard.Mkdir, Mode: 0o777, Target: t}); err != nil {
		return err
	}
	return unix.Mkdirat(t.Dir, t.Name, 0o777)
}

// socket makes a name as bind does: nobody is asked.
func (s *sim) socket(path string) { _ = unix.Mknod(path, unix.S_IFSOCK|0o777, 0) }

func (s *sim) symlink(to, path string) error {
	t, done, err := s.target(path, false)
	if err != nil {
		return err
	}
	defer done()
	if _, err := s.ask(&guard.Call{Op: guard.Symlink, Link: to, Target: t}); err != nil {
		return err
	}
	return unix.Symlinkat(to, t.Dir, t.Name)
}

func (s *sim) link(from, path string) error {
	o, doneFrom, err := s.target(from, false)
	if err != nil {
		return err
	}
	defer doneFrom()
	t, done, err := s.target(path, false)
	if err != nil {
		return err
	}
	defer done()
	if _, err := s.ask(&guard.Call{Op: guard.Link, Target: t, Other: &o}); err != nil {
		return err
	}
	return unix.Linkat(o.Dir, o.Name, t.Dir, t.Name, 0)
}

// linkOpen gives an open file a name, as /proc/self/fd and linkat do.
func (s *sim) linkOpen(f *os.File, path string) error {
	t, done, err := s.target(path, false)
	if err != nil {
		return err
	}
	defer done()
	o := guard.Target{Dir: -1, Exists: true}
	if err := unix.Fstat(int(f.Fd()), &o.Stat); err != nil {
		return err
	}
	if _, err := s.ask(&guard.Call{Op: guard.Link, Target: t, Other: &o}); err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), t.Dir, t.Name, unix.AT_SYMLINK_FOLLOW)
}

func (s *sim) rename(from, to string) error   { return s.move(from, to, 0) }
func (s *sim) exchange(from, to string) error { return s.move(from, to, unix.RENAME_EXCHANGE) }

func (s *sim) move(from, to string, flags uint) error {
	o, doneFrom, err := s.target(from, false)
	if err != nil {
		return err
	}
	defer doneFrom()
	t, done, err := s.target(to, false)
	if err != nil {
		return err
	}
	defer done()
	pairs := [][2]*guard.Target{{&o, &t}}
	if flags != 0 {
		pairs = append(pairs, [2]*guard.Target{&t, &o})
	}
	var vet *guard.Verdict
	for _, p := range pairs {
		if _, err := s.ask(&guard.Call{Op: guard.Rename, Flags: uint64(flags), Target: *p[0], Other: p[1]}); err != nil {
			return err
		}
		c := guard.Call{Op: guard.RenameTo, Flags: uint64(flags), Target: *p[1], Other: p[0]}
		v, err := s.ask(&c)
		if err != nil {
			return err
		}
		if v.Decision == guard.Vet {
			f, err := os.Open(o.Path())
			if err != nil {
				return err
			}
			data, err := io.ReadAll(f)
			f.Close()
			if err != nil {
				return err
			}
			if text := s.held[o.Stat.Ino]; text != nil {
				data = *text
				delete(s.held, o.Stat.Ino)
			}
			if int64(len(data)) > v.MaxSize {
				return s.refuse(v, &c, errors.New("too large"))
			}
			if err := v.Vet(data); err != nil {
				return s.refuse(v, &c, err)
			}
			fresh := t.DirPath + "/.fresh"
			if err := os.WriteFile(fresh, data, 0o666); err != nil {
				return err
			}
			if err := os.Rename(fresh, t.Path()); err != nil {
				return err
			}
			vet = &v
		}
	}
	if vet != nil {
		return os.Remove(o.Path())
	}
	return unix.Renameat2(o.Dir, o.Name, t.Dir, t.Name, flags)
}

// world is a workspace with a canary that only code planted in it would kill.
type world struct {
	*sim
	ws, home, canary string
	lifted           []string
}

func newWorld(t testing.TB, guarded bool, lifted ...string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{ws: root + "/ws", home: root + "/home", canary: root + "/canary"}
	for _, d := range []string{w.ws, w.home, root + "/cache"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.sim = &sim{t: t}
	if guarded {
		w.start(lifted...)
	}
	return w
}

// start makes the rules as a run would, from what is there now.
func (w *world) start(lifted ...string) {
	repo, err := gitdir.Discover(w.ws)
	if err != nil {
		w.t.Fatal(err)
	}
	w.lifted = lifted
	w.rules = rules.New(rules.Config{
		Roots: append([]string{w.ws}, repo.Writable...), Exempt: []string{filepath.Dir(w.ws) + "/cache"}, Home: w.home,
		Paths: append(repo.ReadOnly, repo.Names...), Lifted: lifted,
	})
}

// git runs the host's git; what it prints comes back.
func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(dir, args...)
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) command(dir string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
		"GIT_CONFIG_KEY_1=init.defaultBranch", "GIT_CONFIG_VALUE_1=main",
	}
	return cmd
}

func (w *world) tryGit(dir string, args ...string) (string, error) {
	out, err := w.command(dir, "git", args...).CombinedOutput()
	return string(out), err
}

// repo makes a repository with one commit, as the user would have it.
func (w *world) repo(dir string) {
	w.t.Helper()
	w.git(w.ws, "init", "-q", dir)
	w.git(dir, "commit", "-q", "--allow-empty", "-m", "one")
}

func (w *world) dead() bool {
	_, err := os.Stat(w.canary)
	return err == nil
}

// evil is a config whose fsmonitor kills the canary.
func (w *world) evil() string {
	return "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"touch " + w.canary + "; false\"\n"
}

// evilRemote is a config for fetch.
func (w *world) evilRemote() string {
	return "[remote \"evil\"]\n\turl = .\n\tuploadpack = touch " + w.canary + "; git-upload-pack\n"
}

func (w *world) script() string { return "#!/bin/sh\ntouch " + w.canary + "\n" }
