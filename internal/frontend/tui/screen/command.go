//go:build unix

package screen

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"

	"bawn/internal/tty"
)

// command is the one that has the screen.
type command struct {
	task    int
	master  *os.File
	keys    *queue
	asked   atomic.Int64  // answers of the terminal that it waits for
	drained chan struct{} // closed when all that it wrote is shown
	tail    []byte        // the end of what it wrote, twice maxTail at most
}

// maxTail is how much is kept of what a command wrote, in bytes.
const maxTail = 64 << 10

// Attach shows what a command writes to its terminal, whose master this is,
// and sends it what is typed, until the last slave is closed. The terminal
// has its size and modes when Attach returns. The screen closes master then,
// unless Attach failed.
func (s *Screen) Attach(task int, master *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.dead:
		return ErrClosed
	case s.cmd.Load() != nil:
		return ErrBusy
	}
	if err := term.SetState(master.Fd(), s.saved); err != nil {
		return fmt.Errorf("set the modes of the command's terminal: %w", err)
	}
	s.setSize(master)
	if !s.held {
		s.unpark()
		s.ownModes(false)
		s.emit()
	}
	c := &command{task: task, master: master, keys: newQueue(), drained: make(chan struct{})}
	s.cmd.Store(c)
	s.last = c
	s.start(func() { c.keys.drainTo(master) })
	s.start(func() { s.output(c) })
	return nil
}

// Drain waits until all that the command wrote has been shown.
func (s *Screen) Drain(task int) {
	if c := s.cmd.Load(); c != nil && c.task == task {
		<-c.drained
	}
}

// Tail is the end of what the command wrote that had the screen last, if this
// is the one.
func (s *Screen) Tail(task int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || s.last.task != task {
		return nil
	}
	return s.last.end()
}

// end is what the caller may keep: nothing is written to it later.
func (c *command) end() []byte { return append([]byte(nil), c.tail[max(0, len(c.tail)-maxTail):]...) }

// keep adds to the tail. The caller holds the screen's mu.
func (c *command) keep(b []byte) {
	if len(c.tail)+len(b) > 2*maxTail {
		c.tail = append(c.tail[:0], c.tail[max(0, len(c.tail)-maxTail):]...)
	}
	c.tail = append(c.tail, b...)
}

// yieldEvery is after how many reads of pass-through, of 4 KiB at most each, the
// processor is offered to others. Each time wakes a thread; much more seldom than
// this, and on a busy machine output takes longer.
const yieldEvery = 4

// output shows what a command writes, to its end.
func (s *Screen) output(c *command) {
	defer close(c.drained)
	buf := make([]byte, 64<<10)
	for reads := 0; ; {
		n, err := tty.Read(c.master, buf)
		s.mu.Lock()
		s.waitForPage()
		if n > 0 {
			c.keep(buf[:n])
			s.show(c, buf[:n])
		}
		if err != nil { // EIO: every slave is closed
			_ = c.master.Close()
			s.detach(c)
		}
		s.emit()
		slow := s.emu != nil
		s.mu.Unlock()
		if err != nil {
			return
		}
		if reads++; slow || reads%yieldEvery == 0 {
			runtime.Gosched() // a flood never waits, and would keep a processor from the keyboard for 10 ms
		}
	}
}

// show draws b and what is due of the footer.
func (s *Screen) show(c *command, b []byte) {
	s.unpark()
	for len(b) > 0 {
		s.scan.wantSlot = s.dirty && s.emu == nil && time.Now().Before(s.slot)
		if s.emu == nil {
			s.scan.out = s.buf
		} else {
			s.scan.out, s.scan.spans = s.scan.out[:0], s.scan.spans[:0]
		}
		n, why := s.scan.scan(b)
		b = b[n:]
		s.sort(c)
		switch why {
		case atSlot:
			s.drawAtSlot()
		case atAlternate:
			s.compose()
		case atMain:
			s.uncompose()
		}
	}
	s.refresh()
}

// sort passes on what scan put out.
func (s *Screen) sort(c *command) {
	if s.emu == nil {
		s.buf = s.scan.out
		if n := len(s.buf); n > 0 {
			s.lineStart = s.buf[n-1] == '\n'
		}
		s.scan.out = nil
	} else {
		s.feed(s.scan.out, s.scan.spans...)
		s.buf = append(s.buf, s.scan.host...)
		s.scan.host = s.scan.host[:0]
	}
	if !s.scan.told {
		s.report()
	}
	if s.scan.slot {
		s.scan.slot = false
		s.slot = time.Now().Add(slotTime)
	}
	if s.scan.asked > 0 {
		c.asked.Add(int64(s.scan.asked))
		s.scan.asked = 0
	}
	if len(s.scan.reply) > 0 {
		c.keys.offer(s.scan.reply)
		s.scan.reply = s.scan.reply[:0]
	}
}

// detach undoes all that the command did to the terminal.
func (s *Screen) detach(c *command) {
	s.scan.out = s.buf
	if s.emu != nil {
		s.scan.out, s.scan.spans = nil, nil
	}
	s.scan.flush()
	s.sort(c)
	if s.emu != nil {
		s.uncompose()
	}
	s.buf = s.scan.modes.off(s.buf, 0)
	if !s.o.Plain {
		s.buf = append(s.buf, "\x1b[m"...)
	}
	s.scan.modes = modes{}
	s.oldTitle()
	s.report()
	if s.scan.bottom != 0 || s.scan.top > 1 {
		s.scan.top, s.scan.bottom = 0, 0
		s.room()
	}
	s.slot = time.Time{}
	s.cmd.Store(nil)
	c.keys.close()
	s.ownModes(true)
	s.dirty = true
	s.refresh()
}

// oldTitle brings back the title from before a command.
func (s *Screen) oldTitle() {
	if s.scan.titled {
		s.scan.titled = false
		s.buf = append(s.buf, tty.OldTitle...)
	}
}

// queue holds what is typed until the command reads it.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	buf    []byte
	closed bool
}

// maxTyped is how much may wait; then the keyboard waits. From maxAnswers on
// answers are lost: else a command that asks on and reads nothing would take
// the keyboard, with the keys that are bawn's.
const (
	maxTyped   = 1 << 20
	maxAnswers = 64 << 10
)

func newQueue() *queue {
	q := &queue{}
	q.change.L = &q.mu
	return q
}

// put adds b, and waits while the queue is full.
func (q *queue) put(b []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.buf) > maxTyped && !q.closed {
		q.change.Wait()
	}
	q.add(b)
}

// offer adds an answer if there is room.
func (q *queue) offer(b []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.buf) <= maxAnswers {
		q.add(b)
	}
}

// takesAnswers reports whether there is room for one.
func (q *queue) takesAnswers() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.buf) <= maxAnswers
}

func (q *queue) add(b []byte) {
	if len(b) > 0 && !q.closed {
		q.buf = append(q.buf, b...)
		q.change.Broadcast()
	}
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.change.Broadcast()
	q.mu.Unlock()
}

// drainTo writes what is put to f, until the queue is closed or f is.
func (q *queue) drainTo(f *os.File) {
	for {
		q.mu.Lock()
		for len(q.buf) == 0 && !q.closed {
			q.change.Wait()
		}
		b, closed := q.buf, q.closed
		q.buf = nil
		q.change.Broadcast()
		q.mu.Unlock()
		if closed {
			return
		}
		if _, err := f.Write(b); err != nil {
			q.close()
			return
		}
	}
}
