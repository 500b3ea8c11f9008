package transparent

import (
	"context"
	"encoding/binary"
	"net"
	"time"
)

// Limits. All together a flow costs its two sockets and some 20 KiB.
const (
	maxFlows   = 5000 // with a socket each; further connects are refused
	maxPending = 1024 // of them, those that wait for a decision or the dial

	// holdTimeout is longer than any question waits for its answer.
	holdTimeout = 6 * time.Minute
	// openTimeout is for the handshake between a client that was answered
	// and the relay's listener, both in the same kernel.
	openTimeout = 15 * time.Second
	// silence after which a closed flow's packets are no longer passed on: a
	// client that reads slowly is probed at least every two minutes.
	closedTimeout = 3 * time.Minute
	// Flows that both sides have closed are kept for packets sent twice.
	maxFinished     = 4096
	finishedTimeout = 10 * time.Second
)

// ends are both ends of a connection as the client sees it.
type ends struct {
	src, dst         ipv4
	srcPort, dstPort uint16
}

// alias is the client as the relay's listener sees it.
type alias struct {
	addr ipv4
	port uint16
}

type state uint8

const (
	held    state = iota // the SYN waits for the decision and the dial
	opening              // it is on its way to the listener
	joined               // the relay has both connections
	closed               // the relay is done; the kernel may not be
)

// flow is one connection. What never changes comes first; the rest belongs to
// the table's lock.
type flow struct {
	ends  ends
	alias alias
	seq   uint32 // of the SYN: with another one it is another connection
	begun time.Time

	state  state
	cancel context.CancelFunc
	syn    []byte        // while held
	tries  time.Time     // when the SYN came last
	gap    time.Duration // between the last two SYNs

	server, client net.Conn // what is to be closed with it

	since               time.Time // the last sign of life, unless held or joined
	finClient, finRelay bool
	rst                 bool
	finished            bool // listed as such
}

// gone reports whether the client of a held flow has given up: then its
// kernel says nothing, but sends no further SYN. Intervals between SYNs at
// most double, up to two minutes.
func (f *flow) gone(now time.Time) bool {
	return now.Sub(f.tries) > 2*max(f.gap, time.Second)+2*time.Second
}

// over reports whether neither kernel socket needs the flow any more.
func (f *flow) over() bool { return f.state == closed && (f.rst || f.finClient && f.finRelay) }

// table has every flow under both of its names. Its user locks it.
type table struct {
	byEnds   map[ends]*flow
	byAlias  map[alias]*flow
	next     uint32     // alias to try next
	pending  int        // flows that are held
	live     int        // flows that are not finished
	finished []*flow    // oldest first; some may be dropped already
	dead     []net.Conn // to be closed by whoever unlocks: that may take long
}

func newTable() table {
	return table{byEnds: map[ends]*flow{}, byAlias: map[alias]*flow{}}
}

// add makes a held flow; nil if there is no room.
func (t *table) add(e ends, seq uint32, now time.Time) *flow {
	if t.live >= maxFlows || t.pending >= maxPending {
		return nil
	}
	f := &flow{ends: e, seq: seq, begun: now, tries: now}
	// Aliases go round 65,536 addresses, so that the listener's side of an
	// old connection never meets a new one.
	for {
		binary.BigEndian.PutUint32(f.alias.addr[:], aliasFirst+t.next&0xffff)
		f.alias.port = e.srcPort
		t.next++
		if t.byAlias[f.alias] == nil {
			break
		}
	}
	t.byEnds[e], t.byAlias[f.alias] = f, f
	t.live++
	t.pending++
	return f
}

// has reports whether a flow has not been dropped.
func (t *table) has(f *flow) bool { return t.byAlias[f.alias] == f }

// set moves a flow on to a later state.
func (t *table) set(f *flow, s state, now time.Time) {
	if !t.has(f) {
		return
	}
	if f.state == held {
		t.pending--
	}
	f.state, f.since = s, now
	t.settle(f)
}

// settle lists a flow that is over among the finished, where the oldest make
// room.
func (t *table) settle(f *flow) {
	if f.finished || !f.over() || !t.has(f) {
		return
	}
	f.finished = true
	t.live--
	t.finished = append(t.finished, f)
	if len(t.finished) > maxFinished {
		t.dropOldest()
	}
}

func (t *table) dropOldest() {
	f := t.finished[0]
	t.finished[0] = nil
	t.finished = t.finished[1:]
	t.drop(f)
}

// drop forgets a flow and lets go of what it holds.
func (t *table) drop(f *flow) {
	if !t.has(f) {
		return
	}
	delete(t.byAlias, f.alias)
	if t.byEnds[f.ends] == f {
		delete(t.byEnds, f.ends)
	}
	if f.state == held {
		t.pending--
	}
	if !f.finished {
		t.live--
	}
	if f.cancel != nil {
		f.cancel()
	}
	t.kill(f.server)
	t.kill(f.client)
	f.syn = nil
}

// kill leaves a connection to be closed; nil is none.
func (t *table) kill(c net.Conn) {
	if c != nil {
		t.dead = append(t.dead, c)
	}
}

// sweep drops what has waited too long. It returns the SYNs to refuse, and
// whether there is anything left to watch.
func (t *table) sweep(now time.Time) (refuse [][]byte, watch bool) {
	for len(t.finished) > 0 && (!t.has(t.finished[0]) || now.Sub(t.finished[0].since) > finishedTimeout) {
		t.dropOldest()
	}
	watch = len(t.finished) > 0
	for _, f := range t.byAlias {
		switch {
		case f.state == joined || f.finished:
			continue
		case f.state == held && now.Sub(f.begun) > holdTimeout:
			refuse = append(refuse, f.syn)
			t.drop(f)
		case f.state == held && f.gone(now),
			f.state == opening && now.Sub(f.since) > openTimeout,
			f.state == closed && now.Sub(f.since) > closedTimeout:
			t.drop(f)
		default:
			watch = true
		}
	}
	return refuse, watch
}

// abort closes a connection with a reset.
func abort(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
}
