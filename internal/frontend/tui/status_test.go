package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"bawn/internal/policy"
	"bawn/internal/session"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is right: go test ./internal/frontend/tui -update\n--- want\n%s\n--- got\n%s", file, want, got)
	}
}

var widths = [...]int{100, 80, 60, 40}

// looks are the ways to draw, by the names of their golden files.
var looks = map[string]Look{"color": {Color: true}, "no-color": {}, "ascii": {Color: true, ASCII: true}}

// shown makes escape sequences readable: golden files are text.
func shown(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") }

func statusCases(t *testing.T) map[string]session.State {
	busy := exampleSession(t).st
	busy.Questions = []session.Question{exampleQuestion(1), exampleQuestion(2)}
	long := busy
	long.Workspace = "/srv/リポジトリ/a/very/long/way/down/to/the/プロジェクト\x1b[2J"
	quietly := session.State{Workspace: "/home/me/work/shop", Tier: policy.Airlock, NoNetwork: "airlock has no network"}
	open := session.State{Workspace: "/home/me", Tier: policy.Open}
	switched := exampleSession(t).st // while a guarded command runs
	switched.Tier, switched.NoNetwork = policy.Airlock, "airlock has no network"
	narrower := exampleSession(t).st // and one that began in open
	narrower.Tier, narrower.Tasks = policy.Guarded, append(narrower.Tasks, session.Task{ID: 9, Kind: session.Background, Tier: policy.Open, Started: noon})
	fixed := session.State{Workspace: "/home/mexico", Mode: policy.WorkspaceWrite, Tier: policy.Guarded, Allowed: 99999, Denied: 12345}
	return map[string]session.State{"1 busy": busy, "2 long": long, "3 airlock": quietly, "4 open": open, "5 fixed": fixed, "6 switched": switched, "7 narrower": narrower}
}

func TestStatusBar(t *testing.T) {
	states := statusCases(t)
	for name, look := range looks {
		o := testOptions(&clock{noon})
		o.Look = look
		var b strings.Builder
		for _, s := range [...]string{"1 busy", "2 long", "3 airlock", "4 open", "5 fixed", "6 switched", "7 narrower"} {
			for _, w := range widths {
				fmt.Fprintf(&b, "%s, %d:\n%s\n", s, w, shown(statusBar(states[s], "", w, o)))
			}
		}
		fmt.Fprintf(&b, "note:\n%s\n", shown(statusBar(states["1 busy"], "Sandbox: airlock (new commands)", 60, o)))
		golden(t, "status-"+name, b.String())
	}
}

// A command that began in a wider tier keeps its network: in no width is the bar
// without a word of that.
func TestStatusBarOfRunningCommands(t *testing.T) {
	st := session.State{Workspace: "/home/me/work/shop", Tier: policy.Airlock, NoNetwork: "airlock has no network", Tasks: []session.Task{{ID: 1, Tier: policy.Guarded, Started: noon}}}
	for _, look := range []Look{{}, {ASCII: true}} {
		o := testOptions(&clock{noon})
		o.Look = look
		for w := 30; w < 140; w++ {
			bar := statusBar(st, "", w, o)
			if !strings.Contains(bar, "1 from guarded") && !strings.Contains(bar, "1 running, 1 from guarded") || strings.Contains(bar, "network off ") && !strings.Contains(bar, "off for new") {
				t.Errorf("%d: %q", w, bar)
			}
		}
		for name, other := range map[string]session.State{
			"ended": {Tier: policy.Airlock, Tasks: []session.Task{{Tier: policy.Guarded, Started: noon, Ended: noon}}}, "narrower": {Tier: policy.Guarded, Tasks: []session.Task{{Tier: policy.Airlock, Started: noon}}},
			"the same": {Tier: policy.Guarded, Tasks: []session.Task{{Tier: policy.Guarded, Started: noon}}}, "fixed": {Mode: policy.ReadOnlyMode, Tasks: []session.Task{{Tier: policy.Guarded, Started: noon}}},
		} {
			if bar := statusBar(other, "", 130, o); strings.Contains(bar, "from") || strings.Contains(bar, "for new") {
				t.Errorf("%s: %q", name, bar)
			}
		}
	}
}

// Whatever the state, the bar is one line that fits, with the tier in it, and
// nothing but bawn's own styles acts on the terminal.
func TestStatusBarFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := session.State{
			Workspace: "/" + anyText().Draw(t, "workspace"), Tier: policy.Tier(rapid.IntRange(0, 2).Draw(t, "tier")),
			Allowed: rapid.IntRange(0, 1<<40).Draw(t, "allowed"), Denied: rapid.IntRange(0, 1<<40).Draw(t, "denied"),
			Questions: make([]session.Question, rapid.IntRange(0, 512).Draw(t, "questions")),
			Tasks:     []session.Task{{Kind: session.Foreground, Ended: noon, Code: rapid.IntRange(0, 255).Draw(t, "code")}, {Started: noon}},
		}
		o := testOptions(&clock{noon})
		o.Look = Look{Color: rapid.Bool().Draw(t, "color"), ASCII: rapid.Bool().Draw(t, "ascii")}
		w := rapid.IntRange(1, 140).Draw(t, "width")
		bar := statusBar(st, rapid.SampledFrom([]string{"", anyText().Draw(t, "note")}).Draw(t, "has note"), w, o)
		if got := ansi.StringWidth(bar); got > w || strings.Contains(bar, "\n") {
			t.Fatalf("%d cells of %d: %q", got, w, bar)
		}
		if w >= 20 && !strings.Contains(ansi.Strip(bar), st.Tier.String()) {
			t.Fatalf("no tier: %q", bar)
		}
		onlyStyles(t, bar, o.Look)
	})
}

