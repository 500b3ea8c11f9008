package tty

// Sequences that undo what a program can have done to a terminal, without knowing
// what. (Origin mode stays: undoing it would move the cursor, and without margins
// it is nothing. So do what a terminal may begin with either way: the shape of the
// cursor, what the wheel does. DefaultShape is for where that was set.)
const (
	// UndoModes undoes the modes; the cursor stays.
	UndoModes = "\x1b[<99u\x1b[=0u\x1b[>4m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" +
		"\x1b[?9l\x1b[?2004l\x1b[?2031l\x1b[?1l\x1b[?5l\x1b[?7h\x1b[?25h\x1b>\x1b[4l\x1b[20l" + ASCIICharset + CloseLink + "\x1b[m"
	// UndoMargins undoes the margins; the cursor stays.
	UndoMargins = "\x1b7\x1b[r\x1b8"
	// UndoAll undoes both, and leaves the alternate screen, if that is shown: a
	// terminal on its main screen goes back to the cursor that was saved just before.
	UndoAll = UndoModes + "\x1b7\x1b[?1049l" + UndoModes + UndoMargins

	ASCIICharset = "\x1b(B\x1b)B\x0f"
	CloseLink    = "\x1b]8;;\x1b\\"

	// DefaultShape gives the cursor the shape that the terminal's owner has chosen.
	// Linux's console, which knows none, may write it as text.
	DefaultShape = "\x1b[0 q"

	// KeepTitle has the terminal keep the title and the icon's name, and OldTitle
	// brings back those that were kept last: never without the first, or a title
	// comes back that another program keeps.
	KeepTitle = "\x1b[22;0t"
	OldTitle  = "\x1b[23;0t"
)
