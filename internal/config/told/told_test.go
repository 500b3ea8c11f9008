package told

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func TestSeenOnce(t *testing.T) {
	s := Open(filepath.Join(t.TempDir(), "state", "bawn"))
	a, b := Key("/p", "a"), Key("/p", "b")
	check := func(want ...bool) {
		t.Helper()
		if got := s.Seen([]string{a, b}); !slices.Equal(got, want) {
			t.Errorf("seen %v, want %v", got, want)
		}
	}
	check(false, false)
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("looking makes a folder")
	}
	must(t, s.Note([]string{a, a}))
	check(true, false)
	must(t, s.Note([]string{b}))
	check(true, true)
	if Key("a", "b") == Key("ab") || Key("a", "b") == Key("b", "a") {
		t.Error("keys do not tell parts apart")
	}
}

func TestZeroStore(t *testing.T) {
	var s Store
	must(t, s.Note([]string{"x"}))
	if s.Seen([]string{"x"})[0] {
		t.Error("seen without a folder")
	}
}

// The oldest is forgotten, and the file never grows past what is read.
func TestBounded(t *testing.T) {
	s := Open(t.TempDir())
	for round := range 3 {
		var keys []string
		for i := range maxEntries {
			keys = append(keys, Key(fmt.Sprint(round, i)))
		}
		must(t, s.Note(keys))
		if seen := s.Seen(keys); slices.Contains(seen, false) {
			t.Fatal("a new one is forgotten")
		}
	}
	if s.Seen([]string{Key("0 0")})[0] {
		t.Error("the oldest is kept")
	}
	st, err := os.Stat(s.dir + "/" + storeName)
	if err != nil || st.Size() > int64(maxFile) {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
}

// What others could have written silences nothing; what is of another form
// is begun anew.
func TestUnusableFiles(t *testing.T) {
	k := Key("x")
	for name, c := range map[string]struct {
		text string
		perm os.FileMode
		kept bool // Note works
	}{
		"writable by others": {head + k + "\n", 0o666, false},
		"no head":            {k + "\n", 0o600, true},
		"a cut line":         {head + k, 0o600, true},
		"another form":       {head + k + " x\n", 0o600, true},
		"right":              {head + k + "\n", 0o600, true},
	} {
		s := Open(t.TempDir())
		file := s.dir + "/" + storeName
		must(t, os.WriteFile(file, []byte(c.text), c.perm))
		must(t, os.Chmod(file, c.perm))
		if got := s.Seen([]string{k})[0]; got != (name == "right") {
			t.Errorf("%s: seen %v", name, got)
		}
		if err := s.Note([]string{k}); (err == nil) != c.kept || s.Seen([]string{k})[0] != c.kept {
			t.Errorf("%s: Note: %v", name, err)
		}
	}
	s := Open(t.TempDir())
	must(t, os.Symlink("/etc/passwd", s.dir+"/"+storeName))
	if err := s.Note([]string{k}); err == nil {
		t.Error("a link is followed or replaced")
	}
}

func TestAtOnce(t *testing.T) {
	s := Open(t.TempDir())
	var wg sync.WaitGroup
	var keys []string
	for i := range 20 {
		k := Key(fmt.Sprint(i))
		keys = append(keys, k)
		wg.Go(func() { must(t, s.Note([]string{k})) })
	}
	wg.Wait()
	if slices.Contains(s.Seen(keys), false) {
		t.Error("one is lost")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
