//go:build linux

package rules_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"bawn/internal/sandbox/linux/guard"
	"bawn/internal/sandbox/linux/guard/rules"
)

// step is one thing that a command does, by the guard or past it.
type step struct {
	what     string
	from, to string
	text     string
	base     int // of from, in what is held; to is from the workspace
}

func (s step) String() string {
	return fmt.Sprintf("%s %d:%s %s %q", s.what, s.base, s.from, s.to, s.text)
}

var (
	guardedSteps = []string{"mkdir", "mkdir", "mkdir", "write", "write", "write", "rename", "rename", "rename", "exchange", "link", "symlink", "keep", "mkdirs", "layout", "layout", "plant", "plant", "linked", "linked"}
	// What no guard sees.
	freeSteps = []string{"unlink", "unlink", "bind", "chmod", "hold", "change"}

	stepNames = []string{"a", "b", "HEAD", "HEAD", "objects", "refs", "config", "config", "commondir", "modules", "worktrees", "logs", "hooks", ".git", "gitdir", "REFS", "FETCH_HEAD", "packed-refs"}
	stepPlace = []string{"", "", "a/", "b/", "a/b/", "n/", "n/.git/", "n/.git/modules/s/", "n/.git/modules/s/refs/", "n/.git/refs/", "bare/", "bare/refs/", "bare/logs/a/", "bare/logs/", "a/worktrees/b/", "bare/worktrees/a/", "bare/modules/a/", "n/.git/a/", "n/.git/worktrees/a/", "n/.git/modules/s/refs/a/", "bare/refs/a/"}
)

const (
	evilText = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = evil\n"
	goodText = "[core]\n\trepositoryformatversion = 0\n"
)

// steps are mostly about one folder.
func steps(focus string) *rapid.Generator[[]step] {
	path := rapid.Custom(func(t *rapid.T) string {
		at := focus
		switch rapid.IntRange(0, 7).Draw(t, "elsewhere") {
		case 0:
			at = rapid.SampledFrom(stepPlace).Draw(t, "place")
		case 1:
			return strings.TrimSuffix("./"+focus, "/")
		case 2:
			at = filepath.Dir(strings.TrimSuffix("./"+focus, "/")) + "/"
		}
		return at + rapid.SampledFrom(stepNames).Draw(t, "name")
	})
	one := rapid.Custom(func(t *rapid.T) step {
		s := step{from: path.Draw(t, "from"), base: rapid.IntRange(-3, 2).Draw(t, "base")}
		if s.base >= 0 {
			s.from = rapid.SampledFrom(stepNames).Draw(t, "name")
		}
		s.what = rapid.SampledFrom(append(guardedSteps, freeSteps...)).Draw(t, "what")
		switch s.what {
		case "rename", "exchange", "link":
			s.to = path.Draw(t, "to")
		case "mkdirs", "layout", "plant", "linked":
			s.from, s.base = strings.TrimSuffix("./"+focus, "/"), -1
		}
		s.text = rapid.SampledFrom([]string{evilText, evilText, goodText, "ref: refs/heads/main\n", "../..\n", "../../a\n"}).Draw(t, "text")
		if strings.HasSuffix(s.from, "HEAD") && s.what == "write" {
			s.text = "ref: refs/heads/main\n"
		}
		return s
	})
	return rapid.SliceOfN(one, 1, 25)
}

// commandBox is a command in a workspace: what it holds, and the guard's rules.
type commandBox struct {
	rules guard.Rules
	ws    int
	held  []int // folders
	kept  []*os.File
}

func (b *commandBox) target(base int, path string) (guard.Target, error) {
	if base < 0 || base >= len(b.held) {
		base = b.ws
	} else {
		base = b.held[base]
	}
	fd, err := unix.Openat(base, filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return guard.Target{Dir: -1}, err
	}
	t := guard.Target{Dir: fd, Name: filepath.Base(path)}
	t.DirPath, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	t.Exists = unix.Fstatat(fd, t.Name, &t.Stat, unix.AT_SYMLINK_NOFOLLOW) == nil
	return t, nil
}

func (b *commandBox) check(op guard.Op, t *guard.Target, o *guard.Target, flags uint64, link string) (guard.Verdict, bool) {
	v := b.rules.Check(&guard.Call{Op: op, Target: *t, Other: o, Flags: flags, Link: link})
	return v, v.Decision == guard.Allow
}

func writeAt(dir int, name, text string, flags int) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW|flags, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

