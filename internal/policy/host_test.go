package policy

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustHost(t testing.TB, s string) Host {
	t.Helper()
	h, err := ParseHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// spellings are texts of the wire and the one host each of them is; "" is
// none. The curl of the tests of package hostname dials what stands here.
var spellings = []struct{ in, want string }{
	{"example.com", "example.com"},
	{"EXAMPLE.com", "example.com"},
	{"example.com.", "example.com"},
	{"_dmarc.a-b.example.com", "_dmarc.a-b.example.com"},
	{"xn--bcher-kva.example", "xn--bcher-kva.example"},
	{"XN--BCHER-KVA.example", "xn--bcher-kva.example"},
	{"localhost", "localhost"},
	{"1.2.3.com", "1.2.3.com"},
	{"3com", "3com"},
	{"0x7f", "0.0.0.127"},
	{"0xg", "0xg"},
	{"127.0.0.1", "127.0.0.1"},
	{"127.0.0.1.", "127.0.0.1"},
	{"127.1", "127.0.0.1"},
	{"127.0.1", "127.0.0.1"},
	{"2130706433", "127.0.0.1"},
	{"0x7f000001", "127.0.0.1"},
	{"0X7F.1", "127.0.0.1"},
	{"0177.0.0.1", "127.0.0.1"},
	{"0177.0x0.00.01", "127.0.0.1"},
	{"017700000001", "127.0.0.1"},
	{"00000000000000000000177.1", "127.0.0.1"},
	{"0", "0.0.0.0"},
	{"0.0", "0.0.0.0"},
	{"4294967295", "255.255.255.255"},
	{"1.16777215", "1.255.255.255"},
	{"1.2.65535", "1.2.255.255"},
	{"::1", "::1"},
	{"[::1]", "::1"},
	{"[0:0:0:0:0:0:0:0]", "::"},
	{"[2001:DB8::0001]", "2001:db8::1"},
	{"::ffff:127.0.0.1", "127.0.0.1"},
	{"[::FFFF:7f00:1]", "127.0.0.1"},
	{"::127.0.0.1", "::7f00:1"},
	{"64:ff9b::127.0.0.1", "64:ff9b::7f00:1"},

	{"", ""}, {".", ""}, {"..", ""}, {".example.com", ""}, {"example..com", ""}, {"example.com..", ""},
	{"4294967296", ""}, {"256.1.1.1", ""}, {"1.2.3.256", ""}, {"1.16777216", ""}, {"1.2.65536", ""}, {"1.256.1", ""},
	{"1.2.3.4.5", ""}, {"08.1.1.1", ""}, {"1.1.1.08", ""}, {"0x", ""}, {"0x.1", ""}, {"0x1g.1", ""}, {"example.1", ""},
	{"example.0x1f", ""}, {"99999999999999999999999", ""}, {"1..2", ""}, {"1.2.3.4..", ""},
	{"example.com:443", ""}, {"127.0.0.1:80", ""}, {"[::1]:80", ""}, {"[::1", ""}, {"::1]", ""}, {"[]", ""}, {"[", ""}, {"]", ""},
	{"[127.0.0.1]", ""}, {"[example.com]", ""}, {"[::1].", ""}, {"[[::1]]", ""}, {"::1.", ""}, {":", ""}, {"1:2", ""}, {":::", ""},
	{"fe80::1%eth0", ""}, {"[fe80::1%25eth0]", ""}, {"::ffff:127.1", ""}, {"::ffff:0177.0.0.1", ""},
	{"-oProxyCommand=x", ""}, {"-example.com", ""},
	{"*", ""}, {"*.example.com", ""}, {"http://example.com", ""}, {"example.com/", ""}, {"exa\\mple.com", ""}, {"a,b", ""}, {"a;b", ""},
	{" example.com", ""}, {"example.com ", ""}, {"exam ple.com", ""}, {"127.0.0.1 ", ""}, {"127.0.0.1\tx", ""},
	{"bücher.example", ""}, {"example。com", ""}, {"１２７.0.0.1", ""}, {"\u0430llowed.test", ""}, {"\u212a.example", ""},
	{strings.Repeat("a", 64) + ".com", ""},
	{strings.Repeat("a", 63) + ".com", strings.Repeat("a", 63) + ".com"},
	{strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 126) + "a"},
	{strings.Repeat("a.", 127), strings.Repeat("a.", 126) + "a"},
	{strings.Repeat("a.", 126) + "aa", ""},
	{strings.Repeat("a.", 126) + "aa.", ""},
}

