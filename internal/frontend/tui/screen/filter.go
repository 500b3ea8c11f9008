package screen

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// What a command may send to the terminal. A sequence passes if it is named
// here, in setmodes.go or osc.go; all else is dropped. docs/terminal.md says why
// for each class.

// escape takes the byte after ESC, or after its intermediate bytes.
func (s *scanner) escape(c byte) (again bool, why stop) {
	if len(s.seq) == 1 {
		switch c {
		case '[':
			s.seq, s.state = append(s.seq, c), inCSI
			return false, atEnd
		case ']':
			s.seq, s.state = append(s.seq, c), inOSC
			return false, atEnd
		case 'P', 'X', '^', '_', 'k':
			s.seq, s.state = append(s.seq, c), inString
			return false, atEnd
		case esc:
			return false, atEnd
		}
	}
	switch {
	case c == can || c == sub:
		s.state = ground
		return false, atEnd
	case c < 0x20 || c > 0x7e:
		s.state = ground
		return true, atEnd
	case c < 0x30:
		if len(s.seq) < 4 {
			s.seq = append(s.seq, c)
		}
		return false, atEnd
	}
	s.state = ground
	s.seq = append(s.seq, c)
	switch string(s.seq[1:]) {
	case "7", "8":
		return false, s.slotted(c == '7')
	case "c":
		if s.composed {
			s.reset = true
			return false, atMain
		}
		s.resetAll()
	case "D", "E":
		s.lineFeed(c == 'E', s.seq...)
	case "M":
		s.pass(onScreen)
		s.up(1)
	case "H":
		s.tabs = true
		s.pass(onScreen)
	case "N", "O":
		s.pass(onScreen)
	case "=", ">":
		s.modes.keypad = c == '='
		s.pass(onBoth)
	case "#8": // fills the screen, with the footer
		s.send(onEmulator, s.seq...)
	default:
		if i := s.seq[1]; len(s.seq) == 3 && (i == '(' || i == ')' || i == '*' || i == '+') {
			s.modes.charset = s.modes.charset || c != 'B'
			s.each = s.each || c != 'B'
			s.pass(onScreen)
		}
	}
	return false, atEnd
}

// pass sends the sequence on.
func (s *scanner) pass(to place) { s.send(to, s.seq...) }

func (s *scanner) send(to place, seq ...byte) {
	if !s.composed {
		if to != onEmulator {
			s.out = append(s.out, seq...)
		}
		return
	}
	if to&(onScreen|onEmulator) != 0 {
		s.out = append(s.out, seq...)
	}
	if to&onTerminal != 0 {
		s.host = append(s.host, seq...)
	}
}

// slotted saves or restores the cursor: all ways in the oldest, which every
// terminal knows, so that there is one saved cursor, and its row is known.
func (s *scanner) slotted(save bool) stop {
	if save {
		s.send(onScreen, esc, '7')
	} else {
		s.send(onScreen, esc, '8')
	}
	if s.composed {
		return atEnd
	}
	if save {
		s.save()
	} else {
		s.restore()
	}
	s.slot = true
	if s.wantSlot {
		return atSlot
	}
	return atEnd
}

// resetAll is ESC c in pass-through.
func (s *scanner) resetAll() {
	s.reset = false
	s.out = append(s.out, "\x1bc"...)
	s.modes = modes{}
	s.top, s.bottom, s.tabs, s.at.below = 0, 0, false, false
	s.margins()
	s.home()
	s.damaged = true
}

// margins sets those that the command has, which moves the cursor.
func (s *scanner) margins() {
	if !s.composed && !s.plain {
		s.out = appendMargins(s.out, max(s.top, 1), s.lastRow())
	}
}

// lastRow is the last row of the margins.
func (s *scanner) lastRow() int {
	if s.bottom != 0 {
		return s.bottom
	}
	return s.rows
}

// csi decides on the sequence in seq, which is complete.
func (s *scanner) csi() stop {
	body := s.seq[2 : len(s.seq)-1]
	final := s.seq[len(s.seq)-1]
	// What it is: private byte, intermediate bytes, final byte.
	var what [8]byte
	kind := what[:0]
	if len(body) > 0 && body[0] >= '<' && body[0] <= '?' {
		kind, body = append(kind, body[0]), body[1:]
	}
	params := len(body)
	for params > 0 && body[params-1] < 0x30 {
		params--
	}
	kind = append(append(kind, body[params:]...), final)
	return s.csiOf(string(kind), body[:params], final)
}

