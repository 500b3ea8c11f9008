//go:build unix

package screen

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"bawn/internal/tty"
)

// Screen owns a terminal from Open to Close.
type Screen struct {
	tty   *os.File
	fd    int
	o     Options
	saved *term.State // as the caller had it
	keys  keyboard
	cmd   atomic.Pointer[command] // nil while nothing is attached
	last  *command                // that was attached last
	rows  atomic.Int32            // of the command

	typedAt atomic.Int64 // when the command was last typed to, in Unix nanoseconds

	// mu is held while something is drawn. Nothing that handles keys takes it:
	// a terminal that does not take output must not hold up the keyboard.
	mu     sync.Mutex
	change sync.Cond // of held
	closed bool
	dead   bool // the terminal takes no more output
	held   bool // a page has the terminal, or this process is stopped
	fresh  bool // the size has changed meanwhile

	size   unix.Winsize // of the terminal
	footer []string
	cursor *Cursor
	lines  int // of the footer, as there is room; the command has the rows above

	scan      scanner
	buf       []byte // to be written
	lineStart bool   // what was written last ended a line
	later     []byte // printed in composed mode, for after it

	parked bool // the cursor is in the footer, the command's is saved
	dirty  bool // the footer, or a frame, is to be drawn
	drawn  time.Time
	slot   time.Time // until then the saved cursor is the command's
	timer  *time.Timer
	armed  bool

	emu     *emulator
	quit    *os.File // closing it ends the reader of the keyboard
	signals *signals
	watch   *watcher
	owned   sync.WaitGroup // the readers of the keyboard and of signals
}

// frame is the shortest time between two drawings of the footer.
const frame = time.Second / 60

// keyFrame is that of the alternate screen for keyTime after a key was typed.
const (
	keyFrame = time.Second / 250
	keyTime  = 100 * time.Millisecond
)

// slotTime is how long a cursor that the command has saved is kept: until
// then, the footer is drawn only where the command saves or restores it.
const slotTime = time.Second

// Open takes the terminal tty.
func Open(tty *os.File, o Options) (*Screen, error) {
	fd := int(tty.Fd())
	if !term.IsTerminal(tty.Fd()) {
		return nil, fmt.Errorf("open the screen on %q: %w", tty.Name(), ErrNoTerminal)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the screen: %w", err)
	}
	saved, err := term.MakeRaw(tty.Fd())
	if err != nil {
		r.Close()
		w.Close()
		return nil, fmt.Errorf("open the screen: %w", err)
	}
	s := &Screen{tty: tty, fd: fd, o: o, saved: saved, quit: w, lineStart: true, fresh: true, signals: newSignals()}
	s.scan.plain = o.Plain
	s.change.L = &s.mu
	s.keys.change.L = &s.keys.mu
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.measure()
	s.watch = startWatcher(tty, saved)
	s.report()
	s.enter()
	s.emit()
	s.owned.Go(func() { defer s.Recover(); s.read(r) })
	s.owned.Go(func() { defer s.Recover(); s.watchSignals() })
	return s, nil
}

// start runs f in a goroutine of a command, which ends with it.
func (s *Screen) start(f func()) {
	go func() {
		defer s.Recover()
		f()
	}()
}

// Recover is deferred by every goroutine of the caller that may panic while
// the screen is open: the terminal is given back before the panic is printed.
func (s *Screen) Recover() {
	if v := recover(); v != nil {
		s.rescue()
		panic(v)
	}
}

// rescue gives the terminal back without a lock, which the goroutine that
// panics may hold.
func (s *Screen) rescue() {
	if s.mu.TryLock() {
		s.leave(true)
		s.oldTitle()
		s.emit()
		s.held = true // for good: nothing is drawn any more
		s.mu.Unlock()
	} else if !s.o.Plain {
		_ = tty.WriteAll(s.fd, []byte(undoAlternate))
	}
	_ = term.Restore(uintptr(s.fd), s.saved)
}

