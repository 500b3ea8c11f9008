//go:build linux && !race

package launchtest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

const rules = `[permissions]
deny = ["mytool push *"]
ask = ["mytool publish *"]
allow = ["mytool status"]
`

// C1: a rule that denies holds in every tier, for words and for text, with its
// place; what no rule is about runs.
func TestC1_DenyAlwaysHolds(t *testing.T) {
	b := box(t, rules)
	place := b.Home + "/.config/bawn/config.toml:2"
	for _, tier := range []string{"guarded", "airlock", "open"} {
		c := *b
		c.Flags = []string{"--tier", tier}
		r := c.Run(t, "mytool", "push", "x")
		if r.Code != 125 || strings.Contains(r.Stdout, "ran") || !strings.Contains(r.Stderr, `not run: the permission rule for "mytool push *" says deny (`+place+")") {
			t.Errorf("%s: exit %d: %s%s", tier, r.Code, r.Stdout, r.Stderr)
		}
		for _, s := range []string{"mytool push", "id; mytool push x", "x=$(mytool push)", "env A=b mytool push", "sh -c 'mytool push'", "'my'tool pu\"sh\"", "/opt/mytool push", "true | timeout 5 mytool push y"} {
			r := text(b, s, "--tier", tier).Bawn(t, "run", "--tier", tier, "-c", s)
			if r.Code != 125 || !strings.Contains(r.Stderr, place) {
				t.Errorf("%s, %q: exit %d: %s%s", tier, s, r.Code, r.Stdout, r.Stderr)
			}
		}
		c.Run(t, "mytool", "pull", "x").OK(t)
		c.Run(t, "echo", "mytool", "push").OK(t)
	}
}

// What was judged as the text is what the shell runs, also if it looks like
// an option.
func TestTextIsNeverAnOption(t *testing.T) {
	b := box(t, rules)
	for _, tier := range []string{"guarded", "open"} {
		for _, s := range []string{"-x", "-c", "-s", "+x", "-o"} {
			r := b.Bawn(t, "run", "--tier", tier, "-c", s, "mytool push")
			if r.Code != 127 || strings.Contains(r.Stdout, "ran") {
				t.Errorf("%s, %q: exit %d: %s%s", tier, s, r.Code, r.Stdout, r.Stderr)
			}
		}
		if r := b.Bawn(t, "run", "--tier", tier, "-c", `echo "$0 $1"`, "a b", "-c"); r.Code != 0 || r.Stdout != "a b -c\n" {
			t.Errorf("%s: exit %d: %s%s", tier, r.Code, r.Stdout, r.Stderr)
		}
	}
}

// C1, T8: a rule that asks is a question to a person, and a refusal with
// nobody to ask; so is a command that it may be about.
func TestC1_AskAsks(t *testing.T) {
	b := box(t, rules)
	if r := b.Run(t, "mytool", "publish"); r.Code != 125 || !strings.Contains(r.Stderr, "nobody to ask") || !strings.Contains(r.Stderr, "config.toml:3") {
		t.Errorf("headless: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	for _, s := range []string{"mytool $X", "$X publish", "mytool publish; )"} {
		if r := b.Bawn(t, "run", "-c", s); r.Code != 125 || !strings.Contains(r.Stderr, "nobody to ask") {
			t.Errorf("%q: exit %d: %s%s", s, r.Code, r.Stdout, r.Stderr)
		}
	}
	for _, tier := range []string{"guarded", "open"} {
		c := *b
		c.Flags = []string{"--tier", tier}
		s := onScreen(t, &c, "mytool", "publish", "a b")
		if shown := s.Wait(t, choices); !strings.Contains(shown, "Run this command?") || !strings.Contains(shown, "    mytool publish 'a b'\r\n") {
			t.Errorf("the question:\n%s", shown)
		}
		s.Send(t, "y\r")
		s.Wait(t, "publish a b\r\n")
		if code := s.Code(t); code != 0 {
			t.Errorf("exit %d", code)
		}
		s = onScreen(t, &c, "mytool", "publish")
		s.Wait(t, choices)
		s.Send(t, "\x1b")
		if code := s.Code(t); code != 125 || strings.Contains(s.Text(), "ran ") {
			t.Errorf("denied: exit %d: %s", code, s.Text())
		}
	}
	// bypass asks nothing, and still denies.
	settings(t, b, strings.Replace(rules, "[permissions]", "[permissions]\nmode = \"bypass\"", 1))
	b.Run(t, "mytool", "publish").OK(t)
	if r := b.Run(t, "mytool", "push"); r.Code != 125 {
		t.Errorf("bypass: exit %d", r.Code)
	}
}

