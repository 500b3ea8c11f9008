package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Host is one host in its canonical form: a lower-case ASCII name without a
// trailing dot, or an IP address. Hosts that are equal with == are the same
// host. The zero value is no host.
type Host struct {
	name string
	addr netip.Addr
}

// Limits of a name (RFC 1035, 2.3.4).
const (
	maxHostName  = 253
	maxHostLabel = 63
)

// ErrHost marks a text that is not one host in an accepted spelling.
var ErrHost = errors.New("not a host name or address")

// ParseHost reads a host as it stands on the wire, in the authority of a URL
// or in a rule, without port and user: the one canonical form by which
// everything is decided. Case and one trailing dot do not count. An IPv6
// address may stand in brackets; an IPv4 address mapped into IPv6 is the IPv4
// address. The spellings of IPv4 that inet_aton takes (127.1, 0x7f000001,
// 0177.0.0.1, 2130706433) are the address that clients dial for them; a name
// that only looks like such a number is refused, as are zones, whatever is
// not ASCII (see package hostname), and every character but letters, digits,
// hyphen, underscore and dot. Errors wrap ErrHost.
func ParseHost(s string) (Host, error) {
	h, why := parseHost(s)
	if why != "" {
		return Host{}, hostError(s, why)
	}
	return h, nil
}

// hostError quotes at most the start of what somebody sent.
func hostError(s, why string) error {
	if len(s) > 64 {
		return fmt.Errorf("%w: %q… (%d bytes): %s", ErrHost, s[:64], len(s), why)
	}
	return fmt.Errorf("%w: %q: %s", ErrHost, s, why)
}

func parseHost(s string) (h Host, why string) {
	switch {
	case s == "" || s == ".":
		return Host{}, "it is empty"
	case len(s) > maxHostName+1:
		return Host{}, "it is too long"
	case s[0] == '[':
		if len(s) < 2 || s[len(s)-1] != ']' || strings.IndexByte(s, ':') < 0 {
			return Host{}, "brackets hold an IPv6 address"
		}
		return parseIPv6(s[1 : len(s)-1])
	case strings.IndexByte(s, ':') >= 0:
		return parseIPv6(s)
	}
	return parseName(strings.TrimSuffix(s, "."))
}

func parseIPv6(s string) (Host, string) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return Host{}, "not an IPv6 address"
	}
	if a.Zone() != "" {
		return Host{}, "an address with a zone means another machine on every machine"
	}
	return HostAddr(a), ""
}

func parseName(s string) (Host, string) {
	if len(s) > maxHostName {
		return Host{}, "it is too long"
	}
	if s[0] == '-' {
		return Host{}, "a leading hyphen would be an option to many programs"
	}
	start, upper := 0, false
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '.' {
			c := s[i]
			switch {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
			case 'A' <= c && c <= 'Z':
				upper = true
			case c >= 0x80:
				return Host{}, "it is not ASCII"
			default:
				return Host{}, fmt.Sprintf("a host has no %q", c)
			}
			continue
		}
		if i == start {
			return Host{}, "it has an empty label"
		}
		if i-start > maxHostLabel {
			return Host{}, "a label is longer than 63"
		}
		start = i + 1
	}
	if upper {
		s = strings.ToLower(s)
	}
	if numeric(s[strings.LastIndexByte(s, '.')+1:]) {
		a, ok := parseIPv4(s)
		if !ok {
			return Host{}, "it ends in a number but is not an IPv4 address"
		}
		return Host{addr: a}, ""
	}
	return Host{name: s}, ""
}

// numeric reports whether a last label makes the whole host an IPv4 address
// or nothing (the rule of the URL standard): no top-level domain looks so.
func numeric(label string) bool {
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}

// parseIPv4 reads what inet_aton reads: one to four numbers, decimal, octal
// (leading 0) or hexadecimal (0x), the last of which fills what is left.
func parseIPv4(s string) (netip.Addr, bool) {
	var v uint64
	for part, rest := 0, s; ; part++ {
		field, tail, more := strings.Cut(rest, ".")
		n, ok := parseNumber(field)
		limit := uint64(0xff)
		if !more {
			limit = 1<<(8*(4-part)) - 1
		}
		if !ok || n > limit || part == 3 && more {
			return netip.Addr{}, false
		}
		if !more {
			v |= n
			return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
		}
		v |= n << (8 * (3 - part))
		rest = tail
	}
}

func parseNumber(s string) (uint64, bool) {
	base := 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = hex, 16
	} else if len(s) > 1 && s[0] == '0' {
		base = 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

// HostAddr is the host of an address, without a zone. The zero address is no
// host.
func HostAddr(a netip.Addr) Host { return Host{addr: a.Unmap().WithZone("")} }

// String is the name, or the address without brackets; "" for no host.
func (h Host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// Addr returns the address of a host that is one.
func (h Host) Addr() (netip.Addr, bool) { return h.addr, h.addr.IsValid() }

// SplitHostPort reads "host:port", with an IPv6 address in brackets. The port
// is decimal, 1 to 65535, and required. Errors wrap ErrHost.
func SplitHostPort(s string) (Host, uint16, error) {
	if strings.ContainsAny(s, "/@") {
		return Host{}, 0, hostError(s, "write the host alone, or with its port (example.com:443), without scheme, user or path")
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Host{}, 0, hostError(s, "it has no port")
	}
	port, ok := parsePort(s[i+1:])
	if !ok {
		return Host{}, 0, hostError(s, "a port is a decimal number from 1 to 65535")
	}
	if s[0] != '[' && strings.IndexByte(s[:i], ':') >= 0 {
		return Host{}, 0, hostError(s, "an IPv6 address before a port stands in brackets")
	}
	h, why := parseHost(s[:i])
	if why != "" {
		return Host{}, 0, hostError(s, why)
	}
	return h, port, nil
}

// parsePort takes no sign, no leading zero and no other base: what programs
// read differently is no port.
func parsePort(s string) (uint16, bool) {
	if s == "" || len(s) > 5 || s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil
}

// Connect asks to open a TCP connection. It is an Action.
type Connect struct {
	Host Host
	Port uint16
}

func (Connect) action() {}

// String is "host:port", with an IPv6 address in brackets.
func (c Connect) String() string { return c.Host.bracketed() + ":" + strconv.Itoa(int(c.Port)) }

// bracketed is the host as it stands before a port.
func (h Host) bracketed() string {
	if h.addr.Is6() {
		return "[" + h.addr.String() + "]"
	}
	return h.String()
}
