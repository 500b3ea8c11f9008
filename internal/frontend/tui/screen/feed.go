//go:build unix

package screen

// feed draws b, with its spans of text. What the emulator cannot take costs the
// command its picture, not the session its screen.
func (s *Screen) feed(b []byte, spans ...span) {
	if len(b) == 0 {
		return
	}
	defer func() {
		if recover() != nil {
			s.emu.close()
			s.emu = s.newEmulator()
		}
	}()
	s.emu.write(b, spans)
	s.dirty = true
}

// write gives b to the emulator. Of a run of text within a line it draws the first
// character and the last two (one may wait for a mark to combine with, and the
// other is what is repeated then); those between get cells as the first has its own.
func (e *emulator) write(b []byte, spans []span) {
	done := 0 // of b
	for _, sp := range spans {
		for at := sp.from; at < sp.to; {
			n := printable(b[at:sp.to])
			if n >= minSpan {
				_, _ = e.vt.Write(append(e.next, b[done:at+1]...))
				k := e.fill(b[at : at+n-2])
				e.next = e.next[:0]
				if done = at + 1 + k; k > 0 {
					e.next = appendCSI(e.next, e.vt.CursorPosition().X+1+k, 'G')
				}
			}
			at += max(n, 1)
		}
	}
	_, _ = e.vt.Write(append(e.next, b[done:]...))
	e.next = e.next[:0]
}

// printable is how many bytes b begins with that are characters.
func printable(b []byte) int {
	for i, c := range b {
		if c < 0x20 {
			return i
		}
	}
	return len(b)
}

// fill sets the cells after the first character of text, which was just written, as
// far as the line goes without its last one, and returns how many. The cursor stays.
func (e *emulator) fill(text []byte) int {
	first, rest := text[:1], text[1:]
	at := e.vt.CursorPosition()
	k := min(len(rest), e.vt.Width()-1-at.X)
	c := e.vt.CellAt(at.X-1, at.Y)
	if k <= 0 || c == nil || c.Width != 1 || c.Content != string(first) { // it went elsewhere, or waits
		return 0
	}
	cell := *c
	for i := range k {
		cell.Content = string(rest[i : i+1]) // no allocation: the runtime has those of one byte
		e.vt.SetCell(at.X+i, at.Y, &cell)
	}
	return k
}
