package trust

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bawn/internal/config"
	"bawn/internal/policy"
)

var when = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func raw(text string) []byte { return []byte(text) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStore(t testing.TB) Store {
	t.Helper()
	return Open(filepath.Join(t.TempDir(), "state", "bawn"))
}

func (s Store) holds(t testing.TB, project, text string) bool {
	t.Helper()
	ok, err := s.Lookup(project, raw(text))
	must(t, err)
	return ok
}

// A75: a store that lies in the project, by its name or through a link, was
// written by whoever wrote the project.
func TestA75_StoreInTheProject(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	project := filepath.Join(root, "p")
	inside, link := Open(filepath.Join(project, "state", "bawn")), Open(filepath.Join(root, "link"))
	must(t, inside.Trust(project, raw("a"), "me", when))
	must(t, os.Symlink(inside.dir, link.dir))
	for _, s := range []Store{inside, link} {
		if ok, err := s.Lookup(project, raw("a")); ok || !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
			t.Errorf("%s: %v, %v", s.dir, ok, err)
		}
	}
	// The twin: beside it, also where the name only begins alike.
	beside := Open(filepath.Join(project+"2", "bawn"))
	must(t, beside.Trust(project, raw("a"), "me", when))
	if !beside.holds(t, project, "a") {
		t.Error("a store beside the project does not count")
	}
}

func TestTrustIsPathAndContent(t *testing.T) {
	s := newStore(t)
	if s.holds(t, "/p", "a") {
		t.Error("an empty store trusts")
	}
	must(t, s.Trust("/p", raw("a"), "me", when))
	for _, tt := range []struct {
		project, text string
		want          bool
	}{{"/p", "a", true}, {"/p", "a ", false}, {"/p", "", false}, {"/p2", "a", false}, {"/", "a", false}, {"/p/sub", "a", false}} {
		if s.holds(t, tt.project, tt.text) != tt.want {
			t.Errorf("%s with %q: not %v", tt.project, tt.text, tt.want)
		}
	}
	must(t, s.Trust("/p", raw("b"), "me", when))
	must(t, s.Trust("/q", raw("a"), "you", when))
	if !s.holds(t, "/p", "a") || !s.holds(t, "/p", "b") {
		t.Error("a second content replaced the first")
	}
	list, err := s.List()
	must(t, err)
	if len(list) != 3 || list[2] != (Entry{"/q", hash(raw("a")), "you", when}) {
		t.Errorf("list %v", list)
	}
	if text := Text(list); strings.Count(text, "\n") != 3 || !strings.Contains(text, "2026-05-04T03:02:01Z") {
		t.Errorf("text %q", text)
	}
	found, err := s.Revoke("/p")
	must(t, err)
	if !found || s.holds(t, "/p", "a") || s.holds(t, "/p", "b") || !s.holds(t, "/q", "a") {
		t.Error("revoking takes too little or too much")
	}
	if found, err = s.Revoke("/p"); found || err != nil {
		t.Errorf("revoked twice: %v %v", found, err)
	}
	st, err := os.Stat(filepath.Join(s.dir, storeName))
	must(t, err)
	dir, err := os.Stat(s.dir)
	must(t, err)
	if st.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("modes %v %v", st.Mode(), dir.Mode())
	}
}

func TestZeroStore(t *testing.T) {
	var s Store
	if s.holds(t, "/p", "a") {
		t.Error("the zero store trusts")
	}
	if err := s.Trust("/p", raw("a"), "me", when); !errors.Is(err, ErrStore) {
		t.Errorf("got %v", err)
	}
}

func TestPathsThatCannotBeKept(t *testing.T) {
	s := newStore(t)
	for _, p := range []string{"", "relative", "/a/../b", "/a/", "/\xff"} {
		if err := s.Trust(p, raw("a"), "me", when); err == nil {
			t.Errorf("%q was trusted", p)
		}
	}
	must(t, s.Trust("/a\nb", raw("a"), "m\x1be", when))
	list, err := s.List()
	must(t, err)
	if text := Text(list); strings.Contains(text, "\x1b") || strings.Count(text, "\n") != 1 {
		t.Errorf("text %q", text)
	}
}

// Of one project the oldest contents are forgotten; other projects stay.
func TestContentsAreBounded(t *testing.T) {
	s := newStore(t)
	must(t, s.Trust("/other", raw("0"), "me", when))
	for i := range maxContents + 5 {
		must(t, s.Trust("/p", raw(fmt.Sprint(i)), "me", when))
	}
	list, err := s.List()
	must(t, err)
	if len(list) != maxContents+1 || s.holds(t, "/p", "4") || !s.holds(t, "/p", "5") || !s.holds(t, "/other", "0") {
		t.Errorf("%d entries", len(list))
	}
}

