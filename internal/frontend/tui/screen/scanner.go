package screen

import (
	"encoding/binary"
	"unicode/utf8"
)

// span is a part of the scanner's output: characters of one byte, which nothing
// turns into others, and the usual controls among them.
type span struct{ from, to int }

// minSpan is the least that is worth a shorter way than the emulator's, which
// takes every character by itself.
const minSpan = 12

// scanner goes through what a command writes to its terminal. It passes on
// text and the sequences that filter.go lets through, whole: between any two
// calls of scan the output is at the end of a character or sequence, so that
// the footer can be drawn there. How the input is cut makes no difference.
type scanner struct {
	rows     int  // of the command; those below are the footer's
	cols     int  //
	composed bool // an emulator draws: the command is on the alternate screen
	plain    bool // no emulator and no footer: the terminal's own alternate screen is used
	wantSlot bool // stop after a saved or restored cursor

	state state
	seq   []byte // the unfinished sequence or character, from its first byte
	modes modes

	// The margins that the command set; bottom 0 means all of its rows.
	top, bottom int

	// Where the cursor is at most: see cursor.go.
	at, saved position
	wrapped   bool // in truth it may not have wrapped yet, and be further right
	wide      bool // the last character may be
	tabs      bool // not every eight columns

	out   []byte // what is drawn
	spans []span // of out, in composed mode
	host  []byte // in composed mode: what concerns the terminal itself
	reply []byte // answers to the command that the terminal must not give

	damaged bool // something may have been drawn over the footer
	slot    bool // the command used the terminal's saved cursor
	asked   int  // questions that the terminal answers
	titled  bool // the title was set, and the one before is kept
	told    bool // the watcher knows of that, and of the cursor's shape
	each    bool // in composed mode the emulator draws each character: a set that is not ASCII, or margins, may be in use
	reset   bool // ESC c came in composed mode, and is to be done after it
}

type state uint8

const (
	ground state = iota
	inChar       // UTF-8
	inEsc
	inCSI
	inOSC
	inString    // DCS, APC, PM, SOS and screen's title: dropped to the end
	inStringEsc // ESC in a string
)

// stop says why scan came back before the end.
type stop uint8

const (
	atEnd stop = iota
	atSlot
	atAlternate // the command goes to the alternate screen
	atMain      // and back
)

const (
	maxCSI = 256
	maxOSC = 4 << 10
)

// plainByte marks what needs no look: printable ASCII and the usual controls.
var plainByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c < 0x7f || c == '\n' || c == '\r' || c == '\t' || c == '\b'
	}
	return t
}()

// plainRun is how many bytes from the first on need no look.
func plainRun(b []byte) (n int) {
	const each = 0x0101010101010101
	for n < len(b) {
		// Eight bytes are printable ASCII if none is below a space, none DEL and none
		// above: each of these leaves its highest bit set.
		for n+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[n:])
			if ((w-0x20*each)|(w+each)|w)&(0x80*each) != 0 {
				break
			}
			n += 8
		}
		for end := min(n+8, len(b)); n < end; n++ {
			if !plainByte[b[n]] {
				return n
			}
		}
	}
	return n
}

// scan takes the first n bytes of in. Its output is added to out, host and
// reply, which the caller empties.
func (s *scanner) scan(in []byte) (n int, why stop) {
	for n < len(in) {
		if s.state == ground {
			run := n + plainRun(in[n:])
			if run > n {
				s.text(in[n:run])
			}
			size := whole(in[run:])
			switch {
			case size == 0:
			case in[run] == esc:
				s.out = append(s.out, in[run:run+size]...)
			default:
				s.char(in[run : run+size])
			}
			if run += size; run > n {
				n = run
				continue
			}
		}
		c := in[n]
		again, why := s.step(c)
		if !again {
			n++
		}
		if why != atEnd {
			return n, why
		}
	}
	return n, atEnd
}

