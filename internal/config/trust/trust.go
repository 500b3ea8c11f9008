// Package trust keeps which projects' settings a person has trusted: the real
// path of the project and the exact content of its file, together. Any other
// content is not trusted.
package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bawn/internal/config/disk"
	"bawn/internal/policy"
)

const (
	storeName = "trust"
	// head is the first line. One for each entry follows: hash, time, who and
	// project, the last two as Go strings. Every run in a project with settings
	// of its own reads this, and a JSON package would cost it more.
	head       = "bawn trust 1\n"
	maxFile    = 8 << 20
	maxEntries = 10_000
	// maxContents is how many contents of one project are kept: branches
	// differ. The oldest is forgotten first.
	maxContents = 64
)

// ErrStore marks a store that cannot be relied on; nothing is trusted then.
var ErrStore = errors.New("the trust store cannot be used")

// Entry is one act of trust.
type Entry struct {
	Path   string    `json:"path"`   // the project's real path
	SHA256 string    `json:"sha256"` // of its file, in hexadecimal
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// line is the entry as the store has it.
func (e Entry) line() string {
	return e.SHA256 + " " + e.At.UTC().Format(time.RFC3339) + " " + strconv.Quote(e.By) + " " + strconv.Quote(e.Path) + "\n"
}

var errMalformed = errors.New("an entry is malformed")

// parse reads a whole store. It takes nothing but what lines written by line
// say, byte for byte.
func parse(data string) ([]Entry, error) {
	rest, ok := strings.CutPrefix(data, head)
	if !ok {
		return nil, errors.New("it does not begin as one of this version does")
	}
	var out []Entry
	for text := range strings.Lines(rest) {
		sum, after, _ := strings.Cut(text, " ")
		at, after, _ := strings.Cut(after, " ")
		e := Entry{SHA256: sum}
		var err error
		if e.At, err = time.Parse(time.RFC3339, at); err != nil {
			return nil, errMalformed
		}
		by, err := strconv.QuotedPrefix(after)
		if err != nil {
			return nil, errMalformed
		}
		path, err := strconv.QuotedPrefix(strings.TrimPrefix(after[len(by):], " "))
		if err != nil {
			return nil, errMalformed
		}
		e.By, _ = strconv.Unquote(by) // quoted, as QuotedPrefix says
		e.Path, _ = strconv.Unquote(path)
		b, err := hex.DecodeString(e.SHA256)
		if err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != e.SHA256 || !filepath.IsAbs(e.Path) || e.line() != text {
			return nil, errMalformed
		}
		if out = append(out, e); len(out) > maxEntries {
			return nil, fmt.Errorf("it has more than %d entries", maxEntries)
		}
	}
	return out, nil
}

// Store is the file in a state folder. The zero Store has no folder: it
// trusts nothing and keeps nothing.
type Store struct{ dir string }

// Open returns the store in a state folder, as StateDir gives it. Nothing is
// read or made yet.
func Open(dir string) Store { return Store{dir} }

// StateDir returns bawn's state folder; "" if neither XDG_STATE_HOME nor a
// home folder is known. Relative values do not count.
func StateDir(getenv func(string) string, home string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bawn")
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".local", "state", "bawn")
}

// Lookup reports whether this content of the project's file was trusted. It
// fits config.Options.Trusted. The project is named by its real path.
func (s Store) Lookup(project string, text []byte) (bool, error) {
	entries, err := s.List()
	if err != nil {
		return false, err
	}
	if _, found := find(entries, project, text); !found {
		return false, nil
	}
	// A variable can lead the store into the project, which commands write (A75).
	real, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrStore, err)
	}
	if policy.Inside(filepath.ToSlash(real), filepath.ToSlash(project)) {
		return false, fmt.Errorf("%w: %s lies in the workspace, where commands may change it; set XDG_STATE_HOME to another folder", ErrStore, s.dir)
	}
	return true, nil
}

// List returns all entries, in the order in which they were made.
func (s Store) List() ([]Entry, error) {
	if s.dir == "" {
		return nil, nil
	}
	d, err := disk.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	defer d.Close()
	return s.read(d)
}

// Trust records that a person trusts this content of the project's file: the
// one that was shown, not what stands there by now.
func (s Store) Trust(project string, text []byte, by string, at time.Time) error {
	return s.change(func(have []Entry) ([]Entry, error) { return add(have, project, text, by, at) })
}

func add(have []Entry, project string, text []byte, by string, at time.Time) ([]Entry, error) {
	if !filepath.IsAbs(project) || filepath.Clean(project) != project {
		return nil, fmt.Errorf("trusting %q: not an absolute clean path", project)
	}
	if !utf8.ValidString(project) {
		return nil, fmt.Errorf("trusting %q: the path is not valid text", project)
	}
	if i, found := find(have, project, text); found {
		have = slices.Delete(have, i, i+1)
	}
	of := 0
	for i := len(have) - 1; i >= 0; i-- {
		if have[i].Path == project {
			if of++; of >= maxContents {
				have = slices.Delete(have, i, i+1)
			}
		}
	}
	if len(have) >= maxEntries {
		return nil, fmt.Errorf("trusting %q: %d projects are trusted already; revoke some", project, len(have))
	}
	return append(have, Entry{project, hash(text), strings.ToValidUTF8(by, "?"), at.UTC().Truncate(time.Second)}), nil
}

// Revoke takes the trust from every content of a project, and reports whether
// there was any.
func (s Store) Revoke(project string) (found bool, err error) {
	err = s.change(func(have []Entry) ([]Entry, error) {
		next := slices.DeleteFunc(slices.Clone(have), func(e Entry) bool { return e.Path == project })
		found = len(next) != len(have)
		return next, nil
	})
	return found, err
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func find(entries []Entry, project string, text []byte) (int, bool) {
	want := hash(text)
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Path == project && e.SHA256 == want })
	return i, i >= 0
}

// read returns the entries. Whatever is not as this package writes it, or
// could have been written by somebody else, makes the store useless.
func (s Store) read(d *disk.Dir) ([]Entry, error) {
	path := filepath.Join(s.dir, storeName)
	fail := func(err error) ([]Entry, error) { return nil, fmt.Errorf("%w: %s: %w", ErrStore, path, err) }
	in, err := d.Info()
	if err == nil {
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return fail(err)
	}
	data, in, err := d.Read(storeName, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return fail(err)
	}
	entries, err := parse(string(data))
	if err != nil {
		return fail(fmt.Errorf("%w; move it away, and trust again what you need", err))
	}
	return entries, nil
}

// change rewrites the store under its lock.
func (s Store) change(f func([]Entry) ([]Entry, error)) error {
	d, unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer d.Close()
	defer unlock()
	return s.rewrite(d, f)
}

func (s Store) lock() (*disk.Dir, func(), error) {
	if s.dir == "" {
		return nil, nil, fmt.Errorf("%w: no state folder is known", ErrStore)
	}
	d, err := disk.Make(s.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	unlock, err := d.Lock()
	if err != nil {
		d.Close()
		return nil, nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	return d, unlock, nil
}

func (s Store) rewrite(d *disk.Dir, f func([]Entry) ([]Entry, error)) error {
	have, err := s.read(d)
	if err != nil {
		return err
	}
	next, err := f(have)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(head)
	for _, e := range next {
		b.WriteString(e.line())
	}
	if err := d.Replace(storeName, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

// Text lists entries for people.
func Text(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", e.At.Format(time.RFC3339), e.SHA256[:12], policy.Escape(e.Path), policy.Escape(e.By))
	}
	return b.String()
}
