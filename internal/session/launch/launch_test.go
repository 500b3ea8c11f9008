package launch

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/policy"
	"bawn/internal/session"
	"bawn/internal/shell"
	"bawn/internal/shell/plain"
)

// facts is a run in /work with a person to ask, the exclusion "git *", the
// hatch /opt/tool, and rules about rm and curl.
func facts(t testing.TB, tier policy.Tier) Facts {
	t.Helper()
	p, err := policy.New(policy.Config{Tier: tier, Workspace: "/work", Homes: []string{"/home/u"}})
	if err != nil {
		t.Fatal(err)
	}
	f := Facts{Policy: p, CanAsk: true, CanAskHosts: true, Dir: "/work", Home: "/home/u", View: plain.View{
		Path: "/usr/bin", Real: func(p string) (string, []string, error) { return p, nil, nil },
		Executable: func(p string) bool { return true }, Writable: func(p string) bool { return policy.Inside(p, "/work") },
	}}
	x, _, err := plain.ParseExclusion("git *", policy.Origin{File: "c", Line: 1})
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := plain.ParseHatch("/opt/tool", policy.Origin{File: "c", Line: 2})
	if err != nil {
		t.Fatal(err)
	}
	f.Exceptions = plain.Exceptions{Exclude: []plain.Exclusion{x}, Hatches: []plain.Hatch{h}}
	for text, v := range map[string]policy.Verdict{"rm *": policy.Deny, "curl *": policy.Ask, "ls *": policy.Allow} {
		pattern, err := plain.ParsePattern(text, policy.Origin{File: "c", Line: 3})
		if err != nil {
			t.Fatal(err)
		}
		f.Permissions.Rules = append(f.Permissions.Rules, shell.Permission{Pattern: pattern, Verdict: v})
	}
	return f
}

// check holds for every outcome.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, c session.Command, f Facts, out session.Outcome) {
	t.Helper()
	d := out.Decision
	switch out.Place {
	case session.Nowhere:
		if d.Verdict != policy.Deny || d.Rule.ID == "" || d.Rule.Text == "" {
			t.Fatalf("%+v is refused without a reason: %+v", c, out)
		}
	case session.Inside:
		if d.Verdict == policy.Deny || out.Program.Program != "" {
			t.Fatalf("%+v inside: %+v", c, out)
		}
	case session.Outside:
		if d.Verdict == policy.Deny || out.Program.Program == "" || len(out.Program.Args) == 0 || f.Policy.Tier() != policy.Guarded || !f.CanAsk {
			t.Fatalf("%+v outside: %+v", c, out)
		}
		// What runs is one command of the exceptions, and nobody's but theirs
		// goes without a question.
		words := out.Program.Args
		if c.IsText {
			if again, ok := plain.Words(c.Text); !ok || !slices.Equal(again, words) {
				t.Fatalf("%q runs %q outside", c.Text, words)
			}
		} else if !slices.Equal(c.Args, words) {
			t.Fatalf("%q runs %q outside", c.Args, words)
		}
		if words[0] != "git" && words[0] != "/opt/tool" || words[0] == "git" && d.Verdict != policy.Ask {
			t.Fatalf("%+v: %+v", c, out)
		}
	}
	if d.Verdict == policy.Ask && !f.CanAsk {
		t.Fatalf("%+v is a question to nobody: %+v", c, out)
	}
}

var seeds = []string{
	"git status", "/opt/tool x", "git status; rm x", "rm -rf /", "git $(rm x)", "curl https://github.com", "ls", "$X y", "git 'a", "npm install && npm ci",
	"env git status", "git status\n", "'git' status", "git status > f", "a (", "PATH=. git x",
}

// No text and no words run outside but a single plain command that was
// excluded; nothing is asked of nobody; every refusal has its reason.
func FuzzDecide(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, false, uint8(1), true)
		f.Add(strings.ReplaceAll(s, " ", "\x00"), true, uint8(0), false)
	}
	all := []Facts{facts(f, policy.Airlock), facts(f, policy.Guarded), facts(f, policy.Open)}
	f.Fuzz(func(t *testing.T, text string, words bool, tier uint8, canAsk bool) {
		c := session.Command{Text: text, IsText: true}
		if words {
			c = session.Command{Args: strings.Split(text, "\x00")}
		}
		facts := all[int(tier)%len(all)]
		facts.CanAsk, facts.CanAskHosts = canAsk, canAsk
		out := Decide(c, facts)
		check(t, c, facts, out)
		// A command that a rule denies stays denied, whatever stands beside it.
		if c.IsText && len(text) < 1000 {
			if with := Decide(session.Command{Text: "rm x; " + text, IsText: true}, facts); with.Decision.Verdict == policy.Allow || with.Place == session.Outside {
				t.Fatalf("rm x; %q: %+v", text, with)
			}
		}
	})
}

// Less that may be asked, a stricter tier, or one more rule that restricts,
// never lets more happen.
func TestStricterIsNeverSofter(t *testing.T) {
	all := []Facts{facts(t, policy.Airlock), facts(t, policy.Guarded)}
	piece := rapid.SampledFrom([]string{"git ", "status ", "rm ", "curl ", "ls ", "/opt/tool ", "; ", "&& ", "| ", "$X ", "'", "(", "https://x.test ", "npm install "})
	rapid.Check(t, func(rt *rapid.T) {
		c := session.Command{Text: strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(rt, "text"), ""), IsText: true}
		f := rapid.SampledFrom(all).Draw(rt, "facts")
		out := Decide(c, f)
		check(rt, c, f, out)
		headless := f
		headless.CanAsk, headless.CanAskHosts = false, false
		if got := Decide(c, headless); got.Place == session.Outside || out.Place == session.Nowhere && got.Place != session.Nowhere {
			rt.Fatalf("%q: %+v, headless %+v", c.Text, out, got)
		}
		ruled := f
		p, err := plain.ParsePattern("git *", policy.Origin{})
		if err != nil {
			rt.Fatal(err)
		}
		ruled.Permissions.Rules = append(slices.Clone(f.Permissions.Rules), shell.Permission{Pattern: p, Verdict: policy.Deny})
		if got := Decide(c, ruled); got.Place > out.Place || got.Decision.Verdict > out.Decision.Verdict && got.Place != session.Inside {
			rt.Fatalf("%q: %+v, with one more rule %+v", c.Text, out, got)
		}
	})
}

// The zero value of Facts lets nothing out and asks nobody.
func TestZeroFacts(t *testing.T) {
	for _, s := range seeds {
		for _, c := range []session.Command{{Text: s, IsText: true}, {Args: strings.Fields(s)}} {
			if out := Decide(c, Facts{}); out.Place == session.Outside || out.Decision.Verdict == policy.Ask {
				t.Errorf("%+v: %+v", c, out)
			}
		}
	}
}

func BenchmarkDecide10kB(b *testing.B) {
	f := facts(b, policy.Guarded)
	line := "for f in src/*.go; do gofmt -l \"$f\" | grep -v '^vendor/' >> out.txt; done && wget -q https://github.com/a/b && make -j4 CC=gcc test\n"
	c := session.Command{Text: strings.Repeat(line, 10_000/len(line)+1), IsText: true}
	b.SetBytes(int64(len(c.Text)))
	for b.Loop() {
		if out := Decide(c, f); out.Place != session.Inside {
			b.Fatal(out)
		}
	}
}
