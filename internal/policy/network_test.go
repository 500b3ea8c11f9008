package policy

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func mustNetwork(t testing.TB, c NetworkConfig) Network {
	t.Helper()
	n, err := NewNetwork(c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func connect(t testing.TB, s string) Connect {
	t.Helper()
	h, port, err := SplitHostPort(s)
	if err != nil {
		t.Fatal(err)
	}
	return Connect{h, port}
}

// decided checks one verdict, and that it says why and, unless it allows, the
// way out.
func decided(t *testing.T, what string, d Decision, want Verdict, id string) {
	t.Helper()
	if d.Verdict != want || d.Rule.ID != id {
		t.Errorf("%s: %v by %q, want %v by %q", what, d.Verdict, d.Rule.ID, want, id)
	}
	if d.Rule.Text == "" {
		t.Errorf("%s: no reason", what)
	}
}

func TestNetworkZeroValues(t *testing.T) {
	var n Network
	for _, c := range []Connect{{}, connect(t, "github.com:443"), connect(t, "127.0.0.1:80"), {Port: 80}, {Host: mustHost(t, "github.com")}} {
		if d := n.Decide(c); d.Verdict != Deny || d.Rule.ID == "" {
			t.Errorf("zero Network decides %v: %+v", c, d)
		}
		if d := n.DecideName(c.Host); d.Verdict != Deny {
			t.Errorf("zero Network decides the name %v: %+v", c.Host, d)
		}
		if d := n.DecideAddr(c.Host, netip.MustParseAddrPort("8.8.8.8:80")); d.Verdict != Deny {
			t.Errorf("zero Network decides the address of %v: %+v", c.Host, d)
		}
	}
	// SPEC N10: an empty configuration means the defaults, never everything.
	n = mustNetwork(t, NetworkConfig{})
	decided(t, "default", n.Decide(connect(t, "files.pythonhosted.org:443")), Allow, "host:allow:pythonhosted.org")
	decided(t, "unlisted", n.Decide(connect(t, "evil.test:443")), Ask, "host:unlisted")
	n = mustNetwork(t, NetworkConfig{NoDefaults: true})
	decided(t, "no defaults", n.Decide(connect(t, "pypi.org:443")), Ask, "host:unlisted")
}

func TestN1_Defaults(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{})
	for _, s := range strings.Fields(`www.npmjs.org registry.yarnpkg.com crates.io static.crates.io index.crates.io pypi.org files.pythonhosted.org
		pkg.golang.org x.golang.org github.com api.github.com codeload.github.com raw.githubusercontent.com gitlab.com bitbucket.org huggingface.co
		cdn-lfs.huggingface.co cdn-lfs.hf.co`) {
		for _, port := range []uint16{22, 80, 443, 9418} {
			d := n.Decide(Connect{mustHost(t, s), port})
			if d.Verdict != Allow || d.Rule.Origin.String() != "built in" {
				t.Errorf("%s:%d: %+v", s, port, d)
			}
		}
		if d := n.DecideName(mustHost(t, s)); d.Verdict != Allow {
			t.Errorf("name %s: %+v", s, d)
		}
	}
	for _, s := range strings.Fields("github.io notgithub.com github.com.evil.test org npmjs.com hf.co.evil.test 8.8.8.8") {
		if d := n.Decide(Connect{mustHost(t, s), 443}); d.Verdict != Ask {
			t.Errorf("%s: %+v", s, d)
		}
	}
}

// SPEC N5: config adds to the defaults, deny wins over them.
func TestNetworkLists(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "good.test", "*.below.test", "web.test:443"), Deny: mustRules(t, "gist.github.com", "bad.good.test")})
	for s, want := range map[string]Decision{
		"github.com:443":      {Allow, Rule{ID: "host:allow:github.com"}},
		"gist.github.com:443": {Deny, Rule{ID: "host:deny:gist.github.com"}},
		"x.gist.github.com:1": {Deny, Rule{ID: "host:deny:gist.github.com"}},
		"GOOD.test.:80":       {Allow, Rule{ID: "host:allow:good.test"}},
		"bad.good.test:80":    {Deny, Rule{ID: "host:deny:bad.good.test"}},
		"below.test:80":       {Ask, Rule{ID: "host:unlisted"}},
		"a.below.test:80":     {Allow, Rule{ID: "host:allow:*.below.test"}},
		"web.test:443":        {Allow, Rule{ID: "host:allow:web.test:443"}},
		"a.web.test:443":      {Allow, Rule{ID: "host:allow:web.test:443"}},
		"web.test:80":         {Ask, Rule{ID: "host:unlisted"}},
	} {
		decided(t, s, n.Decide(connect(t, s)), want.Verdict, want.Rule.ID)
	}
	if d := n.Decide(connect(t, "good.test:1")); d.Rule.Origin != (Origin{"f.toml", 1}) {
		t.Errorf("%+v", d)
	}
	if d := n.Decide(connect(t, "x.example:443")); d.Rule.Lift != "--allow-domain x.example or allowed_domains in ~/.config/bawn/config.toml allows it" {
		t.Errorf("%+v", d)
	}
}

