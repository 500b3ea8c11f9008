//go:build !race

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// settings writes those of the user.
func userSettings(t *testing.T, b *sandboxtest.Box, text string) {
	t.Helper()
	sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), text)
}

// online is a room whose commands reach what stands for the internet.
func online(t *testing.T) *sandboxtest.Box {
	t.Helper()
	b := room(t)
	behindProxy(t)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		b.Env = append(b.Env, name+"="+os.Getenv(name))
	}
	return b
}

// T3, T4, T9, N9: a session begins in the user's tier; the keys that are set go
// through all three, the egress starts with the first sandbox, open is asked
// about, and what was picked is kept.
func TestT3_N9_EveryTierOnTheScreen(t *testing.T) {
	b := online(t)
	userSettings(t, b, "[sandbox]\ndefault_tier = 'open'\nallowed_domains = ['new.test']\n[keybindings]\ncycle_sandbox_tier = ['ctrl+t', 'f6']\n")
	sandboxtest.Write(t, b.Workspace+"/probe", `echo "in-${BAWN_TIER:-none}"; touch "$HOME/planted" 2>/dev/null && echo wi''de; `+fetch+" 2>&1 | grep -o 'hello\\|403'; echo over-$1\n")
	term, cmd := onScreenOf(t, b, 130, 24)
	idle(t, term)
	shows(t, term, " open ", "network open", "ctrl+t tier")
	types(t, term, "\x1bs") // no key of bawn's any more
	types(t, term, "sh ./probe 1\r")
	shows(t, term, "in-none\nwide\nhello\nover-1")
	idle(t, term)
	types(t, term, "!sh ./probe 2\r")
	shows(t, term, "bawn: the open tier has no sandbox: with the ! too 'sh ./probe 2' has the network\nin-none\nwide\nhello\nover-2") // before it starts
	idle(t, term)
	types(t, term, "\x14")
	shows(t, term, " guarded ", "Sandbox: guarded (new commands)")
	types(t, term, "sh ./probe 3\r")
	shows(t, term, "in-guarded\nhello\nover-3", "network asks")
	idle(t, term)
	types(t, term, "!sh ./probe 4\r")
	shows(t, term, "in-guarded\n403\nover-4")
	idle(t, term)
	types(t, term, "\x1b[17~")
	shows(t, term, " airlock ", "Sandbox: airlock (new commands)")
	types(t, term, "sh ./probe 5\r")
	shows(t, term, "in-airlock\n403\nover-5", "network off")
	for _, key := range []string{"n", "\x1b"} {
		idle(t, term)
		types(t, term, "\x14")
		shows(t, term, "Switch sandbox to open?")
		answers(t, term, "Switch sandbox to open?", key, " airlock ")
	}
	for _, key := range []string{"y", "\r"} {
		idle(t, term)
		types(t, term, "/tier airlock\r")
		shows(t, term, " airlock ")
		idle(t, term)
		types(t, term, "\x14")
		shows(t, term, "Switch sandbox to open?")
		answers(t, term, "Switch sandbox to open?", key, "Sandbox: open (new commands)")
	}
	idle(t, term)
	types(t, term, "sh ./probe 6\r")
	shows(t, term, "in-none\nwide\nhello\nover-6")
	leaves(t, term, cmd)
	if text, err := os.ReadFile(filepath.Join(b.Workspace, ".bawn/config.toml")); err != nil || !strings.Contains(string(text), `default_tier = "open"`) {
		t.Errorf("the tier was not kept: %q, %v", text, err)
	}
}

// T3, T9: in plain form the tier is said at the start, and open is asked about.
func TestT3_TierInPlainForm(t *testing.T) {
	b := room(t)
	term, cmd := sessionOn(t, b, "--plain", "--tier", "airlock")
	shows(t, term, "Sandbox: airlock, network off\n>")
	types(t, term, "/tier open\r")
	shows(t, term, "Switch sandbox to open?")
	says(t, term, "n\r", atPrompt)
	types(t, term, "echo in-$BAWN_TIER\r")
	shows(t, term, "\nin-airlock\n")
	idle(t, term)
	types(t, term, "/tier open\r")
	says(t, term, "y\r", func(text string) bool { return strings.Contains(text, "Sandbox: open (new commands)") })
	leaves(t, term, cmd)
}

