package session

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Publish is an address of the host that leads to the same port on the
// sandbox's loopback.
type Publish struct {
	Addr netip.Addr // of this machine
	Port uint16
}

func (p Publish) String() string { return netip.AddrPortFrom(p.Addr, p.Port).String() }

// ParsePublish reads [IP:]PORT; without an address it is the host's loopback.
func ParsePublish(text string) (Publish, error) {
	host, port := "127.0.0.1", text
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		host, port = strings.TrimSuffix(strings.TrimPrefix(text[:i], "["), "]"), text[i+1:]
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return Publish{}, fmt.Errorf("%q is not an address of this machine: it is [IP:]PORT", text)
	}
	n, err := ParsePort(port)
	return Publish{Addr: addr, Port: n}, err
}

// ParsePort reads a port in its one decimal form.
func ParsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%q is not a port: it is a number from 1 to 65535", text)
	}
	return uint16(n), nil
}
