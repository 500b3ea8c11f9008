// Package told keeps which notices a person has seen, so that each run does
// not repeat them. Nothing depends on it: what cannot be kept is said again.
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
	storeName = "told"
	head      = "bawn told 1\n"
	// maxEntries is how many notices are kept; the oldest is forgotten first.
	maxEntries = 1000
	entrySize  = 32 // hexadecimal digits
	maxFile    = len(head) + maxEntries*(entrySize+1)
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

// Store is the file in bawn's state folder. The zero Store has no folder, and
// everything is new to it.
type Store struct{ dir string }

// Open returns the store in a state folder. Nothing is read or made yet.
func Open(dir string) Store { return Store{dir} }

// Seen reports for each key whether Note had it before.
func (s Store) Seen(keys []string) []bool {
	seen := make([]bool, len(keys))
	if s.dir == "" || len(keys) == 0 {
		return seen
	}
	d, err := disk.Open(s.dir)
	if err != nil {
		return seen
	}
	defer d.Close()
	have, _ := read(d)
	for i, k := range keys {
		seen[i] = slices.Contains(have, k)
	}
	return seen
}

// Note keeps keys.
func (s Store) Note(keys []string) error {
	if s.dir == "" || len(keys) == 0 {
		return nil
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
	have, err := read(d)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if !slices.Contains(have, k) {
			have = append(have, k)
		}
	}
	have = have[max(0, len(have)-maxEntries):]
	var b bytes.Buffer
	b.WriteString(head)
	for _, k := range have {
		b.WriteString(k + "\n")
	}
	return d.Replace(storeName, b.Bytes(), 0o600)
}

// read returns what is kept. A file that others could have written, which
// would silence a notice, is an error and stays as it is; one of another form
// is begun anew.
func read(d *disk.Dir) ([]string, error) {
	in, err := d.Info()
	if err == nil {
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return nil, err
	}
	data, in, err := d.Read(storeName, maxFile)
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
