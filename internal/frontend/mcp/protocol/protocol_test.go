package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoIn struct {
	Text  string   `json:"text" jsonschema:"what comes back"`
	Times int      `json:"times,omitempty"`
	Loud  bool     `json:"loud,omitempty"`
	More  []string `json:"more,omitempty"`
}

type echoOut struct {
	Said string `json:"said"`
}

// testServer has a tool for each thing that a client and a server do together.
func testServer(began chan<- context.Context) *Server {
	return &Server{Name: "test", Version: "1", Instructions: "be brief", Tools: []Tool{
		NewTool("echo", "says it", Hints{ReadOnly: true}, func(_ context.Context, r *Request, in echoIn) (*Result, echoOut, error) {
			if in.Text == "" {
				return nil, echoOut{}, errors.New("nothing to say")
			}
			r.Progress(1, "half")
			return nil, echoOut{strings.Repeat(in.Text, min(max(in.Times, 1), 9)) + strings.Join(in.More, "")}, nil
		}),
		NewTool("long", "takes what is long", Hints{}, func(_ context.Context, r *Request, in echoIn) (*Result, echoOut, error) {
			r.Taken()
			return nil, echoOut{fmt.Sprint(len(in.Text), " bytes")}, nil
		}).Long(),
		NewTool("much", "says much", Hints{}, func(context.Context, *Request, struct{}) (*Result, struct{}, error) {
			return &Result{Text: []string{strings.Repeat("x", maxListed/3)}}, struct{}{}, nil
		}),
		NewTool("wait", "waits to be cancelled", Hints{}, func(ctx context.Context, _ *Request, _ struct{}) (*Result, struct{}, error) {
			select {
			case began <- ctx:
			case <-ctx.Done():
			}
			<-ctx.Done()
			return nil, struct{}{}, ctx.Err()
		}),
		NewTool("ask", "asks", Hints{}, func(ctx context.Context, r *Request, _ struct{}) (*Result, echoOut, error) {
			f := Form{Message: "may I?", Field: "answer", Title: "Allow it?", Words: []string{"once", "deny"}}
			switch {
			case !r.Client.Elicits:
				return &Result{Text: []string{"nobody to ask"}}, echoOut{"nobody"}, nil
			case !r.Client.Parks():
				a, err := r.Client.Elicit(ctx, f)
				return nil, echoOut{fmt.Sprint(a.Action, a.Content["answer"])}, err
			case r.State == "":
				return &Result{Questions: map[string]Form{"q1": f}, State: "here"}, echoOut{}, nil
			}
			a := r.Answers["q1"]
			return nil, echoOut{fmt.Sprint(r.State, a.Action, a.Content["answer"])}, nil
		}),
	}}
}

// serve starts a server and gives the client's ends of its streams.
func serve(t *testing.T, began chan<- context.Context) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := testServer(began).Serve(context.Background(), fromClient, toClient)
		toClient.Close()
		done <- err
	}()
	t.Cleanup(func() {
		toServer.Close()
		fromServer.Close()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return toServer, fromServer
}

func connect(t *testing.T, version string, began chan<- context.Context, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	in, out := serve(t, began)
	client := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, o)
	cs, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: out, Writer: in}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func text(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("the result has %d parts", len(r.Content))
	}
	return r.Content[0].(*sdk.TextContent).Text
}

func TestRevisions(t *testing.T) {
	for _, version := range Versions {
		t.Run(version, func(t *testing.T) {
			progress := make(chan string, 1)
			began := make(chan context.Context, 1)
			o := &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					if r.Params.Message != "may I?" {
						t.Errorf("asked %q", r.Params.Message)
					}
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Message },
			}
			cs := connect(t, version, began, o)
			if got := cs.InitializeResult(); got.ProtocolVersion != version || got.Instructions != "be brief" || got.ServerInfo.Name != "test" {
				t.Errorf("the server says %+v", got)
			}
			tools, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(tools.Tools) != 5 || tools.Tools[0].Name != "echo" {
				t.Fatalf("tools: %v", tools.Tools)
			}
			schema, _ := json.Marshal(tools.Tools[0].InputSchema)
			want := `{"properties":{"loud":{"type":"boolean"},"more":{"items":{"type":"string"},"type":"array"},"text":{"description":"what comes back","type":"string"},"times":{"type":"integer"}},"required":["text"],"type":"object"}`
			if string(schema) != want {
				t.Errorf("schema %s", schema)
			}

			p := &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "a<b", "times": 2, "description": "stray"}}
			p.SetProgressToken("token")
			res, err := cs.CallTool(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, res); got != `{"said":"a<ba<b"}` || res.IsError {
				t.Errorf("echo says %q", got)
			}
			if got := <-progress; got != "half" {
				t.Errorf("progress %q", got)
			}
			if s, _ := json.Marshal(res.StructuredContent); !strings.Contains(string(s), "said") {
				t.Errorf("structured %s", s)
			}

			for args, why := range map[string]string{`{"text":""}`: "nothing to say", `{}`: `echo: "text" is missing`, `{"text":null}`: `echo: "text" is null`, `{"TEXT":"x"}`: `echo: "text" is missing`, `{"text":7}`: `echo: "text" is a number; it must be of type string`} {
				res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: json.RawMessage(args)})
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, res); got != why || !res.IsError {
					t.Errorf("echo %s says %q", args, got)
				}
			}
			if _, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "other"}); err == nil || !strings.Contains(err.Error(), "there are echo, long, much, wait, ask") {
				t.Errorf("a tool that is not there: %v", err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "wait"})
				ended <- err
			}()
			call := <-began
			cancel()
			<-call.Done()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled call: %v", err)
			}

			res, err = cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask"})
			if err != nil {
				t.Fatal(err)
			}
			said := `{"said":"acceptonce"}`
			if version >= Stateless {
				said = `{"said":"hereacceptonce"}`
			}
			if got := text(t, res); got != said {
				t.Errorf("ask says %q", got)
			}
			if version < Stateless {
				if err := cs.Ping(t.Context(), nil); err != nil {
					t.Errorf("ping: %v", err)
				}
			}
		})
	}
}

