package bawn

import (
	"context"
	"errors"
	"net"
	"slices"

	"bawn/internal/egress"
	"bawn/internal/hostname"
	"bawn/internal/policy"
)

// Network says which hosts commands reach in Guarded and WorkspaceWrite. The
// zero value is the built-in list alone: the package registries of npm, yarn,
// Rust, Python and Go, and the code hosts GitHub, GitLab, Bitbucket and
// Hugging Face.
//
// A rule is a host with its subdomains (example.com), its subdomains alone
// (*.example.com), every host (*), or one of them with a port
// (example.com:443). International names are understood. A rule for a public
// suffix (com, *.co.uk) is refused unless it ends with "!".
type Network struct {
	Allow []string // adds to the built-in list
	Deny  []string // wins over every other rule
	// AllowPrivate are the hosts that may have a private address. Without it
	// an allowed name that leads to one is refused when it is dialled.
	AllowPrivate []string
	NoDefaults   bool // drops the built-in list
	// LocalPorts are services on the host's loopback that commands see on
	// theirs.
	LocalPorts []uint16
}

// WithNetwork says which hosts can be reached; of several the last one holds.
func WithNetwork(n Network) Option {
	cfg, err := n.rules()
	return Option{func(p *Policy) { p.req.Network, p.networkErr = cfg, err }}
}

func (n Network) rules() (policy.NetworkConfig, error) {
	out := policy.NetworkConfig{NoDefaults: n.NoDefaults, LocalPorts: slices.Clone(n.LocalPorts)}
	for _, l := range []struct {
		from []string
		to   *[]policy.HostRule
	}{{n.Allow, &out.Allow}, {n.Deny, &out.Deny}, {n.AllowPrivate, &out.AllowPrivate}} {
		parse := hostname.ParseAllowed
		if l.to == &out.Deny {
			parse = hostname.ParseRule
		}
		for _, s := range l.from {
			r, err := parse(s, policy.Origin{File: "the program"})
			if err != nil {
				return policy.NetworkConfig{}, err
			}
			*l.to = append(*l.to, r)
		}
	}
	return out, nil
}

// Connect asks to open a TCP connection to a host, a name or an IP address.
type Connect struct {
	Host string
	Port uint16
}

func (Connect) action() {}

// DialContext connects to "host:port" under the policy's rules for hosts: it
// is for a program's own tools (a web fetch, a search), so that they reach
// what its commands reach and nothing else. A name is decided before it is
// resolved, and its address once more on the socket that connects. The network
// is "tcp", "tcp4" or "tcp6", and decides which addresses of a name are tried.
// A denial is a *RefusedError. In Open every host may be reached.
//
// It has the form of the DialContext field of net/http's Transport, and ctx
// the meaning that it has for net.Dialer: it ends an attempt to connect, not
// the connection. The connection has a method CloseWrite as net.TCPConn has.
func (p Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	refuse := func(why, lift string) error {
		return &RefusedError{What: "connection to " + quote(address), Why: why, Lift: lift}
	}
	if !p.made {
		return nil, errZero
	}
	family, ok := map[string]string{"tcp": "ip", "tcp4": "ip4", "tcp6": "ip6"}[network]
	if !ok {
		return nil, refuse("only TCP is allowed, not "+quote(network), "")
	}
	v, err := p.inspect()
	if err != nil {
		return nil, err
	}
	made := v.policy
	if !made.Sandboxed() {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	host, port, err := policy.SplitHostPort(address)
	if err != nil {
		return nil, refuse(err.Error(), "")
	}
	if a, ok := host.Addr(); ok && (family == "ip4" && !a.Is4() || family == "ip6" && a.Is4()) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.AddrError{Err: "no suitable address", Addr: address}}
	}
	c := policy.Connect{Host: host, Port: port}
	e := egress.New(egress.Options{
		Decide:    func(context.Context, egress.Request) policy.Decision { return made.Decide(c) },
		CheckAddr: made.Network().DecideAddr,
		Resolve:   egress.HostResolver(family),
	})
	conn, err := e.Dial(ctx, egress.Request{Connect: c, Via: egress.ViaTCP})
	if err != nil {
		_ = e.Close()
		var denied *egress.DeniedError
		if errors.As(err, &denied) {
			return nil, refuse(denied.Decision.Rule.Text, denied.Decision.Rule.Lift)
		}
		// As net.Dialer has it: callers ask these whether it was a timeout.
		var failed *net.OpError
		var unknown *net.DNSError
		var unsuitable *net.AddrError
		switch {
		case errors.As(err, &failed):
			return nil, failed
		case errors.As(err, &unknown):
			return nil, &net.OpError{Op: "dial", Net: network, Err: unknown}
		case errors.As(err, &unsuitable):
			return nil, &net.OpError{Op: "dial", Net: network, Err: unsuitable}
		}
		return nil, public(err)
	}
	return dialled{conn.(*egress.Conn), e}, nil
}

// dialled is a connection that ends its egress with itself.
type dialled struct {
	*egress.Conn
	e *egress.Proxy
}

func (d dialled) Close() error {
	err := d.Conn.Close()
	_ = d.e.Close()
	return err
}
