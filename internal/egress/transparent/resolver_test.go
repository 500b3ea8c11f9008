package transparent

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"pgregory.net/rapid"

	"bawn/internal/policy"
)

func testResolver() *Resolver {
	return &Resolver{Pool: newPool(), Name: func(_ context.Context, h policy.Host) policy.Decision {
		switch {
		case h.String() == "allowed.test", strings.HasSuffix(h.String(), ".allowed.test"):
			return policy.Decision{Verdict: policy.Allow}
		case h.String() == "asked.test":
			return policy.Decision{Verdict: policy.Ask}
		case h.String() == "panic.test":
			panic("name")
		}
		return policy.Decision{Rule: policy.Rule{Text: "no rule\nallows it"}}
	}}
}

func ask(name string, kind dnsmessage.Type, edns bool) []byte {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: 77, RecursionDesired: true})
	_ = b.StartQuestions()
	_ = b.Question(dnsmessage.Question{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET})
	if edns {
		_ = b.StartAdditionals()
		var h dnsmessage.ResourceHeader
		_ = h.SetEDNS0(4096, 0, false)
		_ = b.OPTResource(h, dnsmessage.OPTResource{})
	}
	out, err := b.Finish()
	if err != nil {
		panic(err)
	}
	return out
}

// reading is what a client reads in an answer.
type reading struct {
	rcode  dnsmessage.RCode
	answer string
	ede    string
}

func read(t testing.TB, msg []byte) reading {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(msg); err != nil {
		t.Fatalf("malformed answer % x: %v", msg, err)
	}
	if !m.Response || m.Truncated || len(msg) > maxAnswer {
		t.Fatalf("answer of %d bytes: %+v", len(msg), m.Header)
	}
	r := reading{rcode: m.RCode}
	for _, a := range m.Answers {
		switch b := a.Body.(type) {
		case *dnsmessage.AResource:
			r.answer += netip.AddrFrom4(b.A).String()
		case *dnsmessage.PTRResource:
			r.answer += b.PTR.String()
		default:
			t.Fatalf("answer of type %v", a.Header.Type)
		}
	}
	for _, a := range m.Additionals {
		r.rcode = a.Header.ExtendedRCode(m.RCode)
		for _, o := range a.Body.(*dnsmessage.OPTResource).Options {
			r.ede += fmt.Sprintf("%d:%s", int(o.Data[0])<<8+int(o.Data[1]), o.Data[2:])
		}
	}
	return r
}

