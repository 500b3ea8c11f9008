package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func genNetworkConfig() *rapid.Generator[NetworkConfig] {
	rules := rapid.SliceOfN(genRule(), 0, 6)
	return rapid.Custom(func(t *rapid.T) NetworkConfig {
		opens := func(r HostRule) bool {
			a, ok := r.host.Addr()
			return !ok || ClassOf(a).opening() != openNever
		}
		c := NetworkConfig{NoDefaults: rapid.Bool().Draw(t, "no defaults"), Deny: rules.Draw(t, "deny")}
		for _, r := range rules.Draw(t, "allow") {
			if opens(r) {
				c.Allow = append(c.Allow, r)
			}
		}
		for _, r := range rules.Draw(t, "private") {
			if opens(r) && !r.Any() {
				c.AllowPrivate = append(c.AllowPrivate, r)
			}
		}
		c.LocalPorts = rapid.SliceOfN(rapid.SampledFrom([]uint16{80, 443}), 0, 1).Draw(t, "local")
		return c
	})
}

func genConnect(c NetworkConfig) *rapid.Generator[Connect] {
	return rapid.Custom(func(t *rapid.T) Connect {
		out := Connect{genHost().Draw(t, "host"), rapid.SampledFrom([]uint16{80, 443, 8080}).Draw(t, "port")}
		// Rather near a rule than anywhere.
		if all := slices.Concat(c.Allow, c.Deny, c.AllowPrivate); len(all) > 0 && rapid.Bool().Draw(t, "near") {
			r := rapid.SampledFrom(all).Draw(t, "rule")
			if r.host != (Host{}) {
				out.Host = r.host
				if r.host.name != "" && rapid.Bool().Draw(t, "below") {
					out.Host.name = "x." + r.host.name
				}
			}
		}
		return out
	})
}

func newOrFatal(t *rapid.T, c NetworkConfig) Network {
	n, err := NewNetwork(c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// model decides by going through every rule, as the SPEC says it.
func model(cfg NetworkConfig, c Connect) Verdict {
	covers := func(rules []HostRule, naming bool) bool {
		return slices.ContainsFunc(rules, func(r HostRule) bool { return r.Covers(c) && !(naming && r.Any()) })
	}
	allow := cfg.Allow
	if !cfg.NoDefaults {
		allow = append(DefaultHosts(), allow...)
	}
	class := classOfHost(c.Host)
	switch {
	case covers(cfg.Deny, false):
		return Deny
	case class != Public && class.opening() == openNever:
		return Deny
	case class != Public && (covers(allow, true) || covers(cfg.AllowPrivate, true)):
		return Allow
	case class == Loopback && slices.Contains(cfg.LocalPorts, c.Port) &&
		(c.Host.name != "" || c.Host.String() == "127.0.0.1" || c.Host.String() == "::1"):
		return Allow
	case class != Public:
		return Deny
	case covers(allow, false):
		return Allow
	}
	return Ask
}

func TestDecideIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := genNetworkConfig().Draw(t, "config")
		n := newOrFatal(t, cfg)
		c := genConnect(cfg).Draw(t, "connect")
		d := n.Decide(c)
		if want := model(cfg, c); d.Verdict != want {
			t.Fatalf("%v: %+v, want %v", c, d, want)
		}
		if d.Rule.ID == "" || d.Rule.Text == "" || HasControl(d.Rule.Text+d.Rule.Lift) {
			t.Fatalf("%v: %+v", c, d)
		}
		// The rule that is named covers the connection and stands in the list.
		if id, ok := strings.CutPrefix(d.Rule.ID, "host:"); ok && id != "unlisted" {
			list, pattern, _ := strings.Cut(id, ":")
			r, err := ParseHostRule(pattern, d.Rule.Origin)
			lists := map[string][]HostRule{"deny": cfg.Deny, "allow": append(DefaultHosts(), cfg.Allow...), "allow-private": cfg.AllowPrivate}
			if err != nil || !r.Covers(c) || !slices.Contains(lists[list], r) {
				t.Fatalf("%v is decided by %q: %v", c, d.Rule.ID, err)
			}
		}
	})
}

func TestDecideIgnoresSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := genNetworkConfig().Draw(t, "config")
		n := newOrFatal(t, cfg)
		c := genConnect(cfg).Draw(t, "connect")
		other, err := ParseHost(spell(t, c.Host))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := n.Decide(c), n.Decide(Connect{other, c.Port}); a != b {
			t.Fatalf("%v: %+v and %+v", c, a, b)
		}
	})
}

