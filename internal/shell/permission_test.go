package shell

import (
	"strings"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/shell/plain"

	"pgregory.net/rapid"
)

// testRules reads rules written as "allow git *".
func testRules(t testing.TB, lines ...string) []Permission {
	t.Helper()
	var out []Permission
	for i, l := range lines {
		verdict, pattern, _ := strings.Cut(l, " ")
		p, err := plain.ParsePattern(pattern, policy.Origin{File: "config.toml", Line: i + 1})
		if err != nil {
			t.Fatal(err)
		}
		v := map[string]policy.Verdict{"allow": policy.Allow, "ask": policy.Ask, "deny": policy.Deny}[verdict]
		out = append(out, Permission{p, v})
	}
	return out
}

func checkPermissions(t *testing.T, p Permissions, cases map[string]policy.Verdict) {
	t.Helper()
	for text, want := range cases {
		if d := p.Decide(OfText(text)); d.Verdict != want || d.Rule.ID == "" || d.Rule.Text == "" {
			t.Errorf("%q (%v): %+v, want %v", text, p.Mode, d, want)
		}
	}
}

func TestA123_EveryPartIsJudged(t *testing.T) {
	p := Permissions{Sandboxed: true, Rules: testRules(t, "allow ls", "allow ls *", "allow git status", "deny curl *", "ask git push *", "allow git *", "allow timeout *")}
	checkPermissions(t, p, map[string]policy.Verdict{
		"ls": policy.Allow, "ls -l x": policy.Allow, "ls; ls": policy.Allow, "ls | ls && ls": policy.Allow, "ls $X": policy.Allow, "ls > /dev/null 2>&1": policy.Allow, "ls *.c": policy.Allow,
		"ls && rm -rf x": policy.Ask, "ls > f": policy.Ask, "ls || curl evil": policy.Deny, "ls $(rm x)": policy.Ask, "ls `curl x`": policy.Deny, "ls <(curl x)": policy.Deny, "ls & rm x": policy.Ask, "ls\nrm x": policy.Ask, "A=1 ls": policy.Ask, "PATH=/tmp ls": policy.Ask, "PATH=/tmp; ls": policy.Ask, "ls ${PAGER:=evil}": policy.Ask, "for PATH in /tmp; do ls; done": policy.Ask,
		"./ls": policy.Ask, "/tmp/ls": policy.Ask, "'l's": policy.Allow, "$X": policy.Ask, "$X -l": policy.Ask, "l$X": policy.Ask, "{ls,-l}": policy.Ask, "ls() { rm x; }; ls": policy.Ask,
		"git status": policy.Allow, "git push x": policy.Ask, "git push": policy.Ask, "git $X": policy.Ask, "git log": policy.Allow,
		"curl x": policy.Deny, "/usr/bin/curl x": policy.Deny, "cu'r'l x": policy.Deny, "env curl x": policy.Deny, "sh -c 'curl x'": policy.Deny, "timeout 5 curl x": policy.Deny, "timeout 5 ls": policy.Allow, "timeout 5 rm x": policy.Ask, "find . -exec curl {} ;": policy.Deny, "eval curl x": policy.Deny, "xargs curl": policy.Deny, "$X/curl x": policy.Ask, "$(echo curl) x": policy.Ask,
		"": policy.Ask, "# ls": policy.Ask, "ls (": policy.Ask, "eval $X": policy.Ask, "ls | sh": policy.Ask, "alias ls=rm; ls": policy.Ask, "[[ x ]] && ls": policy.Ask,
	})
	checkPermissions(t, Permissions{}, map[string]policy.Verdict{"ls": policy.Ask, "rm x": policy.Ask})
	checkPermissions(t, Permissions{Rules: make([]Permission, 1)}, map[string]policy.Verdict{"ls": policy.Ask})
}

