package tui

import (
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"
)

// quiet is how long a question must have been on the screen without a key
// before keys count: whoever is typing something else answers nothing.
const quiet = 300 * time.Millisecond

// painter brings what is drawn to the terminal, and knows when a question got
// there: on a slow or stopped terminal that is long after it was made.
type painter struct {
	to  io.Writer
	now func() time.Time

	mu      sync.Mutex
	waiting bool      // for the question to be written
	at      time.Time // when it was
}

// Write is called by one goroutine, the renderer's.
func (p *painter) Write(b []byte) (int, error) {
	p.mu.Lock()
	question := p.waiting // else b was made before there was one
	p.mu.Unlock()
	n, err := p.to.Write(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	if question && p.waiting && err == nil {
		p.waiting, p.at = false, p.now()
	}
	return n, err
}

// expect says that the next thing drawn is a question.
func (p *painter) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = true
}

// shown is when the question was drawn; false if it has not been yet.
func (p *painter) shown() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at, !p.waiting
}

// file is the painter as a terminal, if it paints on one.
func (p *painter) file() io.Writer {
	if f, ok := p.to.(term.File); ok {
		return paintedFile{p, f}
	}
	return p
}

type paintedFile struct {
	*painter
	tty term.File
}

func (f paintedFile) Read(b []byte) (int, error) { return f.tty.Read(b) }
func (f paintedFile) Close() error               { return nil } // the caller's
func (f paintedFile) Fd() uintptr                { return f.tty.Fd() }

// guard drops keys that were not meant for the question on the screen.
type guard struct {
	paint *painter
	last  time.Time // of a key that was dropped
	open  bool
}

func newGuard(p *painter) guard {
	p.expect()
	return guard{paint: p}
}

// passes reports whether a key pressed now counts.
func (g *guard) passes() bool {
	if g.open {
		return true
	}
	now := g.paint.now()
	at, shown := g.paint.shown()
	if shown && now.Sub(at) >= quiet && now.Sub(g.last) >= quiet {
		g.open = true
		return true
	}
	g.last = now
	return false
}