func TestA05_TrailingDot(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "*"), Deny: mustRules(t, "evil.test")})
	decided(t, "evil", n.Decide(connect(t, "evil.test.:443")), Deny, "host:deny:evil.test")
	decided(t, "metadata", n.Decide(connect(t, "metadata.google.internal.:80")), Deny, "address:metadata")
	decided(t, "good", n.Decide(connect(t, "good.test.:443")), Allow, "host:allow:*")
}

func TestB69_RootDotIsAllowed(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "allowed.test")})
	decided(t, "dot", n.Decide(connect(t, "allowed.test.:18080")), Allow, "host:allow:allowed.test")
	decided(t, "no dot", n.Decide(connect(t, "allowed.test:18080")), Allow, "host:allow:allowed.test")
	n = mustNetwork(t, NetworkConfig{Allow: mustRules(t, "allowed.test.")})
	decided(t, "dot in the rule", n.Decide(connect(t, "allowed.test:18080")), Allow, "host:allow:allowed.test")
}

func TestA07_DenyWithPort(t *testing.T) {
	for _, allow := range []string{"*", "*:443", "evil.test", "*.test", "evil.test:443", "a.evil.test:443"} {
		n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "*", allow), Deny: mustRules(t, "evil.test:443")})
		for s, want := range map[string]Verdict{"evil.test:443": Deny, "evil.test.:443": Deny, "a.evil.test:443": Deny, "evil.test:8443": Allow, "evil.test:80": Allow, "good.test:443": Allow} {
			if d := n.Decide(connect(t, s)); d.Verdict != want {
				t.Errorf("allow %s: %s is %+v", allow, s, d)
			}
		}
		if d := n.DecideName(mustHost(t, "evil.test")); d.Verdict != Allow {
			t.Errorf("allow %s: the name: %+v", allow, d)
		}
	}
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "*"), Deny: mustRules(t, "*:25")})
	decided(t, "mail", n.Decide(connect(t, "a.test:25")), Deny, "host:deny:*:25")
	decided(t, "web", n.Decide(connect(t, "a.test:80")), Allow, "host:allow:*")
}

