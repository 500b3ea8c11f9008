package session

import (
	"strconv"
	"sync"

	"bawn/internal/audit"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Denial is something that the policy refused a command, as often as it
// happened.
type Denial struct {
	Path  string // a name that was refused, or "" and a host
	Read  bool   // it was to be read; else to be written
	Host  string
	Port  uint16 // 0 if only the name was asked for
	Rule  policy.Rule
	Count int
	// PID and Command are who was refused first, if that is known. The number
	// is the host's for a host, and the sandbox's for a path.
	PID     int
	Command string
	// FromText: bawn did not see it happen. The error text of the command tells
	// of it, and the policy denies it; see Hinted.
	FromText bool
}

// Kind is the action that was denied: audit.Write, Connect, Resolve or, by a hint, Read.
func (d Denial) Kind() string {
	switch {
	case d.Read:
		return audit.Read
	case d.Path != "":
		return audit.Write
	case d.Port != 0:
		return audit.Connect
	}
	return audit.Resolve
}

func (d Denial) String() string {
	if d.Path != "" {
		return strconv.Quote(d.Path)
	}
	s := d.Host
	if d.Port != 0 {
		s += ":" + strconv.Itoa(int(d.Port))
	}
	return s
}

// maxDenials bounds what one run remembers; later ones are only counted.
const maxDenials = 256

// denials collects what was refused, each once, in the order of the first.
type denials struct {
	mu   sync.Mutex
	seen map[string]int
	all  []Denial
	more int
}

// isNew reports whether add would remember d.
func (l *denials) isNew(d Denial) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.seen[d.key()]
	return !known && len(l.all) < maxDenials
}

func (d Denial) key() string { return d.String() + " " + d.Rule.ID }

func (l *denials) add(d Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := d.key()
	d.Count = max(d.Count, 1)
	if i, ok := l.seen[key]; ok {
		l.all[i].Count += d.Count
		return
	}
	if len(l.all) >= maxDenials {
		l.more += d.Count
		return
	}
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	l.seen[key] = len(l.all)
	l.all = append(l.all, d)
}

// addMore counts what nobody can name.
func (l *denials) addMore(n int) {
	l.mu.Lock()
	l.more += n
	l.mu.Unlock()
}

// list returns what was refused. A name that was then connected to as well is
// told once, with its port.
func (l *denials) list() (out []Denial, more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	withPort := map[string]bool{}
	for _, d := range l.all {
		withPort[d.Host] = withPort[d.Host] || d.Port != 0
	}
	for _, d := range l.all {
		if d.Port != 0 || !withPort[d.Host] {
			out = append(out, d)
		}
	}
	return out, l.more
}

// nameList is what the guard told about one run.
type nameList struct {
	denied  []Denial
	told    []int // the places in denied of what the guard itself denied
	more    int   // denials that it did not tell
	watched []sandbox.NameEvent
}

func (l *nameList) add(e *sandbox.NameEvent) {
	if e.Allowed {
		l.watched = append(l.watched, *e)
		return
	}
	if !e.Failed {
		l.told = append(l.told, len(l.denied))
	}
	l.denied = append(l.denied, nameDenial(e))
}

func nameDenial(e *sandbox.NameEvent) Denial {
	d := Denial{Path: e.Path, Rule: e.Rule, Count: 1, PID: e.PID, Command: e.Command}
	if e.Reason != "" {
		d.Rule.Text = e.Reason
	}
	return d
}

// count adds what was denied beyond that, and returns it: the denials, each
// with its further times, which were known.
func (l *nameList) count(c *sandbox.NameCounts) (again []Denial) {
	l.more += c.More
	for _, a := range c.Again {
		if a.Number >= len(l.told) {
			continue
		}
		d := &l.denied[l.told[a.Number]]
		d.Count += a.Times
		more := *d
		more.Count = a.Times
		again = append(again, more)
	}
	return again
}
