package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/policy"
)

// pool are entries for lists, chosen so that they meet each other.
var pool = map[Kind][]string{
	Address:  {"none", "https://s.test/search"},
	Proxy:    {"env", "none", "http://p.test:3128"},
	Folders:  {"/srv", "/srv/a", "/srv/ab", "/workspace/x", "~/y", "/"},
	Places:   {".husky", "deploy", "/workspace/.git/hooks", "/etc/ssl", "a/b", "~/z"},
	Hosts:    {"a.test", "b.a.test", "*.a.test", "a.test:443", "*.b.a.test:80", "x.example", "10.0.0.1", "127.0.0.1:80", "github.com", "*.github.com", "npmjs.org:443"},
	Ports:    {"80", "443", "5432"},
	Names:    {"A_TOKEN", "*_TOKEN", "LANG", "X*", "*"},
	Commands: {"docker *", "make deploy", "git push *", "go test *"},
	Programs: {"/usr/bin/deploy", "/opt/x"},
	Chords:   {"alt+s", "f6", "ctrl+t"},
}

// document is a random file: each key with some chance, with any value.
func document(t *rapid.T, label string, only ...int) string {
	var b strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&b, "[%s]\n", table.name)
		for k := range keys {
			key := &keys[k]
			if key.Table != table.name || len(only) > 0 && !slices.Contains(only, k) || rapid.IntRange(0, 2).Draw(t, label+key.Name) == 0 {
				continue
			}
			words := pool[key.Kind]
			switch {
			case key.Kind == Bool || key.Kind == Word:
				words = key.Words
			case k == keyAllowed || k == keyDenied:
				words = append(slices.Clip(words), "*", "*:80")
			}
			quote := func(s string) string {
				if key.Kind == Bool || key.Kind == Ports {
					return s
				}
				return `"` + s + `"`
			}
			if key.Kind.single() {
				fmt.Fprintf(&b, "%s = %s\n", key.Name, quote(rapid.SampledFrom(words).Draw(t, label+"word")))
				continue
			}
			var list []string
			for _, e := range rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, label+"list") {
				list = append(list, quote(e))
			}
			fmt.Fprintf(&b, "%s = [%s]\n", key.Name, strings.Join(list, ", "))
		}
	}
	return b.String()
}

func parsed(t *rapid.T, l Layer, doc string) values {
	v, err := parseFile(testScope(l), l.String()+".toml", []byte(doc))
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return v
}

// randomLayers is every layer but the project's.
func randomLayers(t *rapid.T) *layers {
	l := &layers{workspace: "/workspace"}
	for _, layer := range []Layer{Managed, User, Saved} {
		if rapid.Bool().Draw(t, "has "+layer.String()) {
			if layer == Saved {
				l.weak = append(l.weak, parsed(t, layer, document(t, "saved ", keyAllowed)))
				continue
			}
			l.weak = append(l.weak, parsed(t, layer, document(t, layer.String())))
		}
	}
	for _, layer := range []Layer{Environment, Flags} {
		if rapid.Bool().Draw(t, "has "+layer.String()) {
			l.strong = append(l.strong, parsed(t, layer, document(t, layer.String())))
		}
	}
	if rapid.Bool().Draw(t, "has requirements") {
		v := parsed(t, Requirements, document(t, "requirements"))
		l.required = &v
	}
	return l
}

var probes = func() []policy.Connect {
	var out []policy.Connect
	for _, name := range []string{"a.test", "b.a.test", "c.b.a.test", "x.example", "y.x.example", "other.example", "10.0.0.1", "127.0.0.1", "github.com", "api.github.com", "npmjs.org", "localhost"} {
		h, err := policy.ParseHost(name)
		if err != nil {
			panic(err)
		}
		for _, p := range []uint16{80, 443, 5432} {
			out = append(out, policy.Connect{Host: h, Port: p})
		}
	}
	return out
}()

