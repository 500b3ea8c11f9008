package screen

import (
	"maps"
	"slices"
	"strconv"

	"bawn/internal/tty"
)

// private are the private modes that a command may set, with where each
// belongs. All others are dropped, and are "not recognised" when asked about:
// among them the modes that change the size (3, 40, 2048), the margins (69),
// where the cursor is at most (6, 45) and the encoding of keys for good (1034).
var private = map[int]place{
	1:    onBoth,     // cursor keys
	5:    onTerminal, // reverse video
	7:    onScreen,   // wrap
	9:    onTerminal, // mouse: presses only
	12:   onTerminal, // blinking cursor
	25:   onScreen,   // visible cursor
	66:   onBoth,     // keypad
	1000: onTerminal, // mouse
	1002: onTerminal,
	1003: onTerminal,
	1004: onTerminal, // focus
	1005: onTerminal, // encodings of the mouse
	1006: onTerminal,
	1015: onTerminal,
	1016: onTerminal,
	1007: onTerminal, // the wheel as cursor keys
	2004: onTerminal, // bracketed paste
	2026: onScreen,   // synchronised output
	2027: onBoth,     // grapheme clusters
	2031: onTerminal, // reports of a change of the colour scheme
}

// place says what a sequence concerns: what is drawn, which the emulator does
// in composed mode, or the terminal itself and its keyboard.
type place uint8

const (
	onScreen place = 1 << iota
	onTerminal
	onEmulator // on the alternate screen alone
	onBoth     = onScreen | onTerminal
)

// onAtStart reports whether mode is set in a terminal that nobody touched.
func onAtStart(mode int) bool { return mode == 7 || mode == 25 }

// Kitty's stack of keyboard modes is as deep as this at most; what a command
// pushes beyond is dropped.
const maxKitty = 16

// modes is what a command changed in the terminal, so that it can be put off
// for a page, put back on after it, and undone when the command has ended.
type modes struct {
	private map[int]bool // away from where they were at the start
	keypad  bool         // ESC =
	insert  bool         // CSI 4h
	newline bool         // CSI 20h
	charset bool         // something other than ASCII was selected
	style   []byte       // the cursor's shape: "CSI n SP q"
	other   int          // modifyOtherKeys
	kitty   [2]kitty     // one per screen: terminals keep them apart
	link    []byte       // the OSC 8 that is open
}

type kitty struct {
	base  string // what CSI = set, with nothing pushed
	stack []string
}

func (k *kitty) off(b []byte) []byte {
	if n := len(k.stack); n > 0 {
		b = append(b, "\x1b[<"...)
		b = strconv.AppendInt(b, int64(n), 10)
		b = append(b, 'u')
	}
	if k.base != "" {
		b = append(b, "\x1b[=0u"...)
	}
	return b
}

func (k *kitty) on(b []byte) []byte {
	b = append(b, k.base...)
	for _, push := range k.stack {
		b = append(b, push...)
	}
	return b
}

func (m *modes) setPrivate(mode int, on bool) {
	if on == onAtStart(mode) {
		delete(m.private, mode)
		return
	}
	if m.private == nil {
		m.private = map[int]bool{}
	}
	m.private[mode] = on
}

// changed lists the private modes that are not as at the start.
func (m *modes) changed() []int { return slices.Sorted(maps.Keys(m.private)) }

func (m *modes) is(mode int) bool {
	on, ok := m.private[mode]
	return on || !ok && onAtStart(mode)
}

// off undoes everything about the screen with the given index, 0 for the main
// one and 1 for the alternate one. The position of the cursor stays, and so
// do the margins, which belong to the caller.
func (m *modes) off(b []byte, alt int) []byte {
	for _, mode := range m.changed() {
		b = private1(b, mode, !m.private[mode])
	}
	b = m.kitty[alt].off(b)
	if m.other != 0 {
		b = append(b, "\x1b[>4m"...)
	}
	if m.keypad {
		b = append(b, "\x1b>"...)
	}
	if m.insert {
		b = append(b, "\x1b[4l"...)
	}
	if m.newline {
		b = append(b, "\x1b[20l"...)
	}
	if m.charset {
		b = append(b, tty.ASCIICharset...)
	}
	if m.style != nil {
		b = append(b, tty.DefaultShape...)
	}
	if m.link != nil {
		b = append(b, tty.CloseLink...)
	}
	return b
}

// on does again what off undid, except for the character set, which only a
// saved cursor brings back.
func (m *modes) on(b []byte, alt int) []byte {
	b = m.kitty[alt].on(b)
	if m.other != 0 {
		b = append(b, "\x1b[>4;"...)
		b = strconv.AppendInt(b, int64(m.other), 10)
		b = append(b, 'm')
	}
	if m.keypad {
		b = append(b, "\x1b="...)
	}
	if m.insert {
		b = append(b, "\x1b[4h"...)
	}
	if m.newline {
		b = append(b, "\x1b[20h"...)
	}
	b = append(b, m.style...)
	b = append(b, m.link...)
	for _, mode := range m.changed() {
		b = private1(b, mode, m.private[mode])
	}
	return b
}

func private1(b []byte, mode int, on bool) []byte {
	b = append(b, "\x1b[?"...)
	b = strconv.AppendInt(b, int64(mode), 10)
	if on {
		return append(b, 'h')
	}
	return append(b, 'l')
}
