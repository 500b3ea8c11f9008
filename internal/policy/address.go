package policy

import "net/netip"

// AddrClass is what a special-purpose address is for. The zero value is
// Reserved, which no rule opens.
type AddrClass uint8

const (
	Reserved AddrClass = iota
	Public
	Unspecified
	Loopback
	PrivateNet
	LinkLocal
	Metadata
	SharedNet
	Benchmark
	Documentation
	Multicast
	Broadcast
	Embedded
	Protocol
)

// opening is what can make an internal address reachable. The zero value is
// nothing.
type opening uint8

const (
	openNever   opening = iota
	openLiteral         // a rule for that very address
	openPort            // also allow_private for the name, if it gives the port
	openName            // also allow_private for the name
	openAlways          // it is public
)

var addrClasses = [...]struct {
	id, what string
	open     opening
}{
	Reserved:      {"reserved", "a reserved address", openNever},
	Public:        {"public", "a public address", openAlways},
	Unspecified:   {"unspecified", "an unspecified address, which reaches this machine", openNever},
	Loopback:      {"loopback", "this machine's loopback", openPort},
	PrivateNet:    {"private", "an address of a private network", openName},
	LinkLocal:     {"link-local", "a link-local address", openLiteral},
	Metadata:      {"metadata", "a cloud metadata service, which hands out credentials", openLiteral},
	SharedNet:     {"cgnat", "an address of a carrier's or an overlay network", openName},
	Benchmark:     {"benchmark", "an address for benchmarks", openName},
	Documentation: {"documentation", "an address for documentation", openLiteral},
	Multicast:     {"multicast", "a multicast address", openNever},
	Broadcast:     {"broadcast", "the broadcast address", openNever},
	Embedded:      {"embedded", "an IPv6 address that carries an IPv4 address", openLiteral},
	Protocol:      {"protocol", "an address that a protocol keeps for itself", openLiteral},
}

// String is the stable, short name of the class.
func (c AddrClass) String() string {
	if int(c) < len(addrClasses) {
		return addrClasses[c].id
	}
	return addrClasses[Reserved].id
}

func (c AddrClass) opening() opening {
	if int(c) < len(addrClasses) {
		return addrClasses[c].open
	}
	return openNever
}

// special is one row of the address table: a prefix, and the document that
// sets it apart. The rows are plain data: every run would pay for parsing.
type special struct {
	prefix [16]byte // the bits after the prefix are zero
	bits   int
	class  AddrClass
	source string
}

// specials4 and specials6 follow the IANA special-purpose address registries
// and the clouds' manuals. The first row that matches decides, so a single
// address stands above the range it lies in. IPv4 has Public as its default;
// in IPv6 only 2000::/3 is given out, and the rest is Reserved.
var specials4 = [...]special{
	{[16]byte{169, 254, 169, 254}, 32, Metadata, "AWS, Google Cloud, Azure, OpenStack, DigitalOcean"},
	{[16]byte{169, 254, 170, 2}, 32, Metadata, "AWS ECS task credentials"},
	{[16]byte{169, 254, 170, 23}, 32, Metadata, "AWS EKS pod identity"},
	{[16]byte{100, 100, 100, 200}, 32, Metadata, "Alibaba Cloud"},
	{[16]byte{192, 0, 0, 192}, 32, Metadata, "Oracle Cloud (classic)"},
	{[16]byte{168, 63, 129, 16}, 32, Metadata, "Azure WireServer"},
	{[16]byte{0, 0, 0, 0}, 32, Unspecified, "RFC 1122, 3.2.1.3"},
	{[16]byte{0}, 8, Unspecified, "RFC 791, 3.2 (this network; some kernels deliver it locally)"},
	{[16]byte{10}, 8, PrivateNet, "RFC 1918"},
	{[16]byte{100, 64}, 10, SharedNet, "RFC 6598"},
	{[16]byte{127}, 8, Loopback, "RFC 1122, 3.2.1.3"},
	{[16]byte{169, 254}, 16, LinkLocal, "RFC 3927"},
	{[16]byte{172, 16}, 12, PrivateNet, "RFC 1918"},
	{[16]byte{192, 0, 0}, 24, Protocol, "RFC 6890, 2.1"},
	{[16]byte{192, 0, 2}, 24, Documentation, "RFC 5737"},
	{[16]byte{192, 88, 99}, 24, Protocol, "RFC 7526 (6to4 relays, withdrawn)"},
	{[16]byte{192, 168}, 16, PrivateNet, "RFC 1918"},
	{[16]byte{198, 18}, 15, Benchmark, "RFC 2544"},
	{[16]byte{198, 51, 100}, 24, Documentation, "RFC 5737"},
	{[16]byte{203, 0, 113}, 24, Documentation, "RFC 5737"},
	{[16]byte{224}, 4, Multicast, "RFC 5771"},
	{[16]byte{255, 255, 255, 255}, 32, Broadcast, "RFC 8190, RFC 919"},
	{[16]byte{240}, 4, Reserved, "RFC 1112, 4"},
}

