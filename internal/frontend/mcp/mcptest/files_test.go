//go:build linux

package mcptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// refused expects a denial with a rule, and what would lift it in hint.
func (d *desk) refused(kind, name string, a args) mcp.FileResult {
	d.t.Helper()
	r := d.call(name, a)
	out := into[mcp.FileResult](d.t, r)
	if !r.IsError || len(out.Denied) != 1 || out.Denied[0].Kind != kind || out.Denied[0].Rule == "" || out.Denied[0].Hint == "" ||
		strings.Contains(out.Denied[0].Target, ".bawn-") || !strings.Contains(r.text, "[denied: "+kind) {
		d.t.Errorf("%s %v: error %v, %+v\n%s", name, a, r.IsError, out, r.text)
	}
	return out
}

// fails expects an error that is no denial, with these words.
func (d *desk) fails(words, name string, a args) {
	d.t.Helper()
	r := d.call(name, a)
	if !r.IsError || !strings.Contains(r.text, words) || strings.Contains(r.text, "[denied") {
		d.t.Errorf("%s %v: error %v, %q, want %q", name, a, r.IsError, r.text, words)
	}
}

func (d *desk) works(name string, a args) result {
	d.t.Helper()
	r := d.call(name, a)
	if r.IsError {
		d.t.Errorf("%s %v: %s", name, a, r.text)
	}
	return r
}

// leftovers are temporary files of the tools.
func (d *desk) leftovers() {
	d.t.Helper()
	_ = filepath.WalkDir(d.Workspace, func(p string, _ os.DirEntry, err error) error {
		if strings.Contains(filepath.Base(p), ".bawn-") {
			d.t.Errorf("left behind: %s", p)
		}
		return err
	})
}

// ~ is the home folder, as in the texts of the policy, and a denial names the
// file that was asked for and a way out.
func TestNamesAndHints(t *testing.T) {
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Home, "notes.txt"), "at home\n")
	}})
	if r := d.works("read_file", args{"path": "~/notes.txt"}); r.text != "at home\n" {
		t.Error(r.text)
	}
	d.refused("read", "read_file", args{"path": "~/.ssh/id_rsa"})
	d.refused("write", "write_file", args{"path": "~/x", "content": "x"})
	if _, err := os.Stat(filepath.Join(d.Workspace, "~")); err == nil {
		t.Error("a folder of the name ~ was made")
	}
	if r := d.works("check", args{"action": "read", "object": "~/.ssh/id_rsa"}); !strings.HasPrefix(r.text, "deny") {
		t.Error(r.text)
	}
	if r := d.call("check", args{"action": "read", "object": ""}); !r.IsError {
		t.Error(r.text)
	}
	d.refused("read", "read_file", args{"path": "/proc/1/environ"})
	for _, p := range []string{".git/hooks/pre-commit", "sub/.GIT/hooks/x"} {
		out := d.refused("write", "write_file", args{"path": p, "content": "x"})
		if len(out.Denied) != 1 || out.Denied[0].Target != filepath.Join(d.Workspace, p) {
			t.Errorf("%s: %+v", p, out.Denied)
		}
	}
	if r := d.call("web_fetch", args{"url": "http://a.example/"}); !r.IsError || !strings.Contains(r.text, "[permissions]") || strings.Contains(r.text, "terminal") {
		t.Error(r.text)
	}
	r := into[mcp.RunResult](t, d.call("bash", args{"command": "pwd", "workdir": "/etc"}))
	if len(r.Denied) != 1 || r.Denied[0].Kind != "run" || !strings.Contains(r.Denied[0].Hint, "--add-dir") || strings.Contains(r.Denied[0].Rule, "--add-dir") {
		t.Errorf("%+v", r)
	}
}

