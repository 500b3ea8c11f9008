package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
	"bawn/internal/session"
	"bawn/internal/shell/plain"
)

func diagnose() diagnosis {
	r := linux.Examine()
	d := diagnosis{Fit: r.Fit(), Launcher: string(r.Launcher), Hint: r.Hint}
	for _, c := range r.Checks {
		d.Checks = append(d.Checks, doctorCheck{c.Name, c.Outcome.String(), c.Detail, c.Fix})
	}
	d.Checks = append(d.Checks, doctorCheck{Name: "private caches", Result: linux.Info.String(), Detail: keptCaches(sandbox.LayersIn(trustState()))})
	return d
}

// keptCaches says how much private caches hold, and how they are emptied:
// nothing bounds them but the disk.
func keptCaches(dir string) string {
	if _, err := os.Stat(dir); err != nil {
		return "none kept"
	}
	size := int64(0)
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && unix.Lstat(path, &st) == nil {
			size += st.Blocks * 512
		}
		return nil // what cannot be read is not counted
	})
	word := plain.Quote([]string{dir})
	return fmt.Sprintf("%d MiB in %s; to empty them, while no command runs: chmod -R u+rwX %s && rm -r %s", size>>20, dir, word, word)
}

func isTerminal(f *os.File) bool { return session.IsTerminal(f) }
