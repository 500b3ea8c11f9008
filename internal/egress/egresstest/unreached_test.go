//go:build linux

package egresstest

import (
	"strings"
	"testing"
)

// C5: an allowed host that cannot be reached is told once at the end of a
// failed run, with the reason and as no denial, however the client asked.
func TestC5_UnreachedHostsAreTold(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test", "--allow-domain", "dead.test", "--allow-domain", "none.test")
	const proxy, direct, plain = "curl -fsSp -m 20 ", noProxy + "curl -fsS -m 20 ", "curl -fsS -m 20 "
	for _, c := range []struct{ script, want string }{
		{proxy + "http://allowed.test:18099/", "could not reach allowed.test:18099: connection refused; it is allowed"},
		{direct + "http://allowed.test:18099/", "could not reach allowed.test:18099: connection refused; it is allowed"},
		{plain + "http://allowed.test:18099/", "could not reach allowed.test:18099: connection refused; it is allowed"},
		{plain + "http://dead.test:18080/", "could not reach dead.test:18080: network is unreachable; it is allowed"},
		{plain + "http://none.test:18080/", "could not reach none.test:18080: no such name; it is allowed"},
		{direct + "http://none.test:18080/", "could not reach none.test:18080: no such name; it is allowed"},
		{plain + "http://allowed.test:18099/ http://allowed.test:18099/ http://allowed.test:18099/", "could not reach allowed.test:18099 (3 times): connection refused; it is allowed"},
	} {
		r := b.Sh(t, "%s 2>/dev/null", c.script)
		if r.Code == 0 || r.Stderr != "bawn: "+c.want+"\n" {
			t.Errorf("%s: exit %d, %q, want %q", c.script, r.Code, r.Stderr, c.want)
		}
		// Nothing is said of a run that went well, or that asked for quiet.
		if r := b.Sh(t, "%s 2>/dev/null; true", c.script); r.Code != 0 || r.Stderr != "" {
			t.Errorf("%s, success: exit %d, %q", c.script, r.Code, r.Stderr)
		}
	}
	flags := b.Flags
	b.Flags = append([]string{"-q"}, flags...)
	if r := b.Sh(t, plain+"http://allowed.test:18099/ 2>/dev/null"); r.Code == 0 || r.Stderr != "" {
		t.Errorf("-q: exit %d, %q", r.Code, r.Stderr)
	}
	b.Flags = flags
	// A failure of another kind says nothing about a host that answers.
	if r := b.Sh(t, plain+"http://allowed.test:18080/ >/dev/null; exit 3"); r.Code != 3 || r.Stderr != "" {
		t.Errorf("reached: exit %d, %q", r.Code, r.Stderr)
	}
	// A denial stays one, and is no failure of the network.
	r := b.Sh(t, "H=evil.test; "+plain+"http://$H:18080/ 2>/dev/null")
	if !strings.Contains(r.Stderr, "denied evil.test:18080") || strings.Contains(r.Stderr, "could not reach") {
		t.Errorf("denied: %q", r.Stderr)
	}
	// The host's own proxy, without its password.
	b.Env = append(b.Env, "HTTPS_PROXY=http://user:s3cret@11.0.0.10:18098", "HTTP_PROXY=http://user:s3cret@11.0.0.10:18098")
	r = b.Sh(t, "%s", plain+"http://allowed.test:18080/ 2>/dev/null")
	if want := "could not reach allowed.test:18080: the upstream proxy 11.0.0.10:18098 (HTTP_PROXY): connection refused; it is allowed"; !strings.Contains(r.Stderr, want) || strings.Contains(r.Stderr, "s3cret") {
		t.Errorf("%q, want %q", r.Stderr, want)
	}
}
