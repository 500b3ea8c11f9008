//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The variable that marks a stage is the environment's, so anybody's: alone
// it must change nothing, as any process or as pid 1, with whatever happens to
// be open on the stage's descriptors.
func TestSetup_StageMarkAloneIsIgnored(t *testing.T) {
	pair := func(kind int) func(t *testing.T) *os.File {
		return func(t *testing.T) *os.File {
			fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(fds[0]) })
			return os.NewFile(uintptr(fds[1]), "pair")
		}
	}
	descriptors := map[string]func(t *testing.T) *os.File{
		"nothing": nil,
		"file": func(t *testing.T) *os.File {
			f, err := os.Open("/etc/passwd")
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		"stream": pair(unix.SOCK_STREAM),
		// Of the right kind, but not of the process that started bawn: the
		// shell in between did.
		"packets of another": pair(unix.SOCK_SEQPACKET),
	}
	for _, mark := range []string{"native,0,0", "bwrap,0,0", "landlock,0,0", "native", "x,y,z"} {
		for name, open := range descriptors {
			for _, pid1 := range []bool{false, true} {
				if pid1 && name == "packets of another" {
					continue // pid 1 of a namespace cannot tell who is outside
				}
				b := New(t, "auto")
				text := `"$0" version; "$0" run -q -- sh -c 'echo ran >in; echo x >../out; echo $BAWN_SANDBOXED'; :`
				args := []string{"sh", "-c", text, Binary()}
				if pid1 {
					args = []string{"sh", "-c", `unshare -Urpf --mount-proc "$0" version; unshare -Urpf --mount-proc "$0" run -q -- ` +
						`sh -c 'echo ran >in; echo x >../out; echo $BAWN_SANDBOXED'; :`, Binary()}
				}
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "BAWN_STAGE="+mark)
				if open != nil {
					f := open(t)
					defer f.Close()
					cmd.ExtraFiles = []*os.File{f, f}
				}
				out, err := cmd.CombinedOutput()
				s := string(out)
				if err != nil || !strings.HasPrefix(s, "bawn dev") || !strings.HasSuffix(s, "\n1\n") {
					t.Errorf("%q, %s, pid 1 %v: %v: %q", mark, name, pid1, err, s)
				}
				if _, err := os.Stat(b.Workspace + "/in"); err != nil {
					t.Errorf("%q, %s, pid 1 %v: the command did not run", mark, name, pid1)
				}
				if _, err := os.Stat(filepath.Dir(b.Workspace) + "/out"); err == nil {
					t.Errorf("%q, %s, pid 1 %v: it ran unprotected", mark, name, pid1)
				}
			}
		}
	}
}