// SPEC F8: what the tools write and read is decided on the file that a name
// leads to, each denial beside what is allowed.
func TestF8_PlacesOfFiles(t *testing.T) {
	sandboxtest.EachLauncher(t, func(t *testing.T, launcher string) {
		var outside string
		d := open(t, options{launcher: launcher, prepare: func(b *sandboxtest.Box) {
			outside = filepath.Join(filepath.Dir(b.Workspace), "outside")
			sandboxtest.Write(t, filepath.Join(outside, "o.txt"), "outside\n")
			sandboxtest.Write(t, filepath.Join(b.Workspace, "dir/in.txt"), "inside\n")
			for to, name := range map[string]string{
				filepath.Join(outside, "o.txt"): "out-link", "dir/in.txt": "in-link", outside: "out-dir", "dir": "in-dir",
				filepath.Join(b.Home, ".ssh/id_rsa"): "key-link", filepath.Join(b.Home, ".ssh"): "ssh", "/nowhere/x": "dangling",
			} {
				if err := os.Symlink(to, filepath.Join(b.Workspace, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Link(filepath.Join(b.Home, ".ssh/id_rsa"), filepath.Join(b.Workspace, "key-hard")); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(filepath.Join(outside, "o.txt"), filepath.Join(b.Workspace, "out-hard")); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mkfifo(filepath.Join(b.Workspace, "fifo"), 0o644); err != nil {
				t.Fatal(err)
			}
		}})
		// Reads: all but credentials.
		for _, p := range []string{"key-link", "ssh/id_rsa", "key-hard", filepath.Join(d.Home, ".ssh/id_rsa")} {
			r := d.refused("read", "read_file", args{"path": p})
			if strings.Contains(fmt.Sprint(r), "SECRET") {
				t.Errorf("%s was read", p)
			}
			if len(r.Denied) != 1 || !strings.HasPrefix(r.Denied[0].Rule, "credential:") || !strings.Contains(r.Denied[0].Hint, "--tier open") {
				t.Errorf("%s: %+v", p, r.Denied)
			}
		}
		for p, want := range map[string]string{"out-link": "outside\n", "out-hard": "outside\n", "in-link": "inside\n", "out-dir/o.txt": "outside\n", "dir/../in-dir/in.txt": "inside\n"} {
			if r := d.works("read_file", args{"path": p}); r.text != want {
				t.Errorf("%s: %q", p, r.text)
			}
		}
		// Writes: the workspace, whatever the way.
		for _, p := range []string{"out-link", "out-dir/o.txt", "out-dir/new.txt", "../outside/o.txt", "in-dir/../../outside/o.txt", filepath.Join(outside, "made/x")} {
			d.refused("write", "write_file", args{"path": p, "content": "bad\n"})
		}
		d.refused("write", "edit_file", args{"path": "out-link", "old_string": "outside", "new_string": "bad"})
		if content(t, filepath.Join(outside, "o.txt")) != "outside\n" {
			t.Error("the file outside was written")
		}
		if list, _ := os.ReadDir(outside); len(list) != 1 {
			t.Errorf("outside: %v", list)
		}
		d.works("write_file", args{"path": "in-link", "content": "by a link\n"})
		if content(t, filepath.Join(d.Workspace, "dir/in.txt")) != "by a link\n" {
			t.Error("the link's file was not written")
		}
		if st, err := os.Lstat(filepath.Join(d.Workspace, "in-link")); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v %v", st, err)
		}
		// A hard link is not written through.
		d.works("write_file", args{"path": "out-hard", "content": "mine\n"})
		if content(t, filepath.Join(outside, "o.txt")) != "outside\n" || content(t, filepath.Join(d.Workspace, "out-hard")) != "mine\n" {
			t.Error("a hard link was written through")
		}
		// Protected names (F2), which are there or not, beside ordinary ones.
		for _, p := range []string{".git/config", ".git/hooks/pre-commit", ".bawn/config.toml", ".mcp.json", ".bashrc"} {
			out := d.refused("write", "write_file", args{"path": p, "content": "[core]\n\tfsmonitor = bad\n"})
			// The file, or a folder of it that could not be made.
			if full := filepath.Join(d.Workspace, p); len(out.Denied) == 1 && !strings.HasPrefix(full+"/", out.Denied[0].Target+"/") {
				t.Errorf("%s is told as %s", p, out.Denied[0].Target)
			}
		}
		for _, p := range []string{".gitignore", "mcp.json", "hooks/pre-commit"} {
			d.works("write_file", args{"path": p, "content": "x\n"})
		}
		if strings.Contains(content(t, filepath.Join(d.Workspace, ".git/config")), "bad") {
			t.Error(".git/config was written")
		}
		// What is no file does not block and is not opened.
		d.fails("named pipe", "read_file", args{"path": "fifo"})
		d.fails("named pipe", "write_file", args{"path": "fifo", "content": "x"})
		d.fails("device", "read_file", args{"path": "/dev/zero"})
		d.fails("folder", "read_file", args{"path": "dir"})
		d.fails("no such file", "read_file", args{"path": "missing"})
		d.fails("leads nowhere", "write_file", args{"path": "dangling", "content": "x"})
		d.leftovers()
	})
}

// Where the tools' limits and the tiers meet (SPEC T7, F6).
func TestT7_LimitsOfTheTools(t *testing.T) {
	type place struct{ read, write bool }
	for _, c := range []struct {
		name            string
		flags           []string
		inside, outside place
		added           place
	}{
		{"guarded", nil, place{true, true}, place{true, false}, place{true, false}},
		{"added", []string{"--add-dir", "../added"}, place{true, true}, place{true, false}, place{true, true}},
		{"airlock", []string{"--tier", "airlock", "--add-dir", "../added"}, place{true, true}, place{true, false}, place{true, false}},
		{"read-only", []string{"--sandbox", "read-only"}, place{true, false}, place{false, false}, place{false, false}},
		{"workspace-write", []string{"--sandbox", "workspace-write", "--add-dir", "../added"}, place{true, true}, place{false, false}, place{true, true}},
		{"open", []string{"--tier", "open"}, place{true, true}, place{true, true}, place{true, true}},
		{"danger-full-access", []string{"--sandbox", "danger-full-access"}, place{true, true}, place{true, true}, place{true, true}},
		{"open limited", []string{"--tier", "open", "-C", "."}, place{true, true}, place{false, false}, place{false, false}},
		{"open added", []string{"--tier", "open", "--add-dir", "../added"}, place{true, true}, place{false, false}, place{true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, options{flags: c.flags, prepare: func(b *sandboxtest.Box) {
				for _, f := range []string{"outside", "added"} {
					sandboxtest.Write(t, filepath.Join(filepath.Dir(b.Workspace), f, "o.txt"), "text\n")
				}
			}})
			for p, want := range map[string]place{"a.txt": c.inside, "../outside/o.txt": c.outside, "../added/o.txt": c.added} {
				if want.read {
					d.works("read_file", args{"path": p})
				} else {
					d.refused("read", "read_file", args{"path": p})
				}
				before := content(t, filepath.Join(d.Workspace, p))
				if want.write {
					d.works("write_file", args{"path": p, "content": "written\n"})
				} else {
					d.refused("write", "write_file", args{"path": p, "content": "written\n"})
				}
				if now := content(t, filepath.Join(d.Workspace, p)); (now == "written\n") != want.write || !want.write && now != before {
					t.Errorf("%s: %q, want written %v", p, now, want.write)
				}
			}
		})
	}
}

func TestEditFile(t *testing.T) {
	d := open(t, options{})
	file := filepath.Join(d.Workspace, "e.txt")
	set := func(text string, mode os.FileMode) {
		t.Helper()
		sandboxtest.Write(t, file, text)
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		d.works("read_file", args{"path": "e.txt"})
	}
	edit := func(old, new string, more ...any) args {
		return args{"path": "e.txt", "old_string": old, "new_string": new, "replace_all": len(more) > 0}
	}
	set("a b a\n", 0o751)
	d.fails("2 times", "edit_file", edit("a", "c"))
	d.fails("not in the file", "edit_file", edit("z", "c"))
	d.fails("is empty", "edit_file", edit("", "c"))
	d.fails("the same", "edit_file", edit("b", "b"))
	if content(t, file) != "a b a\n" {
		t.Error("a refused edit wrote")
	}
	if r := into[mcp.FileResult](t, d.works("edit_file", edit("a", "c", true))); r.Replaced != 2 || content(t, file) != "c b c\n" {
		t.Errorf("%+v %q", r, content(t, file))
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o751 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	// The tool's own write is no change; another's is.
	d.works("edit_file", edit("b", "B"))
	sandboxtest.Write(t, file, "c B c, and more\n")
	d.fails("changed since it was read", "edit_file", edit("B", "x"))
	d.fails("changed since it was read", "write_file", args{"path": "e.txt", "content": "over\n"})
	d.works("read_file", args{"path": "e.txt"})
	d.works("edit_file", edit("B", "x"))
	// Line endings stay.
	set("one\r\ntwo\r\nthree\r\n", 0o644)
	d.works("edit_file", edit("one\ntwo", "1\n2\n2b"))
	if got := content(t, file); got != "1\r\n2\r\n2b\r\nthree\r\n" {
		t.Errorf("%q", got)
	}
	set("one\ntwo\n", 0o644)
	d.works("edit_file", edit("two", "2\n3"))
	if got := content(t, file); got != "one\n2\n3\n" {
		t.Errorf("%q", got)
	}
	sandboxtest.Write(t, filepath.Join(d.Workspace, "bin"), "x\x00y")
	d.fails("binary", "edit_file", args{"path": "bin", "old_string": "x", "new_string": "z"})
	d.leftovers()
}

func TestReadFileBounds(t *testing.T) {
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Workspace, "bin"), "ab\x00cd")
		sandboxtest.Write(t, filepath.Join(b.Workspace, "none"), "")
		sandboxtest.Write(t, filepath.Join(b.Workspace, "big"), strings.Repeat("0123456789abcde\n", 200_000))
		sandboxtest.Write(t, filepath.Join(b.Workspace, "line"), strings.Repeat("x", 3<<20))
		f, err := os.Create(filepath.Join(b.Workspace, "huge"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("first\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(1 << 40); err != nil {
			t.Fatal(err)
		}
	}})
	d.fails("binary", "read_file", args{"path": "bin"})
	d.fails("binary", "read_file", args{"path": "huge"})
	if r := d.works("read_file", args{"path": "none"}); r.text != "" {
		t.Errorf("%q", r.text)
	}
	r := d.works("read_file", args{"path": "a.txt", "offset": 2, "limit": 1})
	if out := into[mcp.FileResult](t, r); !strings.HasPrefix(r.text, "two\n[there is more: read on with offset 3]") || out.FirstLine != 2 || out.Lines != 1 || !out.Truncated {
		t.Errorf("%q %+v", r.text, out)
	}
	d.fails("has 3 lines", "read_file", args{"path": "a.txt", "offset": 9})
	d.fails("from 1", "read_file", args{"path": "a.txt", "offset": -1})
	r = d.works("read_file", args{"path": "big", "offset": 199_999})
	if r.text != "0123456789abcde\n0123456789abcde\n" {
		t.Errorf("%q", r.text)
	}
	for _, p := range []string{"big", "line"} {
		r = d.works("read_file", args{"path": p})
		if out := into[mcp.FileResult](t, r); !out.Truncated || len(r.text) > 2<<20+200 || len(r.text) < 2<<20 {
			t.Errorf("%s: %d bytes, %+v", p, len(r.text), out)
		}
	}
}

