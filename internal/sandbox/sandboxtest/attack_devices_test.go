//go:build linux

package sandboxtest

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// F11: the devices inside are the host's; root's command cannot change their
// modes, neither by name nor through its streams, while using them works.
func TestF11_DeviceModes(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		if l == "bwrap" && os.Getuid() == 0 {
			return // not held there: bubblewrap makes read-only devices unusable (docs/threat-model.md)
		}
		modes := map[string]os.FileMode{}
		for _, d := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
			st, err := os.Stat("/dev/" + d)
			if err != nil {
				t.Fatal(err)
			}
			modes["/dev/"+d] = st.Mode()
		}
		b := New(t, l)
		cmd := exec.CommandContext(t.Context(), Binary(), "run", "--launcher", l, "--", "python3", "-c", `import os
passed = []
for d in ("null", "zero", "full", "random", "urandom", "tty"):
    try:
        os.chmod("/dev/" + d, 0o600); passed.append(d)
    except OSError: pass
for fd in (0, 2):
    try:
        os.fchmod(fd, 0o600); passed.append(fd)
    except OSError: pass
open("/dev/null", "w").write("x"); open("/dev/zero", "rb").read(1); os.read(0, 1); os.write(2, b"x")
print("passed:", passed)
`)
		var out bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout = b.Workspace, b.Environ(), &out // the others are /dev/null
		err := cmd.Run()
		if err != nil || out.String() != "passed: []\n" {
			t.Errorf("%v, %q", err, out.String())
		}
		for d, m := range modes {
			if st, err := os.Stat(d); err != nil || st.Mode() != m {
				t.Errorf("%s changed: %v, %v", d, st.Mode(), err)
				_ = os.Chmod(d, m)
			}
		}
	})
}
