//go:build linux

package mcptest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

// person answers questions in turn, and keeps what was asked.
type person struct {
	mu      sync.Mutex
	answers []sdk.ElicitResult
	asked   []string
	offered []string
}

func (p *person) elicit(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Params.Message)
	schema, _ := r.Params.RequestedSchema.(map[string]any)
	props, _ := schema["properties"].(map[string]any)
	answer, _ := props["answer"].(map[string]any)
	words, _ := answer["enum"].([]any)
	var list []string
	for _, w := range words {
		s, _ := w.(string)
		list = append(list, s)
	}
	p.offered = append(p.offered, strings.Join(list, " "))
	if len(p.answers) == 0 {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return &a, nil
}

func says(word string) sdk.ElicitResult {
	return sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": word}}
}

// asking is a user's settings by which touch is asked about.
func asking(t *testing.T) func(*sandboxtest.Box) {
	return func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = [\"touch *\"]\n")
	}
}

// In every revision a client that can ask is asked, by what that revision has
// for it, and only its yes is one.
func TestC5_Asked(t *testing.T) {
	for _, v := range sdk.SupportedProtocolVersions() {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				name   string
				answer sdk.ElicitResult
				runs   bool
			}{
				{"once", says("once"), true}, {"deny", says("deny"), false}, {"decline", sdk.ElicitResult{Action: "decline"}, false},
				{"cancel", sdk.ElicitResult{Action: "cancel"}, false}, {"always", says("always"), false}, {"not offered", says("session"), false},
			} {
				p := &person{answers: []sdk.ElicitResult{c.answer}}
				d := open(t, options{version: v, client: &sdk.ClientOptions{ElicitationHandler: p.elicit}, prepare: asking(t)})
				res, err := d.tryCall(t.Context(), "bash", args{"command": "touch made"})
				_, made := os.Stat(filepath.Join(d.Workspace, "made"))
				if (made == nil) != c.runs {
					t.Errorf("%s: %v, %v", c.name, made, res.text)
				}
				if v >= "2026-07-28" && err != nil && (c.name == "always" || c.name == "not offered") {
					continue // the client itself refuses that, and does not come back
				}
				if err != nil || !c.runs && (!res.IsError || len(into[mcp.RunResult](t, res).Denied) != 1) {
					t.Errorf("%s: %v, %s", c.name, err, res.text)
				}
				if len(p.asked) != 1 || !strings.Contains(p.asked[0], "touch made") || p.offered[0] != "once deny" {
					t.Errorf("%s: asked %q, offered %q", c.name, p.asked, p.offered)
				}
			}
		})
	}
}

