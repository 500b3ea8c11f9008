package egress

import (
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"bawn/internal/policy"
)

// Via is how a connection was asked for.
type Via uint8

const (
	ViaConnect Via = iota // HTTP CONNECT
	ViaHTTP               // a plain HTTP request to the proxy
	ViaSOCKS              // SOCKS5
	ViaTCP                // transparent: the client knows of no proxy
	ViaLocal              // a port of the host that is open to the sandbox
	ViaName               // no connection: a resolver was asked for the name
)

func (v Via) String() string {
	switch v {
	case ViaConnect:
		return "connect"
	case ViaHTTP:
		return "http"
	case ViaSOCKS:
		return "socks5"
	case ViaTCP:
		return "tcp"
	case ViaLocal:
		return "local"
	case ViaName:
		return "name"
	}
	return "unknown"
}

// Request asks to open a connection.
type Request struct {
	Connect policy.Connect
	Via     Via
	Peer    netip.AddrPort // the client's address inside the sandbox
}

// Event is one line for the record: a decision, or the end of what was
// allowed. Each request gives exactly one decision, and if that allows it
// exactly one end, even if no connection came about.
type Event struct {
	Request
	// Task, PID and Command are whoever asked, as far as Options.Who could tell.
	Task    int
	PID     int
	Command string
	// Decision is what was decided. A request that could not be understood
	// is a denial without a host (rule request:malformed).
	Decision policy.Decision
	// End marks the end of an allowed request; the fields below belong to it.
	End      bool
	Start    time.Time      // when the request was read
	Duration time.Duration  // from Start to the end
	Addr     netip.AddrPort // what was connected to; zero if nothing was, or by the upstream proxy
	Up, Down int64          // bytes from and to the client
	// Err says what went wrong, "" if nothing: one printable line (see Line).
	Err string
	// Unreached says in a few words why no connection came about, "" if one
	// did: a printable line too.
	Unreached string
}

// Complete reports whether nothing more will be told about the request: of
// each there is one such event, with everything that is known about it.
func (e Event) Complete() bool { return e.End || e.Decision.Verdict != policy.Allow }

// Line makes one line of printable text of at most limit bytes from text of
// any origin: control and formatting characters, invalid UTF-8 and
// backslashes are shown as escapes, so that it can neither end a line of a
// log nor steer a terminal.
func Line(s string, limit int) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		part := s[i : i+n]
		if r == '\\' || r < ' ' || r > '~' { // other scripts too: they may look like ours
			part = ""
			for _, c := range []byte(s[i : i+n]) {
				part += `\x` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15])
			}
		}
		if b.Len()+len(part) > limit-3 {
			b.WriteString("...")
			break
		}
		b.WriteString(part)
		i += n
	}
	return b.String()
}

const maxErr = 300

func errLine(err error) string {
	if err == nil {
		return ""
	}
	return Line(err.Error(), maxErr)
}
