//go:build linux

package sandboxtest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { Main(m, BuildKept, buildSource) }

// Box must be a real boundary: the write that is allowed, and its denied twin.
func TestSmoke(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Sh(t, "echo hi >in").OK(t)
		if data, err := os.ReadFile(b.Workspace + "/in"); err != nil || string(data) != "hi\n" {
			t.Fatalf("allowed write: %q, %v", data, err)
		}
		if r := b.Sh(t, "echo hi >"+b.Workspace+"/../out"); r.Code == 0 {
			t.Fatal("a write outside the workspace passed")
		}
		if _, err := os.Stat(b.Workspace + "/../out"); err == nil {
			t.Fatal("a write outside the workspace arrived")
		}
	})
}