func TestParseHost(t *testing.T) {
	for _, c := range spellings {
		h, err := ParseHost(c.in)
		if c.want == "" {
			if !errors.Is(err, ErrHost) || h != (Host{}) {
				t.Errorf("ParseHost(%q) = %q, %v; want a refusal", c.in, h, err)
			}
			continue
		}
		if err != nil || h.String() != c.want {
			t.Errorf("ParseHost(%q) = %q, %v; want %q", c.in, h, err, c.want)
		}
		a, isAddr := h.Addr()
		want, wantErr := netip.ParseAddr(c.want)
		if isAddr != (wantErr == nil) || a != want {
			t.Errorf("ParseHost(%q).Addr() = %v, %v", c.in, a, isAddr)
		}
	}
}

// A host with a control byte, an escape or a user is none, and neither is an
// empty one: what checks and what dials would read two different hosts.
func TestA04_EncodedHosts(t *testing.T) {
	for _, s := range []string{
		"evil.test%00.allowed.test", "evil.test%2eallowed.test", "evil.test\x00.allowed.test", "evil.test\r.allowed.test",
		"evil.test\n", "evil.test\x7f", "evil%0d%0aX:1.test", "\x1b[2Jevil.test", "evil.test\x00",
	} {
		if h, err := ParseHost(s); !errors.Is(err, ErrHost) {
			t.Errorf("ParseHost(%q) = %q, %v", s, h, err)
		}
		if h, _, err := SplitHostPort(s + ":443"); !errors.Is(err, ErrHost) {
			t.Errorf("SplitHostPort(%q) = %q, %v", s+":443", h, err)
		}
	}
	if h, port, err := SplitHostPort("evil.test.allowed.test:443"); err != nil || h.String() != "evil.test.allowed.test" || port != 443 {
		t.Error(h, port, err)
	}
}

func TestA31_UserInHost(t *testing.T) {
	for _, s := range []string{"allowed.test@evil.test", "allowed.test:x@evil.test", "evil.test#@allowed.test", `evil.test\@allowed.test`, "evil.test?@allowed.test"} {
		if h, _, err := SplitHostPort(s + ":443"); !errors.Is(err, ErrHost) {
			t.Errorf("SplitHostPort(%q) = %q, %v", s+":443", h, err)
		}
		if h, err := ParseHost(s); !errors.Is(err, ErrHost) {
			t.Errorf("ParseHost(%q) = %q, %v", s, h, err)
		}
	}
}

// What somebody sent is quoted and short: it goes to logs and pages.
func TestA42_ErrorsAreHarmless(t *testing.T) {
	for _, s := range []string{"evil\r\nX: 1", "\x1b[31mred", strings.Repeat("a", 20<<10), strings.Repeat("\x1b", 300), "a\u202eb", "\xff"} {
		_, err := ParseHost(s)
		if err == nil {
			t.Fatalf("ParseHost(%.20q) succeeds", s)
		}
		if msg := err.Error(); HasControl(msg) || len(msg) > 500 || strings.ContainsRune(msg, '\u202e') {
			t.Errorf("error for %.20q: %q", s, msg)
		}
	}
}

