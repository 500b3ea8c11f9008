//go:build linux

package mcptest

import (
	"context"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/frontend/mcp"
)

// What a command in the background needs to know is asked by the calls about it:
// each has its own questions, and one that waits comes back with what is asked
// meanwhile.
func TestC5_AskedAboutABackgroundRun(t *testing.T) {
	d := open(t, options{version: "2026-07-28", client: &sdk.ClientOptions{
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: (&person{}).elicit,
	}})
	const hosts = 10 // more than one call asks
	r := into[mcp.RunResult](t, d.call("bash", args{
		"command": "echo up; read x; for i in $(seq 10); do curl -sS http://h$i.example/; done; echo over", "background": true,
	}))
	d.call("bash_output", args{"run_id": r.RunID, "wait_ms": 60_000}) // until it is up
	type answer struct {
		res *sdk.CallToolResult
		err error
	}
	look := func(state string, answers sdk.InputResponseMap) answer {
		res, err := d.cs.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "bash_output", Arguments: args{"run_id": r.RunID, "wait_ms": 60_000}, RequestState: state, InputResponses: answers,
		})
		return answer{res, err}
	}
	waits := make(chan answer, 1)
	go func() { waits <- look("", nil) }()
	d.works("bash_input", args{"run_id": r.RunID, "text": "go\n", "eof": true})
	asked := 0
	for got := <-waits; ; {
		if got.err != nil {
			t.Fatal(got.err)
		}
		if !got.res.NeedsInput() {
			if out := into[mcp.RunResult](t, result{CallToolResult: got.res}); !out.Running {
				break
			}
			got = look("", nil)
			continue
		}
		asked++
		no := sdk.InputResponseMap{}
		for k := range got.res.InputRequests {
			no[k] = &sdk.ElicitResult{Action: "decline"}
		}
		got = look(got.res.RequestState, no)
	}
	if asked != hosts {
		t.Errorf("asked %d times", asked)
	}
}

// The time that a person takes is not that of a command in the background.
func TestPersonsTimeInTheBackground(t *testing.T) {
	d := open(t, options{client: &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		select { // longer than the command has
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
		return &sdk.ElicitResult{Action: "decline"}, nil
	}}})
	r := into[mcp.RunResult](t, d.call("bash", args{"command": "curl -sS http://h.example/; echo over", "background": true, "timeout_ms": 3000}))
	for r.Running {
		r = into[mcp.RunResult](t, d.call("bash_output", args{"run_id": r.RunID, "wait_ms": 60_000}))
	}
	if r.TimedOut || code(r) != 0 {
		t.Errorf("%+v", r)
	}
}
