package bawn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"bawn"
	"bawn/internal/tools/listen"
)

func networkPolicy(t *testing.T, tier bawn.Tier, n bawn.Network) bawn.Policy {
	t.Helper()
	p, err := bawn.NewPolicy(tier, t.TempDir(), bawn.WithNetwork(n))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWithNetwork(t *testing.T) {
	p := networkPolicy(t, bawn.Guarded, bawn.Network{Allow: []string{"example.org:443"}, Deny: []string{"evil.github.com"}})
	for _, c := range []struct {
		host string
		port uint16
		want bawn.Verdict
	}{
		{"example.org", 443, bawn.Allow}, {"example.org", 80, bawn.Ask}, {"github.com", 22, bawn.Allow}, {"evil.github.com", 443, bawn.Deny},
		{"127.0.0.1", 80, bawn.Deny}, {"", 80, bawn.Deny}, {"example.org", 0, bawn.Deny},
	} {
		if d := p.Check(bawn.Connect{Host: c.host, Port: c.port}); d.Verdict != c.want || d.Rule.ID == "" {
			t.Errorf("%s:%d: %+v, want %v", c.host, c.port, d, c.want)
		}
	}
	if d := networkPolicy(t, bawn.Airlock, bawn.Network{}).Check(bawn.Connect{Host: "github.com", Port: 443}); d.Verdict != bawn.Deny {
		t.Errorf("airlock: %+v", d)
	}
	var refused *bawn.RefusedError
	if _, err := bawn.NewPolicy(bawn.Guarded, t.TempDir(), bawn.WithNetwork(bawn.Network{Allow: []string{"com"}})); !errors.As(err, &refused) {
		t.Errorf("a public suffix: %v", err)
	}
	if _, err := bawn.NewPolicy(bawn.Guarded, t.TempDir(), bawn.WithNetwork(bawn.Network{Allow: []string{"a b"}})); err == nil {
		t.Error("a host with a space")
	}
}

// A program's own tools are bound by the same rules (SPEC N8).
func TestDialContext(t *testing.T) {
	addr := listen.On(t, "127.0.0.1", func(c net.Conn) { _, _ = io.WriteString(c, "hello") }).String()
	ctx := context.Background()
	read := func(p bawn.Policy) (string, error) {
		c, err := p.DialContext(ctx, "tcp", addr)
		if err != nil {
			return "", err
		}
		defer c.Close()
		b, err := io.ReadAll(c)
		return string(b), err
	}
	if got, err := read(networkPolicy(t, bawn.Guarded, bawn.Network{Allow: []string{addr}})); got != "hello" || err != nil {
		t.Errorf("an allowed address: %q, %v", got, err)
	}
	var refused *bawn.RefusedError
	for name, p := range map[string]bawn.Policy{
		"not allowed": networkPolicy(t, bawn.Guarded, bawn.Network{}), "everything": networkPolicy(t, bawn.Guarded, bawn.Network{Allow: []string{"*"}}),
		"airlock": networkPolicy(t, bawn.Airlock, bawn.Network{Allow: []string{addr}}), "zero": {},
	} {
		if got, err := read(p); !errors.As(err, &refused) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	p := networkPolicy(t, bawn.Guarded, bawn.Network{Allow: []string{addr}})
	for _, c := range [][2]string{{"udp", addr}, {"tcp", "localhost"}, {"tcp", ""}, {"unix", "/run/x"}} {
		if _, err := p.DialContext(ctx, c[0], c[1]); !errors.As(err, &refused) {
			t.Errorf("%q: %v", c, err)
		}
	}
	if got, err := read(networkPolicy(t, bawn.Open, bawn.Network{})); got != "hello" || err != nil {
		t.Errorf("open: %q, %v", got, err)
	}
}