func TestB67_A38_AllowWithPort(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "allowed.test:443")})
	decided(t, "443", n.Decide(connect(t, "allowed.test:443")), Allow, "host:allow:allowed.test:443")
	for _, port := range []string{"9999", "25", "22", "6379", "80"} {
		decided(t, port, n.Decide(connect(t, "allowed.test:"+port)), Ask, "host:unlisted")
	}
	decided(t, "0", n.Decide(Connect{mustHost(t, "allowed.test"), 0}), Deny, "port:none")
	for _, s := range []string{"allowed.test:0", "allowed.test:99999", "allowed.test", "allowed.test:0x1bb"} {
		if _, _, err := SplitHostPort(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
	if d := n.DecideName(mustHost(t, "allowed.test")); d.Verdict != Allow {
		t.Errorf("%+v", d)
	}
}

func TestA22_NoHost(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "*")})
	decided(t, "connect", n.Decide(Connect{Port: 18080}), Deny, "host:none")
	decided(t, "name", n.DecideName(Host{}), Deny, "host:none")
	decided(t, "address", n.DecideAddr(Host{}, netip.MustParseAddrPort("8.8.8.8:80")), Deny, "host:none")
	decided(t, "no address", n.DecideAddr(mustHost(t, "a.test"), netip.AddrPort{}), Deny, "host:none")
}

// Internal literals: * never covers them, whatever the spelling.
func TestA21_A25_InternalLiterals(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "*", "*:18080")})
	for s, id := range map[string]string{
		"0.0.0.0:18080": "address:unspecified", "[::]:18080": "address:unspecified", "0:18080": "address:unspecified",
		"[0:0:0:0:0:0:0:0]:18080": "address:unspecified", "0.1.2.3:18080": "address:unspecified",
		"127.0.0.1:18080": "address:loopback", "127.1:18080": "address:loopback", "2130706433:18080": "address:loopback", "0x7f.1:18080": "address:loopback",
		"0177.0.0.1:18080": "address:loopback", "[::1]:18080": "address:loopback", "[::ffff:127.0.0.1]:18080": "address:loopback",
		"localhost:18080": "address:loopback", "x.LOCALHOST.:18080": "address:loopback",
		"[64:ff9b::7f00:1]:18080": "address:embedded", "[2002:7f00:1::]:80": "address:embedded", "[::127.0.0.1]:80": "address:embedded",
		"[2001::1]:80": "address:embedded", "100.64.0.1:80": "address:cgnat", "192.0.0.1:80": "address:protocol", "198.18.0.1:80": "address:benchmark",
		"224.0.0.1:80": "address:multicast", "255.255.255.255:80": "address:broadcast", "240.0.0.1:80": "address:reserved",
		"10.1.2.3:80": "address:private", "[fc00::1]:80": "address:private", "169.254.1.1:80": "address:link-local", "[fe80::1]:80": "address:link-local",
		"169.254.169.254:80": "address:metadata", "[fd00:ec2::254]:80": "address:metadata", "100.100.100.200:80": "address:metadata",
	} {
		decided(t, s, n.Decide(connect(t, s)), Deny, id)
		decided(t, s, n.DecideName(connect(t, s).Host), Deny, id)
	}
	for _, s := range []string{"11.0.0.10:18080", "8.8.8.8:18080", "[2606:4700::1]:18080"} {
		if d := n.Decide(connect(t, s)); d.Verdict != Allow {
			t.Errorf("%s: %+v", s, d)
		}
	}
}

