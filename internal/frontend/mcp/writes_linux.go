package mcp

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp/inside"
)

// A server that is killed takes its writes with it, and one of them may just have
// named its new content. So each is noted before it starts, in a file of the
// server's that it holds locked; the next server takes away what a dead one's
// notes name.
const notesStart, notesEnd = ".writes-", ".notes"

// maxNotes bounds what is noted and read, in bytes.
const maxNotes = 1 << 20

// notes are the writes of one server that are not over. The zero value has none.
type notes struct {
	mu   sync.Mutex
	f    *os.File          // nil until there is one
	open map[string]func() // by line: takes away what that write left
	size int
}

// add notes a write that starts. done ends it; failed takes away what it may have
// left. Where nothing can be noted the write goes on without.
func (n *notes) add(folder, path, temp string) (done func(failed bool)) {
	line := strconv.Quote(path) + " " + temp + "\n"
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.f == nil {
		n.f = newNotes(folder)
	}
	if n.open == nil {
		n.open = map[string]func(){}
	}
	n.open[line] = func() { tidy(path, temp) }
	n.write(line)
	return func(failed bool) {
		if failed {
			tidy(path, temp)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.open, line)
		if n.f != nil && (len(n.open) == 0 || n.size > maxNotes/2) {
			_ = n.f.Truncate(0)
			n.size = 0
			for l := range n.open {
				n.write(l)
			}
		}
	}
}

func (n *notes) write(line string) {
	if n.f != nil && n.size+len(line) <= maxNotes {
		_, _ = n.f.WriteAt([]byte(line), int64(n.size))
		n.size += len(line)
	}
}

// close is for when no process of the session runs any more.
func (n *notes) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, undo := range n.open {
		undo()
	}
	n.open = nil
	if n.f != nil {
		_ = os.Remove(n.f.Name())
		n.f.Close()
		n.f = nil
	}
}

// newNotes is a locked file in folder; nil if none can be made.
func newNotes(folder string) *os.File {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil
	}
	for range 3 {
		f, err := os.CreateTemp(folder, notesStart+"*"+notesEnd) // 0600
		if err != nil {
			return nil
		}
		// Another server's start may have taken it for a dead one's, until now.
		var st unix.Stat_t
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink > 0 {
			return f
		}
		_ = os.Remove(f.Name())
		f.Close()
	}
	return nil
}

// tidyNoted takes away what servers that were killed left beside files.
func tidyNoted(folder string) {
	list, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range list {
		if name := e.Name(); e.Type().IsRegular() && strings.HasPrefix(name, notesStart) && strings.HasSuffix(name, notesEnd) {
			tidyNotes(filepath.Join(folder, name))
		}
	}
}

func tidyNotes(file string) {
	f, err := os.OpenFile(file, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return // its server lives
	}
	b, err := io.ReadAll(io.LimitReader(f, maxNotes))
	if err != nil {
		return
	}
	for line := range bytes.Lines(b) { // the last may have been cut
		text := strings.TrimSuffix(string(line), "\n")
		end := strings.LastIndexByte(text, ' ')
		path, err := strconv.Unquote(text[:max(end, 0)])
		temp := text[end+1:]
		if err == nil && filepath.IsAbs(path) && inside.IsTempName(temp) {
			tidy(path, temp)
		}
	}
	_ = os.Remove(file)
}
