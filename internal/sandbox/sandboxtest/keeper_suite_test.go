//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The tests that hold the boundary, and those with another launcher of their
// own.
const (
	boundary  = "^Test(A[0-9]|E2|F1_|F2|F4|F5|F11|F12|B103|B108|TTY|Pid1|Inherited|Environment|Arguments|Smoke)"
	elsewhere = "Weaker|Bubblewrap|Keeper"
)

// A command that a session's keeper starts has the same boundary: the tests
// run once more, with a program that starts each command so.
func TestKeeper_SameBoundary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run="+boundary, "-test.skip="+elsewhere, "-test.timeout="+Limit.String())
	cmd.Env = append(os.Environ(), envKept+"=1", envUser+"=1", envBinary+"="+KeptBinary())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A machine that has no place for a keeper is told from other failures, so
// that a session can do without one. The last allows one user namespace, and
// each command would need another within.
func TestKeeper_Unavailable(t *testing.T) {
	args := append([]string{"run", "-q", "--launcher", "native", "--"}, setupProof...)
	one := setupSysctl("-U", "-c", "--keep-caps")
	for i, word := range one {
		one[i] = strings.Replace(word, "echo 0", "echo 1", 1)
	}
	for _, m := range append(setupNoNamespaces(), setupProc("mount -t tmpfs none /proc/sys &&"), setupMachine{name: "one namespace", prefix: one}) {
		t.Run(m.name, func(t *testing.T) {
			m.program = KeptBinary()
			b := New(t, "native")
			setupRefused(t, b, m.bawn(t, b, args...), "no sandbox can be made here (native: ")
		})
	}
	whole, b := setupMachine{program: KeptBinary()}, New(t, "native")
	setupRan(t, b, whole.bawn(t, b, args...))
}
