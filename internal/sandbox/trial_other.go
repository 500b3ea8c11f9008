//go:build !unix

package sandbox

import "os"

// TrialFolder makes a folder to try something in.
func TrialFolder(kind string) (dir string, done func(), err error) {
	dir, err = os.MkdirTemp("", kind)
	return dir, func() {}, err
}