// names are the steps that one stands for.
func (b *commandBox) names(s step) []step {
	in := func(what, name, text string) step {
		return step{what: what, base: s.base, from: s.from + "/" + name, text: text}
	}
	switch s.what {
	case "mkdirs":
		var all []step
		for i, c := range s.from {
			if c == '/' && i > 1 {
				all = append(all, step{what: "mkdir", base: s.base, from: s.from[:i]})
			}
		}
		return append(all, step{what: "mkdir", base: s.base, from: s.from})
	case "layout":
		return []step{in("write", "HEAD", "ref: refs/heads/main\n"), in("mkdir", "objects", ""), in("mkdir", "refs", "")}
	case "plant":
		return []step{in("write", "config", evilText)}
	case "linked":
		return []step{in("mkdir", "objects", ""), in("mkdir", "refs", ""), in("mkdir", "worktrees", ""), in("mkdir", "worktrees/a", ""),
			in("write", "worktrees/a/HEAD", "ref: refs/heads/main\n"), in("write", "worktrees/a/commondir", "../..\n")}
	}
	return nil
}

func (b *commandBox) do(s step) {
	if more := b.names(s); more != nil {
		for _, s := range more {
			b.do(s)
		}
		return
	}
	t, err := b.target(s.base, s.from)
	if err != nil {
		return
	}
	defer unix.Close(t.Dir)
	regular := t.Exists && t.Stat.Mode&unix.S_IFMT == unix.S_IFREG
	switch s.what {
	case "unlink":
		if unix.Unlinkat(t.Dir, t.Name, 0) != nil {
			_ = unix.Unlinkat(t.Dir, t.Name, unix.AT_REMOVEDIR)
		}
	case "bind":
		if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
			_ = unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", t.Dir, t.Name)})
			unix.Close(fd)
		}
	case "chmod":
		if t.Exists && t.Stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			_ = unix.Fchmodat(t.Dir, t.Name, []uint32{0, 0o311, 0o755}[len(s.text)%3], 0)
		}
	case "hold":
		if fd, err := unix.Openat(t.Dir, t.Name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0); err == nil {
			b.held = append(b.held, fd)
			if len(b.held) > 3 {
				unix.Close(b.held[0])
				b.held = b.held[1:]
			}
		}
	case "change":
		for _, f := range b.kept {
			_, _ = f.WriteAt([]byte(s.text), 0)
		}
	case "mkdir":
		if _, ok := b.check(guard.Mkdir, &t, nil, 0, ""); ok && !t.Exists {
			_ = unix.Mkdirat(t.Dir, t.Name, 0o755)
		}
	case "symlink":
		to := "../" + s.text[:1] + "/config"
		if _, ok := b.check(guard.Symlink, &t, nil, 0, to); ok && !t.Exists {
			_ = unix.Symlinkat(to, t.Dir, t.Name)
		}
	case "write", "keep":
		if t.Exists && !regular {
			return
		}
		op := guard.Create
		if t.Exists {
			op = guard.Open
		}
		v, ok := b.check(op, &t, nil, 0, "")
		switch {
		case v.Decision == guard.Fixed && !t.Exists:
			_ = writeAt(t.Dir, t.Name, string(v.Content), unix.O_CREAT|unix.O_EXCL)
		case !ok:
		case s.what == "keep":
			if fd, err := unix.Openat(t.Dir, t.Name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644); err == nil {
				b.kept = append(b.kept, os.NewFile(uintptr(fd), "kept"))
			}
		default:
			_ = writeAt(t.Dir, t.Name, s.text, unix.O_CREAT|unix.O_TRUNC)
		}
	case "link":
		d, err := b.target(-1, s.to)
		if err != nil {
			return
		}
		defer unix.Close(d.Dir)
		if !regular || d.Exists {
			return
		}
		if v, ok := b.check(guard.Link, &d, &t, 0, ""); ok {
			_ = unix.Linkat(t.Dir, t.Name, d.Dir, d.Name, 0)
		} else if v.Decision == guard.Vet {
			b.vet(v, &t, &d)
		}
	case "rename", "exchange":
		d, err := b.target(-1, s.to)
		if err != nil || !t.Exists || s.what == "exchange" && !d.Exists {
			if err == nil {
				unix.Close(d.Dir)
			}
			return
		}
		defer unix.Close(d.Dir)
		flags := uint64(0)
		pairs := [][2]*guard.Target{{&t, &d}}
		if s.what == "exchange" {
			flags = unix.RENAME_EXCHANGE
			pairs = append(pairs, [2]*guard.Target{&d, &t})
		}
		for _, p := range pairs {
			if _, ok := b.check(guard.Rename, p[0], p[1], flags, ""); !ok {
				return
			}
			if v, ok := b.check(guard.RenameTo, p[1], p[0], flags, ""); !ok {
				if v.Decision == guard.Vet && flags == 0 && regular && b.vet(v, &t, &t) {
					break
				}
				return
			}
		}
		_ = unix.Renameat2(t.Dir, t.Name, d.Dir, d.Name, uint(flags))
	}
}

// vet puts a judged copy of from in the place of to.
func (b *commandBox) vet(v guard.Verdict, from, to *guard.Target) bool {
	text, err := os.ReadFile(from.Path())
	if err != nil || v.Vet(text) != nil {
		return false
	}
	if to == from {
		if unix.Unlinkat(to.Dir, to.Name, 0) != nil {
			return false
		}
	}
	return writeAt(to.Dir, to.Name, string(text), unix.O_CREAT|unix.O_EXCL) == nil
}

