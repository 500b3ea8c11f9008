//go:build linux && !race

package launchtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/sandbox/sandboxtest"
)

// trial is a configuration and a command under it.
type trial struct {
	exclude, hatches, deny, ask []string
	strict                      bool
	tier                        string
	args                        []string // after run: flags, then -c TEXT or -- and words
}

func (c trial) config() string {
	list := func(entries []string) string {
		out := make([]string, len(entries))
		for i, e := range entries {
			out[i] = fmt.Sprintf("%q", e)
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	precheck := "default"
	if c.strict {
		precheck = "strict"
	}
	return fmt.Sprintf("[sandbox]\nexclude = %s\nescape_hatch_binaries = %s\nprecheck = %q\ndefault_tier = %q\n[permissions]\ndeny = %s\nask = %s\n",
		list(c.exclude), list(c.hatches), precheck, c.tier, list(c.deny), list(c.ask))
}

// trials draws them. Among the programs in tools are scripts that are run by
// what a sandboxed command can write.
func trials(tools string) *rapid.Generator[trial] {
	names := []string{"mytool", "viaenv", "rel", "chain", "link"}
	word := rapid.SampledFrom(append([]string{"true", "echo", "push", "x", "curl", "https://new.test/", "https://github.com/", "/etc/hosts", "$X", "env", "sh", "'a b'", "npm", "install", "$'\\e'", "\u3164"}, names...))
	some := func(list ...string) *rapid.Generator[[]string] {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(list), 1, 4, rapid.ID)
	}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = filepath.Join(tools, n)
	}
	leaver := rapid.SampledFrom(append(paths, names...))
	program := rapid.OneOf(word, leaver, leaver)
	simple := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(append([]string{program.Draw(t, "program")}, rapid.SliceOfN(word, 0, 2).Draw(t, "words")...), " ")
	})
	return rapid.Custom(func(t *rapid.T) trial {
		c := trial{
			exclude: some("mytool *", "mytool x", "viaenv *", "rel *", "chain *", "link *", "npm *").Draw(t, "exclude"),
			hatches: some(paths...).Draw(t, "hatches"),
			deny:    some("mytool push *", "curl *", "rel", "env *", "echo x").Draw(t, "deny"), ask: some("mytool x *", "chain *", "npm *", "sh *").Draw(t, "ask"),
			strict: rapid.Bool().Draw(t, "strict"), tier: rapid.SampledFrom([]string{"guarded", "guarded", "guarded", "airlock"}).Draw(t, "tier"),
		}
		if rapid.Bool().Draw(t, "is text") {
			joint := rapid.SampledFrom([]string{"; ", " && ", " | ", "\n"})
			text := simple.Draw(t, "first")
			for range rapid.IntRange(0, 1).Draw(t, "more") {
				text += joint.Draw(t, "joint") + simple.Draw(t, "next")
			}
			c.args = []string{"-c", text}
		} else {
			c.args = append([]string{"--"}, strings.Fields(simple.Draw(t, "words"))...)
		}
		return c
	})
}

// checked is what `bawn check run` says.
type checked struct {
	Verdict, Place, Rule, Reason string
}

func check(t *testing.T, b *sandboxtest.Box, args ...string) checked {
	t.Helper()
	r := b.Bawn(t, append([]string{"check", "--json", "run"}, args...)...)
	var c checked
	if err := json.Unmarshal([]byte(r.Stdout), &c); err != nil {
		t.Fatalf("%q: exit %d: %s%s", args, r.Code, r.Stdout, r.Stderr)
	}
	return c
}