func TestB64_LiteralRule(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "127.0.0.1:18080", "10.1.2.3", "169.254.169.254:80", "*.test")})
	for s, want := range map[string]Verdict{
		"127.0.0.1:18080": Allow, "127.1:18080": Allow, "[::ffff:127.0.0.1]:18080": Allow, "127.0.0.1:18081": Deny, "127.0.0.2:18080": Deny, "[::1]:18080": Deny,
		"localhost:18080": Deny, "10.1.2.3:1": Allow, "10.1.2.4:1": Deny, "169.254.169.254:80": Allow, "169.254.169.254:81": Deny,
	} {
		c := connect(t, s)
		if d := n.Decide(c); d.Verdict != want {
			t.Errorf("%s: %+v", s, d)
		}
		if a, ok := c.Host.Addr(); ok {
			if d := n.DecideAddr(c.Host, netip.AddrPortFrom(a, c.Port)); d.Verdict != want {
				t.Errorf("address %s: %+v", s, d)
			}
		}
	}
	// A rule for every host at that port does not stand before it.
	wide := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "*:18080", "10.1.2.3", "*")})
	decided(t, "with *", wide.Decide(connect(t, "10.1.2.3:18080")), Allow, "host:allow:10.1.2.3")
	decided(t, "with *", wide.Decide(connect(t, "10.1.2.4:18080")), Deny, "address:private")
	// The rule is the opt-in for that address, by whatever allowed name.
	decided(t, "by name", n.DecideAddr(mustHost(t, "a.test"), netip.MustParseAddrPort("127.0.0.1:18080")), Allow, "host:allow:127.0.0.1:18080")
	decided(t, "by name", n.DecideAddr(mustHost(t, "a.test"), netip.MustParseAddrPort("127.0.0.1:18081")), Deny, "address:loopback")
	n = mustNetwork(t, NetworkConfig{Allow: mustRules(t, "127.0.0.1:18080"), Deny: mustRules(t, "127.0.0.1")})
	decided(t, "denied", n.Decide(connect(t, "127.0.0.1:18080")), Deny, "host:deny:127.0.0.1")
}

func TestB62_Localhost(t *testing.T) {
	for _, c := range []NetworkConfig{{Allow: mustRules(t, "localhost:18080")}, {LocalPorts: []uint16{18080}}, {AllowPrivate: mustRules(t, "localhost:18080")}} {
		n := mustNetwork(t, c)
		for s, want := range map[string]Verdict{"localhost:18080": Allow, "LOCALHOST.:18080": Allow, "localhost:18081": Deny, "127.0.0.2:18080": Deny} {
			if d := n.Decide(connect(t, s)); d.Verdict != want {
				t.Errorf("%s: %+v", s, d)
			}
		}
		h := mustHost(t, "localhost")
		for s, want := range map[string]Verdict{"127.0.0.1:18080": Allow, "[::1]:18080": Allow, "127.0.0.1:18081": Deny, "10.0.0.1:18080": Deny, "169.254.169.254:18080": Deny} {
			if d := n.DecideAddr(h, netip.MustParseAddrPort(s)); d.Verdict != want && !(s == "10.0.0.1:18080" && len(c.AllowPrivate) > 0) {
				t.Errorf("localhost at %s: %+v", s, d)
			}
		}
		if d := n.DecideName(h); d.Verdict != Allow {
			t.Errorf("the name: %+v", d)
		}
		// Another name does not profit.
		if d := n.DecideAddr(mustHost(t, "evil.test"), netip.MustParseAddrPort("127.0.0.1:18080")); d.Verdict != Deny {
			t.Errorf("evil.test: %+v", d)
		}
	}
	n := mustNetwork(t, NetworkConfig{LocalPorts: []uint16{18080}})
	decided(t, "literal", n.Decide(connect(t, "127.0.0.1:18080")), Allow, "local-port:18080")
	decided(t, "literal", n.Decide(connect(t, "[::1]:18080")), Allow, "local-port:18080")
	n = mustNetwork(t, NetworkConfig{Allow: mustRules(t, "*")})
	decided(t, "by *", n.Decide(connect(t, "localhost:18080")), Deny, "address:loopback")
}