// A store that others could have written, or that is not as it was written,
// trusts nothing and is not overwritten.
func TestStoreThatCannotBeReliedOn(t *testing.T) {
	for name, spoil := range map[string]func(dir, file string) error{
		"group may write":  func(_, f string) error { return os.Chmod(f, 0o660) },
		"anybody may":      func(_, f string) error { return os.Chmod(f, 0o602) },
		"folder":           func(d, _ string) error { return os.Chmod(d, 0o777) },
		"link":             func(d, f string) error { return errors.Join(os.Rename(f, f+".x"), os.Symlink(f+".x", f)) },
		"link to nothing":  func(d, f string) error { return errors.Join(os.Remove(f), os.Symlink(d+"/none", f)) },
		"folder in place":  func(_, f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) },
		"empty":            func(_, f string) error { return os.Truncate(f, 0) },
		"torn":             func(_, f string) error { return os.Truncate(f, 40) },
		"more after it":    appendTo("{}"),
		"other version":    replaceIn("bawn trust 1", "bawn trust 2"),
		"one more field":   replaceIn(` "/p"`, ` "x" "/p"`),
		"two blanks":       replaceIn(` "/p"`, `  "/p"`),
		"no path":          replaceIn(` "/p"`, ``),
		"long hash":        replaceIn(hash(raw("a")), "00"+hash(raw("a"))),
		"short hash":       replaceIn(hash(raw("a")), hash(raw("a"))[2:]),
		"other quotes":     replaceIn(`"/p"`, "`/p`"),
		"escaped letter":   replaceIn(`"/p"`, `"/\x70"`),
		"hash in capitals": replaceIn(hash(raw("a")), strings.ToUpper(hash(raw("a")))),
		"relative path":    replaceIn(`"/p"`, `"p"`),
		"too big":          func(_, f string) error { return os.Truncate(f, maxFile+1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			must(t, s.Trust("/p", raw("a"), "me", when))
			file := filepath.Join(s.dir, storeName)
			must(t, spoil(s.dir, file))
			if ok, err := s.Lookup("/p", raw("a")); ok || !errors.Is(err, ErrStore) {
				t.Errorf("lookup: %v, %v", ok, err)
			}
			before, _ := os.ReadFile(file)
			if err := s.Trust("/q", raw("a"), "me", when); !errors.Is(err, ErrStore) {
				t.Errorf("trust: %v", err)
			}
			if after, _ := os.ReadFile(file); string(after) != string(before) {
				t.Error("the spoilt store was overwritten")
			}
		})
	}
}

func appendTo(text string) func(dir, file string) error {
	return func(_, file string) error {
		data, err := os.ReadFile(file)
		return errors.Join(err, os.WriteFile(file, append(data, text...), 0o600))
	}
}

func replaceIn(old, text string) func(dir, file string) error {
	return func(_, file string) error {
		data, err := os.ReadFile(file)
		if !strings.Contains(string(data), old) {
			return fmt.Errorf("%q is not in the store", old)
		}
		return errors.Join(err, os.WriteFile(file, []byte(strings.Replace(string(data), old, text, 1)), 0o600))
	}
}

