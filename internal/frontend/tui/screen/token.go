package screen

import "unicode/utf8"

// tokenLen is the length of the key, or answer of the terminal, that b begins
// with; 0 if it is not complete. What it means is not its business.
func tokenLen(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	if b[0] != esc {
		if b[0] < utf8.RuneSelf || utf8.FullRune(b) {
			_, n := utf8.DecodeRune(b)
			return n
		}
		return 0
	}
	if len(b) == 1 {
		return 0
	}
	switch b[1] {
	case esc: // Alt with a key that is itself a sequence
		if n := tokenLen(b[1:]); n > 1 {
			return n + 1
		}
		if len(b) > 2 && b[2] != '[' && b[2] != 'O' {
			return 1
		}
		return 0
	case 'O':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 {
				return i + 1
			}
		}
		return 0
	case '[':
		return csiLen(b)
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(b); i++ {
			switch {
			case b[i] == bel && b[1] == ']':
				return i + 1
			case b[i] == '\\' && b[i-1] == esc && i > 2:
				return i + 1
			}
		}
		return 0
	}
	if n := tokenLen(b[1:]); n > 0 {
		return n + 1
	}
	return 0
}

func csiLen(b []byte) int {
	for i := 2; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '[' && i == 2: // a function key of Linux's console
			if len(b) > 3 {
				return 4
			}
			return 0
		case c == 'M' && i == 2: // the mouse, in its oldest encoding
			if len(b) >= 6 {
				return 6
			}
			return 0
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x7e: // no sequence
			return i
		}
	}
	return 0
}