// T5: /config general has the tier, which Enter cycles as the key does, and the
// policy, whose details say what is writable and how that is enforced.
func TestT5_ConfigGeneralOnTheScreen(t *testing.T) {
	b := room(t)
	term, cmd := sessionOn(t, b)
	types(t, term, "/config general\r")
	shows(t, term, "Config / General", "Sandbox tier      guarded", "Sandbox policy    writes in the workspace and caches", "enter next tier")
	types(t, term, "\r")
	shows(t, term, "Sandbox tier      airlock", "Sandbox policy    writes in the workspace; no network", "Sandbox: airlock (new commands)")
	types(t, term, "\r")
	shows(t, term, "Switch sandbox to open?")
	answers(t, term, "Switch sandbox to open?", "\x1b", "Sandbox tier      airlock")
	types(t, term, "j\r")
	shows(t, term, "General / Sandbox policy", "Tier        airlock", "Writable    ", "a private temp folder at /tmp", "Network     none", "Enforced    namespaces, mounts, a system call filter and the name guard")
	types(t, term, "\x7f")
	shows(t, term, "enter details")
	types(t, term, "\x1bs") // the key works here too
	shows(t, term, "Switch sandbox to open?")
	answers(t, term, "Switch sandbox to open?", "y", "Sandbox policy    unrestricted")
	types(t, term, "\r")
	shows(t, term, "Tier        open", "Writable    unrestricted", "Network     unrestricted", "nothing is enforced")
	types(t, term, "\x7f")
	shows(t, term, "enter details")
	types(t, term, "\x1b")
	leaves(t, term, cmd)
	// A fixed mode shows as that, and does not switch; what is not there is not said.
	b = room(t)
	userSettings(t, b, "[sandbox]\ntmp = 'host'\nguard = 'off'\n")
	term, cmd = sessionOn(t, b, "--sandbox", "workspace-write")
	types(t, term, "\x1bs")
	shows(t, term, "Sandbox: workspace-write is fixed for this session (--sandbox)")
	types(t, term, "/config\r")
	shows(t, term, "Sandbox tier      workspace-write (fixed)")
	types(t, term, "\r")
	shows(t, term, "is fixed for this session")
	types(t, term, "j\r")
	shows(t, term, "Tier        workspace-write", "Writable    ", "(the workspace)", "space more")
	if text := term.Text(); strings.Index(text, "(the workspace)") > strings.Index(text, " cache is writable") {
		t.Errorf("the workspace is not first:\n%s", text)
	}
	types(t, term, "G")
	shows(t, term, "/tmp  (the host's temp folder)", "others are refused", "without the name")
	if text := term.Text(); strings.Contains(text, "private temp") || strings.Contains(text, "space more") {
		t.Errorf("there is none:\n%s", text)
	}
	types(t, term, "\x7f")
	shows(t, term, "enter details")
	types(t, term, "\x1b")
	leaves(t, term, cmd)
}

// T6: in a clone of today that nobody trusts the session suggests airlock, once;
// a yes is about this session alone.
func TestT6_FreshCloneOnTheScreen(t *testing.T) {
	for _, f := range forms {
		for _, c := range []struct{ key, tier string }{{"y", "airlock"}, {"n", "guarded"}} {
			b := room(t)
			if err := os.Mkdir(filepath.Join(b.Workspace, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			term, cmd := onScreen(t, b, f.args...)
			shows(t, term, "Fresh clone: use airlock sandbox?")
			if f.name == "plain" {
				c.key += "\r"
			}
			says(t, term, c.key, func(text string) bool {
				return f.name == "plain" && atPrompt(text) || !strings.Contains(text, "Fresh clone")
			})
			idle(t, term)
			types(t, term, "echo in-$BAWN_TIER\r")
			shows(t, term, "\nin-"+c.tier+"\n")
			leaves(t, term, cmd)
			if _, err := os.Stat(filepath.Join(b.Workspace, ".bawn")); err == nil {
				t.Error("the tier was saved")
			}
			term, cmd = sessionOn(t, b, f.args...)
			if text := term.Text(); strings.Contains(text, "Fresh clone") || !strings.Contains(text, "guarded") {
				t.Errorf("the next session:\n%s", text)
			}
			leaves(t, term, cmd)
		}
	}
}

// T6: what a person trusts, and a session that is airlock already, gets no word
// of it.
func TestT6_NotSuggested(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		b := room(t)
		if err := os.Mkdir(filepath.Join(b.Workspace, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		args := []string{"--tier", "airlock"}
		if trusted {
			args = nil
			const theirs = "[sandbox]\n"
			sandboxtest.Write(t, filepath.Join(b.Workspace, ".bawn/config.toml"), theirs)
			sum := sha256.Sum256([]byte(theirs))
			b.Bawn(t, "trust", "--hash", hex.EncodeToString(sum[:])).OK(t)
		}
		term, cmd := sessionOn(t, b, args...)
		leaves(t, term, cmd)
	}
}

// C5: a command that was refused a file is offered outside, has the screen there,
// and is the only one that has left.
func TestC5_OutsideOnTheScreen(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			b := room(t)
			sandboxtest.Write(t, filepath.Join(b.Workspace, "plant"), `mkdir -p .claude && echo x >.claude/settings.json && while read x; do case $x in *word) break; esac; done && echo "got $x in-${BAWN_TIER:-none}"`+"\n") // the answer may be typed twice
			term, cmd := sessionOn(t, b, f.args...)
			types(t, term, "sh ./plant\r")
			shows(t, term, "Run this command outside the sandbox", "it was refused", ".claude")
			if _, err := os.Stat(filepath.Join(b.Workspace, ".claude/settings.json")); err == nil {
				t.Fatal("it was written inside")
			}
			keys := map[string]string{"screen": "y", "plain": "y\r"}[f.name]
			says(t, term, keys, func(string) bool {
				_, err := os.Stat(filepath.Join(b.Workspace, ".claude/settings.json"))
				return err == nil
			})
			shows(t, term, "> sh ./plant")
			// The terminal's mode is being changed for it: Enter may not be one yet.
			says(t, term, "word\r", func(text string) bool { return strings.Contains(text, "in-none") })
			idle(t, term)
			types(t, term, "echo next-$BAWN_TIER\r")
			shows(t, term, "\nnext-guarded\n")
			leaves(t, term, cmd)
		})
	}
}

