package transparent

import (
	"hash/fnv"
	"net/netip"
	"sync"

	"bawn/internal/policy"
)

// The addresses of 198.18.0.0/15 (RFC 2544: in no real network):
//
//	198.18.0.0/24         the resolver and source of all packets (.1); the rest unused
//	198.18.1.0 - .255.255 the names of a session
//	198.19.0.0/16         the clients, as the relay's listener sees them
const (
	poolFirst  = 0xc612_0100
	poolSize   = 0x1_0000 - 0x100
	aliasFirst = 0xc613_0000
	// maxNames keeps the pool three quarters empty, so that a name finds
	// its place in few steps.
	maxNames  = poolSize / 4
	maxProbes = 64
)

// Pool gives each name of a session one synthetic address and takes none
// back: what a client has remembered never means another host. A name has the
// same address in every session, as far as no other holds it already, for
// those who keep notes (known_hosts).
type Pool struct {
	mu    sync.Mutex
	hosts map[uint32]policy.Host
	addrs map[policy.Host]uint32
}

// newPool makes an empty pool.
func newPool() *Pool {
	return &Pool{hosts: map[uint32]policy.Host{}, addrs: map[policy.Host]uint32{}}
}

// Addr returns the address of a name, a new one if need be. It is false for
// what is an address itself, and when the pool is full.
func (p *Pool) Addr(h policy.Host) (netip.Addr, bool) {
	if _, literal := h.Addr(); literal || h == (policy.Host{}) {
		return netip.Addr{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.addrs[h]; ok {
		return fromUint32(n), true
	}
	if len(p.addrs) >= maxNames {
		return netip.Addr{}, false
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(h.String()))
	sum := hash.Sum64()
	// Names made to meet in one place soon find no other.
	step := sum>>32 | 1
	for range maxProbes {
		n := uint32(poolFirst + sum%poolSize)
		if _, taken := p.hosts[n]; !taken {
			p.hosts[n] = h
			p.addrs[h] = n
			return fromUint32(n), true
		}
		sum += step
	}
	return netip.Addr{}, false
}

// Host returns the name that an address was given to.
func (p *Pool) Host(a netip.Addr) (policy.Host, bool) {
	a = a.Unmap()
	if !a.Is4() {
		return policy.Host{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := p.hosts[toUint32(a)]
	return h, ok
}

func fromUint32(n uint32) netip.Addr {
	return netip.AddrFrom4(ipv4{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

func toUint32(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
