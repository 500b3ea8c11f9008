//go:build !unix

package egress

import (
	"net"
	"syscall"
)

func (q *pieces) reading(src net.Conn) func() (int, error) {
	return func() (int, error) { return q.read(src, 1<<62) }
}

func readable(net.Conn) bool { return false }

func writeNow(net.Conn, []byte) {}

func waitReadable(net.Conn) error { return nil }

func waitReset(net.Conn) bool { return false }

func notConnected(err error) bool { return err == syscall.ENOTCONN }

func quiet(net.Conn) bool { return false }
