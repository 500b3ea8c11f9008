//go:build !linux

package transparent

import (
	"errors"
	"net"
	"net/netip"
)

func originalDestination(net.Conn) (netip.AddrPort, error) {
	return netip.AddrPort{}, errors.ErrUnsupported
}

func waitEnd(net.Conn) bool   { return false }
func waitReset(net.Conn) bool { return false }