// checkBox has programs that lead through what a sandboxed command can write.
func checkBox(t *testing.T) (b *sandboxtest.Box, tools string) {
	b = box(t, "")
	tools = filepath.Join(filepath.Dir(b.Home), "tools")
	for _, name := range []string{"curl", "npm"} { // no test goes to the network
		script(t, filepath.Join(tools, name), "echo "+name)
	}
	script(t, filepath.Join(b.Workspace, "bin/myinterp"), "echo ran planted ${BAWN_TIER:-outside}")
	for name, first := range map[string]string{"viaenv": "#!/usr/bin/env myinterp\n", "rel": "#!bin/myinterp\n", "chain": "#!" + tools + "/between\n", "between": "#!" + b.Workspace + "/bin/myinterp\n"} {
		sandboxtest.Write(t, filepath.Join(tools, name), first)
		if err := os.Chmod(filepath.Join(tools, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(b.Workspace, "bin/myinterp"), filepath.Join(tools, "link")); err != nil {
		t.Fatal(err)
	}
	for i, e := range b.Env {
		if rest, ok := strings.CutPrefix(e, "PATH="); ok {
			b.Env[i] = "PATH=" + rest + ":" + filepath.Join(b.Workspace, "bin")
		}
	}
	return b, tools
}

// TestCheckRunIsRun: whatever the command and the settings, check run says of
// it what run does, with its rule. On a terminal too, where commands leave.
func TestCheckRunIsRun(t *testing.T) {
	b, tools := checkBox(t)
	all := trials(tools)
	seen := map[string]int{}
	compare := func(t *testing.T, i int, c trial) {
		settings(t, b, c.config())
		said := check(t, b, append([]string{"--no-prompt"}, c.args...)...)
		r := b.Bawn(t, append([]string{"run", "--no-prompt"}, c.args...)...)
		seen["headless "+said.Place]++
		if refused := r.Code == 125 && strings.Contains(r.Stderr, "not run: "); refused != (said.Place == "refused") ||
			refused && !strings.Contains(r.Stderr, said.Reason) || strings.Contains(r.Stdout+r.Stderr, "outside the sandbox (") || said.Place == "outside" {
			t.Fatalf("%d: %+v\nheadless, check says %+v; run, exit %d:\n%s%s", i, c, said, r.Code, r.Stdout, r.Stderr)
		}
		if i%2 != 0 {
			return
		}
		said = check(t, b, c.args...)
		seen[said.Verdict+" "+said.Place]++
		s := sandboxtest.OpenScreen(t)
		cmd := b.Command()
		cmd.Args = append([]string{cmd.Args[0], "run"}, c.args...)
		s.Start(t, cmd)
		if said.Verdict == "ask" {
			question := s.Wait(t, choices)
			if !strings.Contains(question, said.Rule) || strings.Contains(question, "outside the sandbox, with your own") != (said.Place == "outside") {
				t.Fatalf("%d: %+v\ncheck says %+v; the question:\n%s", i, c, said, question)
			}
			s.Send(t, "n\r")
		}
		code := s.Code(t)
		text := s.Text()
		if refused := strings.Contains(text, "bawn: not run: "); refused != (said.Place == "refused" || said.Verdict == "ask") ||
			said.Place == "refused" && !strings.Contains(text, said.Reason) || strings.Contains(text, "outside the sandbox (") != (said.Place == "outside" && said.Verdict == "allow") {
			t.Fatalf("%d: %+v\ncheck says %+v; run, exit %d:\n%s", i, c, said, code, text)
		}
	}
	compare(t, 0, trial{hatches: []string{tools + "/chain"}, tier: "guarded", args: []string{"--", tools + "/chain"}})
	compare(t, 0, trial{exclude: []string{"viaenv *"}, tier: "guarded", args: []string{"-c", "viaenv"}})
	compare(t, 0, trial{exclude: []string{"mytool *"}, tier: "guarded", args: []string{"-c", "mytool 'a b'"}})
	compare(t, 0, trial{hatches: []string{tools + "/mytool"}, tier: "guarded", args: []string{"--", tools + "/mytool"}})
	for i := range 80 {
		compare(t, i, all.Example(i))
	}
	for _, want := range []string{"headless refused", "headless inside", "allow inside", "ask inside", "ask outside", "allow outside", "deny refused"} {
		if seen[want] == 0 {
			t.Errorf("no case was %s: %v", want, seen)
		}
	}
}
