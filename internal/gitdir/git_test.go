package gitdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// place of a test: real, because Discover wants real paths (/tmp is a link on macOS).
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// git runs the installed git in dir, with nobody's settings.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=t", "-c", "user.email=t@example.invalid",
		"-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a repository with one commit.
func repository(t testing.TB, dir string) string {
	t.Helper()
	mkdir(t, dir)
	git(t, dir, "init", "-q")
	write(t, dir+"/README", "x\n")
	git(t, dir, "add", "README")
	git(t, dir, "commit", "-q", "-m", "x")
	return dir
}

func mkdir(t testing.TB, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func discover(t testing.TB, dir string) Repo {
	t.Helper()
	r, err := Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	check(t, dir, r)
	return r
}

// check holds what every Repo promises.
func check(t testing.TB, folder string, r Repo) {
	t.Helper()
	for what, list := range map[string][]string{"Writable": r.Writable, "Pins": r.Pins, "ReadOnly": r.ReadOnly} {
		for _, p := range list {
			if real, err := filepath.EvalSymlinks(p); err != nil || real != p {
				t.Errorf("%s: %s is not real and existing: %q, %v", what, p, real, err)
			}
		}
	}
	places := append([]string{folder}, r.Writable...)
	for what, list := range map[string][]string{"Pins": r.Pins, "ReadOnly": r.ReadOnly, "Names": r.Names} {
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("%s is not sorted or not unique: %q", what, list)
		}
		for _, p := range list {
			if !slices.ContainsFunc(places, func(dir string) bool { return inside(p, dir) }) {
				t.Errorf("%s: %s is in no writable place", what, p)
			}
		}
	}
	// Each folder between a writable place and a protected name is held.
	for _, p := range slices.Concat(r.ReadOnly, r.Names) {
		for dir := filepath.Dir(p); !slices.Contains(places, dir) && !slices.Contains(places, p); dir = filepath.Dir(dir) {
			if _, err := os.Lstat(dir); err == nil && !slices.Contains(r.Pins, dir) {
				t.Errorf("%s above %s is not pinned", dir, p)
			}
		}
	}
	for _, w := range r.Warnings {
		if strings.Contains(w, "%!") {
			t.Errorf("warning %q", w)
		}
	}
}

func want(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	got = slices.Clone(got)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s\n got  %s\n want %s", what, strings.Join(got, "\n      "), strings.Join(want, "\n      "))
	}
}

func has(t testing.TB, what string, list []string, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if !slices.Contains(list, p) {
			t.Errorf("%s lacks %s; it has\n      %s", what, p, strings.Join(list, "\n      "))
		}
	}
}

func hasNot(t testing.TB, what string, list []string, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if slices.Contains(list, p) {
			t.Errorf("%s has %s", what, p)
		}
	}
}

// warned: exactly one warning holds all the texts; none at all without texts.
func warned(t testing.TB, r Repo, texts ...string) {
	t.Helper()
	if len(texts) == 0 {
		if len(r.Warnings) != 0 {
			t.Errorf("unexpected warnings: %q", r.Warnings)
		}
		return
	}
	for _, w := range r.Warnings {
		if !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(w, s) }) {
			return
		}
	}
	t.Errorf("no warning holds %q: %q", texts, r.Warnings)
}