func (s *scanner) csiOf(kind string, params []byte, final byte) stop {
	if kind == "m" {
		if len(bytes.Trim(params, "0123456789;:")) == 0 {
			s.pass(onScreen)
		}
		return atEnd
	}
	p, ok := numbers(params)
	if !ok {
		return atEnd
	}
	if slices.Contains(p, maxNumber) {
		s.shorten(p, kind)
	}
	if len(p) > 0 && p[0] == 0 && strings.Contains("ABCDEFGI`ade", kind) {
		p[0] = 1 // as it means; not every emulator knows
		s.shorten(p, kind)
	}
	arg := func(i, missing int) int {
		if i < len(p) && p[i] > 0 {
			return p[i]
		}
		return missing
	}

	switch kind {
	case "@", "K", "?K", "L", "M", "P", "S", "X", "Z":
		s.pass(onScreen)
	case "A", "F":
		s.pass(onScreen)
		if kind == "F" {
			s.toColumn(1)
		}
		s.up(arg(0, 1))
	case "B", "E":
		s.down(arg(0, 1), final)
	case "C", "a":
		s.pass(onScreen)
		s.right(arg(0, 1))
	case "D":
		s.pass(onScreen)
		s.left(arg(0, 1))
	case "G", "`":
		s.pass(onScreen)
		s.toColumn(arg(0, 1))
	case "I":
		s.pass(onScreen)
		s.tab(arg(0, 1))
	case "g":
		s.tabs = true
		s.pass(onScreen)
	case "b": // more would be work without effect
		n := min(arg(0, 1), s.rows*s.cols)
		s.send(onScreen, appendCSI(nil, n, 'b')...)
		s.print(n, s.wide)
	case "T":
		if len(p) <= 1 { // with more it asks for reports of the mouse
			s.pass(onScreen)
		}
	case "J", "?J":
		s.pass(onScreen)
		s.damaged = true
	case "H", "f":
		if s.composed || arg(0, 1) <= s.rows {
			s.pass(onScreen)
		} else {
			s.out = appendCUP(s.out, s.rows, arg(1, 1))
		}
		s.moveTo(arg(0, 1), arg(1, 1))
	case "d":
		if s.composed || arg(0, 1) <= s.rows {
			s.pass(onScreen)
		} else {
			s.out = appendCSI(s.out, s.rows, 'd')
		}
		s.toRow(arg(0, 1))
	case "e": // the same as B, but in an emulator that does not stop it
		s.down(arg(0, 1), 'B')
	case "r":
		s.each = s.each || len(p) > 0
		s.setMargins(arg(0, 1), arg(1, s.rows), len(p))
	case "s", "u":
		if len(p) == 0 {
			return s.slotted(final == 's')
		}
	case "h", "l":
		s.ansiModes(p, final == 'h')
	case "?h", "?l":
		return s.privateModes(p, final == 'h')
	case "!p":
		s.softReset()
	case " q":
		s.modes.style, s.told = nil, false
		if arg(0, 0) != 0 {
			s.modes.style = bytes.Clone(s.seq)
		}
		s.pass(onTerminal)
	case "n":
		if n := arg(0, 0); n == 5 || n == 6 {
			s.ask(onScreen)
		}
	case "?n":
		switch arg(0, 0) {
		case 6:
			s.ask(onScreen)
		case 996: // the colour scheme
			s.ask(onTerminal)
		}
	case "c", ">c", "=c", ">q", "?u":
		s.ask(onTerminal)
	case "$p", "?$p":
		s.askMode(kind == "?$p", arg(0, 0))
	case ">m", ">n":
		if arg(0, 0) == 4 && (kind == ">m" || len(p) == 1) {
			s.modes.other = 0
			if kind == ">m" {
				s.modes.other = arg(1, 0)
			}
			s.pass(onTerminal)
		}
	case "?m":
		if arg(0, 0) == 4 {
			s.ask(onTerminal)
		}
	case ">u", "<u", "=u":
		s.kitty(kind, arg)
	case "t":
		s.window(arg(0, 0))
	}
	return atEnd
}

// shorten writes the sequence again with the numbers in p: those out of all
// measure can be minutes of work in an emulator.
func (s *scanner) shorten(p []int, kind string) {
	s.seq = append(s.seq[:0], esc, '[')
	if kind[0] >= '<' && kind[0] <= '?' {
		s.seq, kind = append(s.seq, kind[0]), kind[1:]
	}
	for i, n := range p {
		if i > 0 {
			s.seq = append(s.seq, ';')
		}
		s.seq = strconv.AppendInt(s.seq, int64(n), 10)
	}
	s.seq = append(s.seq, kind...)
}

func (s *scanner) setMargins(top, bottom, given int) {
	bottom = min(bottom, s.rows)
	switch {
	case s.composed:
		s.pass(onScreen)
		return
	case top >= bottom:
		return // as a terminal does
	}
	s.top, s.bottom = top, bottom
	if bottom == s.rows {
		s.bottom = 0
	}
	if s.plain && given == 0 {
		s.pass(onScreen)
		return
	}
	s.out = appendMargins(s.out, top, bottom)
	s.home()
}

// maxNumber is the largest number in a sequence that is passed on.
const maxNumber = 9999

// numbers reads parameters: none are "", a missing one is 0, and none is more
// than maxNumber.
func numbers(b []byte) ([]int, bool) {
	if len(b) == 0 {
		return nil, true
	}
	var p []int
	n := 0
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			n = min(n*10+int(c-'0'), maxNumber)
		case c == ';':
			p = append(p, n)
			n = 0
		default:
			return nil, false
		}
	}
	return append(p, n), true
}