var specials6 = [...]special{
	{[16]byte{0xfd, 0x00, 0x0e, 0xc2, 14: 0x02, 15: 0x54}, 128, Metadata, "AWS (fd00:ec2::254)"},
	{[16]byte{0xfd, 0x00, 0x0e, 0xc2, 15: 0x23}, 128, Metadata, "AWS EKS pod identity (fd00:ec2::23)"},
	{[16]byte{0xfd, 0x20, 0x00, 0xce, 14: 0x02, 15: 0x54}, 128, Metadata, "Google Cloud (fd20:ce::254)"},
	{[16]byte{0xfd, 0x00, 0x00, 0x42, 15: 0x42}, 128, Metadata, "Scaleway (fd00:42::42)"},
	{[16]byte{0xfd, 0x00, 0x00, 0xc1, 12: 0xa9, 13: 0xfe, 14: 0xa9, 15: 0xfe}, 128, Metadata, "Oracle Cloud (fd00:c1::a9fe:a9fe)"},
	{[16]byte{}, 128, Unspecified, "RFC 4291, 2.5.2"},
	{[16]byte{15: 1}, 128, Loopback, "RFC 4291, 2.5.3"},
	{[16]byte{}, 96, Embedded, "RFC 4291, 2.5.5.1 (IPv4-compatible)"},
	{[16]byte{8: 0xff, 9: 0xff}, 96, Embedded, "RFC 2765 (IPv4-translated, ::ffff:0:0:0/96)"},
	{[16]byte{0x00, 0x64, 0xff, 0x9b}, 96, Embedded, "RFC 6052 (NAT64)"},
	{[16]byte{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, Embedded, "RFC 8215 (NAT64)"},
	{[16]byte{0x01, 0x00}, 64, Protocol, "RFC 6666 (discard)"},
	{[16]byte{0x20, 0x01}, 32, Embedded, "RFC 4380 (Teredo)"},
	{[16]byte{0x20, 0x01, 0x00, 0x02}, 48, Benchmark, "RFC 5180"},
	{[16]byte{0x20, 0x01}, 23, Protocol, "RFC 2928 (ORCHID 2001:10::/28, 2001:20::/28 and others)"},
	{[16]byte{0x20, 0x01, 0x0d, 0xb8}, 32, Documentation, "RFC 3849"},
	{[16]byte{0x20, 0x02}, 16, Embedded, "RFC 3056 (6to4)"},
	{[16]byte{0x3f, 0xff}, 20, Documentation, "RFC 9637"},
	{[16]byte{0x20}, 3, Public, "RFC 4291, 2.4"},
	{[16]byte{0xfc}, 7, PrivateNet, "RFC 4193"},
	{[16]byte{0xfe, 0x80}, 10, LinkLocal, "RFC 4291, 2.5.6"},
	{[16]byte{0xfe, 0xc0}, 10, PrivateNet, "RFC 3879 (site-local)"},
	{[16]byte{0xff}, 8, Multicast, "RFC 4291, 2.7"},
}

// ClassOf says what an address is for. An IPv4 address mapped into IPv6 is
// the IPv4 address; a zone does not count.
func ClassOf(a netip.Addr) AddrClass {
	a = a.Unmap()
	switch {
	case a.Is4():
		b := a.As4()
		return classIn(specials4[:], b[:], Public)
	case a.Is6():
		b := a.As16()
		return classIn(specials6[:], b[:], Reserved)
	}
	return Reserved
}

func classIn(table []special, addr []byte, otherwise AddrClass) AddrClass {
	for i := range table {
		if hasPrefix(addr, &table[i].prefix, table[i].bits) {
			return table[i].class
		}
	}
	return otherwise
}

func hasPrefix(addr []byte, prefix *[16]byte, bits int) bool {
	n := bits / 8
	for i := range n {
		if addr[i] != prefix[i] {
			return false
		}
	}
	rest := bits % 8
	return rest == 0 || (addr[n]^prefix[n])>>(8-rest) == 0
}

// internalNames are names that mean an internal address on every machine
// (localhost: RFC 6761, 6.3) or that a cloud answers with its metadata
// service. A rule for all hosts does not open them.
var internalNames = [...]struct {
	host  Host
	class AddrClass
}{
	{Host{name: "localhost"}, Loopback},
	{Host{name: "metadata.google.internal"}, Metadata},
	{Host{name: "metadata.goog"}, Metadata},
	{Host{name: "instance-data.ec2.internal"}, Metadata},
}

// classOfHost is the class of an address, or of a name that stands for one;
// Public for every other name.
func classOfHost(h Host) AddrClass {
	if h.addr.IsValid() {
		return ClassOf(h.addr)
	}
	for i := range internalNames {
		if n := &internalNames[i]; h == n.host || belowName(h, n.host) {
			return n.class
		}
	}
	return Public
}
