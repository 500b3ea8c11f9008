//go:build linux

package tempdir

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	envHolder  = "TEMPDIR_HOLDER"  // make a folder in this one, say its name, and wait
	envSweeper = "TEMPDIR_SWEEPER" // make a folder in this one, with a mount below the one that is left there
)

func TestMain(m *testing.M) {
	if base := os.Getenv(envHolder); base != "" {
		dir, _, err := Folder(base)
		if err == nil {
			err = os.MkdirAll(dir+"/closed/deep", 0o700)
		}
		if err == nil {
			err = os.Chmod(dir+"/closed", 0)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		runtime.GC() // it is held however it was made
		fmt.Println(dir)
		_ = unix.Pause()
	}
	if base := os.Getenv(envSweeper); base != "" {
		if err := sweepBelowMount(base); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func sweepBelowMount(base string) error {
	left, err := filepath.Glob(base + "/" + prefix + "*")
	if err != nil || len(left) != 1 {
		return fmt.Errorf("left: %v, %v", left, err)
	}
	if err := unix.Mount(base+"/precious", left[0]+"/mounted", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	_, remove, err := Folder(base)
	if err == nil {
		remove()
	}
	return err
}

// holder starts a process that holds a folder in base.
func holder(t *testing.T, base string) (dir string, kill func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), envHolder+"="+base)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	dir = strings.TrimSuffix(line, "\n")
	if err != nil || filepath.Dir(dir) != base {
		t.Fatalf("%q, %v", line, err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir+"/closed", 0o700) })
	return dir, kill
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// What a killed run left goes with the next folder that is made beside it; what
// another holds, what has another name and what links lead to stays.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	killed, kill := holder(t, base)
	held, _ := holder(t, base)
	for _, dir := range []string{"bawn-test-1", "other"} {
		if err := os.Mkdir(base+"/"+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(base+"/other", base+"/"+prefix+"link"); err != nil {
		t.Fatal(err)
	}
	ForTest(t, base)
	if !exists(killed) {
		t.Fatal("swept while it was held")
	}
	kill()
	dir, remove, err := Folder(base)
	if err != nil {
		t.Fatal(err)
	}
	if exists(killed) {
		t.Error("what the killed process left is still there")
	}
	for _, name := range []string{held, base + "/bawn-test-1", base + "/other", dir} {
		if !exists(name) {
			t.Errorf("%s is gone", name)
		}
	}
	if remove(); exists(dir) {
		t.Errorf("%s was not removed", dir)
	}
}

// A descriptor that a program inherits would hold a folder beyond its owner.
func TestSweepUnderChildren(t *testing.T) {
	base := t.TempDir()
	dir, _, err := Folder(base)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", `ls -l /proc/self/fd`).Output()
	if err != nil || strings.Contains(string(out), dir) {
		t.Errorf("%s, %v", out, err)
	}
}

// Nothing is removed through a mount that was left in a folder.
func TestSweepLeavesMounts(t *testing.T) {
	base := t.TempDir()
	left, precious := base+"/"+prefix+"1", base+"/precious"
	for _, dir := range []string{left + "/mounted", precious + "/kept"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), envSweeper+"="+base)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !exists(precious + "/kept") {
		t.Error("removed through a mount")
	}
	if !exists(left) {
		t.Error("a folder with a mount in it was swept")
	}
	ForTest(t, base) // and here, where nothing is mounted
	if exists(left) {
		t.Error("not swept without the mount")
	}
}
