//go:build linux

package bawn_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"bawn"
)

// settings is a home with a file of the user's own.
func settings(t *testing.T, text string) (root, ws string) {
	t.Helper()
	root = hostDir(t)
	home := mkdir(t, root, "home")
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "BAWN_SANDBOX"} {
		t.Setenv(name, "")
	}
	mkdir(t, home, ".config", "bawn")
	write(t, home+"/.config/bawn/config.toml", text, 0o600)
	return root, mkdir(t, root, "home", "src")
}

func load(t *testing.T, ws string, opts ...bawn.Option) bawn.Policy {
	t.Helper()
	p, err := bawn.LoadPolicy(ws, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allows(p bawn.Policy, a bawn.Action) bool { return p.Check(a).Verdict == bawn.Allow }

// C7: the files are a layer below the options, and hold in a run.
func TestLoadPolicy(t *testing.T) {
	root, ws := settings(t, "[sandbox]\nallowed_domains = ['a.test']\ndenied_domains = ['npmjs.org']\nprotect = ['deploy']\nallowed_paths = ['../shared']\n")
	var refused *bawn.RefusedError
	if _, err := bawn.LoadPolicy(ws); !errors.As(err, &refused) || !strings.Contains(refused.What, "config.toml:5:") {
		t.Fatalf("a relative folder: %v", err)
	}
	shared, more := mkdir(t, root, "shared"), mkdir(t, root, "more")
	write(t, root+"/home/.config/bawn/config.toml", "[sandbox]\nallowed_domains = ['a.test']\ndenied_domains = ['npmjs.org']\nprotect = ['deploy']\nallowed_paths = ['"+shared+"']\ntmp = 'host'\n", 0o600)
	mkdir(t, ws, "deploy")
	p := load(t, ws)
	if p.Tier() != bawn.Guarded || !slices.Equal(p.Dirs(), []string{shared}) {
		t.Errorf("%v %v", p.Tier(), p.Dirs())
	}
	for _, c := range []struct {
		a    bawn.Action
		want bool
	}{
		{bawn.Connect{Host: "a.test", Port: 443}, true}, {bawn.Connect{Host: "b.test", Port: 443}, false},
		{bawn.Connect{Host: "npmjs.org", Port: 443}, false}, {bawn.Connect{Host: "github.com", Port: 443}, true},
		{bawn.Write{Path: ws + "/x"}, true}, {bawn.Write{Path: ws + "/deploy/x"}, false},
		{bawn.Write{Path: shared + "/x"}, true}, {bawn.Write{Path: more + "/x"}, false}, {bawn.Write{Path: "/tmp/x"}, true},
	} {
		if allows(p, c.a) != c.want {
			t.Errorf("%v: %+v", c.a, p.Check(c.a))
		}
	}
	out, err := bawn.Command(deadline(t), p, "sh", "-c", "echo x >deploy/x; echo x >"+shared+"/x && echo ok").Output()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := os.Stat(ws + "/deploy/x"); err == nil {
		t.Error("a protected folder was written")
	}
	q := load(t, ws, bawn.WithDirs(more), bawn.WithNetwork(bawn.Network{Allow: []string{"b.test"}}), bawn.WithTemp(bawn.PrivateTemp))
	if !slices.Equal(q.Dirs(), []string{shared, more}) || !allows(q, bawn.Connect{Host: "b.test", Port: 1}) || !allows(q, bawn.Connect{Host: "a.test", Port: 1}) {
		t.Errorf("the options do not add up: %v", q.Dirs())
	}
	air, err := q.With(bawn.WithTier(bawn.Airlock))
	if err != nil || air.Tier() != bawn.Airlock || q.Tier() != bawn.Guarded {
		t.Errorf("%v %v %v", air.Tier(), q.Tier(), err)
	}
	// The value does not follow the file.
	write(t, root+"/home/.config/bawn/config.toml", "[sandbox]\ndefault_domains = false\n", 0o600)
	if !allows(p, bawn.Connect{Host: "a.test", Port: 443}) || allows(load(t, ws), bawn.Connect{Host: "a.test", Port: 443}) {
		t.Error("a policy follows its file, or another one does not")
	}
	if p, err := q.With(bawn.WithEnv(nil, []string{"X"})); err != nil || !allows(p, bawn.Connect{Host: "a.test", Port: 443}) {
		t.Errorf("With reads the file again: %v", err)
	}
}

// C6, T8: a project's file tightens; what widens waits, and is told.
func TestLoadPolicyProject(t *testing.T) {
	_, ws := settings(t, "[sandbox]\ndefault_tier = 'open'\n")
	if p := load(t, ws); p.Tier() != bawn.Guarded {
		t.Errorf("a saved open tier holds where nobody can be asked: %v", p.Tier())
	}
	if p := load(t, ws, bawn.WithTier(bawn.Open)); p.Tier() != bawn.Open {
		t.Errorf("the option does not count: %v", p.Tier())
	}
	mkdir(t, ws, ".bawn")
	write(t, ws+"/.bawn/config.toml", "[sandbox]\nallowed_domains = ['*']\ndenied_domains = ['github.com']\n", 0o644)
	p := load(t, ws)
	if allows(p, bawn.Connect{Host: "any.test", Port: 443}) || allows(p, bawn.Connect{Host: "github.com", Port: 443}) {
		t.Error("an untrusted file widens, or does not tighten")
	}
	if !slices.ContainsFunc(p.Warnings(), func(w string) bool { return strings.Contains(w, "bawn trust") }) {
		t.Errorf("warnings: %q", p.Warnings())
	}
	write(t, ws+"/.bawn/config.toml", "[sandbox]\ntypo = 1\n", 0o644)
	var refused *bawn.RefusedError
	if _, err := bawn.LoadPolicy(ws); !errors.As(err, &refused) || !strings.Contains(err.Error(), ":2:1") {
		t.Errorf("%v", err)
	}
}

// F7: what an installed plugin declares is writable, as in bawn run; a
// mistake in a manifest is told.
func TestLoadPolicyPlugins(t *testing.T) {
	root, ws := settings(t, "")
	data := mkdir(t, root, "data")
	manifest := func(name, text string) {
		dir := mkdir(t, root, "home", ".config", "bawn", "plugins", name)
		write(t, dir+"/plugin.json", text, 0o600)
	}
	manifest("good", `{"name": "good", "permissions": {"paths": ["`+data+`"]}}`)
	manifest("bad", `{"permission": {}}`)
	p := load(t, ws)
	if !allows(p, bawn.Write{Path: data + "/x"}) || allows(p, bawn.Write{Path: root + "/other"}) {
		t.Errorf("the plugin's folder: %+v", p.Check(bawn.Write{Path: data + "/x"}))
	}
	if !slices.ContainsFunc(p.Warnings(), func(w string) bool { return strings.Contains(w, `unknown key "permission"`) }) {
		t.Errorf("warnings: %q", p.Warnings())
	}
	out, err := bawn.Command(deadline(t), p, "sh", "-c", "echo x >"+data+"/x && echo ok").Output()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%q, %v", out, err)
	}
	if p := load(t, ws, bawn.WithTier(bawn.Airlock)); allows(p, bawn.Write{Path: data + "/x"}) {
		t.Error("it is writable in airlock")
	}
	q, err := bawn.NewPolicy(bawn.Guarded, ws)
	if err != nil || allows(q, bawn.Write{Path: data + "/x"}) {
		t.Errorf("a policy without files has it: %v", err)
	}
}

// F1: the files may keep the tools' caches to the sandbox; a policy without
// files has the host's.
func TestLoadPolicyPrivateCaches(t *testing.T) {
	root, ws := settings(t, "[sandbox]\ncaches = 'private'\n")
	npm := mkdir(t, root, "home", ".npm")
	write(t, npm+"/warm", "host\n", 0o600)
	p := load(t, ws, bawn.WithLauncher(bawn.Native))
	for _, want := range []string{"host\n", "host\nmade\n"} {
		out, err := bawn.Command(deadline(t), p, "sh", "-c", "cat ~/.npm/*; echo made >~/.npm/x").Output()
		if err != nil || string(out) != want {
			t.Errorf("%q, %v, want %q", out, err, want)
		}
	}
	if _, err := os.Stat(npm + "/x"); err == nil {
		t.Error("the host's cache was written")
	}
	shared, err := bawn.NewPolicy(bawn.Guarded, ws)
	if err != nil {
		t.Fatal(err)
	}
	if err := bawn.Command(deadline(t), shared, "sh", "-c", "echo made >~/.npm/x").Run(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(npm + "/x"); err != nil {
		t.Error("the host's cache was not written")
	}
}
