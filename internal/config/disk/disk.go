// Package disk reads and replaces bawn's own small files by descriptor: what
// is checked is the object that is used, never a name that was looked at
// before.
package disk

import (
	"errors"
	"fmt"
)

// What stands where a plain file or folder was expected.
var (
	ErrLink       = errors.New("a symbolic link stands here")
	ErrNotRegular = errors.New("not a regular file")
	ErrNotDir     = errors.New("not a folder")
)

// TooBigError is a file above the reader's limit.
type TooBigError struct{ Limit int }

func (e *TooBigError) Error() string { return fmt.Sprintf("larger than %d bytes", e.Limit) }

// Info is who may change an open file or folder.
type Info struct {
	UID    int
	Perm   uint32 // permission bits
	Sticky bool
}

// OnlyOwners reports an error if somebody besides root and the given user
// could have written the object.
func (i Info) OnlyOwners(uid int) error {
	if i.UID != 0 && i.UID != uid {
		return fmt.Errorf("it belongs to user %d, not to %s", i.UID, name(uid))
	}
	if i.Perm&0o022 != 0 && !i.Sticky {
		return fmt.Errorf("others may write it (mode %04o); chmod go-w takes that away", i.Perm)
	}
	return nil
}

func name(uid int) string {
	if uid == 0 {
		return "root"
	}
	return fmt.Sprintf("root or user %d", uid)
}
