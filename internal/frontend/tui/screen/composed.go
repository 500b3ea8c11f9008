//go:build unix

package screen

import (
	"io"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"bawn/internal/tty"
)

// emulator is the alternate screen of a command.
type emulator struct {
	vt    *vt.Emulator
	shown []string // the lines as the terminal has them; nil for none
	line  uv.Line
	torn  []bool // lines of which the emulator may not say that they changed
	next  []byte // to be written before what comes
	// mark is the first of the emulator's records of changed lines: when it
	// begins new ones, it says nothing of what changed before.
	mark **uv.LineData
}

// changed are the emulator's records of the lines that changed since the last
// call, nil for one that did not; all says that any line may have.
func (e *emulator) changed(rows int) (touched []*uv.LineData, all bool) {
	touched = e.vt.Touched()
	if e.shown == nil || len(e.shown) != rows || len(touched) < rows || &touched[0] != e.mark {
		all = true
	}
	if e.mark = nil; len(touched) > 0 {
		e.mark = &touched[0]
	}
	return touched, all
}

// read copies line y. Half of a wide character, which the emulator leaves where
// it cut a line or moved cells, is drawn as a blank, so that the line has its
// columns. It tells if there is one: what completes it may be no change to the
// emulator.
func (e *emulator) read(y int) (torn bool) {
	for x := 0; x < len(e.line); x++ {
		e.line[x] = uv.EmptyCell
		c := e.vt.CellAt(x, y)
		if c == nil {
			continue
		}
		e.line[x] = *c
		if c.Width == 1 {
			continue
		}
		rest := 0 // of the columns of a wide character
		for rest < c.Width-1 && x+rest+1 < len(e.line) {
			if next := e.vt.CellAt(x+rest+1, y); next == nil || !next.IsZero() {
				break
			}
			rest++
			e.line[x+rest] = uv.Cell{}
		}
		if c.Width > 1 && rest == c.Width-1 {
			x += rest
			continue
		}
		e.line[x].Empty()
		torn = true
	}
	return torn
}

// newEmulator sends what the emulator answers to answer.
func (s *Screen) newEmulator() *emulator {
	e := &emulator{vt: vt.NewEmulator(s.scan.cols, s.scan.rows)}
	e.vt.SetScrollbackSize(1) // none is off: 10,000 wide lines are 1 GB that nobody sees
	c := s.cmd.Load()
	// The emulator waits until its answers are read.
	s.start(func() {
		buf := make([]byte, 4<<10)
		for {
			n, err := e.vt.Read(buf)
			if n > 0 && c != nil {
				c.keys.offer(buf[:n])
			}
			if err != nil {
				return
			}
		}
	})
	return e
}

func (e *emulator) close() {
	_ = e.vt.InputPipe().(io.Closer).Close() // Emulator.Close races with Read
}

func (e *emulator) resize(cols, rows int) {
	e.vt.Resize(cols, rows)
	e.shown = nil
}

// compose switches to the alternate screen.
func (s *Screen) compose() {
	s.unpark()
	s.scan.save() // as ?1049h does
	s.scan.each = s.scan.modes.charset
	s.emu = s.newEmulator()
	s.scan.composed = true
	s.report()
	s.openAlternate()
	m := &s.scan.modes
	var b []byte
	for _, mode := range m.changed() {
		if private[mode]&onScreen != 0 {
			b = private1(b, mode, m.private[mode])
		}
	}
	s.feed(b)
	s.dirty = true
}

// openAlternate opens the terminal's own alternate screen, for drawFrame.
func (s *Screen) openAlternate() {
	m := &s.scan.modes
	s.buf = append(s.buf, "\x1b[?1049h"...)
	if m.charset {
		s.buf = append(s.buf, tty.ASCIICharset...)
	}
	if m.link != nil {
		s.buf = append(s.buf, tty.CloseLink...)
	}
	s.buf = append(s.buf, "\x1b[m\x1b[2J"...)
	s.emu.shown = nil
	s.dirty = true
}

// uncompose goes back to pass-through, on the main screen as it was.
func (s *Screen) uncompose() {
	m := &s.scan.modes
	s.buf = m.kitty[1].off(s.buf)
	m.kitty[1] = kitty{}
	s.buf = append(s.buf, "\x1b[?1049l"...)
	s.emu.close()
	s.emu = nil
	s.scan.composed = false
	s.scan.at = s.scan.saved
	m.link = nil
	s.room()
	for _, mode := range []int{7, 25} { // the emulator had them until now
		s.buf = private1(s.buf, mode, m.is(mode) && !(mode == 7 && s.scan.at.below))
	}
	if s.scan.reset {
		s.scan.out = s.buf
		s.scan.resetAll()
		s.buf = s.scan.out
	}
	if len(s.later) > 0 {
		s.print(string(s.later))
		s.later = nil
	}
	s.report()
}

// drawFrame shows what has changed on the alternate screen, and the footer.
// A terminal that knows synchronised output shows it in one.
func (s *Screen) drawFrame() {
	e := s.emu
	s.buf = append(s.buf, "\x1b[?2026h\x1b[?25l"...)
	touched, all := e.changed(s.scan.rows)
	if len(e.line) != s.scan.cols {
		e.line = make(uv.Line, s.scan.cols)
	}
	if len(e.shown) != s.scan.rows {
		e.shown = make([]string, s.scan.rows)
		e.torn = make([]bool, s.scan.rows)
	}
	for y := range e.shown {
		if !all && touched[y] == nil && !e.torn[y] {
			continue
		}
		e.torn[y] = e.read(y)
		line := e.line.Render()
		if e.shown[y] == line {
			continue
		}
		e.shown[y] = line
		s.buf = appendCUP(s.buf, y+1, 1)
		s.buf = append(s.buf, "\x1b[m\x1b[K"...)
		s.buf = append(s.buf, line...)
	}
	clear(touched)
	s.drawFooter()
	at := e.vt.CursorPosition()
	s.buf = appendCUP(s.buf, at.Y+1, at.X+1)
	if !e.vt.CursorHidden() {
		s.buf = append(s.buf, "\x1b[?25h"...)
	}
	s.buf = append(s.buf, "\x1b[?2026l"...)
}