// An excluded command that a rule denies does not run, and one that a rule
// asks about is asked about once.
func TestC1_RulesBindExceptions(t *testing.T) {
	b := box(t, excludes+rules)
	if out, code := unasked(t, b, "mytool", "push"); code != 125 || strings.Contains(out, "ran ") {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, code := said(t, b, "mytool", "publish"); code != 0 || !strings.Contains(out, "ran outside 1 publish") || strings.Count(out, "Answer") != 1 {
		t.Errorf("exit %d: %s", code, out)
	}
	tool := filepath.Join(filepath.Dir(b.Home), "tools/mytool")
	settings(t, b, "[sandbox]\nescape_hatch_binaries = [\""+tool+"\"]\n"+rules)
	if out, code := unasked(t, b, tool, "push"); code != 125 || strings.Contains(out, "ran ") {
		t.Errorf("hatch: exit %d: %s", code, out)
	}
	if out, code := said(t, b, tool, "publish"); code != 0 || !strings.Contains(out, "ran outside 1 publish") {
		t.Errorf("hatch: exit %d: %s", code, out)
	}
}

// A103: a program that a rule denies is still reached by other names; the
// boundary holds then, not the rule.
func TestA103_DenyIsNotTheBoundary(t *testing.T) {
	b := box(t, "[permissions]\ndeny = [\"curl *\"]\n")
	if r := b.Run(t, "curl", "--version"); r.Code != 125 {
		t.Errorf("exit %d", r.Code)
	}
	loader, _ := filepath.Glob("/lib*/ld-linux*.so.*")
	curl, err := exec.LookPath("curl")
	if err != nil || len(loader) == 0 {
		t.Fatalf("no curl, or no loader: %v", err)
	}
	for _, s := range []string{
		loader[0] + " " + curl + " -sSf --max-time 20 http://evil.test:18080/",
		`python3 -c "import urllib.request as u; u.urlopen('http://evil.test:18080/', timeout=20)"`,
		"exec 3<>/dev/tcp/evil.test/18080",
	} {
		r := b.Bawn(t, "run", "-c", s)
		if r.Code == 0 || r.Code == 125 || !strings.Contains(r.Stderr, "bawn: denied evil.test") {
			t.Errorf("%q: exit %d: %s%s", s, r.Code, r.Stdout, r.Stderr)
		}
	}
}

// C2: what the boundary is sure to stop is refused before anything runs, with
// the reason and the way out.
func TestC2_Precheck(t *testing.T) {
	b := box(t, "[sandbox]\ndenied_domains = [\"bad.test\"]\n")
	ran := "touch ran; "
	refused := func(name string, r sandboxtest.Result, want ...string) {
		t.Helper()
		if r.Code != 125 || !strings.HasPrefix(r.Stderr, "bawn: not run: ") || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("%s: exit %d: %s", name, r.Code, r.Stderr)
		}
		for _, w := range want {
			if !strings.Contains(r.Stderr, w) {
				t.Errorf("%s does not say %q: %s", name, w, r.Stderr)
			}
		}
		b.Run(t, "test", "!", "-e", "ran").OK(t)
	}
	refused("unlisted", b.Bawn(t, "run", "-c", ran+"curl http://new.test:18080/"), "new.test is not on the list", "--allow-domain new.test")
	refused("words", b.Run(t, "curl", "https://new.test/"), "--allow-domain new.test")
	refused("denied", b.Bawn(t, "run", "-c", ran+"curl https://x.bad.test/"), "config.toml:2")
	refused("airlock", b.Bawn(t, "run", "--tier", "airlock", "-c", ran+"git clone https://github.com/x/y"), "no network in airlock")
	refused("read-only", b.Bawn(t, "run", "--sandbox", "read-only", "-c", "curl https://github.com/x"))
	// The twins run: what is allowed, what may not be opened, what is not understood.
	for _, s := range []string{"echo https://new.test/", "curl --version", "echo 'curl https://new.test' >f", "cat /etc/hosts >/dev/null", "true # curl https://new.test"} {
		b.Bawn(t, "run", "-c", s).OK(t)
	}
	if r := b.Bawn(t, "run", "-c", "touch ran2; for ("); r.Code == 125 || !strings.Contains(r.Stderr, "syntax error") {
		t.Errorf("what cannot be read runs inside: exit %d: %s", r.Code, r.Stderr)
	}
	b.Bawn(t, "run", "--tier", "open", "-c", "echo curl http://new.test").OK(t)

	// On a terminal the connection will be a question: the text is not refused.
	s := onScreen(t, text(b, "curl -sf http://new.test:18080/ || echo tried"))
	s.Wait(t, "Answer and Enter [")
	s.Send(t, "n\r")
	s.Wait(t, "tried")
	s.Code(t)
}