func TestSplitHostPort(t *testing.T) {
	for _, s := range []string{"https://example.com", "https://example.com:443", "example.com/x:443", "me@example.com:443"} {
		if _, _, err := SplitHostPort(s); !errors.Is(err, ErrHost) || !strings.Contains(err.Error(), "without scheme, user or path") {
			t.Errorf("SplitHostPort(%q): %v", s, err)
		}
	}
	for _, c := range []struct {
		in   string
		host string // "" = refused
		port uint16
	}{
		{"example.com:443", "example.com", 443},
		{"EXAMPLE.com.:1", "example.com", 1},
		{"127.1:65535", "127.0.0.1", 65535},
		{"[::1]:80", "::1", 80},
		{"[::ffff:1.2.3.4]:80", "1.2.3.4", 80},
		{"", "", 0}, {":", "", 0}, {":443", "", 0}, {"example.com", "", 0}, {"example.com:", "", 0}, {"[::1]", "", 0}, {"[::1]:", "", 0},
		{"::1:80", "", 0}, {"1:2:80", "", 0}, {"a:1:80", "", 0}, {"[::1]x:80", "", 0}, {"[a]:80", "", 0},
		{"example.com:0", "", 0}, {"example.com:65536", "", 0}, {"example.com:99999", "", 0}, {"example.com:100000", "", 0},
		{"example.com:0x1bb", "", 0}, {"example.com:+443", "", 0}, {"example.com:-1", "", 0}, {"example.com:0443", "", 0},
		{"example.com:443 ", "", 0}, {"example.com: 443", "", 0}, {"example.com:4_4", "", 0}, {"example.com:http", "", 0},
		{"example.com:٤٤٣", "", 0}, {"example.com:443/", "", 0}, {"example.com:443\x00", "", 0},
	} {
		h, port, err := SplitHostPort(c.in)
		if c.host == "" {
			if !errors.Is(err, ErrHost) || h != (Host{}) || port != 0 {
				t.Errorf("SplitHostPort(%q) = %q, %d, %v; want a refusal", c.in, h, port, err)
			}
			continue
		}
		if err != nil || h.String() != c.host || port != c.port {
			t.Errorf("SplitHostPort(%q) = %q, %d, %v", c.in, h, port, err)
		}
	}
}

func TestHostAddr(t *testing.T) {
	for in, want := range map[string]string{"1.2.3.4": "1.2.3.4", "::ffff:1.2.3.4": "1.2.3.4", "fe80::1%eth0": "fe80::1", "::ffff:1.2.3.4%x": "1.2.3.4"} {
		if h := HostAddr(netip.MustParseAddr(in)); h.String() != want {
			t.Errorf("HostAddr(%s) = %s", in, h)
		}
	}
	if HostAddr(netip.Addr{}) != (Host{}) || (Host{}).String() != "" {
		t.Error("no address is a host")
	}
	if s := (Connect{HostAddr(netip.IPv6Loopback()), 80}).String(); s != "[::1]:80" {
		t.Error(s)
	}
}

// genName draws names from few labels, so that rules and hosts meet.
func genName() *rapid.Generator[string] {
	label := rapid.SampledFrom([]string{"a", "b", "ab", "test", "com", "a-b", "_x", "xn--a"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(label, 1, 4).Draw(t, "labels"), ".")
	})
}

// genAddr draws addresses of every class, and public ones.
func genAddr() *rapid.Generator[netip.Addr] {
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		pick := func(table []special) special { return rapid.SampledFrom(table).Draw(t, "row") }
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			row := pick(specials4[:])
			return netip.AddrFrom4([4]byte(row.prefix[:4]))
		case 1:
			return netip.AddrFrom16(pick(specials6[:]).prefix)
		case 2:
			return rapid.SampledFrom([]netip.Addr{
				netip.MustParseAddr("11.0.0.10"), netip.MustParseAddr("2606:4700::1"), netip.MustParseAddr("127.0.0.1"),
				netip.MustParseAddr("::1"), netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("127.0.0.53"),
			}).Draw(t, "usual")
		case 3:
			return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4")))
		}
		return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6"))).Unmap()
	})
}

func genHost() *rapid.Generator[Host] {
	return rapid.Custom(func(t *rapid.T) Host {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			return HostAddr(genAddr().Draw(t, "addr"))
		case 2:
			n := rapid.SampledFrom(internalNames[:]).Draw(t, "internal")
			return rapid.SampledFrom([]Host{n.host, {name: "x." + n.host.name}}).Draw(t, "name")
		}
		h, err := ParseHost(genName().Draw(t, "name"))
		if err != nil {
			t.Fatal(err)
		}
		return h
	})
}

