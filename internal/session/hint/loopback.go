package hint

import (
	"slices"
	"strconv"
	"strings"

	"bawn/internal/policy"
)

// refusals are how programs say that nobody listens, in small letters.
var refusals = [...]string{
	"connection refused", "econnrefused", "failed to connect", "could not connect", "couldn't connect", "can't connect",
}

// loopbacks are the names of the loopback, in small letters.
var loopbacks = [...]string{"localhost", "127.0.0.1", "::1"}

// refusedPort is the port of the loopback at which, a line says, nobody
// listens; 0 for none.
func refusedPort(low string) uint16 {
	if !slices.ContainsFunc(refusals[:], func(r string) bool { return strings.Contains(low, r) }) {
		return 0
	}
	for _, name := range loopbacks {
		for rest := low; ; {
			_, behind, found := strings.Cut(rest, name)
			if !found {
				break
			}
			if port := portOf(behind); port != 0 {
				return port
			}
			rest = behind
		}
	}
	return 0
}

// portOf is the port that follows a name, as in ":80", " port 80", `" (::1), port 80`
// and "|127.0.0.1|:80"; 0 for none.
func portOf(behind string) uint16 {
	rest := behind
	for before := ""; before != rest; {
		before = rest
		rest = strings.TrimLeft(rest, " :,|()[]'\"=")
		rest = strings.TrimPrefix(rest, "port")
		for _, name := range loopbacks {
			rest = strings.TrimPrefix(rest, name)
		}
	}
	end := 0
	for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
		end++
	}
	if rest == behind || end < len(rest) && rest[end] == '.' && end+1 < len(rest) && '0' <= rest[end+1] && rest[end+1] <= '9' {
		return 0 // a part of a longer name, or of an address
	}
	n, err := strconv.ParseUint(rest[:end], 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// judgePort reports whether a program was told that nobody listens because the
// loopback is the sandbox's own: on the same port of the host's somebody does,
// and the policy keeps it out.
func (c Context) judgePort(port uint16) (Denial, bool) {
	host, err := policy.ParseHost("localhost")
	if err != nil || c.Listens == nil || !c.Listens(port) {
		return Denial{}, false
	}
	d := policy.Decision{Rule: c.Policy.NoNetwork()}
	if c.Policy.HasNetwork() {
		d = c.Policy.Network().Decide(policy.Connect{Host: host, Port: port})
	}
	if d.Verdict != policy.Deny {
		return Denial{}, false
	}
	return Denial{Host: host.String(), Port: port, Rule: d.Rule}, true
}
