package setup

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"bawn/internal/policy"
)

// Undone says what Undo did to a file.
type Undone struct{ Path, What string }

// Undo takes a set-up back. A file that nobody touched since gets its old
// bytes; from another only bawn's entries are taken out.
func (s *Held) Undo(a *Agent, p Place, settings string) (out []Undone, err error) {
	r := s.all
	undo := func(f file, x *done) error {
		u, err := f.undo(x)
		if u.What != "" {
			out = append(out, u)
		}
		return err
	}
	for _, f := range a.placed(p) {
		x := find(r.Agents[key(a, p)], f.path)
		real, err := filepath.EvalSymlinks(f.path)
		if err != nil {
			real = f.path
		}
		if err := undo(f, x); err != nil {
			return out, err
		}
		if x != nil && x.Real != real { // a link that leads elsewhere now
			if f.path = x.Real; !policy.Inside(x.Real, f.root) {
				f.root = "" // of an older bawn, which followed it
			}
			if err := undo(f, x); err != nil {
				return out, err
			}
		}
	}
	delete(r.Agents, key(a, p))
	if s.Empty() && r.Settings != nil {
		if err := undo(switches(settings), r.Settings); err != nil {
			return out, err
		}
		r.Settings = nil
	}
	return out, s.save(r)
}

func (f file) undo(x *done) (Undone, error) {
	c, err := f.change(f.strip)
	if err != nil {
		return Undone{}, err
	}
	u := Undone{f.path, "bawn's entries taken out; the rest is as it was changed since"}
	if x != nil && c.Before != nil && bytes.Equal(c.Before, x.After) {
		c.After, c.perm = x.Before, x.Perm
		u.What = "as it was before"
		if x.Before == nil {
			u.What = "removed: there was none before"
		}
	} else if f.whole {
		u.What = "removed"
	}
	if c.Before == nil || !c.Changed() {
		u = Undone{}
	} else if err := c.write(); err != nil {
		return Undone{}, err
	}
	// A set-up that was killed may have left its folders and no file, or new
	// content that has no name yet.
	if d, err := c.folder(false); err == nil {
		d.Sweep(filepath.Base(c.real))
		d.Close()
	}
	if x != nil && (c.Before == nil || c.After == nil) {
		emptied(x.Made)
	}
	return u, nil
}

// emptied takes away the folders that were made for a file that is gone.
func emptied(made []string) {
	for _, dir := range made {
		if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break // somebody put something there
		}
	}
}
