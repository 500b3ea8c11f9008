// Package watch tells when files of a workspace change.
//
// What it tells only decides when a command runs again, never what runs or
// what that may do.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long nothing must change before a change is told: editors
	// and version control write many files in one go.
	quiet = 100 * time.Millisecond
	// patience is how long changes without end are waited for.
	patience = 2 * time.Second
	// maxFolders bounds the watches, which are kernel memory (about 1 KiB each).
	maxFolders = 8192
)

// unwatched are folders that tools fill, or that hold no sources.
func unwatched(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj", ".bawn",
		"node_modules", "target", "venv", ".venv", "__pycache__",
		".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".next":
		return true
	}
	return false
}

// Watcher watches a folder and what is below it, but for folders that tools
// fill (.git, node_modules, target…). Symbolic links are not followed.
type Watcher struct {
	root    string
	w       *fsnotify.Watcher
	folders int
	changes chan string
	ended   chan struct{} // closed when the watching ends

	mu  sync.Mutex
	err error
}

// New starts to watch root. What happens from its return on is told.
func New(root string) (*Watcher, error) {
	fw, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, limitError(err)
	}
	w := &Watcher{root: root, w: fw, changes: make(chan string, 1), ended: make(chan struct{})}
	if err := w.add(root); err != nil {
		fw.Close()
		return nil, err
	}
	go w.loop()
	return w, nil
}

// Changes gets the first path of each burst of changes, relative to the
// watched folder, when the burst is over; not one that came and went in it,
// if there is another. Bursts that nobody has taken are one. It is
// closed when the watching ends.
func (w *Watcher) Changes() <-chan string { return w.changes }

// Err says why the watching has ended; nil after Close.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends the watching and waits for that.
func (w *Watcher) Close() {
	_ = w.w.Close()
	<-w.ended
}

// add watches a folder and those below it. What is gone meanwhile needs none.
func (w *Watcher) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == w.root:
			return err
		case err != nil:
			if d != nil && d.IsDir() {
				return fs.SkipDir // not ours to read
			}
			return nil
		case !d.IsDir():
			return nil
		case path != w.root && unwatched(d.Name()):
			return fs.SkipDir
		}
		if w.folders++; w.folders > maxFolders {
			w.folders = len(w.w.WatchList()) + 1 // without those that are gone
		}
		if w.folders > maxFolders {
			return fmt.Errorf("%q has more than %d folders to watch; choose a smaller one with -C DIR", w.root, maxFolders)
		}
		if err := w.w.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return limitError(err)
		}
		return nil
	})
}

// limitError explains what the kernel says when a user has too many watches.
func limitError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return errors.New("no more folders can be watched (fs.inotify.max_user_watches); raise it with sysctl, or choose a smaller folder with -C DIR")
	case errors.Is(err, syscall.EMFILE):
		return errors.New("no more watchers can be made (fs.inotify.max_user_instances or the limit of open files); end other watchers, or raise it with sysctl")
	}
	return fmt.Errorf("watch for changes: %w", err)
}

func (w *Watcher) loop() {
	defer close(w.ended)
	defer close(w.changes)
	var first string
	made := false // first was made in this burst
	var due, latest time.Time
	timer := time.NewTimer(0)
	timer.Stop()
	for {
		select {
		case ev, ok := <-w.w.Events:
			if !ok {
				return
			}
			path, told := w.handle(ev)
			if !told {
				continue
			}
			now := time.Now()
			if first == "" {
				latest = now.Add(patience)
			}
			if first == "" || made && path != first && w.gone(first) { // an editor's own file, renamed or removed since
				first, made = path, ev.Has(fsnotify.Create)
			}
			if due = now.Add(quiet); due.After(latest) {
				due = latest
			}
			timer.Reset(time.Until(due))
		case err, ok := <-w.w.Errors:
			if !ok {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				// Events were lost: something has changed, and new folders may
				// be among it.
				w.folders = 0
				err = w.add(w.root)
				if first == "" {
					first = "."
				}
				timer.Reset(quiet)
			}
			if err != nil {
				w.fail(err)
				return
			}
		case <-timer.C:
			select {
			case w.changes <- first:
			default: // one is there that nobody has taken
			}
			first = ""
		}
	}
}

func (w *Watcher) gone(rel string) bool {
	_, err := os.Lstat(filepath.Join(w.root, rel))
	return errors.Is(err, fs.ErrNotExist)
}

func (w *Watcher) fail(err error) {
	w.mu.Lock()
	w.err = err
	w.mu.Unlock()
	_ = w.w.Close()
}

// handle reports the path of an event, if it is told.
func (w *Watcher) handle(ev fsnotify.Event) (path string, told bool) {
	if ev.Op == fsnotify.Chmod || unwatched(filepath.Base(ev.Name)) && ev.Name != w.root {
		return "", false // reading a file for the first time is no change, either
	}
	if ev.Has(fsnotify.Create) {
		if st, err := os.Lstat(ev.Name); err == nil && st.IsDir() {
			if err := w.add(ev.Name); err != nil {
				w.fail(err)
				return "", false
			}
		}
	}
	if ev.Name == w.root && (ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename)) {
		w.fail(fmt.Errorf("%q is gone", w.root))
		return "", false
	}
	rel, err := filepath.Rel(w.root, ev.Name)
	return rel, err == nil
}