func TestB86_PrivateName(t *testing.T) {
	at := netip.MustParseAddrPort("10.1.2.3:18080")
	without := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "intra.test", "*")})
	with := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "intra.test"), AllowPrivate: mustRules(t, "intra.test")})
	h := mustHost(t, "intra.test")
	decided(t, "without", without.DecideAddr(h, at), Deny, "address:private")
	if d := without.DecideAddr(h, at); d.Rule.Lift != "--allow-private intra.test or allow_private in ~/.config/bawn/config.toml allows it" {
		t.Errorf("%+v", d)
	}
	decided(t, "with", with.DecideAddr(h, at), Allow, "host:allow-private:intra.test")
	decided(t, "below", with.DecideAddr(mustHost(t, "a.intra.test"), at), Allow, "host:allow-private:intra.test")
	decided(t, "other", with.DecideAddr(mustHost(t, "other.test"), at), Deny, "address:private")
	decided(t, "public", without.DecideAddr(h, netip.MustParseAddrPort("11.0.0.10:1")), Allow, "address:public")
	// allow_private is for private networks: no metadata, no loopback, nothing that embeds.
	for s, id := range map[string]string{
		"127.0.0.1:18080": "address:loopback", "[::1]:18080": "address:loopback", "169.254.169.254:80": "address:metadata", "0.0.0.0:18080": "address:unspecified",
		"[64:ff9b::7f00:1]:80": "address:embedded", "224.0.0.1:80": "address:multicast", "[fe80::1%lo]:80": "address:link-local", "[::ffff:127.0.0.1]:1": "address:loopback",
	} {
		decided(t, s, with.DecideAddr(h, netip.MustParseAddrPort(s)), Deny, id)
	}
	for _, s := range []string{"192.168.0.1:1", "[fd01::1]:1", "100.101.102.103:1", "[::ffff:10.1.2.3]:1"} {
		if d := with.DecideAddr(h, netip.MustParseAddrPort(s)); d.Verdict != Allow {
			t.Errorf("%s: %+v", s, d)
		}
	}
	// The rule gives the port: loopback too, at that port.
	port := mustNetwork(t, NetworkConfig{AllowPrivate: mustRules(t, "intra.test:18080")})
	decided(t, "port", port.DecideAddr(h, netip.MustParseAddrPort("127.0.0.1:18080")), Allow, "host:allow-private:intra.test:18080")
	both := mustNetwork(t, NetworkConfig{AllowPrivate: mustRules(t, "test:18080", "intra.test")})
	decided(t, "both", both.DecideAddr(h, netip.MustParseAddrPort("127.0.0.1:18080")), Allow, "host:allow-private:test:18080")
	decided(t, "both", both.DecideAddr(h, netip.MustParseAddrPort("10.1.2.3:1")), Allow, "host:allow-private:intra.test")
	decided(t, "other port", port.DecideAddr(h, netip.MustParseAddrPort("127.0.0.1:18081")), Deny, "address:loopback")
	// It opens nothing by itself.
	decided(t, "not allowed", port.Decide(connect(t, "intra.test:18080")), Ask, "host:unlisted")
}

// One public and one internal answer: each is judged alone, and the internal
// one is refused.
func TestA28_MixedAnswer(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "mix.test")})
	h := mustHost(t, "mix.test")
	decided(t, "public", n.DecideAddr(h, netip.MustParseAddrPort("11.0.0.99:80")), Allow, "address:public")
	decided(t, "internal", n.DecideAddr(h, netip.MustParseAddrPort("127.0.0.1:80")), Deny, "address:loopback")
}

// A denied address is denied by whatever name, and a literal is dialled as it
// was decided.
func TestDecideAddrDenies(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "*"), Deny: mustRules(t, "8.8.8.8", "9.9.9.9:53", "bad.test")})
	h := mustHost(t, "a.test")
	decided(t, "denied", n.DecideAddr(h, netip.MustParseAddrPort("8.8.8.8:1")), Deny, "host:deny:8.8.8.8")
	decided(t, "denied", n.DecideAddr(h, netip.MustParseAddrPort("[::ffff:8.8.8.8]:1")), Deny, "host:deny:8.8.8.8")
	decided(t, "port", n.DecideAddr(h, netip.MustParseAddrPort("9.9.9.9:53")), Deny, "host:deny:9.9.9.9:53")
	decided(t, "other port", n.DecideAddr(h, netip.MustParseAddrPort("9.9.9.9:54")), Allow, "address:public")
	decided(t, "name", n.DecideAddr(mustHost(t, "bad.test"), netip.MustParseAddrPort("1.1.1.1:1")), Deny, "host:deny:bad.test")
	decided(t, "literal", n.DecideAddr(mustHost(t, "1.1.1.1"), netip.MustParseAddrPort("1.1.1.2:1")), Deny, "address:other")
	decided(t, "literal", n.DecideAddr(mustHost(t, "1.1.1.1"), netip.MustParseAddrPort("[::ffff:1.1.1.1]:1")), Allow, "address:public")
}

