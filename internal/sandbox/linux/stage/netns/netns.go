//go:build linux

// Package netns makes a sandbox's network from inside its own network
// namespace: loopback, the address of the resolver, a TUN device that takes
// every packet that would leave (or, without one, rules of nf_tables that turn
// every connection round), and the sockets on which the supervisor, who gets
// them by descriptor, serves from outside. Nothing that runs in the sandbox
// later needs or keeps a capability for it.
//
// It is part of the stage: no other thread may need this one meanwhile, and
// importing it initialises nothing.
package netns

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Where things are inside the sandbox. Address also is the source of every
// packet that leaves by the device: a sandbox with no other address than
// 127.0.0.1 has "no IPv4" to getaddrinfo with AI_ADDRCONFIG.
const (
	Device    = "bawn0"
	ProxyPort = 3128 // on 127.0.0.1
	DNSPort   = 53   // on Address, 127.0.0.1 and 127.0.0.53
)

// Address is 198.18.0.1, of the range kept for benchmarks (RFC 2544), which
// no real network uses.
var Address = [4]byte{198, 18, 0, 1}

// MTU is the device's: with segmentation left to the other end (GSO) it
// decides only how much one packet without it may carry.
const MTU = 65520

// SynRetries keeps a connect(2) alive for 367 s (1+2+…+64 s, twice 120 s, and
// more where the kernel repeats the first linearly), longer than a person has
// to answer a question.
const SynRetries = 8

// Kind says what a descriptor is for.
type Kind byte

const (
	Proxy     Kind = 'p' // TCP listener, 127.0.0.1:ProxyPort
	LocalPort Kind = 'l' // TCP listener, 127.0.0.1 and a port of Config.Ports, in their order
	DNSPacket Kind = 'u' // UDP socket of the resolver
	DNSStream Kind = 's' // TCP listener of the resolver
	Relay     Kind = 'r' // TCP listener on Address: the connections that the engine reflects or, without TUN, the kernel redirects
	TUN       Kind = 't' // the device, with a virtio_net_hdr before each packet
)

// Config says what to make. The zero value asks for the proxy's listener
// alone, which no capability is needed for.
type Config struct {
	// Capable: this thread has CAP_NET_ADMIN and CAP_NET_BIND_SERVICE over
	// its network namespace, and the namespace is fresh. Otherwise loopback
	// must be up already, and there is no resolver and no device.
	Capable bool
	// Ports are served on 127.0.0.1 too, for the host's services of the same
	// numbers.
	Ports []uint16
	// Node is a descriptor of the file /dev/net/tun, for where the path is
	// out of sight by now; O_PATH is enough. It is opened anew through
	// /proc/self/fd, since a TUN file belongs to the network namespace of
	// whoever opened it. 0 opens the path. It stays open.
	Node int
}

// Socket is a descriptor made for the supervisor, closed on exec.
type Socket struct {
	Kind Kind
	FD   int
}

// Set is what Make made.
type Set struct {
	Sockets []Socket
	// Lacking has one sentence for each thing that this host does not
	// allow. A Set without a Relay is for programs that use the proxy.
	Lacking []string
}

// Message gives the Set the form in which one sendmsg(2) takes it over: the
// kinds as data, the descriptors as SCM_RIGHTS, in the same order.
func (s Set) Message() (kinds []byte, fds []int) {
	for _, k := range s.Sockets {
		kinds = append(kinds, byte(k.Kind))
		fds = append(fds, k.FD)
	}
	return kinds, fds
}

// Close closes every descriptor.
func (s *Set) Close() {
	for _, sock := range s.Sockets {
		closeFD(sock.FD)
	}
	s.Sockets = nil
}

func (s *Set) add(k Kind, fd int) { s.Sockets = append(s.Sockets, Socket{k, fd}) }

func (s *Set) lack(format string, args ...any) {
	s.Lacking = append(s.Lacking, fmt.Sprintf(format, args...))
}

// Plan is what Open has taken hold of for a network.
type Plan struct {
	c          Config
	tun        int
	noTUN      error // why tun is none
	synRetries error
}

