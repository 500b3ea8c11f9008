//go:build linux

package sandboxtest

import "testing"

// A program that was just written runs: the guard, which opened it for the
// writer, does not hold it open for writing (ETXTBSY) when the writer goes on.
func TestF2_FreshProgramRuns(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Flags = []string{"-q"}
		if r := b.Run(t, tool(t, "fresh"), "300"); r.Code != 0 || r.Stdout != "0 failed\n" || r.Stderr != "" {
			t.Errorf("exit %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
		}
	})
}