func network(t *rapid.T, c Config) policy.Network {
	n, err := policy.NewNetwork(c.Network())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// notWider checks by what a run would do, not by the code under test, that
// next allows nothing that c does not.
func notWider(t *rapid.T, c, next Config) {
	before, after := network(t, c), network(t, next)
	for _, p := range probes {
		if a, b := before.Decide(p).Verdict, after.Decide(p).Verdict; b > a {
			t.Fatalf("%v: %v became %v", p, a, b)
		}
		for _, addr := range probes {
			ip, ok := addr.Host.Addr()
			if !ok {
				continue
			}
			at := netipPort(ip, p.Port)
			if a, b := before.DecideAddr(p.Host, at).Verdict, after.DecideAddr(p.Host, at).Verdict; b > a {
				t.Fatalf("%v at %v: %v became %v", p, at, a, b)
			}
		}
	}
	for _, headless := range []bool{true, false} {
		a, _ := c.Tier(headless)
		b, _ := next.Tier(headless)
		if b > a {
			t.Fatalf("tier %v became %v", a, b)
		}
	}
	for _, entry := range []string{"A_TOKEN=1", "B_TOKEN=1", "LANG=C", "XY=1", "PATH=/bin"} {
		a, _ := c.Env().Scrub([]string{entry})
		b, _ := next.Env().Scrub([]string{entry})
		if len(b) > len(a) {
			t.Fatalf("%s became visible", entry)
		}
	}
	found := []policy.PathRule{policy.ProtectRule("/workspace/.husky", "x"), policy.ProtectRule("/workspace/.git/hooks", "x"), policy.ProtectRule("/workspace/.bawn", "x")}
	for what, rules := range map[string][2][]policy.PathRule{
		"protected": {protect(c, found), protect(next, found)},
		"hidden":    {c.Hidden(), next.Hidden()},
	} {
		for _, r := range rules[0] {
			if !slices.ContainsFunc(rules[1], func(o policy.PathRule) bool { return o.Path == r.Path }) {
				t.Fatalf("%s is not %s any more", r.Path, what)
			}
		}
	}
	for what, lists := range map[string][2][]Item{
		"folders": {c.Folders(), next.Folders()}, "exclude": {c.Items("sandbox.exclude"), next.Items("sandbox.exclude")}, "hatches": {c.Items("sandbox.escape_hatch_binaries"), next.Items("sandbox.escape_hatch_binaries")},
		"allow": {c.Items("permissions.allow"), next.Items("permissions.allow")},
		"deny":  {next.Items("permissions.deny"), c.Items("permissions.deny")}, "ask": {next.Items("permissions.ask"), c.Items("permissions.ask")},
	} {
		for _, it := range lists[1] {
			if !slices.ContainsFunc(lists[0], func(o Item) bool { return o.Text == it.Text }) {
				t.Fatalf("%s: %q", what, it.Text)
			}
		}
	}
	modes := []string{"ask", "auto", "bypass"}
	onA, howA, urlA := c.Egress()
	onB, howB, urlB := next.Egress()
	switch {
	case onB && !onA, howA != howB, urlA != urlB:
		t.Fatal("the egress is wider or another")
	case c.Enabled() && !next.Enabled(), c.Guard() && !next.Guard(), next.Caches() > c.Caches(), c.StrictPrecheck() && !next.StrictPrecheck(),
		c.NarrowInstalls() && !next.NarrowInstalls(), next.Temp() > c.Temp(), c.Launcher() != next.Launcher():
		t.Fatalf("a switch is wider:\n%s\n%s", c.Report().Text(), next.Report().Text())
	case slices.Index(modes, next.Permissions().Mode) > slices.Index(modes, c.Permissions().Mode):
		t.Fatal("the permission mode is wider")
	case !slices.Equal(c.Keys("cycle_sandbox_tier"), next.Keys("cycle_sandbox_tier")):
		t.Fatal("the keys changed")
	}
	for _, tier := range []policy.Tier{policy.Airlock, policy.Guarded, policy.Open} {
		if c.AllowTier(tier) != nil && next.AllowTier(tier) == nil {
			t.Fatalf("the tier %v became allowed", tier)
		}
	}
}

func TestPropertyUntrustedProjectNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := randomLayers(t)
		without := l.merge()
		p := parsed(t, ProjectFile, document(t, "project"))
		l.project = &p
		with := l.merge()
		notWider(t, without, with)
		if d := without.Diff(with); len(d) != 0 {
			t.Fatalf("the difference says %q", d)
		}
		// The difference that a person is shown before trusting misses nothing:
		// where it says that nothing is widened, nothing is.
		l.trusted = true
		trusted := l.merge()
		if len(with.Diff(trusted)) == 0 {
			notWider(t, with, trusted)
		}
		for _, k := range []int{keyExclude, keyEscape, keyUnprotect, keyLauncher, keyUpstream, keyCycleTier} {
			if !slices.EqualFunc(without.items[k], trusted.items[k], func(a, b Item) bool { return a == b }) {
				t.Fatalf("a project set %s", keys[k].Path())
			}
		}
	})
}

func TestPropertyRequirementsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := randomLayers(t)
		r := parsed(t, Requirements, document(t, "must"))
		l.required = &r
		if rapid.Bool().Draw(t, "project") {
			p := parsed(t, ProjectFile, document(t, "project"))
			l.project, l.trusted = &p, rapid.Bool().Draw(t, "trusted")
		}
		c := l.merge()
		most := Config{}
		most.add(&r)
		for k := range keys {
			if !r.set[k] {
				continue
			}
			switch key := &keys[k]; {
			case key.Effect == Ordered:
				if key.rank(c.value(k).Text) > key.rank(most.value(k).Text) {
					t.Fatalf("%s = %s", key.Path(), c.value(k).Text)
				}
			case key.Kind.single():
				if c.value(k).Text != most.value(k).Text {
					t.Fatalf("%s = %s", key.Path(), c.value(k).Text)
				}
			case key.Effect == Tightens:
				if len(missing(most.items[k], c.items[k])) != 0 {
					t.Fatalf("%s misses entries", key.Path())
				}
			case key.Kind == Folders || key.Kind == Places:
				for _, it := range c.items[k] {
					if !slices.ContainsFunc(most.items[k], func(m Item) bool { return policy.Inside(it.Text, m.Text) }) {
						t.Fatalf("%s holds %s", key.Path(), it.Text)
					}
				}
			case key.Effect == Widens && key.Kind != Hosts:
				if len(missing(c.items[k], most.items[k])) != 0 {
					t.Fatalf("%s holds more", key.Path())
				}
			}
		}
		if !r.set[keyAllowed] {
			return
		}
		limit, err := policy.NewNetwork(policy.NetworkConfig{Allow: most.hosts(keyAllowed), NoDefaults: true})
		if err != nil {
			t.Fatal(err)
		}
		n := network(t, c)
		for _, p := range probes {
			if _, isAddr := p.Host.Addr(); isAddr || p.Host.String() == "localhost" {
				continue // local ports and private hosts have lists of their own
			}
			if n.Decide(p).Verdict == policy.Allow && limit.Decide(p).Verdict != policy.Allow {
				t.Fatalf("%v is allowed beyond the requirements", p)
			}
		}
	})
}

// A host rule that is called within another never matches what that does not.
func TestPropertyHostWithin(t *testing.T) {
	entries := append(slices.Clip(pool[Hosts]), "*", "*:80", "*:443", "b.a.test:80", "*.test", "[::1]:80")
	rapid.Check(t, func(t *rapid.T) {
		r, err := policy.ParseHostRule(rapid.SampledFrom(entries).Draw(t, "rule"), policy.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := policy.ParseHostRule(rapid.SampledFrom(entries).Draw(t, "most"), policy.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if r == m && !hostWithin(r, m) && !opensInternal(r) {
			t.Fatalf("%v is not within itself", r)
		}
		if !hostWithin(r, m) {
			return
		}
		for _, p := range probes {
			if r.Covers(p) && !m.Covers(p) {
				t.Fatalf("%v within %v, but not for %v", r, m, p)
			}
		}
	})
}
