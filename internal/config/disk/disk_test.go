//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) (*Dir, string) {
	t.Helper()
	path := t.TempDir()
	d, err := Open(path)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d, path
}

func TestRead(t *testing.T) {
	d, path := open(t)
	must(t, os.WriteFile(path+"/file", []byte("12345"), 0o640))
	must(t, os.Symlink("file", path+"/link"))
	must(t, os.Symlink("none", path+"/dangling"))
	must(t, os.Mkdir(path+"/dir", 0o755))
	must(t, syscall.Mkfifo(path+"/fifo", 0o600))
	data, in, err := d.Read("file", 5)
	must(t, err)
	if string(data) != "12345" || in.UID != os.Geteuid() || in.Perm&0o640 != in.Perm {
		t.Errorf("%q %+v", data, in)
	}
	for name, want := range map[string]error{"link": ErrLink, "dangling": ErrLink, "dir": ErrNotRegular, "fifo": ErrNotRegular, "none": fs.ErrNotExist} {
		if _, _, err := d.Read(name, 5); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	var big *TooBigError
	if _, _, err := d.Read("file", 4); !errors.As(err, &big) || big.Limit != 4 {
		t.Errorf("too big: %v", err)
	}
}

// An error names the file as a person would.
func TestErrorsNameTheFile(t *testing.T) {
	d, err := Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, _, err := d.Read("no-such-file", 1); err == nil || !strings.HasPrefix(err.Error(), "read /no-such-file: ") {
		t.Error(err)
	}
}

func TestFolders(t *testing.T) {
	d, path := open(t)
	must(t, os.Mkdir(path+"/dir", 0o755))
	must(t, os.Symlink("dir", path+"/link"))
	must(t, os.WriteFile(path+"/file", nil, 0o600))
	for name, want := range map[string]error{"dir": nil, "link": ErrLink, "file": ErrNotDir, "none": fs.ErrNotExist} {
		for how, f := range map[string]func() (*Dir, error){
			"Sub":       func() (*Dir, error) { return d.Sub(name) },
			"OpenPlain": func() (*Dir, error) { return OpenPlain(path + "/" + name) },
		} {
			sub, err := f()
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s of %s: %v, want %v", how, name, err, want)
			}
			if err == nil {
				sub.Close()
			}
		}
	}
	sub, err := Open(path + "/link") // a path that the caller's own settings name
	must(t, err)
	sub.Close()
	for range 2 { // made once, opened twice
		made, err := d.MakeSub("new")
		must(t, err)
		made.Close()
	}
	if _, err := d.MakeSub("link"); !errors.Is(err, ErrLink) {
		t.Errorf("MakeSub of a link: %v", err)
	}
}

func TestOnlyOwners(t *testing.T) {
	for _, tt := range []struct {
		in  Info
		uid int
		ok  bool
	}{
		{Info{UID: 0, Perm: 0o644}, 0, true},
		{Info{UID: 0, Perm: 0o644}, 1000, true},
		{Info{UID: 1000, Perm: 0o600}, 1000, true},
		{Info{UID: 1000, Perm: 0o600}, 0, false},
		{Info{UID: 1001, Perm: 0o600}, 1000, false},
		{Info{UID: 1000, Perm: 0o620}, 1000, false},
		{Info{UID: 1000, Perm: 0o602}, 1000, false},
		{Info{UID: 0, Perm: 0o777, Sticky: true}, 1000, true},
	} {
		if err := tt.in.OnlyOwners(tt.uid); (err == nil) != tt.ok {
			t.Errorf("%+v for %d: %v", tt.in, tt.uid, err)
		}
	}
}

