package screen

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"bawn/internal/tty"
)

// osc decides on an operating system command.
func (s *scanner) osc(body []byte) {
	s.state = ground
	number, rest, _ := bytes.Cut(body, []byte{';'})
	n, err := strconv.Atoi(string(number))
	if err != nil || n < 0 {
		return
	}
	switch n {
	case 0, 1, 2:
		if !s.titled {
			s.titled, s.told = true, false
			s.send(onTerminal, []byte(tty.KeepTitle)...)
		}
		s.sendOSC(onTerminal, body[:min(len(body), 256)])
	case 4, 10, 11, 12: // questions about colours alone: set ones could hide text
		if string(rest) == "?" || n == 4 && colourQuestion(rest) {
			s.asked++
			s.sendOSC(onTerminal, body)
		}
	case 8:
		_, uri, ok := bytes.Cut(rest, []byte{';'})
		switch {
		case !ok:
		case len(uri) == 0:
			s.modes.link = nil
			s.sendOSC(onScreen, body)
		case bytes.HasPrefix(uri, []byte("https://")) || bytes.HasPrefix(uri, []byte("http://")):
			s.modes.link = append(append([]byte("\x1b]"), bytes.Map(noControl, body)...), "\x1b\\"...)
			s.sendOSC(onScreen, body)
		}
	case 9: // progress alone: the rest of 9 are notifications
		if v, ok := bytes.CutPrefix(rest, []byte("4;")); ok {
			if _, ok := numbers(v); ok {
				s.sendOSC(onTerminal, body)
			}
		}
	}
}

func (s *scanner) sendOSC(to place, body []byte) {
	b := append([]byte("\x1b]"), bytes.Map(noControl, body)...)
	s.send(to, append(b, "\x1b\\"...)...)
}

// noControl drops what could end the string early, to a terminal that takes C1
// controls in two bytes as well.
func noControl(r rune) rune {
	if r == utf8.RuneError || r >= 0x80 && r <= 0x9f {
		return -1
	}
	return r
}

// colourQuestion reports whether v is "N;?".
func colourQuestion(v []byte) bool {
	n, q, _ := bytes.Cut(v, []byte{';'})
	_, ok := numbers(n)
	return ok && string(q) == "?"
}