func TestAnswers(t *testing.T) {
	r := testResolver()
	get := func(name string, kind dnsmessage.Type, edns bool) reading {
		t.Helper()
		return read(t, r.Answer(t.Context(), ask(name, kind, edns)))
	}
	addr := get("allowed.test.", dnsmessage.TypeA, false).answer
	if a, err := netip.ParseAddr(addr); err != nil || !netip.MustParsePrefix("198.18.0.0/16").Contains(a) || a.As4()[2] == 0 {
		t.Errorf("address %q", addr)
	}
	b := netip.MustParseAddr(addr).As4()
	reverse := fmt.Sprintf("%d.%d.%d.%d.in-addr.arpa.", b[3], b[2], b[1], b[0])
	none := reading{}
	denied := reading{rcode: dnsmessage.RCodeNameError, ede: "17:no rule allows it"}
	for _, c := range []struct {
		name string
		kind dnsmessage.Type
		want reading
	}{
		{"allowed.test.", dnsmessage.TypeA, reading{answer: addr}},
		{"ALLOWED.Test.", dnsmessage.TypeA, reading{answer: addr}},
		{"allowed.test.", dnsmessage.TypeALL, reading{answer: addr}},
		{"allowed.test.", dnsmessage.TypeAAAA, none},
		{"allowed.test.", 65, none}, // HTTPS
		{"allowed.test.", 64, none}, // SVCB
		{"allowed.test.", dnsmessage.TypeTXT, none},
		{"_ldap._tcp.allowed.test.", dnsmessage.TypeSRV, none},
		{"denied.test.", dnsmessage.TypeA, denied},
		{"denied.test.", dnsmessage.TypeAAAA, denied},
		{"denied.test.", dnsmessage.TypeTXT, denied},
		{"localhost.", dnsmessage.TypeA, reading{answer: "127.0.0.1"}},
		{"a.localhost.", dnsmessage.TypeA, reading{answer: "127.0.0.1"}},
		{"localhost.", dnsmessage.TypeAAAA, none},
		{".", dnsmessage.TypeNS, none},
		{reverse, dnsmessage.TypePTR, reading{answer: "allowed.test."}},
		{reverse, dnsmessage.TypeA, none},
		{"1.0.0.127.in-addr.arpa.", dnsmessage.TypePTR, reading{answer: "localhost."}},
		{"8.8.8.8.in-addr.arpa.", dnsmessage.TypePTR, reading{rcode: dnsmessage.RCodeNameError}},
		{"in-addr.arpa.", dnsmessage.TypePTR, denied},
		{"x.in-addr.arpa.", dnsmessage.TypePTR, reading{rcode: dnsmessage.RCodeNameError}},
		{"169.254.169.254.", dnsmessage.TypeA, reading{rcode: dnsmessage.RCodeNameError, ede: "0:an address has no address"}},
		{"0x7f.1.", dnsmessage.TypeA, reading{rcode: dnsmessage.RCodeNameError, ede: "0:an address has no address"}},
		{"allowed.test\x00.evil.test.", dnsmessage.TypeA, reading{rcode: dnsmessage.RCodeNameError, ede: "0:not a host name"}},
		{"b\xfccher.test.", dnsmessage.TypeA, reading{rcode: dnsmessage.RCodeNameError, ede: "0:not a host name"}},
		{"a b.test.", dnsmessage.TypeA, reading{rcode: dnsmessage.RCodeNameError, ede: "0:not a host name"}},
	} {
		if got := get(c.name, c.kind, true); got != c.want {
			t.Errorf("%q %v: %+v, want %+v", c.name, c.kind, got, c.want)
		}
		c.want.ede = ""
		if got := get(c.name, c.kind, false); got != c.want {
			t.Errorf("%q %v without EDNS: %+v, want %+v", c.name, c.kind, got, c.want)
		}
	}
	if a := get("asked.test.", dnsmessage.TypeA, false).answer; a == "" || a == addr {
		t.Errorf("a name to be asked for has %q", a)
	}
}

func TestOddQueries(t *testing.T) {
	r := testResolver()
	changed := func(change func(m *dnsmessage.Message)) []byte {
		var m dnsmessage.Message
		if err := m.Unpack(ask("allowed.test.", dnsmessage.TypeA, true)); err != nil {
			t.Fatal(err)
		}
		change(&m)
		out, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		name string
		msg  []byte
		want dnsmessage.RCode // 999: none
	}{
		{"good", changed(func(*dnsmessage.Message) {}), 0},
		{"response", changed(func(m *dnsmessage.Message) { m.Response = true }), 999},
		{"empty", nil, 999},
		{"short", []byte("\x00\x01\x01\x00"), 999},
		{"long", make([]byte, maxQuery+1), 999},
		{"panic", ask("panic.test.", dnsmessage.TypeA, false), 999},
		{"opcode", changed(func(m *dnsmessage.Message) { m.OpCode = 5 }), dnsmessage.RCodeNotImplemented},
		{"class", changed(func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS }), dnsmessage.RCodeNotImplemented},
		{"no question", changed(func(m *dnsmessage.Message) { m.Questions = nil }), dnsmessage.RCodeFormatError},
		{"two questions", changed(func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) }), dnsmessage.RCodeFormatError},
		{"two OPTs", changed(func(m *dnsmessage.Message) { m.Additionals = append(m.Additionals, m.Additionals[0]) }), dnsmessage.RCodeFormatError},
		{"EDNS 1", changed(func(m *dnsmessage.Message) { m.Additionals[0].Header.TTL = 1 << 16 }), rcodeBadVers},
		{"cut question", ask("allowed.test.", dnsmessage.TypeA, false)[:20], dnsmessage.RCodeFormatError},
		{"pointer loop", []byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"), dnsmessage.RCodeFormatError},
	} {
		out := r.Answer(t.Context(), c.msg)
		switch {
		case c.want == 999 && out != nil:
			t.Errorf("%s: answered % x", c.name, out)
		case c.want == 999:
		case out == nil:
			t.Errorf("%s: no answer", c.name)
		case read(t, out).rcode != c.want:
			t.Errorf("%s: %v, want %v", c.name, read(t, out).rcode, c.want)
		}
	}
}