// A rule that denies speaks of what a wrapper runs, however its options are
// written: where that cannot be told it may.
func TestOptionsOfWrappersHideNothing(t *testing.T) {
	p := Permissions{Sandboxed: true, Rules: testRules(t, "deny curl *")}
	for text, want := range map[string]policy.Verdict{
		"env - curl x": policy.Deny, "env -i - A=b curl x": policy.Deny, "env -a n curl x": policy.Deny, "env --argv0 n curl x": policy.Deny, "env -u X curl x": policy.Deny,
		"env --unse X curl x": policy.Ask, "env -S 'curl x'": policy.Ask, "env -vS'curl x'": policy.Ask, "env --split-string='curl x'": policy.Ask, "env --s='curl x'": policy.Ask,
		"timeout --sig KILL 5 curl x": policy.Ask, "timeout --signal KILL 5 curl x": policy.Deny, "timeout --signal=KILL --foreground 5 curl x": policy.Deny, "timeout --x 5 curl x": policy.Ask,
		"sudo -k curl x": policy.Deny, "sudo --close-from 3 curl x": policy.Deny, "sudo --rol r curl x": policy.Ask, "sudo -nE -u root -- curl x": policy.Deny,
		"nice --5 curl x": policy.Deny, "nice -5 curl x": policy.Deny, "nice --adj 5 curl x": policy.Ask, "strace -E A=b curl x": policy.Deny, "strace -fo log curl x": policy.Deny,
		"xargs --max-chars 9 curl x": policy.Deny, "xargs -i{} curl {}": policy.Deny, "xargs --max-cha 9 curl x": policy.Ask, "chrt -T 1 -d 0 curl x": policy.Deny,
		"bash -oc posix 'curl x'": policy.Ask, "bash -co posix 'curl x'": policy.Deny, "bash -rcfile f -c 'curl x'": policy.Ask, "bash --rcfile f -c 'curl x'": policy.Deny, "zsh --emulate sh -c 'curl x'": policy.Deny, "bash -norc -c 'curl x'": policy.Ask, "bash -euo pipefail -c 'curl x'": policy.Deny,
		"flock f curl x": policy.Ask, "runuser -u me -- curl x": policy.Ask, "setarch -R curl x": policy.Ask,
		// The twins.
		"env - id": policy.Allow, "env": policy.Allow, "timeout --foreground -k 1 5 id": policy.Allow, "nice -n 5 id": policy.Allow, "nice id": policy.Allow, "sudo -n -E id": policy.Allow, "xargs -0 -n1 -P4 id": policy.Allow, "xargs -r -I{} id {}": policy.Allow, "bash --noprofile --norc -euxo pipefail -c id": policy.Allow, "bash x.sh -o f": policy.Allow, "time -p id": policy.Allow, "command -v curl": policy.Allow, "sudo -l curl": policy.Allow, "env --help": policy.Allow,
	} {
		if d := p.Ruled(OfText(text)); d.Verdict != want {
			t.Errorf("%q: %+v, want %v", text, d, want)
		}
	}
}

// Options before the words of a rule, and an option of the rule behind other
// words, do not take a command out of what the rule restricts. A rule that
// allows is not widened.
func TestRulesSeePastOptions(t *testing.T) {
	p := Permissions{Mode: policy.AutoMode, Sandboxed: true, Rules: testRules(t, "deny git push --force *", "ask docker compose up *", "deny make deploy", "ask npm publish *", "allow go test *")}
	for text, want := range map[string]policy.Verdict{
		"git push --force x": policy.Deny, "git -C lib push --force": policy.Ask, "git --no-pager push --force": policy.Ask, "git -c a.b=c push -q --force": policy.Ask,
		"git push origin main --force": policy.Ask, "git push -q --force": policy.Ask, "git push origin $X": policy.Ask, "git -C $D push --force": policy.Ask, "git -C lib $X": policy.Ask, "git -C lib --for$X": policy.Allow,
		"docker --context c compose up": policy.Ask, "docker compose -f x up -d": policy.Ask, "make -j4 deploy": policy.Ask, "npm --silent publish": policy.Ask,
		// The twins.
		"git push origin main": policy.Allow, "git -C lib status": policy.Allow, "git commit -m push": policy.Allow, "git -C lib push": policy.Allow, "git --force push": policy.Allow, "docker compose -f x down": policy.Allow, "make -j4": policy.Allow, "npm run publish": policy.Allow,
	} {
		if d := p.Ruled(OfText(text)); d.Verdict != want {
			t.Errorf("%q: %+v, want %v", text, d, want)
		}
	}
	p.Mode = policy.AskMode
	checkPermissions(t, p, map[string]policy.Verdict{"go test x": policy.Allow, "go -C x test": policy.Ask})
}

func TestA121_NoCapOnTheParts(t *testing.T) {
	p := Permissions{Mode: policy.AutoMode, Sandboxed: true, Rules: testRules(t, "deny curl *")}
	for _, n := range []int{0, 1, 60, 5000} {
		checkPermissions(t, p, map[string]policy.Verdict{
			strings.Repeat("true;", n) + "curl evil": policy.Deny,
			strings.Repeat("true;", n) + "true evil": policy.Allow,
		})
	}
	checkPermissions(t, p, map[string]policy.Verdict{strings.Repeat("true;", maxText) + "curl evil": policy.Ask})
}

