//go:build !unix

package gitdir

import (
	"errors"
	"os"
)

// No backend runs here; reading nothing keeps Discover closed.
func readRegular(string, int) ([]byte, error) { return nil, errors.ErrUnsupported }
func readLinked(string, int) ([]byte, error)  { return nil, errors.ErrUnsupported }
func lstat(string) (stat, error)              { return stat{}, errors.ErrUnsupported }
func openDir(string) (*os.File, error)        { return nil, errors.ErrUnsupported }
func owned(stat) bool                         { return false }
func isNotDir(error) bool                     { return false }
func isBadName(error) bool                    { return false }