// The longest name and reason fit into what every client takes.
func TestAnswersFit(t *testing.T) {
	label := strings.Repeat("a", 63) + "."
	name := label + label + label + label[:60] + "."
	r := testResolver()
	r.Name = func(context.Context, policy.Host) policy.Decision {
		return policy.Decision{Rule: policy.Rule{Text: strings.Repeat("ü\x1b\xff", 400)}}
	}
	out := r.Answer(t.Context(), ask(name, dnsmessage.TypeA, true))
	if got := read(t, out); got.rcode != dnsmessage.RCodeNameError || len(got.ede) < 150 || strings.Contains(got.ede, "\x1b") {
		t.Errorf("%+v", got)
	}
}

func TestPoolIsOneToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPool()
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,3}(\.[a-z]{1,3}){0,2}`), rapid.ID).Draw(t, "names")
		seen := map[netip.Addr]policy.Host{}
		for range 2 {
			for _, n := range names {
				h, err := policy.ParseHost(n)
				if err != nil {
					t.Skip(err)
				}
				a, ok := p.Addr(h)
				if !ok || !netip.MustParsePrefix("198.18.0.0/16").Contains(a) || a.As4()[2] == 0 {
					t.Fatalf("%v has %v, %v", h, a, ok)
				}
				if other, taken := seen[a]; taken && other != h {
					t.Fatalf("%v is both %v and %v", a, other, h)
				}
				seen[a] = h
				if back, ok := p.Host(a); !ok || back != h {
					t.Fatalf("%v is %v, not %v", a, back, h)
				}
			}
		}
		if len(names) > 0 && len(seen) != len(names) {
			t.Fatalf("%d addresses for %d names", len(seen), len(names))
		}
	})
}

func TestPoolBounds(t *testing.T) {
	p, r := newPool(), testResolver()
	r.Pool = p
	if _, ok := p.Addr(policy.Host{}); ok {
		t.Error("no host has an address")
	}
	if _, ok := p.Addr(policy.HostAddr(netip.MustParseAddr("11.0.0.1"))); ok {
		t.Error("an address has another")
	}
	var first []netip.Addr
	for i := range maxNames {
		h, err := policy.ParseHost(fmt.Sprintf("n%d.allowed.test", i))
		if err != nil {
			t.Fatal(err)
		}
		a, ok := p.Addr(h)
		if !ok {
			t.Fatalf("full at %d", i)
		}
		first = append(first, a)
	}
	if got := read(t, r.Answer(t.Context(), ask("allowed.test.", dnsmessage.TypeA, true))); got.rcode != dnsmessage.RCodeServerFailure || got.answer != "" {
		t.Errorf("full pool: %+v", got)
	}
	slices.SortFunc(first, netip.Addr.Compare)
	if len(slices.Compact(first)) != maxNames {
		t.Error("an address was given twice")
	}
}

// Whatever comes: an answer of a client's size to the same question, and no
// address for a name that is denied.
func FuzzAnswer(f *testing.F) {
	f.Add(ask("allowed.test.", dnsmessage.TypeA, true))
	f.Add(ask("denied.test.", dnsmessage.TypeAAAA, true))
	f.Add(ask("1.7.18.198.in-addr.arpa.", dnsmessage.TypePTR, false))
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x01\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		r := testResolver()
		out := r.Answer(t.Context(), msg)
		if out == nil {
			return
		}
		var q, a dnsmessage.Message
		if err := a.Unpack(out); err != nil {
			t.Fatalf("malformed answer % x: %v", out, err)
		}
		if len(out) > maxAnswer || out[0] != msg[0] || out[1] != msg[1] || !a.Response || len(a.Answers) > 1 {
			t.Errorf("%d bytes, %+v", len(out), a)
		}
		if q.Unpack(msg) == nil && len(a.Questions) == 1 && a.Questions[0] != q.Questions[0] {
			t.Errorf("asked %v, answered %v", q.Questions[0], a.Questions[0])
		}
		if len(a.Answers) == 1 {
			name := strings.ToLower(a.Questions[0].Name.String())
			if !strings.HasSuffix(name, "allowed.test.") && name != "asked.test." && !strings.HasSuffix(name, "localhost.") && !strings.HasSuffix(name, ".in-addr.arpa.") {
				t.Errorf("%q has %v", name, a.Answers[0])
			}
		}
	})
}
