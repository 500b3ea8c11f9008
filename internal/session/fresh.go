package session

import (
	"path/filepath"
	"time"

	"bawn/internal/config/told"
)

// Fresh is how long a clone is one that nobody knows yet (SPEC T6).
const Fresh = 24 * time.Hour

// FreshClone reports whether to suggest airlock for a workspace: a clone of
// less than a day, for the first time. past are those for which it was
// suggested. What cannot be told is no.
func FreshClone(past told.Store, workspace string, now time.Time) bool {
	made, ok := madeAt(filepath.Join(workspace, ".git"))
	if !ok || now.Sub(made) >= Fresh {
		return false
	}
	seen, err := past.Seen(told.Key(workspace))
	return err == nil && !seen[0]
}