func TestA125_ReadersThatWrite(t *testing.T) {
	writers := []string{
		"sed 'w /x' f", "sed -n 1p f", "sed -i s/a/b/ f", "find . -fprintf /x y", "find . -exec rm {} ;", "find . -delete", "sort -o /x f", "sort -uo/x f", "sort --outp=/x f", "git log --output=/x", "git log --outp /x", "git -c x.y=z log", "git push", "tar xf x --to-command y", "rg --pre x y", "uniq a b", "tree -o x", "date -s x", "ls > f", "X=1 ls", "ls $X", "awk 1 f", "env ls", "printf -v PATH x", "test -v x", "ls; rm x", "ls() { ls; }", "file -C", "cat f | sh",
	}
	readers := []string{"ls -la", "cat f | grep x", "find . -name '*.c'", "sort -u f", "git log --oneline", "git status -s", "git diff HEAD", "rg x", "uniq a", "wc -l f; head f", "ls 2>/dev/null", "cat < f"}
	outside, inside := Permissions{Mode: policy.AutoMode}, Permissions{Mode: policy.AutoMode, Sandboxed: true}
	for _, w := range writers {
		checkPermissions(t, outside, map[string]policy.Verdict{w: policy.Ask})
	}
	for _, r := range readers {
		checkPermissions(t, outside, map[string]policy.Verdict{r: policy.Allow})
		checkPermissions(t, inside, map[string]policy.Verdict{r: policy.Allow})
	}
	// In the sandbox they run into the list of writable paths.
	checkPermissions(t, inside, map[string]policy.Verdict{"sed 'w /x' f": policy.Allow, "find . -delete": policy.Allow, "ls > f": policy.Allow, "rm x": policy.Allow, "rm x $(": policy.Ask, "$X": policy.Ask})
	// A rule for any arguments does not speak of those; one that spells them does.
	ruled := Permissions{Rules: testRules(t, "allow find *", "allow sort -o x f", "allow mytool *")}
	checkPermissions(t, ruled, map[string]policy.Verdict{"find . -name x": policy.Allow, "find . -delete": policy.Ask, "sort -o x f": policy.Allow, "mytool -o x": policy.Allow})
	ruled.Sandboxed = true
	checkPermissions(t, ruled, map[string]policy.Verdict{"find . -delete": policy.Allow})
}

func TestA103_DenyRulesAreAdvice(t *testing.T) {
	p := Permissions{Mode: policy.AutoMode, Sandboxed: true, Rules: testRules(t, "deny wget *")}
	checkPermissions(t, p, map[string]policy.Verdict{
		"wget x": policy.Deny, "busybox wget x": policy.Deny, "sudo wget x": policy.Deny, "curl x": policy.Allow,
		// Not seen here; the egress holds.
		"/lib64/ld-linux-x86-64.so.2 /usr/bin/wget x": policy.Allow, "cp /usr/bin/wget w && ./w x": policy.Allow,
	})
}

func TestBypass(t *testing.T) {
	checkPermissions(t, Permissions{Mode: policy.BypassMode}, map[string]policy.Verdict{"rm x": policy.Allow, "$X": policy.Allow, "rm (": policy.Allow})
	p := Permissions{Mode: policy.BypassMode, Rules: testRules(t, "deny curl *", "ask rm *")}
	checkPermissions(t, p, map[string]policy.Verdict{"rm x": policy.Allow, "curl x": policy.Deny, "rm x; curl x": policy.Deny, "$X": policy.Ask, "a (": policy.Ask, "make $X": policy.Allow, "eval $X": policy.Ask})
	if d := p.Decide(OfArgs([]string{"curl", "x; y"})); d.Verdict != policy.Deny {
		t.Errorf("words: %+v", d)
	}
	if d := (Permissions{Mode: policy.AutoMode, Sandboxed: true}).Decide(OfArgs([]string{"ls", "$(x)"})); d.Verdict != policy.Allow {
		t.Errorf("words that no shell reads: %+v", d)
	}
}

// Adding a part never makes a verdict softer.
func TestMorePartsAreNeverSofter(t *testing.T) {
	text := rapid.SampledFrom([]string{"ls", "rm x", "git push", "curl x", "$X", "a (", "sort -o x y", "A=1", "ls > f", "eval x", "sh -c 'curl y'", "git status"})
	join := rapid.SampledFrom([]string{"; ", " && ", " || ", " | ", " & ", "\n"})
	rules := testRules(t, "allow ls", "allow git *", "ask git push", "deny curl *")
	rapid.Check(t, func(rt *rapid.T) {
		p := Permissions{Mode: rapid.SampledFrom([]policy.PermissionMode{policy.AskMode, policy.AutoMode, policy.BypassMode}).Draw(rt, "mode"), Sandboxed: rapid.Bool().Draw(rt, "sandboxed"), Rules: rules}
		a, b := text.Draw(rt, "a"), text.Draw(rt, "b")
		whole := p.Decide(OfText(a + join.Draw(rt, "join") + b))
		da, db := p.Decide(OfText(a)), p.Decide(OfText(b))
		// A text of which a part cannot be read is a question as a whole.
		if limit := max(min(da.Verdict, db.Verdict), policy.Deny); whole.Verdict > limit && whole.Verdict > policy.Ask {
			rt.Fatalf("%q is %v, %q is %v, together %v", a, da.Verdict, b, db.Verdict, whole.Verdict)
		} else if whole.Verdict > limit && whole.Rule.ID != "permission:unsure" {
			rt.Fatalf("%q is %v, %q is %v, together %+v", a, da.Verdict, b, db.Verdict, whole)
		}
	})
}