// whole is the length of the character or style that b begins with, 0 if it
// is neither or not all there. It is a shorter way to what step does with them.
func whole(b []byte) int {
	if len(b) < 3 || b[0] != esc {
		if r, size := utf8.DecodeRune(b); r > 0x9f && size > 1 {
			return size
		}
		return 0
	}
	if b[1] != '[' {
		return 0
	}
	for i := 2; i < min(len(b), maxCSI); i++ {
		if c := b[i]; c < '0' || c > ';' {
			if c == 'm' {
				return i + 1
			}
			break
		}
	}
	return 0
}

// step takes one byte; again says that it is to be looked at once more.
func (s *scanner) step(c byte) (again bool, why stop) {
	switch s.state {
	case ground:
		switch {
		case c == esc:
			s.begin(inEsc, c)
		case c >= 0xc2 && c <= 0xf4:
			s.begin(inChar, c)
		case c >= 0x80 && c < 0xa0:
			// Not UTF-8, but a control to a terminal that is not in UTF-8.
		case c == enq:
			// Its answer is whatever the user has set, typed.
		case c == 0x0e || c == 0x0f:
			s.modes.charset = s.modes.charset || c == 0x0e
			s.each = s.each || c == 0x0e
			s.out = append(s.out, c)
		case plainByte[c]:
			s.text([]byte{c})
		case c == '\v' || c == '\f':
			s.lineFeed(false, c)
		case c >= 0xa0:
			s.char([]byte{c})
		default:
			s.out = append(s.out, c)
		}
	case inChar:
		if c < 0x80 || c > 0xbf {
			s.broken()
			if c < 0x20 {
				s.out = append(s.out, 0, 0, 0) // a careless terminal takes what follows for the character's rest
			}
			return true, atEnd
		}
		s.seq = append(s.seq, c)
		if utf8.FullRune(s.seq) {
			if r, size := utf8.DecodeRune(s.seq); size == len(s.seq) && (r < 0x80 || r > 0x9f) {
				s.char(s.seq)
				s.state = ground
			} else if r >= 0x80 && r <= 0x9f {
				s.state = ground // a C1 control in two bytes
			} else {
				s.broken()
			}
		}
	case inEsc:
		return s.escape(c)
	case inCSI:
		switch {
		case c >= 0x20 && c < 0x40:
			if len(s.seq) < maxCSI {
				s.seq = append(s.seq, c)
			}
		case c >= 0x40 && c < 0x7f:
			s.state = ground
			if len(s.seq) < maxCSI {
				s.seq = append(s.seq, c)
				return false, s.csi()
			}
		case c == 0x7f:
		default:
			s.state = ground // unfinished: dropped
			return c != can && c != sub, atEnd
		}
	case inOSC:
		switch {
		case c == bel:
			s.osc(s.seq[2:])
		case c == esc:
			s.state = inStringEsc
		case c == can || c == sub:
			s.state = ground
		case len(s.seq) == 2 && c == 'R' || len(s.seq) == 9 && s.seq[2] == 'P':
			s.state = ground // the palette of Linux's console: it has no end mark
		case c < 0x20 || c == 0x7f:
		case len(s.seq) < maxOSC:
			s.seq = append(s.seq, c)
		default: // too long: dropped, to its end
			s.seq = s.seq[:2]
			s.state = inString
		}
	case inString:
		switch c {
		case esc:
			s.state = inStringEsc
		case can, sub:
			s.state = ground
		case bel:
			if s.seq[1] == ']' {
				s.state = ground
			}
		}
	case inStringEsc:
		switch {
		case c == '\\' && s.seq[1] == ']':
			s.osc(s.seq[2:])
		case c == '\\':
			s.state = ground
		default: // the string ends with a new sequence
			s.begin(inEsc, esc)
			return true, atEnd
		}
	}
	return false, atEnd
}

const (
	enq = 0x05
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
)

func (s *scanner) begin(to state, c byte) {
	s.state = to
	s.seq = append(s.seq[:0], c)
}

// broken passes on bytes that are no UTF-8, but for those that are controls to
// a terminal that is not in UTF-8.
func (s *scanner) broken() {
	for _, c := range s.seq {
		if c >= 0xa0 {
			s.char([]byte{c})
		}
	}
	s.state = ground
}

// flush ends what the command left unfinished.
func (s *scanner) flush() {
	if s.state == inChar {
		s.broken()
	}
	s.state = ground
}
