package gitdir

import (
	"errors"
	"strings"
)

// VetRef says whether a command may write text where a branch is, but git would
// read it as a control file: only a commit's number runs nothing as any.
func VetRef(text []byte) error {
	hash := strings.TrimSuffix(string(text), "\n")
	if (len(hash) == 40 || len(hash) == 64) && strings.Trim(hash, "0123456789abcdef") == "" {
		return nil
	}
	return errors.New("it is no branch")
}