// C2, precheck = "strict": absolute paths outside the writable ones, too.
func TestC2_Strict(t *testing.T) {
	b := box(t, "[sandbox]\nprecheck = \"strict\"\n")
	for _, s := range []string{"cat /etc/hosts", "cat <~/x", "ls --color=auto /usr"} {
		if r := b.Bawn(t, "run", "-c", s); r.Code != 125 || !strings.Contains(r.Stderr, "outside the writable paths") || !strings.Contains(r.Stderr, "--add-dir") {
			t.Errorf("%q: exit %d: %s", s, r.Code, r.Stderr)
		}
	}
	if r := b.Run(t, "cat", "/etc/hosts"); r.Code != 125 {
		t.Errorf("words: exit %d", r.Code)
	}
	for _, s := range []string{"cat x 2>/dev/null; true", "echo >" + b.Workspace + "/f", "ls ."} {
		b.Bawn(t, "run", "-c", s).OK(t)
	}
	// The twin: by default they are looked at by the boundary alone.
	settings(t, b, "")
	b.Bawn(t, "run", "-c", "cat /etc/hosts").OK(t)
}

// check run says what run does, for people and for programs.
func TestCheckRun(t *testing.T) {
	b := box(t, excludes+rules)
	for _, c := range []struct {
		args                 []string
		code                 int
		verdict, place, rule string
	}{
		{[]string{"--", "mytool", "x"}, 2, "ask", "outside", "exclude:mytool *"},
		{[]string{"--no-prompt", "--", "mytool", "x"}, 0, "allow", "inside", "precheck:pass"},
		{[]string{"--", "mytool", "push"}, 1, "deny", "refused", "permission:deny:mytool push *"},
		{[]string{"--tier", "open", "-c", "id; mytool push"}, 1, "deny", "refused", "permission:deny:mytool push *"},
		{[]string{"--no-prompt", "-c", "curl https://new.test"}, 1, "deny", "refused", "host:unlisted"},
		{[]string{"-c", "curl https://new.test"}, 0, "allow", "inside", "precheck:pass"},
		{[]string{"--", "npm", "install"}, 0, "allow", "inside", "precheck:pass"},
	} {
		r := b.Bawn(t, append([]string{"check", "--json", "run"}, c.args...)...)
		var got struct {
			Verdict, Place, Rule, Command, Origin, Profile string
		}
		if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
			t.Fatalf("%q: %v: %s%s", c.args, err, r.Stdout, r.Stderr)
		}
		if r.Code != c.code || got.Verdict != c.verdict || got.Place != c.place || got.Rule != c.rule || got.Command == "" {
			t.Errorf("%q: exit %d: %s", c.args, r.Code, r.Stdout)
		}
		if (got.Profile == "install") != (c.args[len(c.args)-1] == "install") {
			t.Errorf("%q: profile %q", c.args, got.Profile)
		}
	}
	if r := b.Bawn(t, "check", "run"); r.Code != 125 {
		t.Errorf("no command: exit %d", r.Code)
	}
	// What steers a terminal is shown, not sent.
	if r := b.Bawn(t, "check", "run", "--", "echo", "\x1b[2J\u202e"); strings.ContainsAny(r.Stdout, "\x1b\u202e") || r.Code != 0 {
		t.Errorf("exit %d: %q", r.Code, r.Stdout)
	}
}