// A client that cannot ask has a denial at once, with what would lift it.
func TestT8_NobodyToAsk(t *testing.T) {
	for _, v := range sdk.SupportedProtocolVersions() {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			d := open(t, options{version: v, prepare: asking(t)})
			res := d.call("bash", args{"command": "touch made"})
			r := into[mcp.RunResult](t, res)
			if !res.IsError || code(r) != 125 || len(r.Denied) != 1 || r.Denied[0].Kind != "run" || !strings.Contains(res.text, "nobody to ask") ||
				!strings.Contains(r.Denied[0].Hint, "[permissions]") || strings.Contains(res.text, "terminal") {
				t.Errorf("%+v\n%s", r, res.text)
			}
			if _, err := os.Stat(filepath.Join(d.Workspace, "made")); err == nil {
				t.Error("it ran")
			}
			// A host that nobody can be asked about.
			r = d.bash("curl -sS http://other.example/")
			if code(r) == 0 || len(r.Denied) == 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// check says what a command would meet now: nobody to ask, a question, or what was
// said to it.
func TestCheckKnowsTheAnswers(t *testing.T) {
	check := func(d *desk, object string) string {
		t.Helper()
		return into[struct{ Verdict string }](t, d.call("check", args{"action": "connect", "object": object})).Verdict
	}
	if got := check(open(t, options{}), "h.example:80"); got != "deny" {
		t.Errorf("nobody to ask: %s", got)
	}
	p := &person{answers: []sdk.ElicitResult{says("session"), {Action: "decline"}}}
	d := open(t, options{client: &sdk.ClientOptions{ElicitationHandler: p.elicit}})
	for _, want := range []string{"allow", "deny"} {
		host := want + ".example"
		if got := check(d, host+":80"); got != "ask" {
			t.Errorf("before: %s", got)
		}
		d.bash("curl -sS http://" + host + "/")
		if got := check(d, host+":80"); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
}

// A server in airlock names a way out that its user has: no key is pressed here.
func TestN8_AirlockInAServer(t *testing.T) {
	d := open(t, options{flags: []string{"--tier", "airlock"}})
	for tool, a := range map[string]args{
		"bash": {"command": "curl -sS http://x.example/"}, "fetch": {"url": "http://x.example/"}, "web_fetch": {"url": "http://x.example/"},
		"check": {"action": "connect", "object": "x.example"},
	} {
		if res := d.call(tool, a); !strings.Contains(res.text, "--tier guarded, where this is started") || strings.Contains(res.text, "/tier") {
			t.Errorf("%s: %s", tool, res.text)
		}
	}
}

// --no-prompt asks nobody, whatever the client can do.
func TestT8_NoPrompt(t *testing.T) {
	p := &person{answers: []sdk.ElicitResult{says("once")}}
	for _, flags := range [][]string{{"--no-prompt"}, {"--sandbox", "workspace-write"}} {
		d := open(t, options{flags: flags, client: &sdk.ClientOptions{ElicitationHandler: p.elicit}, prepare: asking(t)})
		if res := d.call("bash", args{"command": "touch made"}); !res.IsError || len(p.asked) != 0 {
			t.Errorf("%v: %s, asked %q", flags, res.text, p.asked)
		}
	}
}

// The state of a parked call is good once, for the same call, and cannot be
// guessed.
func TestParkedState(t *testing.T) {
	d := open(t, options{version: "2026-07-28", client: &sdk.ClientOptions{
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: (&person{}).elicit,
	}, prepare: asking(t)})
	call := func(command, state string, answers sdk.InputResponseMap) *sdk.CallToolResult {
		t.Helper()
		res, err := d.cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "bash", Arguments: args{"command": command}, RequestState: state, InputResponses: answers})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := call("touch made", "", nil)
	if !first.NeedsInput() || len(first.RequestState) < 20 || len(first.InputRequests) != 1 {
		t.Fatalf("%+v", first)
	}
	yes := sdk.InputResponseMap{}
	for k := range first.InputRequests {
		a := says("once")
		yes[k] = &a
	}
	if second := call("touch made", "", nil); second.RequestState == first.RequestState {
		t.Error("the same state twice")
	}
	for _, bad := range []struct{ command, state string }{{"touch other", first.RequestState}, {"touch made", "x"}, {"touch made", strings.ToLower(first.RequestState)}} {
		if res := call(bad.command, bad.state, yes); !res.IsError {
			t.Errorf("%v: %+v", bad, res)
		}
	}
	// Words that were not offered, from a client that does not check.
	for _, word := range []string{"always", "session", "ONCE", ""} {
		asked := call("touch made", "", nil)
		given := sdk.InputResponseMap{}
		for k := range asked.InputRequests {
			a := says(word)
			given[k] = &a
		}
		if res := call("touch made", asked.RequestState, given); !res.IsError {
			t.Errorf("%q: %+v", word, res)
		}
	}
	if _, err := os.Stat(filepath.Join(d.Workspace, "made")); err == nil {
		t.Fatal("it ran without an answer")
	}
	if res := call("touch made", first.RequestState, yes); res.IsError {
		t.Errorf("%+v", res)
	}
	if _, err := os.Stat(filepath.Join(d.Workspace, "made")); err != nil {
		t.Error(err)
	}
	if res := call("touch made", first.RequestState, yes); !res.IsError {
		t.Error("the state was good twice")
	}
}
