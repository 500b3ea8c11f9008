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
func serveGuard(listener, lock int, g sandbox.Guard, mounts []rules.Mount) *teller {
	t := &teller{told: map[string]bool{}}
	streams := guard.Streams() // before this process lets go of them
	go func() {
		// Here, beside the start of the command: its first call waits for it.
		if err := guard.Serve(listener, lock, streams, Rules(g, mounts), t.note); err != nil {
			os.Exit(report(err))
		}
	}()
	return t
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

// maxTold bounds the names that the supervisor is told of in one run.
const maxTold = 256

// maxFailures bounds those of them that only failed: they leave room for what
// the rules denied.
const maxFailures = 128

// teller passes the guard's events on, each once. The guard must not wait for
// a supervisor that is slow to read.
type teller struct {
	mu       sync.Mutex
	told     map[string]bool
	failures int
	ended    bool
	queue    chan []byte   // nil until there is something to tell
	sent     chan struct{} // closed when all is sent
}

func (t *teller) note(e guard.Event) {
	if e.Allowed && !strings.HasPrefix(e.Rule.ID, "watch:") {
		return // git's config, seen and found harmless
	}
	// A failure has no rule; one file may be refused for several reasons.
	key := e.Rule.ID + "\x00" + e.Path + "\x00" + e.Reason
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.told[key] || len(t.told) >= maxTold || e.Failed && t.failures >= maxFailures {
		return
	}
	if e.Failed {
		t.failures++
	}
	t.told[key] = true
	msg := []byte{MsgName, '-'}
	switch {
	case e.Allowed:
		msg[1] = '+'
	case e.Failed:
		msg[1] = '!'
	}
	for _, f := range []string{strconv.Itoa(e.TGID), e.Command, e.Op.String(), e.Path, e.Rule.ID, e.Rule.Text, e.Rule.Lift, e.Reason} {
		msg = append(append(msg, f...), 0)
	}
	for _, a := range e.Line {
		msg = append(fmt.Appendf(msg, "%d %d %s", a.PID, a.Parent, a.Command), 0)
	}
	if len(msg) > maxName {
		return
	}
	if t.queue == nil {
		t.queue, t.sent = make(chan []byte, maxTold), make(chan struct{})
		go t.send()
	}
	t.queue <- msg // never full: one place for each that is told
}

// maxName bounds one message: a path, its rule and the reason.
const maxName = 7 << 10

func (t *teller) send() {
	for msg := range t.queue {
		_ = send(msg[0], msg[1:]...)
	}
	close(t.sent)
}

// end waits until all that the command did is told: what it was refused last
// is often why it ended.
func (t *teller) end() {
	if t == nil {
		return
	}
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
}

// installGuard puts the calling thread under the guard's filter.
func installGuard(removals bool) (int, error) {
	fd, err := guard.Install(removals)
	if err != nil {
		return -1, fmt.Errorf("%w; --guard off runs without it", err)
	}
	return fd, nil
}
