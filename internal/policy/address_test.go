package policy

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// addressClasses names the first and last address of each range, and a
// neighbour that the range does not hold.
var addressClasses = []struct {
	prefix string
	class  AddrClass
	near   string // "" where the neighbour is of the same class
}{
	{"0.0.0.0/32", Unspecified, ""},
	{"0.0.0.0/8", Unspecified, "1.0.0.0"},
	{"10.0.0.0/8", PrivateNet, "11.0.0.0"},
	{"100.64.0.0/10", SharedNet, "100.63.255.255"},
	{"127.0.0.0/8", Loopback, "128.0.0.0"},
	{"169.254.0.0/16", LinkLocal, "169.255.0.0"},
	{"172.16.0.0/12", PrivateNet, "172.32.0.0"},
	{"192.0.0.0/24", Protocol, "192.0.1.0"},
	{"192.0.2.0/24", Documentation, "192.0.3.0"},
	{"192.88.99.0/24", Protocol, "192.88.100.0"},
	{"192.168.0.0/16", PrivateNet, "192.169.0.0"},
	{"198.18.0.0/15", Benchmark, "198.20.0.0"},
	{"198.51.100.0/24", Documentation, "198.51.101.0"},
	{"203.0.113.0/24", Documentation, "203.0.114.0"},
	{"224.0.0.0/4", Multicast, "223.255.255.255"},
	{"255.255.255.255/32", Broadcast, "255.255.255.254"},
	{"240.0.0.0/5", Reserved, ""},
	{"169.254.169.254/32", Metadata, "169.254.169.253"},
	{"169.254.170.2/32", Metadata, "169.254.170.3"},
	{"169.254.170.23/32", Metadata, "169.254.170.22"},
	{"100.100.100.200/32", Metadata, "100.100.100.201"},
	{"192.0.0.192/32", Metadata, "192.0.0.193"},
	{"168.63.129.16/32", Metadata, "168.63.129.17"},
	{"8.8.8.8/32", Public, ""},

	{"::/128", Unspecified, "::1"},
	{"::1/128", Loopback, "::2"},
	{"::7f00:0/112", Embedded, "::1:0:0:0"},
	{"::ffff:0:0:0/96", Embedded, "::ffff:1:0:0"},
	{"64:ff9b::/96", Embedded, "64:ff9b::1:0:0"},
	{"64:ff9b:1::/48", Embedded, "64:ff9b:2::"},
	{"100::/64", Protocol, "100:0:0:1::"},
	{"2001::/32", Embedded, "2001:1::"},
	{"2001:2::/48", Benchmark, "2001:2:1::"},
	{"2001:10::/28", Protocol, ""},
	{"2001:20::/28", Protocol, ""},
	{"2001:100::/24", Protocol, "2001:200::"},
	{"2001:db8::/32", Documentation, "2001:db9::"},
	{"2002::/16", Embedded, "2003::"},
	{"3fff::/20", Documentation, "3fff:1000::"},
	{"2606:4700::/32", Public, ""},
	{"2000::/16", Public, "1fff::"},
	{"4000::/3", Reserved, ""},
	{"5f00::/16", Reserved, ""},
	{"fc00::/8", PrivateNet, "fbff::"},
	{"fd01::/16", PrivateNet, ""},
	{"fe80::/10", LinkLocal, "fec0::"},
	{"fec0::/10", PrivateNet, "fe80::"},
	{"ff00::/8", Multicast, "feff::"},
	{"fd00:ec2::254/128", Metadata, "fd00:ec2::253"},
	{"fd00:ec2::23/128", Metadata, "fd00:ec2::24"},
	{"fd20:ce::254/128", Metadata, "fd20:ce::253"},
	{"fd00:42::42/128", Metadata, "fd00:42::43"},
	{"fd00:c1::a9fe:a9fe/128", Metadata, "fd00:c1::a9fe:a9ff"},
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestA25_AddressClasses(t *testing.T) {
	for _, c := range addressClasses {
		p := netip.MustParsePrefix(c.prefix)
		for _, a := range []netip.Addr{p.Addr(), lastOf(p)} {
			if got := ClassOf(a); got != c.class {
				t.Errorf("%v of %v is %v, want %v", a, p, got, c.class)
			}
			if a.Is4() && ClassOf(netip.AddrFrom16(a.As16())) != c.class {
				t.Errorf("%v mapped into IPv6 is of another class", a)
			}
			if a.Is6() && ClassOf(a.WithZone("eth0")) != c.class {
				t.Errorf("%v with a zone is of another class", a)
			}
		}
		if c.near != "" && ClassOf(netip.MustParseAddr(c.near)) == c.class {
			t.Errorf("%s, which is not in %s, is %v too", c.near, c.prefix, c.class)
		}
	}
	if c := ClassOf(netip.Addr{}); c != Reserved {
		t.Errorf("no address is %v", c)
	}
}

// Whatever the standard library has a word for is internal here.
func TestAddressClassesAgainstNetip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genAddr().Draw(t, "addr")
		special := a.IsUnspecified() || a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || !a.IsGlobalUnicast()
		if c := ClassOf(a); special && c == Public {
			t.Fatalf("%v is %v", a, c)
		}
	})
}

func TestAddressTable(t *testing.T) {
	for _, table := range [][]special{specials4[:], specials6[:]} {
		for i, row := range table {
			if row.source == "" || row.bits < 0 || row.bits > 128 {
				t.Errorf("row %d: %+v", i, row)
			}
			for bit := row.bits; bit < 128; bit++ {
				if row.prefix[bit/8]&(0x80>>(bit%8)) != 0 {
					t.Errorf("row %d: bits beyond the prefix: %+v", i, row)
					break
				}
			}
			// A row is not hidden by one above it.
			n := 16
			if &table[0] == &specials4[0] {
				n = 4
			}
			for _, above := range table[:i] {
				if above.bits <= row.bits && hasPrefix(row.prefix[:n], &above.prefix, above.bits) {
					t.Errorf("row %d, %s, is hidden by %s", i, row.source, above.source)
				}
			}
		}
	}
	seen := map[string]bool{}
	for c := range addrClasses {
		s := AddrClass(c).String()
		if s == "" || seen[s] || addrClasses[c].what == "" {
			t.Errorf("class %d: %+v", c, addrClasses[c])
		}
		seen[s] = true
	}
	if AddrClass(200).String() != "reserved" || AddrClass(200).opening() != openNever || AddrClass(0).opening() != openNever {
		t.Error("an unknown class is a wide one")
	}
}

func TestInternalNames(t *testing.T) {
	for s, want := range map[string]AddrClass{
		"localhost": Loopback, "LocalHost.": Loopback, "x.localhost": Loopback, "localhost.example": Public, "xlocalhost": Public,
		"metadata.google.internal.": Metadata, "google.internal": Public, "127.0.0.1": Loopback, "8.8.8.8": Public, "example.com": Public,
	} {
		if got := classOfHost(mustHost(t, s)); got != want {
			t.Errorf("%s is %v, want %v", s, got, want)
		}
	}
}
