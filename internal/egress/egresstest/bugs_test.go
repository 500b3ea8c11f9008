//go:build linux

package egresstest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// B58: /etc/resolv.conf is a link into /run and dangles inside, or on the
// host itself. A run starts all the same, and names resolve.
func TestB58_LinkedResolvConf(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	for _, target := range []string{"/run/x/resolv.conf", "../run/y/z/resolv.conf", "/nowhere/resolv.conf"} {
		if out := w.Ask(t, "resolv %s", target); out != "" {
			t.Fatal(out)
		}
		for _, l := range []string{"native", "bwrap"} {
			b := NewBox(t, w, l)
			b.Flags = []string{"--allow-domain", "hostfile.test"}
			b.Sh(t, "true").OK(t)
			b.Sh(t, "curl -sS --fail http://hostfile.test/").OK(t) // the proxy needs no resolver
			if l == "native" && !strings.HasPrefix(target, "/nowhere") {
				b.Sh(t, "grep nameserver /etc/resolv.conf && getent ahostsv4 hostfile.test").OK(t)
			}
		}
	}
}

// B79: a client that looks the name up itself before it asks the proxy.
func TestB79_Undici(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	cmd := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "undici@6.27")
	cmd.Dir = b.Workspace
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	sandboxtest.Write(t, filepath.Join(b.Workspace, "get.js"), `const { ProxyAgent, request } = require("undici");
request(process.argv[2], { dispatcher: new ProxyAgent(process.env.https_proxy) })
  .then(async r => { console.log(r.statusCode, await r.body.text()); process.exit(r.statusCode == 200 ? 0 : 1); })
  .catch(e => { console.error(String(e)); process.exit(1); });
`)
	r := b.Sh(t, "node get.js http://allowed.test:18080/").OK(t)
	if !strings.Contains(r.Stdout, "hello allowed.test") {
		t.Errorf("%q", r.Stdout)
	}
	denied(t, w, "11.0.0.10:18080", "an unlisted host", func() sandboxtest.Result {
		return b.Sh(t, "timeout 20 node get.js http://evil.test:18080/")
	})
}

// B85: a host that the user's NO_PROXY names does not go through the
// upstream, though inside the variable is the sandbox's own.
func TestB85_NoProxy(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "other.test", "--allow-domain", "allowed.test")
	b.Env = append(b.Env, "HTTPS_PROXY=http://11.0.0.10:3129", "HTTP_PROXY=http://11.0.0.10:3129", "NO_PROXY=other.test")
	w.Ask(t, "clear")
	before := w.Hits(t, "11.0.0.11:18080")
	b.Sh(t, "curl -sS --fail --proxytunnel http://other.test:18080/").OK(t)
	if log := w.Ask(t, "connects"); log != "" || w.Hits(t, "11.0.0.11:18080") != before+1 {
		t.Errorf("the upstream was asked: %q", log)
	}
	b.Sh(t, "curl -sS --fail --proxytunnel http://allowed.test:18080/").OK(t)
	if log := w.Ask(t, "connects"); !strings.Contains(log, "allowed.test:18080") {
		t.Errorf("another host: the upstream saw %q", log)
	}
}

// B88: in airlock each tool fails at once, and bawn says that the network is
// off.
func TestB88_AirlockSaysSo(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = []string{"--tier", "airlock"}
		r := b.Sh(t, "timeout 20 getent hosts a.test; echo $?; timeout 20 ssh -o BatchMode=yes x.test true; echo $?; c=curl; timeout 20 $c -sS --fail http://x.test; echo $?; false")
		f := strings.Fields(r.Stdout)
		if len(f) != 3 || f[0] == "0" || f[1] == "0" || f[2] == "0" || strings.Contains(r.Stdout, "124") {
			t.Errorf("%s: exit codes %q", l, r.Stdout)
		}
		if !strings.Contains(r.Stderr, "bawn: denied x.test:80") || !strings.Contains(r.Stderr, "airlock has no network") {
			t.Errorf("%s: %q", l, r.Stderr)
		}
	}
}