func TestDecideName(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{
		Allow: mustRules(t, "a.test:443", "*.b.test", "c.test:443", "*:9418"), Deny: mustRules(t, "evil.test", "c.test:443", "d.test:9418"),
		LocalPorts: []uint16{8080},
	})
	for s, want := range map[string]Verdict{
		"a.test": Allow, "x.b.test": Allow, "github.com": Allow, "any.test": Allow, // by *:9418
		"evil.test": Deny, "x.evil.test": Deny, "d.test": Ask, "localhost": Allow, "127.0.0.1": Allow, "127.0.0.2": Deny, "10.0.0.1": Deny,
	} {
		if d := n.DecideName(mustHost(t, s)); d.Verdict != want || d.Rule.ID == "" {
			t.Errorf("%s: %+v", s, d)
		}
	}
	if d := n.DecideName(mustHost(t, "10.0.0.1")); strings.Contains(d.Rule.Lift, ":0") {
		t.Errorf("%+v", d)
	}
}

func TestNewNetworkRefuses(t *testing.T) {
	for name, c := range map[string]NetworkConfig{
		"zero rule":         {Allow: []HostRule{{}}},
		"zero deny":         {Deny: []HostRule{{}}},
		"private *":         {AllowPrivate: mustRules(t, "*")},
		"private *:80":      {AllowPrivate: mustRules(t, "*:80")},
		"port 0":            {LocalPorts: []uint16{8080, 0}},
		"unspecified":       {Allow: mustRules(t, "0.0.0.0:80")},
		"multicast private": {AllowPrivate: mustRules(t, "224.0.0.1")},
		"too many":          {Deny: make([]HostRule, maxHostRules+1)},
	} {
		n, err := NewNetwork(c)
		if err == nil {
			t.Errorf("%s is taken", name)
		}
		if d := n.Decide(connect(t, "github.com:443")); d.Verdict != Deny {
			t.Errorf("%s: a refused Network decides %+v", name, d)
		}
	}
	mustNetwork(t, NetworkConfig{Deny: mustRules(t, "0.0.0.0", "*"), AllowPrivate: mustRules(t, "*.corp.test", "10.0.0.1")})
}

// The caller's slices stay the caller's.
func TestNetworkIsImmutable(t *testing.T) {
	allow, ports := mustRules(t, "a.test"), []uint16{80}
	n := mustNetwork(t, NetworkConfig{Allow: allow, LocalPorts: ports})
	allow[0], ports[0] = mustRule(t, "*"), 81
	decided(t, "b", n.Decide(connect(t, "b.test:1")), Ask, "host:unlisted")
	decided(t, "81", n.Decide(connect(t, "localhost:81")), Deny, "address:loopback")
	decided(t, "80", n.Decide(connect(t, "localhost:80")), Allow, "local-port:80")
}

func TestDecideDoesNotAllocate(t *testing.T) {
	n := mustNetwork(t, NetworkConfig{Allow: mustRules(t, "web.test:443"), Deny: mustRules(t, "evil.test:443")})
	for _, s := range []string{"www.npmjs.org:443", "a.b.web.test:443"} {
		c := connect(t, s)
		if got := testing.AllocsPerRun(100, func() { n.Decide(c) }); got != 0 {
			t.Errorf("Decide(%s) allocates %v times", s, got)
		}
		at := netip.MustParseAddrPort("11.0.0.10:443")
		if got := testing.AllocsPerRun(100, func() { n.DecideAddr(c.Host, at) }); got != 0 {
			t.Errorf("DecideAddr(%s) allocates %v times", s, got)
		}
	}
	if got := testing.AllocsPerRun(100, func() { ParseHost("www.npmjs.org") }); got != 0 {
		t.Errorf("ParseHost allocates %v times", got)
	}
}