// evilGitDir looks for a folder that git would take for a git directory, with
// settings or hooks that nobody judged.
func evilGitDir(ws string) (found string) {
	for range 64 { // open what the command has closed, from the top
		again := false
		_ = filepath.WalkDir(ws, func(path string, e fs.DirEntry, err error) error {
			if i, e := os.Lstat(path); e == nil && i.IsDir() && i.Mode().Perm() != 0o755 {
				again = os.Chmod(path, 0o755) == nil || again
			}
			return nil
		})
		if !again {
			break
		}
	}
	_ = filepath.WalkDir(ws, func(dir string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			hostHEAD(dir)
		}
		return nil
	})
	_ = filepath.WalkDir(ws, func(dir string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil
		}
		common, ok := gitDir(dir)
		if !ok {
			return nil
		}
		config, _ := os.ReadFile(common + "/config")
		hooks, _ := os.ReadDir(common + "/hooks")
		for _, h := range hooks {
			if h.Name() != "HEAD" { // hostHEAD's
				found = common + "/hooks/" + h.Name()
			}
		}
		if strings.Contains(string(config), "fsmonitor") {
			found = dir
		}
		for _, d := range []string{dir, common} {
			if l := linkIn(d); l != "" {
				found = dir + " with the link " + l
			}
		}
		return nil
	})
	return found
}

// gitDir says whether git takes dir for a git directory, and where its store is:
// for that it asks whether names can be searched.
func gitDir(dir string) (common string, ok bool) {
	head, _ := os.ReadFile(dir + "/HEAD")
	to, _ := os.Readlink(dir + "/HEAD")
	if !strings.HasPrefix(string(head), "ref: refs/") && !strings.HasPrefix(to, "refs/") {
		return "", false
	}
	common = dir
	if text, err := os.ReadFile(dir + "/commondir"); err == nil {
		common = filepath.Join(dir, strings.TrimSpace(string(text)))
	}
	return common, unix.Access(common+"/objects", unix.X_OK) == nil && unix.Access(common+"/refs", unix.X_OK) == nil
}

// hostHEAD writes HEAD where the host's fetch may: among the references and logs
// of the git directory dir, or of one that serves linked worktrees.
func hostHEAD(dir string) {
	_, ok := gitDir(dir)
	trees, _ := os.ReadDir(dir + "/worktrees")
	for _, e := range trees {
		common, is := gitDir(dir + "/worktrees/" + e.Name())
		ok = ok || is && common == dir
	}
	if !ok {
		return
	}
	for _, data := range []string{"/refs", "/logs"} {
		_ = filepath.WalkDir(dir+data, func(at string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && at != dir+data {
				_ = writeAt(unix.AT_FDCWD, at+"/HEAD", "ref: refs/heads/main\n", unix.O_CREAT|unix.O_EXCL)
			}
			return nil
		})
	}
}

// linkIn finds a link through which git would write in a git directory.
func linkIn(dir string) (found string) {
	_ = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		first, rest, _ := strings.Cut(strings.TrimPrefix(at, dir+"/"), "/")
		switch {
		case err != nil:
		case e.IsDir() && (first == "a" || first == "b" || first == ".git" || rest != "" && (first == "objects" || first == "hooks")):
			return fs.SkipDir
		case e.Type()&fs.ModeSymlink != 0 && at != dir+"/HEAD":
			found = at
		}
		return nil
	})
	return found
}

// Whatever a command does in whatever order, what git takes for a git directory
// afterwards has a config that was judged.
func TestRandomStepsMakeNoGitDirectory(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		ws := top + "/" + strconv.Itoa(n)
		defer os.RemoveAll(ws)
		for _, d := range []string{"a/b", "b", "n/.git", "n/.git/modules/s", "bare"} {
			if err := os.MkdirAll(ws+"/"+d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, g := range []string{"n/.git", "n/.git/modules/s", "bare"} {
			for _, d := range []string{"/objects", "/refs"} {
				if err := os.Mkdir(ws+"/"+g+d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range map[string]string{"/HEAD": "ref: refs/heads/main\n", "/config": goodText} {
				if err := os.WriteFile(ws+"/"+g+name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		b := &commandBox{rules: rules.New(rules.Config{Roots: []string{ws}})}
		if b.ws, err = unix.Open(ws, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
		defer func() {
			for _, fd := range append(b.held, b.ws) {
				unix.Close(fd)
			}
			for _, f := range b.kept {
				f.Close()
			}
		}()
		for _, s := range steps(rapid.SampledFrom(stepPlace).Draw(t, "focus")).Draw(t, "steps") {
			b.do(s)
		}
		b.do(step{what: "change", base: -1, from: "x", text: evilText})
		if dir := evilGitDir(ws); dir != "" {
			t.Fatalf("%s is a git directory that nobody judged", dir)
		}
	})
}