// T9: with NO_COLOR nothing is coloured, and in a locale without UTF-8 all that
// bawn draws is ASCII; the tier is in sight on narrow terminals.
func TestT9_LooksOfTheScreen(t *testing.T) {
	colour := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8)\b[0-9;]*m`)
	for _, c := range []struct {
		env         []string
		color, wide bool
	}{
		{nil, true, true}, {[]string{"NO_COLOR=1"}, false, true}, {[]string{"LANG=C"}, true, false}, {[]string{"LC_ALL=POSIX", "NO_COLOR=1"}, false, false},
	} {
		b := room(t)
		s := sandboxtest.OpenScreen(t)
		cmd := exec.Command(sandboxtest.Binary())
		cmd.Dir, cmd.Env = b.Workspace, append(append(b.Environ(), "TERM=xterm-256color"), c.env...)
		s.Start(t, cmd)
		s.Wait(t, "0 allowed")
		s.Send(t, "/config\r")
		s.Wait(t, "Sandbox policy")
		s.Send(t, "\x1b")
		s.Wait(t, "0 allowed")
		s.Send(t, "/quit\r")
		s.Code(t)
		text := s.Text()
		if got := colour.MatchString(text); got != c.color {
			t.Errorf("%q: coloured: %v", c.env, got)
		}
		if got := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }) >= 0; got != c.wide {
			t.Errorf("%q: more than ASCII: %v", c.env, got)
		}
	}
	for _, w := range []int{80, 60, 40, 24} {
		b := room(t)
		term, cmd := onScreenOf(t, b, w, 12, "--tier", "airlock")
		idle(t, term)
		shows(t, term, " airlock ")
		leaves(t, term, cmd)
	}
}

// T2: /sandbox shows the tiers with what each does, and switches the session.
func TestT2_SandboxPageOnTheScreen(t *testing.T) {
	b := room(t)
	term, cmd := sessionOn(t, b)
	types(t, term, "/sandbox\r")
	shows(t, term, "open\n", "no sandbox: your own permissions decide", "guarded  (now)", "airlock\n", "has no network")
	types(t, term, "j\r")
	shows(t, term, "airlock  (now)", "Sandbox: airlock (new commands)")
	types(t, term, "\x1b")
	idle(t, term)
	types(t, term, "echo in-$BAWN_TIER\r")
	shows(t, term, "\nin-airlock\n")
	leaves(t, term, cmd)
}

// T3, C1: under an agent that has the screen the key switches what the agent
// starts from then on, in every permission mode; the agent itself keeps its tier.
func TestT3_C1_SwitchUnderAnAgent(t *testing.T) {
	b := room(t)
	userSettings(t, b, "[permissions]\nmode = 'bypass'\n")
	probe := `"$0" run -c 'touch ~/planted 2>/dev/null || echo "$BAWN_TIER held"'`
	term, cmd := onScreen(t, b, "wrap", "--", "sh", "-c", "echo ready; read x; "+probe+`; echo over; read x; `+probe+`; echo "I am $BAWN_TIER"; read x`, sandboxtest.Binary())
	shows(t, term, "ready", " guarded ")
	types(t, term, "\r")
	shows(t, term, "\nguarded held\nover\n") // what is typed before that is the probe's
	types(t, term, "\x1bs")
	shows(t, term, " airlock ", "Sandbox: airlock (new commands)")
	types(t, term, "\r")
	shows(t, term, "\nairlock held", "I am guarded")
	types(t, term, "\r")
	if code := quits(t, cmd); code != 0 {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat(filepath.Join(b.Home, "planted")); err == nil {
		t.Error("it wrote into the home folder")
	}
}
