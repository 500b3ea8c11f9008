package session

import (
	"net"
	"strconv"
	"sync"
	"time"

	"bawn/internal/egress"
	"bawn/internal/policy"
)

// Unreached is an allowed host that no connection could be made to: no
// decision of the policy's.
type Unreached struct {
	At    policy.Connect
	Cause string // of the last time
	Count int
}

// name is the host, and its port if that is known.
func (u Unreached) name() string {
	if u.At.Port == 0 {
		return u.At.Host.String()
	}
	return net.JoinHostPort(u.At.Host.String(), strconv.Itoa(int(u.At.Port)))
}

// patience is how long a client must have waited to call it no answer: many
// ask for several things at once and drop what comes second.
const patience = time.Second

// unreached collects such hosts, each once, in the order of the first time.
type unreached struct {
	mu   sync.Mutex
	seen map[policy.Connect]int
	all  []Unreached
}

// end notes how an allowed request ended. A host that was reached after all
// is forgotten.
func (l *unreached) end(e egress.Event) {
	if e.Unreached == egress.GivenUp && e.Duration < patience {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i, known := l.seen[e.Connect]
	switch {
	case e.Unreached == "":
		if known {
			l.all[i].Count = 0
		}
	case known:
		l.all[i].Cause = e.Unreached
		l.all[i].Count++
	case len(l.all) < maxDenials:
		if l.seen == nil {
			l.seen = map[policy.Connect]int{}
		}
		l.seen[e.Connect] = len(l.all)
		l.all = append(l.all, Unreached{At: e.Connect, Cause: e.Unreached, Count: 1})
	}
}

func (l *unreached) list() (out []Unreached) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.all {
		if u.Count > 0 {
			out = append(out, u)
		}
	}
	return out
}
