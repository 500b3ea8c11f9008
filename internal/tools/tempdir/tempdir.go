//go:build linux

// Package tempdir makes the temp folders of tests and benchmarks. A run that is
// killed leaves its folders behind; the next one that makes a folder beside them
// removes them.
package tempdir

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// prefix begins the name of each folder that is made here, and of no others:
// nothing else may be swept.
const prefix = "bawn-temp-"

// Folder makes a folder in base, or in the temp folder if that is "", and sweeps
// those there that belong to nobody. remove removes it; until then, or until this
// process ends in any way, it is held.
func Folder(base string) (dir string, remove func(), err error) {
	if base == "" {
		base = os.TempDir()
	}
	sweep(base)
	for {
		if dir, err = os.MkdirTemp(base, prefix); err != nil {
			return "", nil, err
		}
		lock, err := hold(dir)
		if err == nil {
			return dir, func() { _ = os.RemoveAll(dir); _ = unix.Close(lock) }, nil
		}
		if !errors.Is(err, errTaken) && !errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(dir)
			return "", nil, err
		}
		// Another run swept it before it was held.
	}
}

// ForTest is Folder for a test, at whose end it is removed.
func ForTest(t testing.TB, base string) string {
	t.Helper()
	dir, remove, err := Folder(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return dir
}

var errTaken = errors.New("the folder is another's")

// hold locks a folder. The lock belongs to the open descriptor, which no program
// that is started inherits: the kernel gives it back with this process. It is no
// os.File, which would be closed once nobody knows of it.
func hold(dir string) (fd int, err error) {
	fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err == nil && st.Nlink == 0 || errors.Is(err, unix.EWOULDBLOCK) {
		err = errTaken
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// sweep removes the folders in base that nobody holds, as far as this user may.
func sweep(base string) {
	names, err := os.ReadDir(base)
	if err != nil {
		return
	}
	mounts, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return
	}
	for _, n := range names {
		dir := filepath.Join(base, n.Name())
		// What a killed test mounted there can be anything of the machine.
		if !strings.HasPrefix(n.Name(), prefix) || bytes.Contains(mounts, []byte(n.Name())) || !ours(dir) {
			continue
		}
		lock, err := hold(dir)
		if err != nil {
			continue
		}
		open(dir)
		_ = os.RemoveAll(dir)
		_ = unix.Close(lock)
	}
}

// ours reports whether a folder is this user's, or anybody's for root, which
// gives folders to others.
func ours(dir string) bool {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return false
	}
	return os.Geteuid() == 0 || int(st.Uid) == os.Geteuid()
}

// open gives their owner back the folders that a test had closed; root needs none
// of it, and follows nobody's links.
func open(dir string) {
	if os.Geteuid() == 0 {
		return
	}
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		return os.Chmod(name, 0o700)
	})
}
