//go:build !unix

package gitdir

import (
	"errors"
	"io/fs"
)

// No backend runs here; reading nothing keeps Discover closed.
func readRegular(string, int) ([]byte, error) { return nil, errors.ErrUnsupported }
func owned(fs.FileInfo) bool                  { return false }
func isNotDir(error) bool                     { return false }
func isBadName(error) bool                    { return false }
