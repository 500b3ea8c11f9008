//go:build linux

package mcptest

import (
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

// user writes the user's settings.
func user(t *testing.T, text string) func(*sandboxtest.Box) {
	return func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), text)
	}
}

// A saved tier that is wider than guarded does not hold, a stricter one does, and
// so does what was typed.
func TestT8_SavedTier(t *testing.T) {
	for _, c := range []struct {
		saved string
		flags []string
		want  string
	}{
		{"open", nil, "guarded"}, {"airlock", nil, "airlock"}, {"open", []string{"--tier", "open"}, "open"}, {"airlock", []string{"--tier", "guarded"}, "guarded"},
	} {
		d := open(t, options{flags: c.flags, prepare: user(t, "[sandbox]\ndefault_tier = \""+c.saved+"\"\n")})
		if got := into[mcp.SandboxResult](t, d.works("sandbox", args{})).Tier; got != c.want {
			t.Errorf("saved %s, %v: %s, want %s", c.saved, c.flags, got, c.want)
		}
	}
}

// The permission mode is for web_fetch alone: a command was approved by whoever
// let the agent call the tool. A deny rule is for good.
func TestC1_PermissionModes(t *testing.T) {
	for _, c := range []struct {
		settings string
		fetches  bool
	}{
		{"mode = \"ask\"", false}, {"mode = \"auto\"", true}, {"mode = \"bypass\"", true},
		{"mode = \"ask\"\nallow = [\"web_fetch *\"]", true}, {"mode = \"bypass\"\ndeny = [\"web_fetch *\"]", false},
	} {
		d := open(t, options{prepare: user(t, "[permissions]\n"+c.settings+"\n")})
		if r := d.bash("echo ran"); r.Stdout != "ran\n" {
			t.Errorf("%s: %+v", c.settings, r)
		}
		// Nothing is sent: the address is refused by the one who would.
		res := d.call("web_fetch", args{"url": "http://127.0.0.1:9/"})
		if ran := strings.Contains(res.text, "no public address"); ran != c.fetches || !res.IsError {
			t.Errorf("%s: %s", c.settings, res.text)
		}
	}
}

// One call of the newest revision asks eight times, then no more: its client would
// give up. Before, the server asks for each.
func TestQuestionsOfOneCall(t *testing.T) {
	for version, most := range map[string]int{"2026-07-28": 8, "2025-11-25": 10} {
		p := new(person) // who dismisses each
		d := open(t, options{version: version, client: &sdk.ClientOptions{ElicitationHandler: p.elicit}})
		r := d.bash("for i in 0 1 2 3 4 5 6 7 8 9; do curl -s -o /dev/null -w '%{http_code} ' http://h$i.example/; done")
		if asked := len(p.asked); asked != most || r.Stdout != strings.Repeat("403 ", 10) || len(r.Denied) != 10 {
			t.Errorf("%s: asked %d times, %+v", version, len(p.asked), r)
		}
	}
}

// read_file is asked about once, when the first file is read, and without its
// path; a change is asked about each time.
func TestC1_AskedOfFileTools(t *testing.T) {
	p := &person{answers: []sdk.ElicitResult{says("once"), says("once"), says("once")}}
	d := open(t, options{client: &sdk.ClientOptions{ElicitationHandler: p.elicit}, prepare: user(t, "[permissions]\nask = [\"read_file\", \"edit_file *\"]\n")})
	for range 3 {
		d.works("read_file", args{"path": "a.txt"})
	}
	d.works("edit_file", args{"path": "a.txt", "old_string": "one", "new_string": "1"})
	d.works("edit_file", args{"path": "a.txt", "old_string": "two", "new_string": "2"})
	if len(p.asked) != 3 || strings.Contains(p.asked[0], "a.txt") || !strings.Contains(p.asked[1], "a.txt") || !strings.Contains(p.asked[2], "a.txt") {
		t.Errorf("%q", p.asked)
	}
}