// A folder that becomes a link to outside, and back, while the tool writes:
// nothing outside is ever written; in open the tool's own limit is all there is.
func TestF8_Race(t *testing.T) {
	t.Run("guarded", func(t *testing.T) { race(t) })
	t.Run("open", func(t *testing.T) { race(t, "--tier", "open", "-C", ".") })
}

func race(t *testing.T, flags ...string) {
	var outside string
	d := open(t, options{flags: flags, prepare: func(b *sandboxtest.Box) {
		outside = filepath.Join(filepath.Dir(b.Workspace), "outside")
		sandboxtest.Write(t, filepath.Join(outside, "f"), "outside\n")
		sandboxtest.Write(t, filepath.Join(b.Workspace, "real/f"), "inside\n")
		if err := os.Symlink(outside, filepath.Join(b.Workspace, "link")); err != nil {
			t.Fatal(err)
		}
	}})
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(d.Workspace, "real"), unix.AT_FDCWD, filepath.Join(d.Workspace, "link"), unix.RENAME_EXCHANGE)
			}
		}
	})
	written := 0
	for i := range 60 {
		if r := d.call("write_file", args{"path": "real/f", "content": fmt.Sprintln("written", i)}); !r.IsError {
			written++
		}
		d.call("write_file", args{"path": fmt.Sprintf("real/new%d", i), "content": "new\n"})
	}
	close(stop)
	work.Wait()
	if got := content(t, filepath.Join(outside, "f")); got != "outside\n" {
		t.Errorf("outside: %q", got)
	}
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("outside: %v", list)
	}
	if written == 0 {
		t.Error("not one write met the folder inside")
	}
}
