//go:build unix

package screen

import (
	"time"

	"github.com/charmbracelet/x/ansi"

	"bawn/internal/tty"
)

// refresh draws what is to be drawn, now or as soon as it may. Without
// anything to draw no timer runs.
func (s *Screen) refresh() {
	if s.scan.damaged {
		s.scan.damaged = false
		s.dirty = true
	}
	if !s.dirty || s.held || s.closed || s.o.Plain {
		return
	}
	now := time.Now()
	if d := s.due(now).Sub(now); d > 0 {
		if !s.armed {
			s.armed = true
			s.timer.Reset(d)
		}
		return
	}
	s.drawn, s.dirty = now, false
	if s.emu != nil {
		s.drawFrame()
		return
	}
	s.drawUnder()
}

// due is when the next drawing may be.
func (s *Screen) due(now time.Time) time.Time {
	at := s.drawn.Add(frame)
	switch {
	case s.emu == nil && s.slot.After(at):
		return s.slot
	case s.emu != nil && now.UnixNano()-s.typedAt.Load() < int64(keyTime):
		return s.drawn.Add(keyFrame) // what the key does should show
	}
	return at
}

func (s *Screen) tick() {
	defer s.Recover()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	s.refresh()
	s.emit()
}

// drawUnder draws the footer in pass-through. The terminal keeps the
// command's cursor meanwhile, with its style and modes.
func (s *Screen) drawUnder() {
	if !s.parked {
		s.buf = append(s.buf, "\x1b7"...)
		s.scan.save()
	}
	s.drawFooter()
	if s.cursor != nil && s.cmd.Load() == nil && s.lines > 0 {
		s.buf = appendCUP(s.buf, s.scan.rows+1+min(s.cursor.Line, s.lines-1), 1+min(s.cursor.Col, s.scan.cols-1))
		s.parked = true
		return
	}
	s.parked = false
	s.buf = append(s.buf, "\x1b8"...)
	s.afterFooter()
}

// drawAtSlot draws the footer where the command's cursor is the saved one.
func (s *Screen) drawAtSlot() {
	s.drawn, s.dirty, s.scan.damaged = time.Now(), false, false
	s.drawFooter()
	s.buf = append(s.buf, "\x1b8"...)
	s.afterFooter()
}

// drawFooter writes the lines. Modes of the command that would disturb them
// are put off first.
func (s *Screen) drawFooter() {
	m := &s.scan.modes
	if s.emu == nil {
		if m.insert {
			s.buf = append(s.buf, "\x1b[4l"...)
		}
		if m.charset {
			s.buf = append(s.buf, tty.ASCIICharset...)
		}
		if m.link != nil {
			s.buf = append(s.buf, tty.CloseLink...)
		}
	}
	s.buf = private1(s.buf, 7, false)
	for i := range s.lines {
		s.buf = appendCUP(s.buf, s.scan.rows+1+i, 1)
		s.buf = append(s.buf, "\x1b[m\x1b[K"...)
		s.buf = append(s.buf, ansi.Truncate(s.footer[i], s.scan.cols, "…")...)
	}
	s.buf = append(s.buf, "\x1b[m"...)
	s.scan.wide = true // what REP repeats now
	if m.is(7) && !s.scan.at.below || s.emu != nil {
		s.buf = private1(s.buf, 7, true)
	}
}

// afterFooter puts back what a saved cursor does not bring with it.
func (s *Screen) afterFooter() {
	if s.scan.modes.insert {
		s.buf = append(s.buf, "\x1b[4h"...)
	}
	if s.scan.at.below { // some terminals have it in the saved cursor
		s.buf = private1(s.buf, 7, false)
	}
	s.buf = append(s.buf, s.scan.modes.link...)
}

// unpark brings the cursor back to the output.
func (s *Screen) unpark() {
	if s.parked {
		s.parked, s.dirty = false, true
		s.buf = append(s.buf, "\x1b8"...)
		s.afterFooter()
	}
}
