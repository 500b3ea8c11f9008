package main

import (
	"strings"
	"testing"
)

func TestNetworkFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // of the error, or "" for none
	}{
		{[]string{"--allow-domain", "example.com"}, ""},
		{[]string{"--allow-domain=*.example.com:443"}, ""},
		{[]string{"--allow-domain", "*"}, ""},
		{[]string{"--allow-domain", "bücher.example"}, ""},
		{[]string{"--deny-domain", "*.com"}, ""},
		{[]string{"--allow-private", "intra.example"}, ""},
		{[]string{"--allow-local-port", "5432"}, ""},
		{[]string{"--publish", "8080"}, ""},
		{[]string{"--publish", "0.0.0.0:8080"}, ""},
		{[]string{"--publish", "[::1]:8080"}, ""},
		{[]string{"--allow-domain", "com"}, "public suffix"},
		{[]string{"--allow-domain", "*.co.uk"}, "public suffix"},
		{[]string{"--allow-domain", "http://example.com"}, "example.com"},
		{[]string{"--allow-domain", "example.com:0"}, "example.com:0"},
		{[]string{"--allow-domain", ""}, "host"},
		{[]string{"--allow-local-port", "0"}, "1 to 65535"},
		{[]string{"--allow-local-port", "+1"}, "1 to 65535"},
		{[]string{"--allow-local-port", "65536"}, "1 to 65535"},
		{[]string{"--publish", "localhost:80"}, "not an address"},
		{[]string{"--publish", "127.0.0.1:"}, "not a port"},
		{[]string{"--publish", "::1:80:"}, "not a"},
	} {
		f := new(runFlags)
		_, err := parseFlags(append(c.args, "cmd"), f.specs())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.args, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}

// The words of check connect are decided as a run decides them.
func TestCheckConnect(t *testing.T) {
	ownHome(t)
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"connect", "github.com"}, checkAllow},
		{[]string{"connect", "api.github.com:443"}, checkAllow},
		{[]string{"connect", "GitHub.com."}, checkAllow},
		{[]string{"connect", "example.org:443"}, checkAsk},
		{[]string{"--allow-domain", "example.org", "connect", "example.org:443"}, checkAllow},
		{[]string{"--deny-domain", "github.com", "connect", "github.com"}, checkDeny},
		{[]string{"connect", "127.0.0.1:80"}, checkDeny},
		{[]string{"connect", "169.254.169.254:80"}, checkDeny},
		{[]string{"--tier", "airlock", "connect", "github.com"}, checkDeny},
		{[]string{"--sandbox", "read-only", "connect", "github.com"}, checkDeny},
		{[]string{"--tier", "open", "connect", "127.0.0.1:80"}, checkAllow},
		{[]string{"--allow-domain", "bücher.example", "connect", "BÜCHER.example"}, checkAllow},
		{[]string{"--allow-domain", "bücher.example:443", "connect", "bücher.example:80"}, checkAsk},
		{[]string{"connect", "https://github.com"}, exitRefused},
		{[]string{"connect", "git hub"}, exitRefused},
		{[]string{"connect"}, exitUsage},
	} {
		if code := checkCommand(append([]string{"-C", dir}, c.args...)); code != c.code {
			t.Errorf("%q: exit %d, want %d", c.args, code, c.code)
		}
	}
}

func TestInstallProfileNeedsACommand(t *testing.T) {
	ws := ownHome(t) + "/src"
	writeFile(t, ws+"/package.json", "{}")
	for _, c := range []struct {
		run  func([]string) int
		args []string
		code int
		text string
	}{
		{checkCommand, []string{"-C", ws, "--profile", "install", "write", "x"}, exitUsage, ""},
		{policyCommand, []string{"-C", ws, "--profile", "install"}, exitUsage, ""},
		{policyCommand, []string{"-C", ws, "--profile", "scratch"}, 0, "guard      "},
		{checkCommand, []string{"-C", ws, "--profile", "install", "run", "--", "npm", "ci"}, checkAllow, "narrow a package install (npm)"},
		{checkCommand, []string{"-C", ws, "--profile", "install", "run", "--", "ls"}, exitRefused, ""},
		{checkCommand, []string{"-C", ws, "connect", "[::1]:5"}, checkDeny, "connect [::1]:5\n"},
	} {
		if code, text := output(t, c.run, c.args...); code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%q: exit %d, want %d:\n%s", c.args, code, c.code, text)
		}
	}
}

func TestHostFlagsAreNamedOnce(t *testing.T) {
	for value, want := range map[string]string{
		"com":           "--allow-domain: com is a public suffix: ",
		"http://x.org/": `--allow-domain: not a host name or address: "http://x.org/": a rule is a host, without scheme`,
		"x.org:0":       `--allow-domain: not a host name or address: "x.org:0": a port is `,
	} {
		_, err := parseFlags([]string{"--allow-domain", value}, new(runFlags).specs())
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", value, err)
		}
	}
}
