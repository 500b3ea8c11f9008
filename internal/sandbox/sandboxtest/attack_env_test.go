//go:build linux

package sandboxtest

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// A130, E1: secrets under odd names or inside values go, settings stay; `bawn
// env` says which and why, and shows no value.
func TestA130_A131_Environment(t *testing.T) {
	const s = "s3cr3tV4lue"
	secret := []string{
		"DATABASE_URL=postgres://u:" + s + "@h/db", "HTTPS_PROXY=http://u:" + s + "@p:1", "https_proxy=http://u:" + s + "@p:1",
		"NPM_CONFIG__AUTH=" + s, "npm_config_//registry.example/:_authToken=" + s, "github_token=" + s, "GITHUB_TOKEN=" + s,
		"AWS_SECRET_ACCESS_KEY=" + s, "MY_API_KEY=" + s, "DB_PASSWORD=" + s, "Some_Secret=" + s, "X_CREDENTIALS=" + s,
		"SSH_AUTH_SOCK=/x/" + s, "PLAIN=ghp_" + strings.Repeat("a1B2", 9) + s, "BLOB=-----BEGIN OPENSSH PRIVATE KEY-----" + s,
		"CONFIG_JSON={\"password\":\"" + s + "\"}", "PIP_INDEX_URL=https://u:" + s + "@pypi.example/simple",
		"B64=" + base64.StdEncoding.EncodeToString([]byte("-----BEGIN RSA PRIVATE KEY-----\n"+s+strings.Repeat("x", 60))),
	}
	kept := []string{
		"LC_ALL=C.UTF-8", "TERM=xterm", "EDITOR=vi", "GOFLAGS=-mod=mod", "MY_SETTING=on", "EMPTY=",
		"HTTP_PROXY=http://proxy.example:3128", "REPO=https://git@github.example/x.git", "KEYBOARD=de", "TOKENIZER=fast",
	}
	EachLauncher(t, func(t *testing.T, l string) {
		for _, m := range sandboxed[:2] {
			b := New(t, l)
			b.Flags = m.flags
			b.Env = append(append([]string{}, secret...), kept...)
			r := b.Sh(t, `tr '\0' '\n' </proc/self/environ; echo; echo PARENT; cat /proc/[0-9]*/environ /proc/$PPID/environ 2>/dev/null | tr '\0' '\n'; true`).OK(t)
			own, _, _ := strings.Cut(r.Stdout, "PARENT")
			have := map[string]bool{}
			for line := range strings.Lines(own) {
				have[strings.TrimSuffix(line, "\n")] = true
			}
			for _, e := range secret {
				name, value, _ := strings.Cut(e, "=")
				// The sandbox sets proxies of its own.
				there := strings.Contains(own, "\n"+name+"=") && !strings.HasSuffix(strings.ToUpper(name), "_PROXY")
				if strings.Contains(r.Stdout, value) || there {
					t.Errorf("%s: %s is there", m.name, name)
				}
			}
			if strings.Contains(r.Stdout, s) {
				t.Errorf("%s: the value is there:\n%s", m.name, r.Stdout)
			}
			for _, e := range kept {
				if strings.HasPrefix(e, "HTTP_PROXY") {
					continue // the sandbox may set its own
				}
				if !have[e] {
					t.Errorf("%s: %s is gone", m.name, e)
				}
			}
		}
	})
	b := New(t, "native")
	b.Env = append(append([]string{}, secret...), kept...)
	r := b.Bawn(t, "env", "--json").OK(t)
	var out struct {
		Removed []struct{ Name, Reason, Rule string }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &out); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, v := range out.Removed {
		reasons[v.Name] = v.Reason
	}
	for _, e := range secret {
		name, _, _ := strings.Cut(e, "=")
		if reasons[name] == "" {
			t.Errorf("bawn env does not list %s with a reason", name)
		}
	}
	for _, e := range kept {
		name, _, _ := strings.Cut(e, "=")
		if _, listed := reasons[name]; listed {
			t.Errorf("bawn env lists %s: %s", name, reasons[name])
		}
	}
	if strings.Contains(r.Stdout+r.Stderr+b.Bawn(t, "env").OK(t).Stdout, s) {
		t.Error("bawn env shows a value")
	}
}

// E2: the caller cannot make the command believe that it runs elsewhere.
func TestE2_Variables(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = []string{"BAWN_TIER=open", "BAWN_SANDBOXED=", "BAWN_STAGE=native"}
		for tier, flags := range map[string][]string{
			"guarded": nil, "airlock": {"--tier", "airlock"}, "read-only": {"--sandbox", "read-only"}, "workspace-write": {"--sandbox", "workspace-write"},
		} {
			b.Flags = flags
			r := b.Run(t, "env").OK(t)
			for _, want := range []string{"BAWN_TIER=" + tier + "\n", "BAWN_SANDBOXED=1\n"} {
				if strings.Count(r.Stdout, want[:strings.IndexByte(want, '=')+1]) != 1 || !strings.Contains(r.Stdout, want) {
					t.Errorf("want %q once in\n%s", want, r.Stdout)
				}
			}
			if strings.Contains(r.Stdout, "BAWN_STAGE") {
				t.Errorf("the stage's own variable:\n%s", r.Stdout)
			}
		}
		b.Flags, b.Env = []string{"--tier", "open"}, nil // the twin: there is no sandbox
		if r := b.Run(t, "env").OK(t); strings.Contains(r.Stdout, "BAWN_SANDBOXED") {
			t.Errorf("open: %s", r.Stdout)
		}
	})
}
