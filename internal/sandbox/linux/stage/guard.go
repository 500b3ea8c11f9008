//go:build linux

package stage

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/guard"
	"bawn/internal/sandbox/linux/guard/rules"
)

// serveGuard answers for the names that the command makes or changes. It runs
// for as long as anything in the sandbox does; without it calls would fail, so
// an end by an error ends the run. mounts are what it holds in the place of
// mounts, where there are none.
func serveGuard(t *teller, listener, lock int, g sandbox.Guard, mounts []rules.Mount) {
	streams := guard.Streams() // before this process lets go of them
	go func() {
		// Here, beside the start of the command: its first call waits for it.
		if err := guard.Serve(listener, lock, streams, Rules(g, mounts), t.note); err != nil {
			os.Exit(report(err))
		}
	}()
}

// Rules are the name guard's rules for a run; with mounts it holds these too.
func Rules(g sandbox.Guard, mounts []rules.Mount) guard.Rules {
	r := rules.New(rules.Config{
		Roots: g.Roots, Exempt: g.Exempt, Home: g.Home, Paths: g.Paths,
		Lifted: g.Lifted, Protected: g.Protected, Unprotected: g.Unprotected, Linked: g.Linked, Mounts: mounts,
	})
	if g.Only.On {
		r = rules.Only(r, g.Roots, g.Exempt, g.Only)
	}
	if len(mounts) > 0 {
		r = rules.Mounted(r, mounts)
	}
	return r
}

// tellings bound the names that the supervisor is told of in one run, by what
// became of them: many of one kind must not hide those of another.
var tellings = [...]int{denied: 256, watched: sandbox.MaxWatched, unable: 128}

// What became of a call, as MsgName has it.
const (
	denied  = '-'
	watched = '+'
	unable  = '!' // the kernel refused it
	counted = '=' // no name: how often else calls were denied
)

// teller passes the guard's events on, each once, and at the end how often what
// was denied was tried again. The guard must not wait for a supervisor that is
// slow to read.
type teller struct {
	mu    sync.Mutex
	told  map[string]int // the number of its kind, from 0
	count [len(tellings)]int
	again []int // calls that were denied once more, by the number of the denial
	over  int   // calls that were denied beyond the bound
	ended bool
	queue chan []byte   // nil until there is something to tell
	sent  chan struct{} // closed when all is sent

	family *family
}

func newTellerFor(queue chan []byte) *teller {
	t := &teller{told: map[string]int{}, queue: queue}
	t.family = newFamily(t.process)
	return t
}

func (t *teller) note(e guard.Event) {
	if e.Seen {
		t.family.add(e.TGID, e.Parent, e.Command)
		return
	}
	if e.Allowed && !strings.HasPrefix(e.Rule.ID, "watch:") {
		return // git's config, seen and found harmless
	}
	kind := byte(denied)
	switch {
	case e.Allowed:
		kind = watched
	case e.Failed:
		kind = unable
	}
	// A failure has no rule; one file may be refused for several reasons.
	key := e.Rule.ID + "\x00" + e.Path + "\x00" + e.Reason
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	number, known := t.told[key]
	switch {
	case known && kind == denied:
		t.again[number]++
		return
	case known:
		return
	case t.count[kind] >= tellings[kind]:
		if kind == denied {
			t.over++
		}
		return
	case kind == denied:
		t.again = append(t.again, 0)
	}
	t.told[key] = t.count[kind]
	t.count[kind]++
	msg := []byte{MsgName, kind}
	for _, f := range []string{strconv.Itoa(e.TGID), e.Command, e.Op.String(), e.Path, e.Rule.ID, short(e.Rule.Text), short(e.Rule.Lift), short(e.Reason)} {
		msg = append(append(msg, f...), 0)
	}
	for _, a := range e.Line {
		more := append(fmt.Appendf(nil, "%d %d %s", a.PID, a.Parent, a.Command), 0)
		if len(msg)+len(more) > maxName {
			break
		}
		msg = append(msg, more...)
	}
	t.put(msg)
}

// put sends a message, later. The caller has locked t.mu.
func (t *teller) put(msg []byte) {
	if t.queue == nil {
		room := maxFamily
		for _, n := range tellings {
			room += n
		}
		t.queue, t.sent = make(chan []byte, room), make(chan struct{})
		go t.send()
	}
	t.queue <- msg // never full: one place for each that is told
}

// process tells of a member of the family.
func (t *teller) process(msg []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.put(msg)
	}
}

// maxName bounds one message: a path, its rule and the reason, of which each
// text has at most maxShort bytes: some quote what the command wrote.
const (
	maxName  = 7 << 10
	maxShort = 768
)

func short(text string) string {
	if len(text) <= maxShort {
		return text
	}
	return strings.ToValidUTF8(text[:maxShort-len("…")], "") + "…"
}

// counts is the message about what was denied and not told, or nil.
func (t *teller) counts() []byte {
	msg := append(fmt.Appendf([]byte{MsgName, counted}, "%d", t.over), 0)
	some := t.over > 0
	for number, n := range t.again {
		if n > 0 {
			some = true
			msg = append(fmt.Appendf(msg, "%d %d", number, n), 0)
		}
	}
	if !some {
		return nil
	}
	return msg
}

func (t *teller) send() {
	for msg := range t.queue {
		_ = send(msg[0], msg[1:]...)
	}
	close(t.sent)
}

// end waits until all that the command did is told: what it was refused last
// is often why it ended.
func (t *teller) end() {
	t.mu.Lock()
	first := !t.ended
	t.ended = true
	t.mu.Unlock()
	if t.queue == nil {
		return
	}
	if first {
		close(t.queue)
	}
	<-t.sent
	if first {
		last := t.family.counts()
		if msg := t.counts(); msg != nil {
			last = append(last, msg)
		}
		for _, msg := range last {
			_ = send(msg[0], msg[1:]...)
		}
	}
}

// installGuard puts the calling thread under the guard's filter.
func installGuard(removals bool) (int, error) {
	fd, err := guard.Install(removals)
	if err != nil {
		return -1, fmt.Errorf("%w; --guard off runs without it", err)
	}
	return fd, nil
}
