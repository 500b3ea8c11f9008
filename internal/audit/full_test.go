//go:build unix

package audit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const fullEnv = "AUDIT_TEST_FULL" // the state folder, in a child process

// setLimit hides that the field has a sign on some systems.
func setLimit[T int64 | uint64](field *T, limit int64) { *field = T(limit) }

// A write that the disk takes half of is an error, and leaves nothing.
func TestFullDisk(t *testing.T) {
	if state := os.Getenv(fullEnv); state != "" {
		l := openLog(t, state)
		for range 5 {
			must(t, l.Append(sample))
		}
		path := filepath.Join(state, Folder, name(1))
		before, err := os.Stat(path)
		must(t, err)
		var r unix.Rlimit
		must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &r))
		full := r
		setLimit(&full.Cur, before.Size()+100) // no file gets longer: half a record fits
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &full))
		for range 3 {
			if err := l.Append(sample); err == nil {
				t.Error("a record was written to a full disk")
			}
		}
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &r))
		if after, err := os.Stat(path); err != nil || after.Size() != before.Size() {
			t.Errorf("%d bytes became %d", before.Size(), after.Size())
		}
		must(t, l.Append(sample)) // there is room again
		return
	}
	exe, err := os.Executable()
	must(t, err)
	state := t.TempDir()
	cmd := exec.Command(exe, "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), fullEnv+"="+state)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestFullDisk") {
		t.Fatalf("%v\n%s", err, out)
	}
	if v := verified(t, state); v.Records != 7 {
		t.Errorf("%+v", v)
	}
}
