package egress

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// GivenUp is Event.Unreached where nobody waited for the answer any longer.
const GivenUp = "no answer"

// hopError is a failure at, or of, the proxy of the host's own network.
type hopError struct {
	via *hop
	err error
}

func (e *hopError) Error() string {
	return "the upstream proxy " + e.via.address() + " (" + e.via.variable + "): " + e.err.Error()
}

func (e *hopError) Unwrap() error { return e.err }

// unreached says in a few words why an allowed host could not be connected
// to. A refusal at the last moment is "": it is the policy's, not the network's.
func unreached(err error) string {
	var hop *hopError
	var denied *DeniedError
	var name *net.DNSError
	var errno syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &denied):
		return ""
	case errors.Is(err, context.Canceled), errors.Is(err, net.ErrClosed):
		return GivenUp
	case errors.As(err, &hop):
		return "the upstream proxy " + hop.via.address() + " (" + hop.via.variable + "): " + unreached(hop.err)
	case errors.As(err, &name) && name.IsNotFound:
		return "no such name"
	case errors.As(err, &name) && name.IsTimeout:
		return "the name server does not answer"
	case errors.As(err, &name):
		return "the name server fails: " + Line(name.Err, maxErr)
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return errLine(err)
}