// Close gives the terminal back as it was. What a command writes from now on
// is lost.
func (s *Screen) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.timer.Stop()
	if !s.held {
		s.leave(true)
		s.oldTitle()
		s.emit()
	}
	s.dead, s.held = true, false
	s.change.Broadcast()
	s.mu.Unlock()
	s.keys.close()
	if c := s.cmd.Load(); c != nil {
		c.keys.close() // the keyboard may wait for a command that reads nothing
	}
	_ = s.quit.Close()
	s.signals.close()
	s.owned.Wait()
	s.watch.close()
	if err := term.Restore(uintptr(s.fd), s.saved); err != nil {
		return fmt.Errorf("give the terminal back: %w", err)
	}
	return nil
}

// SetFooter shows these lines, at most MaxFooter, under the output. They are
// text with styles (SGR) and no other sequence; each is cut to the width.
// While no command is attached the cursor is shown at the given place of it.
func (s *Screen) SetFooter(lines []string, cursor *Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.o.Plain {
		return
	}
	lines = lines[:min(len(lines), MaxFooter)]
	if slices.Equal(lines, s.footer) && equal(cursor, s.cursor) {
		return
	}
	other := len(lines) != len(s.footer)
	s.footer = slices.Clone(lines)
	s.cursor = nil
	if cursor != nil {
		c := *cursor
		s.cursor = &c
	}
	s.dirty = true
	if other {
		s.layout()
	}
	s.refresh()
	s.emit()
}

func equal(a, b *Cursor) bool { return a == b || a != nil && b != nil && *a == *b }

// Print writes lines of the caller's own among the output, on a line of
// their own. While a command is on the alternate screen they wait.
func (s *Screen) Print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitForPage()
	if s.emu != nil {
		if len(s.later) < 64<<10 {
			s.later = append(s.later, text...)
		}
		return
	}
	s.print(text)
	s.refresh()
	s.emit()
}

func (s *Screen) print(text string) {
	s.unpark()
	if !s.lineStart {
		text = "\n" + text
	}
	s.scan.out = s.buf
	s.scan.own(strings.ReplaceAll(text, "\n", "\r\n"))
	s.buf = s.scan.out
	s.lineStart = strings.HasSuffix(text, "\n") || text == ""
}

// Suspend hands the terminal to a page that draws and reads by itself, on the
// alternate screen. Commands wait meanwhile with what they write. It must not
// be called from a function of Options.
func (s *Screen) Suspend() (resume func()) {
	s.keys.pause()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitForPage()
	s.leave(false)
	s.emit()
	s.held = true
	s.report()
	if s.o.Plain { // such a page reads lines
		_ = term.Restore(uintptr(s.fd), s.saved)
	}
	return func() {
		s.mu.Lock()
		s.held = false
		if !s.closed {
			_, _ = term.MakeRaw(uintptr(s.fd))
			s.report()
			s.enter()
			s.refresh()
			s.emit()
		}
		s.change.Broadcast()
		s.mu.Unlock()
		s.keys.resume()
	}
}

// waitForPage waits until nobody else has the terminal.
func (s *Screen) waitForPage() {
	for s.held {
		s.change.Wait()
	}
}

// measure takes over the terminal's size.
func (s *Screen) measure() {
	ws, err := unix.IoctlGetWinsize(s.fd, unix.TIOCGWINSZ)
	if err != nil || ws.Row == 0 || ws.Col == 0 {
		ws = &unix.Winsize{Row: 24, Col: 80}
	}
	s.size = *ws
	s.divide()
}

// divide gives the footer its lines if the command keeps three at least.
func (s *Screen) divide() {
	s.lines = len(s.footer)
	if int(s.size.Row) < s.lines+3 {
		s.lines = 0
	}
	s.scan.rows, s.scan.cols = int(s.size.Row)-s.lines, int(s.size.Col)
	s.rows.Store(int32(s.scan.rows))
	if c := s.cmd.Load(); c != nil {
		s.setSize(c.master)
	}
}

// setSize gives a command's terminal the size it has here.
func (s *Screen) setSize(master *os.File) {
	ws := s.size
	ws.Row = uint16(s.scan.rows)
	ws.Ypixel = uint16(int(ws.Ypixel) * s.scan.rows / int(s.size.Row))
	_ = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &ws)
}