// A replaced file is another file: whoever holds the old one keeps it whole,
// and a failure leaves it alone.
func TestReplace(t *testing.T) {
	d, path := open(t)
	unlock, err := d.Lock()
	must(t, err)
	defer unlock()
	must(t, os.WriteFile(path+"/.file.new", []byte("left by a killed save"), 0o600))
	must(t, d.Replace("file", []byte("one"), 0o600))
	held, err := os.Open(path + "/file")
	must(t, err)
	defer held.Close()
	must(t, d.Replace("file", []byte("two, longer"), 0o640))
	old := make([]byte, 20)
	n, _ := held.Read(old)
	if string(old[:n]) != "one" {
		t.Errorf("the old file became %q", old[:n])
	}
	if data, _ := os.ReadFile(path + "/file"); string(data) != "two, longer" {
		t.Errorf("the new file is %q", data)
	}
	if st, _ := os.Stat(path + "/file"); st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", st.Mode())
	}
	// A link in the place of the file is replaced, not followed.
	must(t, os.WriteFile(path+"/victim", []byte("precious"), 0o600))
	must(t, os.Symlink("victim", path+"/link"))
	must(t, os.Symlink("victim", path+"/.link.new"))
	must(t, d.Replace("link", []byte("mine"), 0o600))
	if data, _ := os.ReadFile(path + "/victim"); string(data) != "precious" {
		t.Errorf("the link was followed: %q", data)
	}
	must(t, os.Mkdir(path+"/folder", 0o755))
	if err := d.Replace("folder", []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if left, _ := filepath.Glob(path + "/.*.new"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLock(t *testing.T) {
	d, path := open(t)
	unlock, err := d.Lock()
	must(t, err)
	other, err := Open(path)
	must(t, err)
	defer other.Close()
	got := make(chan error)
	go func() {
		free, err := other.Lock()
		if err == nil {
			defer free()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("two hold the lock: %v", err)
	default: // it may not have tried yet; it cannot get the lock before the next line
	}
	unlock()
	must(t, <-got)
	// Whoever was stopped with it is not waited for without end.
	unlock, err = d.Lock()
	must(t, err)
	lockWait = 20 * time.Millisecond
	defer func() { lockWait = 10 * time.Second }()
	if free, err := other.Lock(); err == nil || !strings.Contains(err.Error(), "another bawn holds it") {
		t.Errorf("a lock that is held: %v", err)
		if err == nil {
			free()
		}
	}
	unlock()
	must(t, os.Remove(path+"/.lock"))
	must(t, os.Symlink("elsewhere", path+"/.lock"))
	if _, err := d.Lock(); !errors.Is(err, ErrLink) {
		t.Errorf("a link as lock: %v", err)
	}
}

// Who is asked last sees the new content whole and the file as it is, and an
// error leaves that alone, and nothing beside it.
func TestReplaceIf(t *testing.T) {
	d, err := Open(t.TempDir())
	must(t, err)
	defer d.Close()
	must(t, d.Replace("file", []byte("old"), 0o600))
	read := func(name string) string {
		data, _, err := d.Read(name, 100)
		must(t, err)
		return string(data)
	}
	other := errors.New("another")
	err = d.ReplaceIf("file", []byte("new"), 0o600, func() error {
		if a, b := read("file"), read(".file.new"); a != "old" || b != "new" {
			t.Errorf("%q, %q", a, b)
		}
		must(t, os.WriteFile(filepath.Join(d.f.Name(), "file"), []byte("theirs"), 0o600))
		return other
	})
	names, e := d.Names()
	must(t, e)
	if got := read("file"); !errors.Is(err, other) || got != "theirs" || !slices.Equal(names, []string{"file"}) {
		t.Errorf("%v, %q, %q", err, got, names)
	}
	must(t, d.ReplaceIf("file", []byte("new"), 0o600, func() error { return nil }))
	if got := read("file"); got != "new" {
		t.Errorf("%q", got)
	}
}

// Two that save one file under different locks, or none, wait for each other:
// each has its content there whole, and neither takes the other's away.
func TestReplaceTogether(t *testing.T) {
	path := t.TempDir()
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			d, err := Open(path)
			must(t, err)
			defer d.Close()
			mine := strings.Repeat(strconv.Itoa(i), 100_000)
			for range 25 {
				err := d.ReplaceIf("file", []byte(mine), 0o400, func() error {
					if got, _, err := d.Read(".file.new", 1<<20); err != nil || string(got) != mine {
						t.Errorf("%d: %d bytes of another, %v", i, len(got), err)
					}
					return nil
				})
				if err != nil {
					t.Errorf("%d: %v", i, err)
				}
				d.Sweep("file")
				if got, _, err := d.Read("file", 1<<20); err != nil || len(got) != 100_000 {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	wait.Wait()
	d, err := Open(path)
	must(t, err)
	defer d.Close()
	if names, err := d.Names(); err != nil || !slices.Equal(names, []string{"file"}) {
		t.Errorf("%q, %v", names, err)
	}
}