// spell writes a host in one of its other spellings.
func spell(t *rapid.T, h Host) string {
	a, ok := h.Addr()
	if !ok {
		s := h.String()
		if rapid.Bool().Draw(t, "upper") {
			s = strings.ToUpper(s)
		}
		if len(s) < maxHostName && rapid.Bool().Draw(t, "dot") {
			s += "."
		}
		return s
	}
	if a.Is6() {
		return rapid.SampledFrom([]string{a.String(), a.StringExpanded(), strings.ToUpper(a.String()), "[" + a.String() + "]"}).Draw(t, "v6")
	}
	b := a.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	number := func(v uint32, base int) string {
		return map[int]string{10: "", 8: "0", 16: "0x"}[base] + strings.ToUpper(strconv.FormatUint(uint64(v), base))
	}
	base := rapid.SampledFrom([]int{8, 10, 16})
	switch rapid.IntRange(0, 5).Draw(t, "v4") {
	case 0:
		return number(n, base.Draw(t, "base"))
	case 1:
		return number(n>>24, base.Draw(t, "base")) + "." + number(n&0xffffff, base.Draw(t, "base"))
	case 2:
		return number(n>>24, base.Draw(t, "base")) + "." + number(n>>16&0xff, base.Draw(t, "base")) + "." + number(n&0xffff, base.Draw(t, "base"))
	case 3:
		return netip.AddrFrom16(a.As16()).String() // ::ffff:a.b.c.d
	case 4:
		return a.String() + "."
	}
	return a.String()
}

func TestHostSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := genHost().Draw(t, "host")
		s := spell(t, h)
		if got, err := ParseHost(s); err != nil || got != h {
			t.Fatalf("ParseHost(%q) = %q, %v; want %q", s, got, err, h)
		}
		c := Connect{h, rapid.Uint16Range(1, 65535).Draw(t, "port")}
		if got, port, err := SplitHostPort(c.String()); err != nil || got != h || port != c.Port {
			t.Fatalf("SplitHostPort(%q) = %q, %d, %v", c, got, port, err)
		}
	})
}

func FuzzParseHost(f *testing.F) {
	for _, c := range spellings {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s)
		if err != nil {
			if h != (Host{}) || !errors.Is(err, ErrHost) || HasControl(err.Error()) {
				t.Fatalf("ParseHost(%q) = %q, %q", s, h, err)
			}
			return
		}
		text := h.String()
		if again, err := ParseHost(text); err != nil || again != h {
			t.Fatalf("ParseHost(%q) = %q, which reads as %q, %v", s, text, again, err)
		}
		a, isAddr := h.Addr()
		if isAddr {
			if a.Zone() != "" || a.Is4In6() {
				t.Fatalf("ParseHost(%q) = %q", s, a)
			}
			return
		}
		if text == "" || len(text) > maxHostName || text != strings.ToLower(text) || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" ||
			strings.HasSuffix(text, ".") || !strings.EqualFold(strings.TrimSuffix(s, "."), text) {
			t.Fatalf("ParseHost(%q) = %q", s, text)
		}
		if a, err := netip.ParseAddr(text); err == nil {
			t.Fatalf("the name %q is the address %v", text, a)
		}
	})
}

func FuzzSplitHostPort(f *testing.F) {
	for _, c := range spellings {
		f.Add(c.in + ":443")
	}
	for _, s := range []string{"", ":", "a:0", "a:65536", "[::1]:80", "::1:80", "a:0x1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, port, err := SplitHostPort(s)
		if err != nil {
			if h != (Host{}) || port != 0 || !errors.Is(err, ErrHost) {
				t.Fatalf("SplitHostPort(%q) = %q, %d, %v", s, h, port, err)
			}
			return
		}
		c := Connect{h, port}
		if h2, port2, err := SplitHostPort(c.String()); err != nil || h2 != h || port2 != port {
			t.Fatalf("SplitHostPort(%q) = %v, which reads as %q, %d, %v", s, c, h2, port2, err)
		}
		if alone, err := ParseHost(s[:strings.LastIndexByte(s, ':')]); err != nil || alone != h || port == 0 {
			t.Fatalf("SplitHostPort(%q) = %q, and ParseHost %q, %v", s, h, alone, err)
		}
	})
}
