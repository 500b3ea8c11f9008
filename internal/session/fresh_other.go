//go:build !linux

package session

import (
	"os"
	"path/filepath"
	"time"
)

// madeAt takes a file that git writes once, when it makes a repository.
func madeAt(path string) (time.Time, bool) {
	st, err := os.Lstat(filepath.Join(path, "description"))
	if err != nil {
		return time.Time{}, false
	}
	return st.ModTime(), true
}
