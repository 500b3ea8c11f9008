package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"bawn/internal/config"
	"bawn/internal/config/disk"
	"bawn/internal/policy"
)

// Names of a project's file.
const (
	folderName = ".bawn"
	fileName   = "config.toml"
)

// ErrUntrusted means that a project's file was not changed because nobody has
// trusted it: a changed one would be trusted by its new content.
var ErrUntrusted = errors.New("the project's settings are not trusted")

// SaveTier writes the tier that a person picked into the project's file (SPEC
// T4), makes the file if there is none, and trusts the new content as well as
// the old one. Everything else in the file stays byte for byte. Killed at any
// point, it leaves the old file or the new one, either trusted.
func (s Store) SaveTier(project string, t policy.Tier, by string, at time.Time) error {
	path := filepath.Join(project, folderName, fileName)
	fail := func(err error) error { return fmt.Errorf("saving the tier in %q: %w", path, err) }
	store, unlock, err := s.lock() // also keeps two savers of one file apart
	if err != nil {
		return fail(err)
	}
	defer store.Close()
	defer unlock()
	w, err := disk.Open(project)
	if err != nil {
		return fail(err)
	}
	defer w.Close()
	dir, err := w.MakeSub(folderName)
	if err != nil {
		return fail(err)
	}
	defer dir.Close()

	old, in, err := dir.Read(fileName, config.MaxProject)
	exists := err == nil
	perm := uint32(0o644)
	switch {
	case exists:
		perm = in.Perm
	case !errors.Is(err, fs.ErrNotExist):
		return fail(err)
	}
	entries, err := s.read(store)
	if err != nil {
		return fail(err)
	}
	if _, trusted := find(entries, project, old); exists && !trusted {
		return fail(ErrUntrusted)
	}
	next, err := config.SetTier(old, t, path)
	if err != nil {
		return fail(err)
	}
	if len(next) > config.MaxProject {
		return fail(&disk.TooBigError{Limit: config.MaxProject})
	}
	if exists && bytes.Equal(next, old) {
		return nil
	}
	// The new content is trusted before it stands there.
	if err := s.rewrite(store, func(have []Entry) ([]Entry, error) { return add(have, project, next, by, at) }); err != nil {
		return fail(err)
	}
	now, _, err := dir.Read(fileName, config.MaxProject)
	if exists != (err == nil) || exists && !bytes.Equal(now, old) {
		return fail(errors.New("somebody else changed the file meanwhile"))
	}
	if err := dir.Replace(fileName, next, perm); err != nil {
		return fail(err)
	}
	return nil
}
