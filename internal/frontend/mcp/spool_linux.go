package mcp

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/session"
)

const (
	// maxInMemory bounds the text of a call that is held in memory, in bytes; more
	// waits on disk for its process, which a person may be asked about first.
	maxInMemory = 64 << 10
	// maxSpools bounds what waits there, in bytes.
	maxSpools = 256 << 20
)

// spools counts the bytes that wait on disk.
type spools struct{ held atomic.Int64 }

// spool is text on its way to a process. A nil one is empty.
type spool struct {
	all  *spools
	n    int
	text string
	file *os.File // in the place of text; without a name
	once sync.Once
}

// spool takes the texts of a call, after which the call holds them no longer.
func (s *server) spool(req *protocol.Request, texts ...string) (_ *spool, err error) {
	defer req.Taken()
	sp := &spool{all: &s.spools}
	if req.State != "" { // its process has them
		return sp, nil
	}
	for _, t := range texts {
		sp.n += len(t)
	}
	if sp.n <= maxInMemory {
		sp.text = strings.Join(texts, "")
		return sp, nil
	}
	if held := sp.all.held.Add(int64(sp.n)); held > maxSpools {
		sp.all.held.Add(-int64(sp.n))
		return nil, fmt.Errorf("what waits to be written has %d bytes, and at most %d may: call again when other calls are done", held, maxSpools)
	}
	if sp.file, err = session.Nameless(s.o.Folder); err != nil {
		sp.all.held.Add(-int64(sp.n))
		return nil, fmt.Errorf("hold what is to be written: %w", err)
	}
	for _, t := range texts {
		if _, err = sp.file.WriteString(t); err != nil {
			break
		}
	}
	if err == nil {
		_, err = sp.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		sp.close()
		return nil, fmt.Errorf("hold what is to be written: %w", err)
	}
	return sp, nil
}

func (sp *spool) size() int {
	if sp == nil {
		return 0
	}
	return sp.n
}

// writeTo gives it to a process, as far as that reads it.
func (sp *spool) writeTo(w io.Writer) {
	switch {
	case sp == nil:
	case sp.file == nil:
		_, _ = io.WriteString(w, sp.text)
	default:
		_, _ = io.Copy(w, sp.file)
	}
}

// close lets go of it.
func (sp *spool) close() {
	if sp == nil || sp.file == nil {
		return
	}
	sp.once.Do(func() {
		sp.file.Close()
		sp.all.held.Add(-int64(sp.n))
	})
}
