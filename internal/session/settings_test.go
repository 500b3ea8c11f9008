//go:build unix

package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/config"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// machine is a home, a workspace and a folder beside it.
type machine struct{ root, home, ws string }

func newMachine(t testing.TB) machine {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := machine{root, root + "/home", root + "/home/ws"}
	for _, d := range []string{m.ws + "/deploy", m.ws + "/sub", m.ws + "/.bawn", m.home + "/.ssh", m.home + "/.config/bawn", m.home + "/.cache", root + "/beside"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m machine) environ() []string {
	return []string{"HOME=" + m.home, "MY_TOKEN=x", "PLAIN=y", "COMPANY_A=z"}
}

// lines are what a file may say; $ROOT stands for the machine's folder. No
// key occurs twice in what is drawn.
var lines = map[string][]string{
	"default_tier":        {`"airlock"`, `"guarded"`, `"open"`},
	"allowed_paths":       {`["$ROOT/beside"]`, `["~/.cache", "~/.ssh"]`, `["$ROOT/home/ws/sub"]`},
	"allowed_domains":     {`["*"]`, `["a.test"]`, `["*.test:443", "10.0.0.1:80"]`, `[]`},
	"denied_domains":      {`["a.test"]`, `["github.com"]`, `["*"]`},
	"default_domains":     {"true", "false"},
	"allowed_local_ports": {"[5432]", "[80, 443]"},
	"allow_private":       {`["a.test"]`},
	"env_keep":            {`["MY_TOKEN"]`, `["*"]`},
	"env_drop":            {`["PLAIN"]`, `["COMPANY_*"]`},
	"protect":             {`["deploy"]`, `["later"]`, `["."]`, `["$ROOT/beside"]`},
	"unprotect":           {`["bawn"]`, `["shell", "agent"]`, `[".bashrc"]`, `["git.hooks"]`},
	"hidden":              {`["sub"]`, `["~/.cache"]`, `["none/yet"]`},
	"tmp":                 {`"private"`, `"host"`},
	"guard":               {`"on"`, `"off"`},
	"proxy.enabled":       {"true", "false"},
}

func (m machine) file(t *rapid.T, name string) string {
	var b strings.Builder
	b.WriteString("[sandbox]\n")
	for _, key := range []string{"default_tier", "allowed_paths", "allowed_domains", "denied_domains", "default_domains", "allowed_local_ports", "allow_private",
		"env_keep", "env_drop", "protect", "unprotect", "hidden", "tmp", "guard", "proxy.enabled"} {
		if n := rapid.IntRange(-4, len(lines[key])-1).Draw(t, name+" "+key); n >= 0 {
			b.WriteString(key + " = " + strings.ReplaceAll(lines[key][n], "$ROOT", m.root) + "\n")
		}
	}
	return b.String()
}

// decisions is every verdict that a run under the files would get, by what
// was asked; nil if the run is refused.
func (m machine) decisions(t *rapid.T, mode policy.Mode, flags []config.Flag, trusted bool) map[string]policy.Verdict {
	c, err := config.Load(config.Options{Environ: m.environ(), Workspace: m.ws, Flags: flags, Trusted: func(string, []byte) (bool, error) { return trusted, nil }})
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := Settle(c, sandbox.Request{Mode: mode, Workspace: m.ws, Environ: m.environ(), Guard: true}, true)
	if err != nil {
		return nil
	}
	out := map[string]policy.Verdict{}
	for _, path := range []string{m.ws, m.ws + "/x", m.ws + "/deploy/x", m.ws + "/later", m.ws + "/sub/x", m.ws + "/.bawn/config.toml", m.ws + "/.bashrc", m.ws + "/.mcp.json",
		m.home + "/x", m.home + "/.ssh/id", m.home + "/.cache/x", m.home + "/.config/bawn/config.toml", m.root + "/beside/x", "/etc/hosts", "/usr/bin/x"} {
		out["read "+path] = p.Decide(policy.Read{Path: path}).Verdict
		out["write "+path] = p.Decide(policy.Write{Path: path}).Verdict
	}
	// A private temp is writable, and is not the host's.
	if p.Sandboxed() && p.Files().Lookup("/tmp/x").Access == policy.ReadWrite {
		out["host temp"] = policy.Allow
	}
	for _, host := range []string{"a.test:443", "a.test:80", "b.test:443", "github.com:443", "10.0.0.1:80", "localhost:5432", "localhost:80", "127.0.0.1:443"} {
		h, port, err := policy.SplitHostPort(host)
		if err != nil {
			t.Fatal(err)
		}
		out["connect "+host] = p.Decide(policy.Connect{Host: h, Port: port}).Verdict
	}
	kept, _ := p.Env().Scrub(m.environ())
	for _, e := range kept {
		out["variable "+e] = policy.Allow
	}
	ids, places := p.Lifted()
	for _, l := range append(ids, places...) {
		out["lifted "+l] = policy.Allow
	}
	if p.Sandboxed() && !p.Guard() && p.Mode() != policy.ReadOnlyMode {
		out["no guard"] = policy.Allow
	}
	return out
}

// C6, A76: whatever the user's file, the flags and the mode say, a project's
// file that nobody has trusted never turns a Deny or an Ask into an Allow.
func TestA76_UntrustedProjectNeverAllows(t *testing.T) {
	m := newMachine(t)
	write := func(t *rapid.T, path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	widened := 0
	rapid.Check(t, func(t *rapid.T) {
		project := m.ws + "/.bawn/config.toml"
		if err := os.Remove(project); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		write(t, m.home+"/.config/bawn/config.toml", m.file(t, "user"))
		mode := policy.Mode(rapid.IntRange(0, 3).Draw(t, "mode"))
		var flags []config.Flag
		if rapid.Bool().Draw(t, "tier") {
			flags = append(flags, config.Flag{Name: "--tier", Key: "sandbox.default_tier", Value: rapid.SampledFrom([]string{"airlock", "guarded", "open"}).Draw(t, "tier")})
		}
		if rapid.Bool().Draw(t, "host") {
			flags = append(flags, config.Flag{Name: "--allow-domain", Key: "sandbox.allowed_domains", Value: "b.test"})
		}
		before := m.decisions(t, mode, flags, false)
		text := m.file(t, "project")
		write(t, project, text)
		after := m.decisions(t, mode, flags, false)
		for what, v := range after {
			if v == policy.Allow && before != nil && before[what] != policy.Allow {
				t.Fatalf("%s: %v became allow with\n%s", what, before[what], text)
			}
		}
		if before == nil && after != nil {
			t.Fatalf("a refused run is not refused with\n%s", text)
		}
		// The twin: trusted, such files do widen.
		for what, v := range m.decisions(t, mode, flags, true) {
			if v == policy.Allow && before != nil && before[what] != policy.Allow {
				widened++
				break
			}
		}
	})
	if widened == 0 {
		t.Error("no file of all widened even when trusted: the test sees nothing")
	}
}
