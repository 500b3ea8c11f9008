//go:build unix

package session

import "sync"

// looks lets few goroutines at a time look through processes: of hundreds at once
// each would wait for all, and the first question with them. The zero value is
// ready.
type looks struct {
	once  sync.Once
	turns chan struct{}
}

// maxLooks is how many: one that is held up holds up no other.
const maxLooks = 4

func (l *looks) begin() (end func()) {
	l.once.Do(func() { l.turns = make(chan struct{}, maxLooks) })
	l.turns <- struct{}{}
	return func() { <-l.turns }
}
