//go:build linux

package rules

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/linux/guard"
)

// A folder finds HOOKS for hooks although that one, where a command has turned
// it off, tells letters apart (chattr -F).
func TestFolderBelowOneThatFolds(t *testing.T) {
	defer func() { folds = foldsNames }()
	top := t.TempDir()
	for _, d := range []string{"/.git", "/.git/HOOKS", "/.git/MODULES", "/.git/MODULES/m"} {
		if err := os.Mkdir(top+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var git unix.Stat_t
	if err := unix.Stat(top+"/.git", &git); err != nil {
		t.Fatal(err)
	}
	folding := true
	folds = func(dir int) (bool, bool) {
		var st unix.Stat_t
		return unix.Fstatat(dir, "", &st, unix.AT_EMPTY_PATH) == nil && st.Ino == git.Ino && folding, true
	}
	r := New(Config{Roots: []string{top}})
	for _, folding = range []bool{true, false} {
		for dir, name := range map[string]string{"/.git/HOOKS": "pre-commit", "/.git/MODULES/m": "config"} {
			fd, err := unix.Open(top+dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			v := r.Check(&guard.Call{Op: guard.Create, Target: guard.Target{Dir: fd, DirPath: top + dir, Name: name}})
			unix.Close(fd)
			if refused := v.Decision != guard.Allow; refused != folding {
				t.Errorf("%s/%s where .git folds %v: refused %v", dir, name, folding, refused)
			}
		}
	}
}
