package screen

import (
	"bytes"

	"github.com/charmbracelet/x/ansi"
)

// A command must not get its cursor into the footer. The margins keep it out
// as long as it ends lines above their end; but below margins of its own it
// could walk down, and many terminals do not stop "cursor down" at margins at
// all. So the scanner knows how far down the cursor may be, and cuts what
// would lead beyond. It need not know more: a bound that is too high cuts a
// move too early, one that is too low would be an error.

// position is the lowest row, from 1, and in it the most columns that the
// cursor can have on its left; the number of columns is for "at the end, and
// the next character wraps".
type position struct {
	y, x  int
	below bool // the row is below the command's margins
}

// tracked reports whether there is a footer to keep away from.
func (s *scanner) tracked() bool { return !s.composed && !s.plain }

// anywhere forgets where the cursor is.
func (s *scanner) anywhere() {
	s.at.y, s.at.x, s.wrapped = s.rows, s.cols, false
}

// home is where a change of the margins brings the cursor.
func (s *scanner) home() { s.moveTo(1, 1) }

// text passes on plain characters and the controls among them.
func (s *scanner) text(run []byte) {
	if !s.tracked() {
		if s.composed && !s.each && len(run) >= minSpan {
			s.spans = append(s.spans, span{len(s.out), len(s.out) + len(run)})
		}
		s.out = append(s.out, run...)
		return
	}
	if s.wide {
		s.wide = !bytes.ContainsFunc(run, func(r rune) bool { return r >= ' ' })
	}
	for len(run) > 0 {
		n := len(run)
		switch last := s.lastRow(); {
		case s.at.y < last:
			n = s.walk(run, last)
			s.out = append(s.out, run[:n]...)
		case s.at.y == last: // the most common: more lines scroll, the row stays
			s.out = append(s.out, run...)
			s.column(run)
		default:
			if i := bytes.IndexByte(run, '\n'); i == 0 {
				s.lineFeed(false, '\n')
				n = 1
				break
			} else if i > 0 {
				n = i
			}
			s.out = append(s.out, run[:n]...)
			s.column(run[:n])
		}
		run = run[n:]
	}
}

// own passes on lines of bawn's own, which may have styles.
func (s *scanner) own(text string) {
	for b := []byte(text); len(b) > 0; {
		n := plainRun(b)
		s.text(b[:n])
		b = b[n:]
		switch n := max(whole(b), min(1, len(b))); {
		case n > 1 && b[0] == esc:
			s.out = append(s.out, b[:n]...)
			b = b[n:]
		case n > 0:
			s.char(b[:n])
			b = b[n:]
		}
	}
}

// walk follows run until it has reached the last row of the margins.
func (s *scanner) walk(run []byte, last int) int {
	for i, c := range run {
		switch c {
		case '\n':
			s.settle()
			s.at.y++
		case '\r':
			s.at.x, s.wrapped = 0, false
		case '\b':
			s.left(1)
		case '\t':
			s.tab(1)
		default:
			s.cells(1)
		}
		if s.at.y >= last {
			return i + 1
		}
	}
	return len(run)
}

// column keeps the column where text does not change the row: roughly, for it
// matters only once the cursor has moved up.
func (s *scanner) column(run []byte) {
	for i := len(run) - 1; i >= 0; i-- {
		switch run[i] {
		case '\n', '\b':
			continue
		case '\r':
			s.at.x = 0
		default:
			s.at.x = s.cols
		}
		return
	}
}

// char passes on a character of more than one byte.
func (s *scanner) char(b []byte) {
	s.out = append(s.out, b...)
	if !s.tracked() {
		return
	}
	s.wide = true
	if s.at.y != s.lastRow() && !s.at.below {
		s.wide = b[0] >= 0xf0 || ansi.StringWidth(string(b)) > 1 // what a table does not know may be wide
	}
	s.print(1, s.wide)
}

// print follows n characters.
func (s *scanner) print(n int, wide bool) {
	if !s.tracked() {
		return
	}
	w := 1
	if wide {
		w = 2
	}
	for ; n > 0 && s.at.y < s.lastRow(); n-- {
		s.cells(w)
	}
	if n > 0 {
		s.at.x = s.cols
	}
}

