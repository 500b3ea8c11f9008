//go:build unix

package session

import "time"

// moment is how long an answer may take before whoever waits is told of it.
const moment = time.Second

// waits tells the person of a client that its command waits for an answer: the
// question is on another terminal. Whatever else waits meanwhile is not told of.
func (s *Session) waits(who func() source) (over func()) {
	found := make(chan *task, 1)
	timer := time.AfterFunc(moment, func() {
		from := who()
		s.mu.Lock()
		t := s.task(from.task)
		s.mu.Unlock()
		if t == nil || t.info.Kind != Attached || !t.client.person {
			found <- nil
			return
		}
		t.mu.Lock()
		t.asked++
		first := t.asked == 1
		t.mu.Unlock()
		found <- t
		if first {
			t.notice("waiting for an answer in session " + s.id)
		}
	})
	return func() {
		if timer.Stop() {
			return
		}
		if t := <-found; t != nil {
			t.mu.Lock()
			t.asked--
			t.mu.Unlock()
		}
	}
}
