package hostname

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"bawn/internal/policy"
)

// ToASCII returns the canonical text of a host that may be international:
// "BÜCHER.example." is "xn--bcher-kva.example". Errors wrap policy.ErrHost.
func ToASCII(s string) (string, error) {
	if !plain(s) {
		if len(s) > 4096 { // far above any name; mapping is not free
			return "", fmt.Errorf("%w: a name of %d bytes", policy.ErrHost, len(s))
		}
		if !utf8.ValidString(s) {
			return "", fmt.Errorf("%w: %+q: not UTF-8", policy.ErrHost, start(s))
		}
		a, err := profile().ToASCII(s)
		if err != nil {
			return "", fmt.Errorf("%w: %+q: not an international name", policy.ErrHost, start(s))
		}
		s = a
	}
	h, err := policy.ParseHost(s)
	if err != nil {
		return "", err
	}
	return h.String(), nil
}

// ParseHostPort reads HOST or HOST:PORT as a person writes it: the host may be
// international. Without a port that is 0. Errors wrap policy.ErrHost.
func ParseHostPort(s string) (policy.Host, uint16, error) {
	if strings.Contains(s, "/") {
		return policy.Host{}, 0, fmt.Errorf("%w: %+q: name the host alone, as in example.com:443, without scheme or path", policy.ErrHost, start(s))
	}
	name, err := ToASCII(s)
	if err == nil {
		h, err := policy.ParseHost(name)
		return h, 0, err
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return policy.Host{}, 0, err
	}
	if !plain(s[:i]) {
		if name, err = ToASCII(s[:i]); err != nil {
			return policy.Host{}, 0, err
		}
		s = name + s[i:]
	}
	return policy.SplitHostPort(s)
}

// ParseConnect is a connection to HOST or HOST:PORT, read as ParseHostPort does;
// to HTTPS's port where there is none.
func ParseConnect(s string) (policy.Connect, error) {
	h, port, err := ParseHostPort(s)
	if err != nil {
		return policy.Connect{}, err
	}
	if port == 0 {
		port = 443
	}
	return policy.Connect{Host: h, Port: port}, nil
}

// start is the beginning of what somebody sent, for an error.
func start(s string) string { return s[:min(len(s), 64)] }

// plain reports whether s is ASCII without a label in punycode: nothing that
// IDNA would check.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return !strings.Contains(strings.ToLower(s), "xn--")
}

// profile maps as browsers, curl and Go do (UTS 46, non-transitional). The
// characters of the result are policy.ParseHost's to judge: names with
// underscores are real.
func profile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckHyphens(false), idna.StrictDomainName(false), idna.Transitional(false))
}
