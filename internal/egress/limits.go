package egress

import "time"

// Limits bounds what clients can use up. A zero field means its default.
type Limits struct {
	// Conns is how many clients are served at once, over all listeners and
	// Dial: 5,000. One more takes the place of the connection that has been
	// waiting longest without a request; if there is none it gets a 503 at
	// once. Each needs two descriptors, and a copy in full flow two more (see
	// Splices and ForFiles).
	Conns int
	// Header is the size of a request or response head, and of a TLS
	// ClientHello, in bytes: 64 KiB, with at most 256 fields.
	Header int
	// Buffers is what all connections together may hold of unfinished heads
	// beyond 4 KiB each, in bytes: 32 MiB. A client over it gets a 503.
	Buffers int
	// HeaderTime is how long a client may take from the first byte of a head
	// (or handshake) to its last: 10 s.
	HeaderTime time.Duration
	// IdleTime is how long a connection may wait without a request: 2 min.
	// Tunnels and responses may be silent for ever: TCP keep-alive finds out
	// whether the peer is still there.
	IdleTime time.Duration
	// DialTime bounds the resolution of a name and the connection to it
	// together: 30 s. One address has 10 s, and the next one is tried beside
	// it after 250 ms.
	DialTime time.Duration
	// Splices is how many copies may use a kernel pipe at once (one tunnel
	// has two): 128. Others copy through buffers.
	Splices int
	// Lingers is how many refused clients are read to their end at once, so
	// that they see the answer whatever they still send: 64.
	Lingers int
}

// otherFiles is how many descriptors a supervisor needs beside connections:
// for the sandbox, listeners, names that are being resolved.
const otherFiles = 256

// ForFiles is l with no more connections than a process can serve that may
// have n files open (RLIMIT_NOFILE): with none left, a client would be neither
// served nor refused.
func (l Limits) ForFiles(n uint64) Limits {
	l = l.withDefaults()
	if n >= uint64(2*l.Conns+2*l.Splices+l.Lingers+otherFiles) {
		return l
	}
	rest := int(n) - min(otherFiles, int(n)/2)
	l.Splices = max(1, min(l.Splices, rest/12))
	l.Lingers = max(1, min(l.Lingers, rest/6))
	l.Conns = max(1, min(l.Conns, (rest-2*l.Splices-l.Lingers)/2))
	return l
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	setTime := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Conns, 5000)
	set(&l.Header, 64<<10)
	set(&l.Buffers, 32<<20)
	set(&l.Splices, 128)
	set(&l.Lingers, 64)
	setTime(&l.HeaderTime, 10*time.Second)
	setTime(&l.IdleTime, 2*time.Minute)
	setTime(&l.DialTime, 30*time.Second)
	return l
}

const (
	maxFields    = 256
	maxLooks     = 64 // at connections, for one without a request
	maxAddresses = 16 // of one name; more are ignored
	addressTime  = 10 * time.Second
	nextAddress  = 250 * time.Millisecond // RFC 8305
	answerTime   = 10 * time.Second       // to write a refusal, or a handshake
	maxReason    = 200                    // of a status phrase, in bytes
)
