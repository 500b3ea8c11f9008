package session

import "net/netip"

// Publish is an address of the host that leads to the same port on the
// sandbox's loopback.
type Publish struct {
	Addr netip.Addr // of this machine
	Port uint16
}