// cells follows a character that has this width.
func (s *scanner) cells(w int) {
	if s.at.x += w; s.at.x <= s.cols {
		return
	}
	s.at.y++
	s.at.x, s.wrapped = w, true
	if s.at.y == s.lastRow() {
		s.at.x, s.wrapped = s.cols, false
	}
}

// settle is for what moves the cursor from where text has left it. If that may
// have wrapped earlier than was thought, the column is unknown.
func (s *scanner) settle() {
	if s.wrapped {
		s.at.x, s.wrapped = s.cols, false
	}
}

func (s *scanner) left(n int) {
	s.at.x = max(0, min(s.at.x, s.cols-1)-n)
}

func (s *scanner) right(n int) {
	s.at.x = min(s.at.x+n, s.cols-1)
}

func (s *scanner) tab(n int) {
	if !s.tracked() {
		return
	}
	if s.at.x >= s.cols && s.at.y < s.lastRow() { // some terminals wrap here
		s.cells(1)
	}
	switch {
	case s.at.y >= s.lastRow():
		s.at.x = s.cols
	case s.tabs:
		s.at.x = s.cols - 1
	default:
		s.at.x = min((s.at.x/8+min(n, s.cols))*8, s.cols-1)
	}
}

func (s *scanner) toColumn(x int) { s.at.x, s.wrapped = min(x, s.cols)-1, false }

func (s *scanner) moveTo(y, x int) {
	s.toColumn(x)
	s.toRow(y)
}

func (s *scanner) toRow(y int) {
	if !s.tracked() {
		return
	}
	s.settle()
	s.at.y = min(y, s.rows)
	s.out = s.rewrap(s.out)
}

// lineFeed passes on what begins a new line. Below the margins there is none
// after the last.
func (s *scanner) lineFeed(first bool, seq ...byte) {
	if s.tracked() {
		s.settle()
		if first {
			s.at.x = 0
		}
		last := s.lastRow()
		if s.at.y > last && s.at.y >= s.rows {
			if first || s.modes.newline && len(seq) == 1 {
				s.out = append(s.out, '\r')
			}
			return
		}
		if s.at.y != last {
			s.at.y++
		}
	}
	if s.composed && first { // the emulator knows no NEL
		seq = []byte("\r\n")
	}
	s.send(onScreen, seq...)
}

// down passes on CUD and CNL, as far as there are rows.
func (s *scanner) down(n int, final byte) {
	if s.tracked() {
		s.settle()
		if final == 'E' {
			s.at.x = 0
		}
		last := s.lastRow()
		if s.at.y > last {
			last = s.rows
		}
		n = min(n, last-s.at.y)
		s.at.y += n
	}
	switch {
	case n > 0:
		s.send(onScreen, appendCSI(nil, n, final)...)
	case final == 'E':
		s.out = append(s.out, '\r')
	}
}

// up follows CUU, CPL and RI, which the first row of the margins stops on some
// terminals.
func (s *scanner) up(n int) {
	s.settle()
	top := 1
	if s.at.y >= s.top {
		top = max(1, s.top)
	}
	s.toRow(max(s.at.y-n, top))
}

// save is for ESC 7 and its like: terminals have one place for all of them.
func (s *scanner) save() {
	s.saved = s.at
	if s.wrapped {
		s.saved.x = s.cols
	}
}

// restore follows what brings the saved cursor back. Its row may be the
// footer's since the size has changed.
func (s *scanner) restore() {
	if !s.tracked() {
		return
	}
	was := s.at.below
	s.at, s.wrapped = s.saved, false
	if s.at.y == 0 || s.at.y > s.rows {
		s.at.y = s.rows
		s.out = append(appendCSI(s.out, s.rows, 'd'), "\x1b7"...)
		s.save()
	}
	// Some terminals save with it whether text wraps: that is said again.
	s.at.below = s.at.y <= s.lastRow() && (was || s.at.below)
	s.out = s.rewrap(s.out)
}

// rewrap has text not wrap while the cursor is below the command's margins: in
// the last row it would go on in the footer.
func (s *scanner) rewrap(b []byte) []byte {
	below := s.tracked() && s.at.y > s.lastRow()
	if below == s.at.below {
		return b
	}
	s.at.below = below
	if below || s.modes.is(7) {
		b = private1(b, 7, !below)
	}
	return b
}
