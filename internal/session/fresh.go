package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bawn/internal/config/disk"
)

// Fresh is how long a clone is one that nobody knows yet (SPEC T6).
const Fresh = 24 * time.Hour

const (
	suggestedName = "suggested" // of the file in the state folder
	maxSuggested  = 10_000
)

// Suggestions remember for which workspaces airlock was suggested: a line each,
// the hash of the path. The zero value remembers nothing and suggests nothing.
type Suggestions struct{ Dir string }

// FreshClone reports whether to suggest airlock for a workspace: a clone of
// less than a day, for the first time. What cannot be told is no.
func (s Suggestions) FreshClone(workspace string, now time.Time) bool {
	made, ok := madeAt(filepath.Join(workspace, ".git"))
	if !ok || now.Sub(made) >= Fresh || s.Dir == "" {
		return false
	}
	lines, err := s.read()
	return err == nil && !slices.Contains(lines, mark(workspace))
}

// Done notes that the suggestion was answered.
func (s Suggestions) Done(workspace string) error {
	d, err := disk.Make(s.Dir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	lines, err := s.read()
	if err != nil {
		return err
	}
	if slices.Contains(lines, mark(workspace)) {
		return nil
	}
	lines = append(lines, mark(workspace))
	lines = lines[max(0, len(lines)-maxSuggested):]
	return d.Replace(suggestedName, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (s Suggestions) read() ([]string, error) {
	d, err := disk.Open(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	data, in, err := d.Read(suggestedName, maxSuggested*(2*sha256.Size+1))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil:
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(data)), nil
}

func mark(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return hex.EncodeToString(sum[:])
}
