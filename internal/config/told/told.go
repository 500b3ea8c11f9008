// Package told keeps what a person was told or has answered, so that it is not
// said again. Nothing depends on it but that.
package told

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"bawn/internal/config/disk"
)

const (
	head      = "bawn told 1\n"
	entrySize = 32 // hexadecimal digits
)

// Key stands for one notice: whatever its text depends on, in parts.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))[:entrySize]
}

// Store is a file in bawn's state folder, of which the newest entries are kept.
// The zero Store has no folder, and keeps nothing.
type Store struct {
	dir, name string
	max       int // entries; the oldest is forgotten first
}

var errNoFolder = errors.New("no state folder is known")

// Notices are what a run has told, in a state folder. Nothing is read or made
// yet.
func Notices(dir string) Store { return Store{dir, "told", 1000} }

// Suggestions are the workspaces for which airlock was suggested (SPEC T6).
func Suggestions(dir string) Store { return Store{dir, "suggested", 10_000} }

// Seen reports for each key whether Note had it before. With an error nobody
// knows, and none is.
func (s Store) Seen(keys ...string) ([]bool, error) {
	seen := make([]bool, len(keys))
	switch {
	case len(keys) == 0:
		return seen, nil
	case s.dir == "":
		return seen, errNoFolder
	}
	d, err := disk.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return seen, nil
	}
	if err != nil {
		return seen, err
	}
	defer d.Close()
	have, err := s.read(d)
	for i, k := range keys {
		seen[i] = slices.Contains(have, k)
	}
	return seen, err
}

// Note keeps keys.
func (s Store) Note(keys ...string) error {
	switch {
	case len(keys) == 0:
		return nil
	case s.dir == "":
		return errNoFolder
	}
	d, err := disk.Make(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	have, err := s.read(d)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if !slices.Contains(have, k) {
			have = append(have, k)
		}
	}
	have = have[max(0, len(have)-s.max):]
	var b bytes.Buffer
	b.WriteString(head)
	for _, k := range have {
		b.WriteString(k + "\n")
	}
	return d.Replace(s.name, b.Bytes(), 0o600)
}

// read returns what is kept. A file that others could have written, which
// would silence a notice, is an error and stays as it is; one of another form
// is begun anew.
func (s Store) read(d *disk.Dir) ([]string, error) {
	in, err := d.Info()
	if err == nil {
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return nil, err
	}
	data, in, err := d.Read(s.name, len(head)+s.max*(entrySize+1))
	var big *disk.TooBigError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &big):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := in.OnlyOwners(os.Geteuid()); err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(string(data), head)
	if !ok {
		return nil, nil
	}
	var out []string
	for line := range strings.Lines(rest) {
		key := strings.TrimSuffix(line, "\n")
		if len(key) != entrySize || key == line {
			return nil, nil
		}
		out = append(out, key)
	}
	return out, nil
}