func TestNobodyToAsk(t *testing.T) {
	for _, version := range Versions {
		res, err := connect(t, version, nil, nil).CallTool(t.Context(), &sdk.CallToolParams{Name: "ask"})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, res); got != "nobody to ask" {
			t.Errorf("%s: ask says %q", version, got)
		}
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	cs := connect(t, Stateless, nil, nil)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			want := fmt.Sprintf("n%d.", i)
			res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": want}})
			if err != nil {
				t.Error(err)
			} else if got := text(t, res); got != `{"said":"`+want+`"}` {
				t.Errorf("call %d got %q", i, got)
			}
		})
	}
	all.Wait()
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// Lines that are no messages are answered, and the connection goes on.
func TestBrokenLines(t *testing.T) {
	in, out := serve(t, nil)
	answers := bufio.NewReader(out)
	say := func(line string) string {
		t.Helper()
		go func() { _, _ = io.WriteString(in, line+"\n") }()
		got, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(got)
	}
	code := func(n int, id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,`, id, n)
	}
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, code(codeInvalidRequest, "7")}, // before initialize
		{`{"jsonrpc":"2.0","id":7,"method":"server/discover"}`, code(codeNoMethod, "7")},
		{`nonsense`, code(codeParse, "null")},
		{`{"jsonrpc":"2.0","id":1,`, code(codeParse, "null")},
		{`42`, code(codeInvalidRequest, "null")},
		{`"x"`, code(codeInvalidRequest, "null")},
		{`[]`, code(codeInvalidRequest, "null")},
		{`{}`, code(codeInvalidRequest, "null")},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, code(codeInvalidRequest, "null")},
		{`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, code(codeInvalidRequest, "null")},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, code(codeInvalidRequest, "null")},
		{`{"jsonrpc":"2.0","id":5}`, code(codeInvalidRequest, "5")},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, code(codeInvalidParams, "1")},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`, code(codeInvalidParams, "1")},
		{strings.Repeat("x", MaxLine+2), code(codeParse, "null")},
		{hello, `{"jsonrpc":"2.0","id":1,"result":{`},
		{hello, code(codeInvalidRequest, "1")},
		{`{"jsonrpc":"2.0","id":2,"method":"nonsense"}`, code(codeNoMethod, "2")},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":7}`, code(codeInvalidParams, "2")},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":[]}}`, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"echo: the arguments are no JSON object"`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-01-01"}}}`, code(codeVersion, "2")},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, code(codeInvalidParams, "2")},
		{`{"jsonrpc":"2.0","id":"bawn-1","result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"s","method":"ping"}`, `{"jsonrpc":"2.0","id":"s","result":{}}`}, // an answer to nothing
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxID) + `","method":"ping"}`, code(codeInvalidRequest, "null")},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", maxSmall) + `"}}}`, code(codeInvalidParams, "2")},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"long","arguments":{"text":"x"},"x":"` + strings.Repeat("x", maxSmall) + `"}}`, code(codeInvalidParams, "2")},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"long","arguments":{"text":"` + strings.Repeat("x", maxSmall) + `"}}}`, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"said\":\"262144 bytes\"}"}`},
		{`[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`, `[{"jsonrpc":"2.0","id":3,"result":{}}]`},
	} {
		if got := say(c.line); !strings.HasPrefix(got, c.want) {
			t.Errorf("%.80s\n gives %.200s\n want  %s", c.line, got, c.want)
		}
	}
}

// What waits for the rest of its list is bounded, and counted again when the list
// was answered: the next one has as much room.
func TestListBounded(t *testing.T) {
	in, out := serve(t, nil)
	answers := bufio.NewReader(out)
	call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"much"}}`
	list := fmt.Sprintf("["+call+","+call+","+call+","+call+"]\n", 1, 2, 3, 4)
	for _, say := range []string{hello + "\n", list, list} {
		go func() { _, _ = io.WriteString(in, say) }()
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(line, `"result":`); say == list && (got != 2 || strings.Count(line, "ask for this alone") != 2 || len(line) > maxListed) {
			t.Errorf("%d results in %d bytes", got, len(line))
		}
	}
	in.Close()
	_, _ = io.Copy(io.Discard, answers)
}

// The end of the client's stream ends the calls that are worked on.
func TestEndOfInput(t *testing.T) {
	began := make(chan context.Context, 1)
	in, out := serve(t, began)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	_, _ = io.WriteString(in, hello+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`+"\n")
	call := <-began
	in.Close()
	<-call.Done()
}

// Whatever comes, the server answers or not, and goes on.
func FuzzLine(f *testing.F) {
	f.Add(hello)
	f.Add(`[{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
	f.Add(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x","times":-1},"_meta":{"progressToken":1}}}`)
	f.Add(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","requestState":"x","inputResponses":{"q1":{"action":"accept"}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`)
	f.Fuzz(func(t *testing.T, line string) {
		began := make(chan context.Context, 1)
		in := io.MultiReader(strings.NewReader(line+"\n"+hello+"\n"+line+"\n"), strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n"))
		var out strings.Builder
		if err := testServer(began).Serve(t.Context(), in, &out); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if !json.Valid([]byte(l)) || !strings.HasSuffix(l, "\n") {
				t.Errorf("no message: %q", l)
			}
		}
	})
}