// A rule more never turns the verdict against its own list.
func TestNetworkIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := genNetworkConfig().Draw(t, "config")
		more := cfg
		list := rapid.SampledFrom([]string{"deny", "allow", "private", "local"}).Draw(t, "list")
		r := genRule().Draw(t, "more")
		at := func(old []HostRule) []HostRule {
			return slices.Insert(slices.Clone(old), rapid.IntRange(0, len(old)).Draw(t, "at"), r)
		}
		switch list {
		case "deny":
			more.Deny = at(cfg.Deny)
		case "allow":
			more.Allow = at(cfg.Allow)
		case "private":
			more.AllowPrivate = at(cfg.AllowPrivate)
		case "local":
			more.LocalPorts = append(slices.Clone(cfg.LocalPorts), 8080)
		}
		after, err := NewNetwork(more)
		if err != nil {
			return // the rule may not stand in that list
		}
		before := newOrFatal(t, cfg)
		c := genConnect(more).Draw(t, "connect")
		a := genAddr().Draw(t, "addr")
		if literal, ok := c.Host.Addr(); ok {
			a = literal
		}
		dialled := netip.AddrPortFrom(a, c.Port)
		for what, v := range map[string][2]Decision{
			"Decide":     {before.Decide(c), after.Decide(c)},
			"DecideName": {before.DecideName(c.Host), after.DecideName(c.Host)},
			"DecideAddr": {before.DecideAddr(c.Host, dialled), after.DecideAddr(c.Host, dialled)},
		} {
			if list == "deny" && v[1].Verdict > v[0].Verdict || list != "deny" && v[1].Verdict < v[0].Verdict {
				t.Fatalf("%s of %v at %v: %+v, with %q in %s %+v", what, c, dialled, v[0], r, list, v[1])
			}
		}
	})
}

// A name is answered exactly when some port of it fares so well.
func TestDecideNameIsTheBestPort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := genNetworkConfig().Draw(t, "config")
		n := newOrFatal(t, cfg)
		c := genConnect(cfg).Draw(t, "connect")
		best := Deny
		for _, port := range []uint16{80, 443, 8080} { // no rule gives another one
			best = max(best, n.Decide(Connect{c.Host, port}).Verdict)
		}
		if d := n.DecideName(c.Host); d.Verdict != best {
			t.Fatalf("%v: %+v, want %v", c.Host, d, best)
		}
	})
}

// What is refused at the dial is internal or denied; what is allowed is public
// or opened by a rule that names the host or the address, and never by *.
func TestDecideAddrNeedsItsReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := genNetworkConfig().Draw(t, "config")
		n := newOrFatal(t, cfg)
		c := genConnect(cfg).Draw(t, "connect")
		a := genAddr().Draw(t, "addr")
		literal, isAddr := c.Host.Addr()
		if isAddr && rapid.Bool().Draw(t, "same") {
			a = literal
		}
		d := n.DecideAddr(c.Host, netip.AddrPortFrom(a, c.Port))
		class, id := ClassOf(a), d.Rule.ID
		switch {
		case d.Verdict == Ask:
			t.Fatalf("%v at %v: asks", c, a)
		case isAddr && literal != a:
			if d.Verdict != Deny {
				t.Fatalf("%v at %v: %+v", c, a, d)
			}
		case d.Verdict == Allow && class == Public:
		case d.Verdict == Allow:
			if class.opening() == openNever || id == "host:allow:*" || strings.HasPrefix(id, "host:allow:*:") || id == "address:public" {
				t.Fatalf("%v at %v, %v: %+v", c, a, class, d)
			}
		case class == Public && !strings.HasPrefix(id, "host:deny:"):
			t.Fatalf("%v at %v: %+v", c, a, d)
		}
		if isAddr && literal == a {
			if v := n.Decide(c).Verdict; v != Ask && v != d.Verdict {
				t.Fatalf("%v is %v, and at its own address %+v", c, v, d)
			}
		}
	})
}

// What a refusal says would lift it does, and at that place alone.
func TestLiftsLift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := genNetworkConfig().Draw(t, "config")
		cfg.Deny = nil
		n := newOrFatal(t, cfg)
		c := genConnect(cfg).Draw(t, "connect")
		a := genAddr().Draw(t, "addr")
		literal, isAddr := c.Host.Addr()
		if isAddr {
			a = literal
		}
		at := netip.AddrPortFrom(a, c.Port)
		decide := func(n Network) Decision { return n.DecideAddr(c.Host, at) }
		if rapid.Bool().Draw(t, "before") {
			decide = func(n Network) Decision { return n.Decide(c) }
		}
		d := decide(n)
		if d.Verdict == Allow {
			return
		}
		lifted := cfg
		word := strings.Fields(d.Rule.Lift)
		rule := func(s string) []HostRule {
			r, err := ParseHostRule(s, Origin{})
			if err != nil {
				t.Fatalf("%+v: %v", d, err)
			}
			return []HostRule{r}
		}
		switch {
		case len(word) == 0:
			if class := ClassOf(a); class.opening() != openNever {
				t.Fatalf("%v at %v has no way out: %+v", c, a, d)
			}
			return
		case word[0] == "--allow-domain":
			lifted.Allow = append(rule(word[1]), cfg.Allow...)
		case word[0] == "--allow-private":
			lifted.AllowPrivate = append(rule(word[1]), cfg.AllowPrivate...)
		case word[0] == "--allow-local-port":
			if word[1] != strconv.Itoa(int(c.Port)) {
				t.Fatalf("%v: %+v", c, d)
			}
			lifted.LocalPorts = []uint16{c.Port}
		default:
			t.Fatalf("%+v", d)
		}
		if got := decide(newOrFatal(t, lifted)); got.Verdict != Allow {
			t.Fatalf("%v at %v: %+v; then %+v", c, a, d, got)
		}
	})
}
