package sandbox

import "os"

// Keeper holds what the commands of one session share, for as long as the
// session lives: a private temp, and network namespaces whose loopback they
// have in common. It ends with the process that started it, and with it all
// that was started through it.
type Keeper interface {
	// Network makes a network namespace: one for a session's guarded commands,
	// another for those in airlock.
	Network(Network) (Shared, error)
	// Done is closed when the keeper is gone: nothing starts there any more.
	Done() <-chan struct{}
	// Close ends the keeper with everything in it and waits for that.
	Close() error
}

// Shared is a network namespace of a Keeper. Start runs a command there: of
// Spec.Net nothing is made, no EventNetwork comes, and the private temp is the
// keeper's.
type Shared interface {
	Backend
	// Sockets lead out of it. Whoever calls takes them over; a second call
	// returns nil.
	Sockets() *Sockets
	// Connect returns a socket that is connected to a port of its loopback.
	Connect(port uint16) (*os.File, error)
}
