package config

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bawn/internal/policy"
)

const saverEnv = "CONFIG_TEST_SAVER" // "dir name count" in a child process

func TestMain(m *testing.M) {
	if job := os.Getenv(saverEnv); job != "" {
		os.Exit(saver(job))
	}
	os.Exit(m.Run())
}

// saver saves answers of its own one by one, and says when it has begun.
func saver(job string) int {
	var dir, name string
	var count int
	if _, err := fmt.Sscanf(job, "%s %s %d", &dir, &name, &count); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for i := range count {
		if err := SaveAllowed(dir, fmt.Sprintf("h%d.%s.example", i, name)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(i)
	}
	return 0
}

func saverCommand(t *testing.T, dir, name string, count int) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", saverEnv, dir, name, count))
	cmd.Stderr = os.Stderr
	return cmd
}

func savedHosts(t *testing.T, dir string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, allowedName))
	if err != nil {
		t.Fatal(err)
	}
	v, err := parseFile(testScope(Saved), allowedName, data)
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	out := map[string]bool{}
	for _, it := range v.items[keyAllowed] {
		out[it.Text] = true
	}
	return out
}

func TestSaveAllowed(t *testing.T) {
	w := newWorld(t)
	dir := w.home + "/.config/bawn"
	if err := SaveAllowed(dir, "B.example.", "a.example:443", "b.example"); err != nil {
		t.Fatal(err)
	}
	c := w.load()
	if got := texts(c.Items("sandbox.allowed_domains")); got != "b.example a.example:443" {
		t.Errorf("saved %q", got)
	}
	st, err := os.Stat(filepath.Join(dir, allowedName))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	// A file that somebody wrote by hand and spoilt is not overwritten.
	w.write(w.savedFile(), "[sandbox]\nexclude = ['bash']\n")
	if err := SaveAllowed(dir, "c.example"); !errors.Is(err, policy.ErrRefused) || !strings.Contains(err.Error(), "belongs in config.toml") {
		t.Errorf("got %v", err)
	}
	w.refused("belongs in config.toml")
	// Nor is a link followed to something else.
	os.Remove(w.savedFile())
	victim := w.write(w.root+"/victim", "precious")
	if err := os.Symlink(victim, w.savedFile()); err != nil {
		t.Fatal(err)
	}
	if err := SaveAllowed(dir, "c.example"); err == nil {
		t.Error("a link was taken for the file")
	}
	if data, _ := os.ReadFile(victim); string(data) != "precious" {
		t.Errorf("the link's target was changed: %q", data)
	}
}

// Many processes and goroutines save at once; none of the answers is lost.
func TestConcurrentSavesLoseNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bawn")
	const processes, goroutines, each = 4, 4, 12
	var wg sync.WaitGroup
	errs := make(chan error, processes+goroutines)
	for p := range processes {
		cmd := saverCommand(t, dir, fmt.Sprintf("p%d", p), each)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { errs <- cmd.Wait() })
	}
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				if err := SaveAllowed(dir, fmt.Sprintf("h%d.g%d.example", i, g)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	have := savedHosts(t, dir)
	if want := (processes + goroutines) * each; len(have) != want {
		t.Errorf("%d of %d answers are there", len(have), want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // the file and its lock
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A save that is killed leaves the old file or the new one.
func TestKilledSaveLeavesAWholeFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bawn")
	var long []string // so that writing takes a while
	for i := range 3000 {
		long = append(long, fmt.Sprintf("host-with-a-rather-long-name-%d.example", i))
	}
	if err := SaveAllowed(dir, long...); err != nil {
		t.Fatal(err)
	}
	sure := len(long)
	for round := range 12 {
		cmd := saverCommand(t, dir, fmt.Sprintf("k%d", round), 1000)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// After a few whole saves it dies in some later one, wherever it is.
		var saved int
		for saved = 0; saved <= round%3; saved++ {
			var n int
			if _, err := fmt.Fscan(out, &n); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		sure += saved
		have := savedHosts(t, dir)
		if len(have) < sure {
			t.Fatalf("round %d: %d answers, %d were saved", round, len(have), sure)
		}
		sure = len(have)
	}
	// And the next save works, and takes away what the killed ones left.
	if err := SaveAllowed(dir, "last.example"); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}