// The tier that a person picks keeps the trust; somebody else's change does
// not get it.
func TestT4_SavedTierKeepsTheTrust(t *testing.T) {
	s, project := newStore(t), t.TempDir()
	file := filepath.Join(project, ".bawn", "config.toml")
	load := func() config.Config {
		t.Helper()
		c, err := config.Load(config.Options{Environ: []string{"XDG_CONFIG_HOME=" + t.TempDir()}, Workspace: project, Trusted: s.Lookup})
		must(t, err)
		return c
	}
	// No file yet: bawn's own is trusted.
	must(t, s.SaveTier(project, policy.Open, "me", when))
	if tier, _ := load().Tier(false); tier != policy.Open {
		t.Errorf("tier %v", tier)
	}
	// A trusted file keeps everything else.
	text := "# ours\n[sandbox]\nallowed_domains = ['a.example'] # needed\n"
	must(t, errors.Join(os.WriteFile(file, []byte(text), 0o640), os.Chmod(file, 0o640)))
	c := load()
	if _, trusted := c.Project(); trusted {
		t.Fatal("a changed file is trusted")
	}
	if err := s.SaveTier(project, policy.Open, "me", when); !errors.Is(err, ErrUntrusted) {
		t.Errorf("saved into an untrusted file: %v", err)
	}
	if data, _ := os.ReadFile(file); string(data) != text {
		t.Errorf("an untrusted file was changed: %q", data)
	}
	must(t, s.Trust(project, raw(text), "me", when))
	for _, tier := range []policy.Tier{policy.Airlock, policy.Open, policy.Guarded} {
		must(t, s.SaveTier(project, tier, "me", when))
		c := load()
		got, _ := c.Tier(false)
		_, trusted := c.Project()
		if got != tier || !trusted || len(c.Items("sandbox.allowed_domains")) != 1 {
			t.Errorf("tier %v, trusted %v", got, trusted)
		}
	}
	data, err := os.ReadFile(file)
	must(t, err)
	if want := strings.Replace(text, "[sandbox]\n", "[sandbox]\ndefault_tier = \"guarded\"\n", 1); string(data) != want {
		t.Errorf("the file is %q", data)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	// One byte by somebody else, and nothing more is saved.
	must(t, os.WriteFile(file, append(data, '#'), 0o640))
	if err := s.SaveTier(project, policy.Open, "me", when); !errors.Is(err, ErrUntrusted) {
		t.Errorf("got %v", err)
	}
	// Nor through a link.
	must(t, os.RemoveAll(filepath.Join(project, ".bawn")))
	elsewhere := t.TempDir()
	must(t, os.Symlink(elsewhere, filepath.Join(project, ".bawn")))
	if err := s.SaveTier(project, policy.Open, "me", when); err == nil {
		t.Error("saved through a link")
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) != 0 {
		t.Errorf("written elsewhere: %v", entries)
	}
}

const childEnv = "TRUST_TEST_CHILD" // "dir name count" in a child process

func TestMain(m *testing.M) {
	job := os.Getenv(childEnv)
	if job == "" {
		os.Exit(m.Run())
	}
	var dir, name string
	var count int
	if _, err := fmt.Sscanf(job, "%s %s %d", &dir, &name, &count); err != nil {
		panic(err)
	}
	for i := range count {
		if err := Open(dir).Trust(fmt.Sprintf("/%s/%d", name, i), raw("a"), "me", when); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
	os.Exit(0)
}

func child(t *testing.T, dir, name string, count int) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", childEnv, dir, name, count))
	cmd.Stderr = os.Stderr
	return cmd
}

func TestConcurrentTrustLosesNothing(t *testing.T) {
	s := newStore(t)
	var wg sync.WaitGroup
	for p := range 4 {
		cmd := child(t, s.dir, fmt.Sprintf("p%d", p), 10)
		must(t, cmd.Start())
		wg.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for i := range 10 {
				if err := s.Trust(fmt.Sprintf("/g%d/%d", p, i), raw("a"), "me", when); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := s.List()
	must(t, err)
	if len(list) != 80 {
		t.Errorf("%d of 80 entries are there", len(list))
	}
}

func TestKilledTrustLeavesAWholeStore(t *testing.T) {
	s := newStore(t)
	var many []Entry
	for i := range 2000 {
		many = append(many, Entry{fmt.Sprintf("/many/%d", i), hash(raw("a")), "me", when})
	}
	must(t, s.change(func([]Entry) ([]Entry, error) { return many, nil }))
	sure := len(many)
	for round := range 10 {
		cmd := child(t, s.dir, fmt.Sprintf("k%d", round), 1000)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		for range 1 + round%3 {
			var n int
			if _, err := fmt.Fscan(out, &n); err != nil {
				t.Fatal(err)
			}
			sure++
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		list, err := s.List()
		must(t, err)
		if len(list) < sure {
			t.Fatalf("round %d: %d entries, %d were trusted", round, len(list), sure)
		}
		sure = len(list)
	}
	must(t, s.Trust("/last", raw("a"), "me", when))
	if entries, _ := os.ReadDir(s.dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestStateDir(t *testing.T) {
	for _, tt := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/bawn"},
		{"", "/h", "/h/.local/state/bawn"},
		{"rel", "/h", "/h/.local/state/bawn"},
		{"", "", ""},
		{"", "rel", ""},
	} {
		if got := StateDir(func(string) string { return tt.xdg }, tt.home); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// No text in the store makes the reader panic or trust what is not there.
func FuzzStore(f *testing.F) {
	right := []byte(head + (Entry{"/p", hash(raw("a")), "me", when}).line())
	f.Add(right)
	f.Add([]byte(head))
	f.Add(append(right, right...))
	f.Add([]byte(strings.Replace(string(right), " ", "  ", 3)))
	for _, s := range []string{"", "{}", "null", "[]", `{"version":1}`, `{"version":1,"projects":null}`, `{"version":1,"projects":[{}]}`, `{"version":1,"version":2}`, "{\"version\":1}\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newStore(t)
		must(t, os.MkdirAll(s.dir, 0o700))
		must(t, os.WriteFile(filepath.Join(s.dir, storeName), data, 0o600))
		if ok, err := s.Lookup("/p", raw("b")); ok || err != nil && !errors.Is(err, ErrStore) {
			t.Fatalf("%v, %v", ok, err)
		}
		ok, _ := s.Lookup("/p", raw("a"))
		if ok && !strings.Contains(string(data), hash(raw("a"))) {
			t.Fatal("trusted out of nothing")
		}
	})
}