func BenchmarkNewNetworkDefaults(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewNetwork(NetworkConfig{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseHost(b *testing.B) {
	for _, s := range []string{"www.npmjs.org", "Registry.NPMJS.org.", "0x7f.1", "[2606:4700::6810:84e5]"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseHost(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bigNetwork has 100,000 rules of all kinds, ports among them.
func bigNetwork(b *testing.B) Network {
	var c NetworkConfig
	for i := range 100_000 {
		s := fmt.Sprintf("host%d.zone%d.example", i, i%100)
		switch i % 4 {
		case 0:
			c.Deny = append(c.Deny, mustRule(b, s))
		case 1:
			c.Allow = append(c.Allow, mustRule(b, "*."+s))
		case 2:
			c.Allow = append(c.Allow, mustRule(b, s+":443"))
		case 3:
			c.Allow = append(c.Allow, mustRule(b, s))
		}
	}
	return mustNetwork(b, c)
}

func BenchmarkDecide(b *testing.B) {
	n := bigNetwork(b)
	var mix []Connect // no two in a row in the same cache line
	for i := range 4096 {
		k := (i * 7919) % 100_000
		mix = append(mix, connect(b, fmt.Sprintf("host%d.zone%d.example:443", k, k%100)))
	}
	b.Run("mixed", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			n.Decide(mix[i%len(mix)])
			i++
		}
	})
	for _, s := range []string{
		"host99999.zone99.example:443", "host99998.zone98.example:443", "host99996.zone96.example:443", "www.npmjs.org:443",
		"unlisted.test:443", "127.0.0.1:80", strings.Repeat("a.", 126) + "a:443",
	} {
		c := connect(b, s)
		b.Run(s[:min(len(s), 30)], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n.Decide(c)
			}
		})
	}
}

func BenchmarkDecideAddr(b *testing.B) {
	n := bigNetwork(b)
	h, at := mustHost(b, "host99999.zone99.example"), netip.MustParseAddrPort("11.0.0.10:443")
	b.ReportAllocs()
	for b.Loop() {
		n.DecideAddr(h, at)
	}
}

// web_fetch's network: every public host that no rule denies, and no internal
// address, whatever the rules of the commands open.
func TestWithPublicHosts(t *testing.T) {
	n, err := NewNetwork(NetworkConfig{Allow: mustRules(t, "intra.test", "10.1.2.3"), AllowPrivate: mustRules(t, "intra.test"), Deny: mustRules(t, "evil.test")})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Policy{tier: Guarded, network: n}.WithPublicHosts()
	if err != nil {
		t.Fatal(err)
	}
	host := func(s string) Host {
		h, err := ParseHost(s)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for name, want := range map[string]Verdict{"any.test": Allow, "intra.test": Allow, "evil.test": Deny, "sub.evil.test": Deny, "10.1.2.3": Deny, "127.0.0.1": Deny} {
		if d := p.Network().Decide(Connect{host(name), 443}); d.Verdict != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for addr, want := range map[string]Verdict{"10.1.2.3:443": Deny, "127.0.0.1:443": Deny, "169.254.169.254:80": Deny, "1.1.1.1:443": Allow} {
		if d := p.Network().DecideAddr(host("intra.test"), netip.MustParseAddrPort(addr)); d.Verdict != want {
			t.Errorf("%s: %+v", addr, d)
		}
	}
	for _, q := range []Policy{{tier: Airlock}, {tier: Guarded, noNetwork: Rule{ID: "network:off"}}} {
		if q, err := q.WithPublicHosts(); err != nil || q.HasNetwork() {
			t.Errorf("%v has a network now, %v", q.tier, err)
		}
	}
}