// resize follows the terminal's size.
func (s *Screen) resize() {
	s.mu.Lock()
	old := s.size
	s.measure()
	if s.size != old {
		s.relayout()
		s.refresh()
		s.emit()
	}
	width := int(s.size.Col)
	s.mu.Unlock()
	if s.size.Col != old.Col && s.o.Resized != nil {
		s.o.Resized(width)
	}
}

// layout makes room for a footer of another height.
func (s *Screen) layout() {
	old := s.scan.rows
	s.divide()
	if s.scan.rows != old {
		s.relayout()
	}
}

// relayout draws everything for another size, of the terminal or the footer.
func (s *Screen) relayout() {
	s.fresh = true
	s.scan.top, s.scan.bottom = 0, 0
	switch {
	case s.held || s.o.Plain:
	case s.emu != nil:
		s.emu.resize(s.scan.cols, s.scan.rows)
		s.buf = append(s.buf, "\x1b[m\x1b[2J"...)
		s.dirty = true
	default:
		s.unpark()
		s.buf = append(s.buf, "\x1b7\x1b[r\x1b8"...)
		s.room()
	}
}

// room sets the margins for a terminal that has none, on its main screen. The
// cursor moves up with the text where it stands in the footer's lines. What is
// below it is erased: the footer as it was before the size changed.
func (s *Screen) room() {
	s.dirty = true
	if s.o.Plain {
		return
	}
	if s.fresh {
		s.scan.anywhere()
	}
	if s.fresh && s.lines > 0 {
		for range s.lines {
			s.buf = append(s.buf, "\x1bD"...)
		}
		s.buf = appendCSI(s.buf, s.lines, 'A')
		s.buf = append(s.buf, "\x1b7\x1b[E\x1b[J\x1b8"...)
	}
	s.fresh = false
	s.buf = append(s.buf, "\x1b7"...)
	s.buf = appendMargins(s.buf, max(s.scan.top, 1), s.scan.lastRow())
	s.buf = append(s.buf, "\x1b8"...)
	s.scan.save()
	s.buf = s.scan.rewrap(s.buf)
}

// enter takes a terminal that is as its owner had it, or as leave left it.
func (s *Screen) enter() {
	if s.o.Plain {
		s.buf = s.scan.modes.on(s.buf, 0)
		return
	}
	s.room()
	if s.emu != nil {
		s.buf = s.scan.modes.kitty[0].on(s.buf)
		s.openAlternate()
		s.buf = s.scan.modes.on(s.buf, 1)
		return
	}
	s.ownModes(true)
	s.buf = s.scan.modes.on(s.buf, 0)
}

// leave gives the terminal away: for good, or stopped, with erase.
func (s *Screen) leave(erase bool) {
	s.unpark()
	if s.emu != nil {
		s.buf = s.scan.modes.off(s.buf, 1)
		s.buf = append(s.buf, "\x1b[?1049l"...)
		s.buf = s.scan.modes.kitty[0].off(s.buf)
	} else {
		s.buf = s.scan.modes.off(s.buf, 0)
	}
	if s.scan.at.below {
		s.scan.at.below = false // until the terminal is taken again
		s.buf = private1(s.buf, 7, true)
	}
	if s.o.Plain {
		return
	}
	s.ownModes(false)
	if erase {
		s.buf = append(s.buf, "\x1b[m"...)
		s.fresh = true
	}
	s.buf = append(s.buf, "\x1b7\x1b[r"...)
	if erase && s.lines > 0 {
		s.buf = appendCUP(s.buf, s.scan.rows+1, 1)
		s.buf = append(s.buf, "\x1b[J"...)
	}
	s.buf = append(s.buf, "\x1b8"...)
}

// ownModes are those for the caller's input line.
func (s *Screen) ownModes(on bool) {
	if s.cmd.Load() == nil && !s.o.Plain {
		s.buf = private1(s.buf, 2004, on)
	}
}

// emit writes what is in buf.
func (s *Screen) emit() {
	if len(s.buf) > 0 && !s.dead && tty.WriteAll(s.fd, s.buf) != nil {
		s.dead = true
		s.keys.hangup(s.o.Hangup)
	}
	if cap(s.buf) > 1<<20 {
		s.buf = nil
	}
	s.buf = s.buf[:0]
}
