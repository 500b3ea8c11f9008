package seatbelt

import (
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// B49, B33: no hidden folder is searched for programs, and temporary files go
// to the run's own folder by every way that macOS has.
func TestB49_B33_Environment(t *testing.T) {
	p, err := policy.New(newMachine(policy.Guarded).config)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + home + "/.docker/bin:/usr/bin:" + home + "/bin:" + home + "/.op/:", "TMPDIR=/var/folders/ab/xyz/T/", "LANG=C", "X=PATH"}
	got := environment(env, p, "bawn-run-1", []string{"LANG=de"})
	for _, want := range []string{"PATH=/usr/bin:" + home + "/bin:", "TMPDIR=" + own + "/", "DIRHELPER_USER_DIR_SUFFIX=bawn-run-1", "LANG=de", "X=PATH"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in %q", want, got)
		}
	}
	seen := map[string]bool{}
	for _, e := range got {
		name, _, _ := strings.Cut(e, "=")
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	if got := environment(env, p, "", nil); !slices.Contains(got, "TMPDIR=/var/folders/ab/xyz/T/") || slices.Contains(got, "LANG=de") {
		t.Errorf("with the host's temp: %q", got)
	}
}