// anyText is what a command, a file's name or a host may hold.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOf(rapid.SampledFrom(hostile)), func(s []string) string { return strings.Join(s, "") }),
	)
}

// hostile are pieces that act on a terminal, hide, or change their neighbours.
var hostile = []string{
	"\x1b[2J", "\x1b]52;c;eA==\x07", "\x1b[31m", "\x9b31m", "\xc2\x9b31m", "\r", "\n", "\t", "\x00", "\x7f", "\u202e", "\u2066", "\u200b", "\u00a0", "\u0301",
	"e\u0301\u0302", "\u3164", "\u2800", "\u115f\u1161", "👩\u200d🔬", "🇩🇪", "👍🏽", "日本", "مرحبا", "שלום", "\xff", "\ufe0f", "\U000e0041", "ﷺ", "a", " ", "\\x1b", "﷽",
}

type failer interface{ Fatalf(string, ...any) }

// onlyStyles fails if a text holds anything but characters that print, and
// bawn's own styles.
func onlyStyles(t failer, s string, l Look) {
	for line := range strings.SplitSeq(s, "\n") {
		rest := line
		for {
			i := strings.IndexByte(rest, 0x1b)
			if i < 0 {
				break
			}
			end := strings.IndexByte(rest[i:], 'm')
			if end < 0 || strings.Trim(rest[i+1:i+end], "[0123456789;") != "" || rest[i+1] != '[' {
				t.Fatalf("not a style of bawn's: %q", line)
			}
			rest = rest[:i] + rest[i+end+1:]
		}
		for _, r := range rest {
			if l.odd(r) {
				t.Fatalf("%q has %q", line, r)
			}
		}
		if strings.ContainsRune(rest, '\ufffd') && !strings.Contains(line, "\ufffd") {
			t.Fatalf("%q is not UTF-8", line)
		}
	}
}

func TestShortTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "0ms", 12 * time.Millisecond: "12ms", 999 * time.Millisecond: "999ms", 1290 * time.Millisecond: "1.2s", 59990 * time.Millisecond: "59.9s",
		61 * time.Second: "1m01s", 59*time.Minute + 59*time.Second: "59m59s", 90 * time.Minute: "1h30m",
	} {
		if got := shortTime(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{-1: "0 B", 0: "0 B", 999: "999 B", 1000: "1.0 kB", 9940: "9.9 kB", 9960: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 3_400_000: "3.4 MB", 1 << 62: "4.6 EB"} {
		if got := size(n); got != want || len(got) > 7 {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestLookOf(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want Look
	}{
		{map[string]string{"LANG": "en_GB.UTF-8", "TERM": "xterm"}, Look{Color: true}},
		{map[string]string{"LANG": "en_GB.utf8", "NO_COLOR": "1"}, Look{}},
		{map[string]string{"LANG": "en_GB.UTF-8", "LC_ALL": "C"}, Look{Color: true, ASCII: true}},
		{map[string]string{"LC_CTYPE": "C.UTF-8", "LANG": "C"}, Look{Color: true}},
		{map[string]string{"LANG": "en_GB.UTF-8", "TERM": "dumb"}, Look{ASCII: true}},
		{nil, Look{Color: true, ASCII: true}},
	} {
		if got := LookOf(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.env, got, tt.want)
		}
	}
}

// That commands are staged is said whatever else there is to say.
func TestStatusBar_Staged(t *testing.T) {
	o := Options{Keys: Keymap{}}
	for _, w := range []int{20, 40, 120} {
		for _, note := range []string{"", "a note that takes the place of much"} {
			st := session.State{Workspace: "/a/long/way/to/it", Tier: policy.Guarded, Staged: &session.StagedState{ID: "1"}}
			if bar := statusBar(st, note, w, o); !strings.Contains(bar, "staged") {
				t.Errorf("%d, %q: %q", w, note, bar)
			}
			st.Staged = nil
			if bar := statusBar(st, note, w, o); strings.Contains(bar, "staged") {
				t.Errorf("%d, %q: %q", w, note, bar)
			}
		}
	}
}

// Open is passed over while commands are staged.
func TestStaged_NextTier(t *testing.T) {
	f := &fake{st: session.State{Tier: policy.Airlock, Staged: &session.StagedState{ID: "1"}}}
	if note, ask := NextTier(f); ask != NoPage || f.st.Tier != policy.Guarded {
		t.Errorf("%q, %v, %v", note, ask, f.st.Tier)
	}
	for page, key := range map[Page]string{ConfigPage: "enter", HelpPage: "alt+s"} { // by the same rules
		f.st.Tier = policy.Airlock
		one := pageOf(t, page, f, &clock{noon}, Look{}, 80, 24)
		if one.keysOf(key); one.dialog != nil || f.st.Tier != policy.Guarded {
			t.Errorf("page %d: %v", page, f.st.Tier)
		}
	}
	f.st.Tier = policy.Guarded
	if note, ask := switchTo(f, policy.Open); ask != NoPage || f.st.Tier != policy.Guarded || !strings.Contains(note, "/stage off") {
		t.Errorf("%q, %v, %v", note, ask, f.st.Tier)
	}
	f.st.Tier, f.st.Staged = policy.Airlock, nil
	if _, ask := NextTier(f); ask != OpenPage {
		t.Errorf("%v", ask)
	}
}
