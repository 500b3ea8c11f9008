//go:build linux

package egresstest

import (
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

func (b *Box) settings(t *testing.T, text string) {
	t.Helper()
	sandboxtest.Write(t, b.Home+"/.config/bawn/config.toml", text)
}

const fetch = "c=curl; $c -sS --fail --max-time 30 http://%s:18080/ >/dev/null && echo reached; true"

func (b *Box) reaches(t *testing.T, host string) bool {
	t.Helper()
	return b.Sh(t, fetch, host).OK(t).Stdout == "reached\n"
}

// C7, N5, N10, B71: hosts of the settings are reached, and no others; a list
// needs no switch, and a table without one means the defaults.
func TestC7_HostsOfTheSettings(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		for _, c := range []struct {
			name, text, env, project string
			allowed, other           bool
		}{
			{"none", "", "", "", false, false},
			{"empty table", "[sandbox]\nenv_keep = ['X']\n", "", "", false, false},
			{"one host", "[sandbox]\nallowed_domains = ['allowed.test']\n", "", "", true, false},
			{"a variable adds", "[sandbox]\nallowed_domains = ['allowed.test']\n", "BAWN_ALLOW_DOMAINS=other.test", "", true, true},
			{"a project does not", "[sandbox]\nallowed_domains = ['allowed.test']\n", "", "[sandbox]\nallowed_domains = ['*']\n", true, false},
			{"a project denies", "[sandbox]\nallowed_domains = ['allowed.test', 'other.test']\n", "", "[sandbox]\ndenied_domains = ['other.test']\n", true, false},
			{"another port", "[sandbox]\nallowed_domains = ['allowed.test:443', 'other.test:18080']\n", "", "", false, true},
			{"the way out is off", "[sandbox]\nallowed_domains = ['*']\n[sandbox.proxy]\nenabled = false\n", "", "", false, false},
		} {
			b.settings(t, c.text)
			sandboxtest.Write(t, b.Workspace+"/.bawn/config.toml", c.project)
			b.Env = []string{c.env}
			if a, o := b.reaches(t, "allowed.test"), b.reaches(t, "other.test"); a != c.allowed || o != c.other {
				t.Errorf("%s, %s: %v %v", l, c.name, a, o)
			}
		}
		b.settings(t, "[sandbox.proxy]\nenabled = false\n")
		r := b.Sh(t, hidden+"-sS http://allowed.test:18080/; exit 3")
		if r.Code != 3 || !strings.Contains(r.Stdout, "the settings switch the network off") || !strings.Contains(r.Stderr, "no network: enabled = false in [sandbox.proxy] ("+b.Home) {
			t.Errorf("%s: %q %q", l, r.Stdout, r.Stderr)
		}
	}
}

// N12: the user's settings name the proxy on the way, or that there is none;
// its password shows nowhere.
func TestN12_UpstreamOfTheSettings(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	for _, c := range []struct {
		upstream, env string
		want          bool
	}{
		{"http://user:s3cret@11.0.0.10:3129", "A=b", true},
		{"http://11.0.0.10:3129", "HTTP_PROXY=http://11.0.0.10:9", true},
		{"none", "HTTP_PROXY=http://11.0.0.10:3129", false},
		{"env", "HTTP_PROXY=http://11.0.0.10:3129", true},
		{"env", "A=b", false},
	} {
		b.settings(t, "[sandbox.proxy]\nupstream = '"+c.upstream+"'\n")
		b.Env = []string{c.env, strings.Replace(c.env, "HTTP_", "HTTPS_", 1)}
		w.Ask(t, "clear")
		if !b.reaches(t, "allowed.test") && !c.want {
			t.Errorf("%+v: not reached", c)
		}
		b.Sh(t, `bash -c 'exec 3<>/dev/tcp/allowed.test/18080; printf "GET / HTTP/1.0\r\nHost: allowed.test\r\n\r\n" >&3; cat <&3'`)
		log := w.Ask(t, "connects")
		if got := strings.Contains(log, "CONNECT allowed.test:18080 "); got != c.want {
			t.Errorf("%+v: the upstream saw %q", c, log)
		}
		if strings.Contains(c.upstream, "@") != strings.Contains(log, "Basic dXNlcjpzM2NyZXQ=") {
			t.Errorf("%+v: credentials: %q", c, log)
		}
		if r := b.Sh(t, "env; exit 3"); strings.Contains(r.Stdout+r.Stderr, "s3cret") {
			t.Errorf("%+v: the password shows: %q %q", c, r.Stdout, r.Stderr)
		}
	}
	// A project cannot lead connections anywhere.
	b.settings(t, "")
	sandboxtest.Write(t, b.Workspace+"/.bawn/config.toml", "[sandbox.proxy]\nupstream = 'http://11.0.0.10:3129'\n")
	w.Ask(t, "clear")
	if !b.reaches(t, "allowed.test") || w.Ask(t, "connects") != "" {
		t.Error("a project's file chose the upstream")
	}
	// N4, B63: ports of the host's loopback.
	b.Flags = nil
	for text, want := range map[string]bool{"": false, "[sandbox]\nallowed_local_ports = [18080]\n": true, "[sandbox]\nallowed_local_ports = [18081]\n": false} {
		b.settings(t, text)
		if b.reaches(t, "localhost") != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