// Open does what needs the host's files, so before the file system changes:
// it opens /dev/net/tun and writes to /proc/sys. Make must follow.
func Open(c Config) Plan {
	p := Plan{c: c}
	if !c.Capable {
		return p
	}
	if p.tun, p.noTUN = openTUN(c.Node); p.noTUN == nil {
		p.synRetries = setSynRetries()
	}
	return p
}

// Make makes the network; it looks at no path. Like Open it must run on a
// thread of this network namespace that has the capabilities; it may be
// another one. Without a TUN device it has connections redirected; without
// nf_tables too it makes the rest and says so in Lacking. Any other failure
// leaves nothing open.
func (p Plan) Make() (Set, error) {
	var s Set
	if err := s.setup(p); err != nil {
		s.Close()
		return Set{}, err
	}
	return s, nil
}

func (s *Set) setup(p Plan) error {
	c := p.c
	if c.Capable {
		if err := s.network(p); err != nil {
			return err
		}
	}
	fd, err := listen(loopback, ProxyPort, 1024)
	if err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	s.add(Proxy, fd)
	for _, port := range c.Ports {
		fd, err := listen(loopback, port, 128)
		if errors.Is(err, unix.EACCES) {
			return fmt.Errorf("local port %d: a port below 1024 needs a capability inside, which only the native launcher gives", port)
		}
		if err != nil {
			return fmt.Errorf("listen for local port %d: %w", port, err)
		}
		s.add(LocalPort, fd)
	}
	if !c.Capable {
		s.lack("only programs that use the proxy reach allowed hosts: this launcher gives no capability inside")
		return nil
	}
	return s.resolver()
}

// Loopback switches on lo alone: tests that serve and call 127.0.0.1 work, and
// nothing else is there. It needs CAP_NET_ADMIN over the namespace.
func Loopback() error {
	var b batch
	b.linkUp(loIndex, 0)
	return b.run(unix.NETLINK_ROUTE)
}

// network brings up loopback and what leads connections to the Relay
// listener: the device or, where it cannot be had, redirection.
func (s *Set) network(p Plan) error {
	var b batch
	b.linkUp(loIndex, 0)
	b.address(loIndex, Address)
	index, noTUN := 0, p.noTUN
	if noTUN == nil {
		if index, noTUN = configureTUN(p.tun); noTUN != nil {
			closeFD(p.tun)
		}
	}
	switch {
	case noTUN == nil:
		s.add(TUN, p.tun)
		b.noLinkLocal(index)
		b.linkUp(index, MTU)
		b.defaultRoute(index, Address)
	case !missing(noTUN):
		return noTUN
	}
	if err := b.run(unix.NETLINK_ROUTE); err != nil {
		return err
	}
	relay, err := listen(Address, 0, 1024)
	if err != nil {
		return fmt.Errorf("listen for connections to the outside: %w", err)
	}
	if noTUN != nil {
		return s.redirected(relay, noTUN)
	}
	s.add(Relay, relay)
	if p.synRetries != nil {
		s.lack("a connection that waits for an answer gives up after about two minutes: %v", p.synRetries)
	}
	return nil
}

// redirected has connections redirected to the relay, since there is no
// device. Only once the rules are there are addresses made local: without
// rules, nothing inside must be reachable by an address of the outside.
func (s *Set) redirected(relay int, noTUN error) error {
	port, err := boundPort(relay)
	if err != nil {
		closeFD(relay)
		return err
	}
	if err := redirect(port); err != nil {
		closeFD(relay)
		s.lack("only programs that use the proxy reach allowed hosts: %v, and no redirection: %v", noTUN, err)
		return nil
	}
	s.add(Relay, relay)
	var b batch
	b.localRoute(Address)
	return b.run(unix.NETLINK_ROUTE)
}

// resolver listens where a libc looks for one: the address in resolv.conf,
// and those that it takes when there is no such file or when the file is the
// host's.
func (s *Set) resolver() error {
	for _, a := range [...][4]byte{Address, loopback, stub} {
		fd, err := bind(a, DNSPort, unix.SOCK_DGRAM)
		if err != nil {
			return fmt.Errorf("bind the resolver: %w", err)
		}
		s.add(DNSPacket, fd)
		if fd, err = listen(a, DNSPort, 64); err != nil {
			return fmt.Errorf("listen for the resolver: %w", err)
		}
		s.add(DNSStream, fd)
	}
	return nil
}
