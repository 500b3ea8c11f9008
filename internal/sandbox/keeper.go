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
	// Stage lays a layer over each folder (OpStaged), for the commands that show
	// it: those whose mounts of that kind are Kept, and have the Source of one of
	// these. There is one set of layers at a time; where one cannot be made, none
	// is.
	Stage([]Mount) (Layers, error)
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
	// Close ends it before the keeper does, when nothing runs there any more.
	Close()
}

// Layers are what the commands of a Keeper write in the place of folders.
type Layers interface {
	// Close unmounts them and waits for that, when nothing shows them any more:
	// then another may write them.
	Close()
}
