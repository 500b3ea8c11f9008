//go:build unix

package disk

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

const cutEnv = "DISK_TEST_CUT" // "folder bytes" in a child process

func newContent() []byte { return bytes.Repeat([]byte("new content\n"), 1000) }

// In the child no file gets longer than a limit: a write fails in its middle,
// at the same byte every time, as on a full disk.
func TestMain(m *testing.M) {
	job := os.Getenv(cutEnv)
	if job == "" {
		os.Exit(m.Run())
	}
	var dir string
	var limit uint64
	if _, err := fmt.Sscanf(job, "%s %d", &dir, &limit); err != nil {
		panic(err)
	}
	d, err := Open(dir)
	if err != nil {
		panic(err)
	}
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &r); err != nil {
		panic(err)
	}
	setLimit(&r.Cur, limit)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &r); err != nil {
		panic(err)
	}
	fmt.Println("writing")
	if err := d.Replace("file", newContent(), 0o600); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	fmt.Println("written")
	os.Exit(0)
}

// setLimit hides that the field has a sign on some systems.
func setLimit[T int64 | uint64](field *T, limit uint64) { *field = T(limit) }

// A save that fails in the middle leaves the old file whole and nothing else;
// the twin, with room enough, leaves the new one.
func TestReplaceCutInTheMiddle(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	size := len(newContent())
	for _, limit := range []int{0, 1, 100, size / 2, size - 1, size, size + 1} {
		_, path := open(t)
		must(t, os.WriteFile(path+"/file", []byte("old"), 0o600))
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", cutEnv, path, limit))
		out, err := cmd.Output()
		want := "old"
		if limit >= size {
			want = string(newContent())
		}
		if (err == nil) != (limit >= size) || !bytes.HasPrefix(out, []byte("writing\n")) {
			t.Fatalf("limit %d: %v, %q", limit, err, out)
		}
		if data, _ := os.ReadFile(path + "/file"); string(data) != want {
			t.Errorf("limit %d: %d bytes stand there", limit, len(data))
		}
		if entries, _ := os.ReadDir(path); len(entries) != 1 {
			t.Errorf("limit %d: left behind: %v", limit, entries)
		}
	}
}
