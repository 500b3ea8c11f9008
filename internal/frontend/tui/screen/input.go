//go:build unix

package screen

import (
	"bytes"
	"os"
	"sync"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"golang.org/x/sys/unix"
)

// keyboard is the state of the goroutine that reads what is typed.
type keyboard struct {
	mu     sync.Mutex
	change sync.Cond
	paused int
	closed bool
	hung   sync.Once

	buf      []byte // the beginning of a sequence
	decoder  uv.EventDecoder
	pasting  bool
	pasted   []byte
	released map[rune]bool // keys that were handled: their release is nobody else's
}

// escapeTime is how long the rest of a sequence may take, in milliseconds;
// then what there is was typed by hand.
const escapeTime = 50

func (k *keyboard) pause() {
	k.mu.Lock()
	k.paused++
	k.mu.Unlock()
}

func (k *keyboard) resume() {
	k.mu.Lock()
	k.paused--
	k.change.Broadcast()
	k.mu.Unlock()
}

func (k *keyboard) close() {
	k.mu.Lock()
	k.closed = true
	k.change.Broadcast()
	k.mu.Unlock()
}

func (k *keyboard) hangup(f func()) {
	if f != nil {
		k.hung.Do(func() { go f() })
	}
}

// read takes what is typed until quit is closed at its other end.
func (s *Screen) read(quit *os.File) {
	defer quit.Close()
	k := &s.keys
	buf := make([]byte, 4<<10)
	for {
		k.mu.Lock()
		for k.paused > 0 && !k.closed {
			k.change.Wait()
			k.buf, k.pasting, k.pasted = nil, false, nil
		}
		closed, partial := k.closed, len(k.buf) > 0
		k.mu.Unlock()
		if closed {
			return
		}
		wait := -1
		if partial {
			wait = escapeTime
		}
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}, {Fd: int32(quit.Fd())}}
		ready, err := unix.Poll(fds, wait)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || fds[1].Revents != 0:
			return
		}
		n := 0
		if ready > 0 {
			n, err = s.take(buf)
		}
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case ready > 0 && (err != nil || n == 0):
			k.hangup(s.o.Hangup)
			return
		default:
			k.buf = append(k.buf, buf[:n]...)
			s.typed(ready == 0)
		}
	}
}

// take reads what is there, if no page has the keyboard. One may have read it
// since: this must not wait with mu held.
func (s *Screen) take(buf []byte) (int, error) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if s.keys.paused > 0 {
		return 0, unix.EAGAIN
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}, 0); n == 0 || err != nil {
		return 0, unix.EAGAIN
	}
	return unix.Read(s.fd, buf)
}

// typed hands out what is in the buffer; last says that nothing follows.
func (s *Screen) typed(last bool) {
	k := &s.keys
	c := s.cmd.Load()
	var forward []byte // to the command, in one piece
	flush := func() {
		if c != nil && len(forward) > 0 {
			s.typedAt.Store(time.Now().UnixNano())
			c.keys.put(forward)
		}
		forward = nil
	}
	b := k.buf
	for len(b) > 0 {
		if k.pasting {
			n := s.paste(c, b, last)
			if n == 0 {
				break
			}
			forward = append(forward, b[:n]...)
			b = b[n:]
			continue
		}
		n := tokenLen(b)
		if n == 0 {
			if !last && len(b) < maxToken {
				break
			}
			n, _ = k.decoder.Decode(b)
			n = max(n, 1)
		}
		token := b[:n]
		b = b[n:]
		_, event := k.decoder.Decode(token)
		if c != s.cmd.Load() { // it ended, or another began, by what was typed
			flush()
			c = s.cmd.Load()
		}
		if s.handle(c, event) {
			continue
		}
		if _, ok := event.(uv.PasteStartEvent); ok {
			k.pasting = true
		}
		forward = append(forward, token...)
	}
	k.buf = append(k.buf[:0], b...)
	flush()
}

// handle reports whether the event is not for the command, c, or that there
// is none.
func (s *Screen) handle(c *command, event uv.Event) bool {
	k := &s.keys
	switch e := event.(type) {
	case uv.KeyPressEvent:
		if c == nil {
			if s.o.Idle != nil {
				s.o.Idle(e)
			}
			return true
		}
		if s.o.Key == nil || !s.o.Key(e) {
			return false
		}
		if k.released == nil || len(k.released) > 64 {
			k.released = map[rune]bool{}
		}
		k.released[e.Code] = true
		return true
	case uv.KeyReleaseEvent:
		was := k.released[e.Code]
		delete(k.released, e.Code)
		return was || c == nil
	case uv.MouseEvent:
		return c == nil || e.Mouse().Y >= int(s.rows.Load())
	case uv.PasteStartEvent, uv.PasteEndEvent:
		return false
	case uv.FocusEvent, uv.BlurEvent, uv.DarkColorSchemeEvent, uv.LightColorSchemeEvent, uv.UnknownEvent, uv.UnknownCsiEvent, uv.UnknownSs3Event:
		return c == nil
	case uv.MultiEvent: // F3 with a modifier, or the answer where the cursor is
		if c != nil && c.takeAnswer() {
			return !c.keys.takesAnswers()
		}
		return len(e) == 0 || s.handle(c, e[0])
	default: // an answer of the terminal: only to who asked
		return c == nil || !c.takeAnswer() || !c.keys.takesAnswers()
	}
}

func (c *command) takeAnswer() bool {
	for {
		n := c.asked.Load()
		if n <= 0 {
			return false
		}
		if c.asked.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

const (
	pasteEnd = "\x1b[201~"
	maxPaste = 64 << 10
	maxToken = 4 << 10
)

// paste takes n bytes of b while something is pasted; 0 says that more must
// come first.
func (s *Screen) paste(c *command, b []byte, last bool) (n int) {
	k := &s.keys
	n = bytes.Index(b, []byte(pasteEnd))
	over := n >= 0
	if !over {
		n = len(b)
		for keep := min(len(pasteEnd)-1, n); keep > 0 && !last; keep-- {
			if bytes.HasSuffix(b, []byte(pasteEnd)[:keep]) {
				n -= keep
				break
			}
		}
	}
	if c == nil {
		k.pasted = append(k.pasted, b[:n]...)
		if (over || len(k.pasted) >= maxPaste) && s.o.Paste != nil {
			s.o.Paste(string(bytes.ToValidUTF8(k.pasted, nil)))
			k.pasted = nil
		}
	}
	if over {
		k.pasting = false
		k.pasted = nil
		n += len(pasteEnd)
	}
	return n
}
