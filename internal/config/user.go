package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bawn/internal/config/disk"
)

// UserChange is a change of the user's own file that is not made yet.
type UserChange struct {
	Path   string
	Before []byte // nil if there is no file
	real   string // where a link leads
	perm   uint32
}

// ReadUser reads the user's file for a change. dir is UserDir; a file or
// folder that others could write is refused.
func ReadUser(dir string) (UserChange, error) {
	if !filepath.IsAbs(dir) {
		return UserChange{}, errors.New("no folder for your settings is known")
	}
	c := UserChange{Path: filepath.Join(dir, fileName), perm: 0o644}
	c.real = c.Path
	if real, err := filepath.EvalSymlinks(c.Path); err == nil {
		c.real = real
	} else if _, err := os.Lstat(c.Path); err == nil {
		return UserChange{}, refuse(c.Path, "it is a link to nothing", "")
	}
	d, err := openOwned(filepath.Dir(c.real), os.Geteuid(), "your")
	if d == nil || err != nil {
		return c, err
	}
	defer d.Close()
	data, in, err := d.Read(filepath.Base(c.real), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err == nil:
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return UserChange{}, refuse(c.Path, reason(err), "")
	}
	c.Before, c.perm = append([]byte{}, data...), in.Perm
	return c, nil
}

// Write gives the file its new content, whole or not at all. A file that is
// another meanwhile is left alone.
func (c UserChange) Write(after []byte) error {
	fail := func(err error) error { return fmt.Errorf("changing %s: %w", shown(c.Path), err) }
	d, err := disk.Make(filepath.Dir(c.real))
	if err != nil {
		return fail(err)
	}
	defer d.Close()
	unlock, err := d.Lock() // as saving an answer does
	if err != nil {
		return fail(err)
	}
	defer unlock()
	var other error // no error of the file's
	err = d.ReplaceIf(filepath.Base(c.real), after, c.perm, func() error {
		now, err := ReadUser(filepath.Dir(c.Path))
		if other = err; err == nil && (now.real != c.real || (now.Before == nil) != (c.Before == nil) || !bytes.Equal(now.Before, c.Before)) {
			err = errors.New("somebody else changed it meanwhile")
		}
		return err
	})
	if other == nil && err != nil {
		return fail(err)
	}
	return other
}
