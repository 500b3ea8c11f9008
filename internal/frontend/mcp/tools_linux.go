package mcp

import (
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// add adds one tool. Its input may have further keys: models add some.
func add[In, Out any](srv *sdk.Server, name, what string, hints sdk.ToolAnnotations, h sdk.ToolHandlerFor[In, Out]) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // the type is this program's
	}
	schema.AdditionalProperties = &jsonschema.Schema{}
	sdk.AddTool(srv, &sdk.Tool{Name: name, Description: what, Annotations: &hints, InputSchema: schema}, h)
}

func (s *server) addTools(srv *sdk.Server) {
	yes, no := true, false
	acts := sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
	looks := sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	writes := sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no}
	add(srv, "bash", "Run shell text in the sandbox. The output and what was denied come back; with background it goes on, and bash_output, bash_input and bash_kill work on its run_id.", acts, s.bash)
	add(srv, "bash_output", "What a command wrote since the last time, or from an offset on; also of commands that have ended.", looks, s.output)
	add(srv, "bash_input", "Type to a command that runs in the background or has a terminal.", acts, s.input)
	add(srv, "bash_kill", "End a command and everything it started.", writes, s.kill)
	add(srv, "run_tests", "Run the project's tests in the sandbox.", acts, s.runTests)
	add(srv, "read_file", "Read a text file.", looks, s.readFile)
	add(srv, "write_file", "Make a file, or replace all of it.", writes, s.writeFile)
	add(srv, "edit_file", "Replace text in a file. It fails if the text is not there, is there more than once (without replace_all), or if the file changed since read_file.", writes, s.editFile)
	add(srv, "fetch", "Read an http or https address, under the rules of the commands' network; pages become Markdown.", sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &yes}, s.fetch)
	add(srv, "web_fetch", "Read any public http or https address, once the user has allowed that for the session.", sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &yes}, s.webFetch)
	add(srv, "sandbox", "How commands run here: the tier, what they may write and reach, and whether a person can be asked.", looks, s.describe)
	add(srv, "policy", "The whole policy: every path, host and rule.", looks, s.policy)
	add(srv, "check", "Say whether something is allowed, and the rule behind it, without doing it.", looks, s.check)
}

type noIn struct{}

// SandboxResult is how commands run.
type SandboxResult struct {
	Tier      string   `json:"tier"`
	Mode      string   `json:"mode,omitempty"`
	Workspace string   `json:"workspace"`
	ReadIn    []string `json:"file_tools_read"`  // folders; empty is no limit
	WriteIn   []string `json:"file_tools_write"` // folders; empty is no limit
	Network   bool     `json:"network"`
	NoNetwork string   `json:"no_network,omitempty"` // why
	Asks      bool     `json:"asks"`                 // a person can be asked
}

func (s *server) describe(_ context.Context, req *sdk.CallToolRequest, _ noIn) (*sdk.CallToolResult, SandboxResult, error) {
	c := clientOf(req.Session, req.ClientCapabilities(), req.ProtocolVersion())
	sess, err := s.session(c)
	if err != nil {
		return nil, SandboxResult{}, err
	}
	p, st := sess.Policy(), sess.State()
	out := SandboxResult{Tier: p.Tier().String(), Workspace: s.o.Workspace, Network: p.HasNetwork(), NoNetwork: st.NoNetwork, Asks: c.elicits && st.Asks, ReadIn: []string{}, WriteIn: []string{}}
	if p.Mode() != 0 {
		out.Mode = p.Mode().String()
	}
	read, write := s.o.Limits(p)
	out.ReadIn, out.WriteIn = append(out.ReadIn, read...), append(out.WriteIn, write...)
	text, _ := s.o.Describe(p)
	return textResult(text, false), out, nil
}

func (s *server) policy(_ context.Context, req *sdk.CallToolRequest, _ noIn) (*sdk.CallToolResult, any, error) {
	sess, err := s.session(clientOf(req.Session, req.ClientCapabilities(), req.ProtocolVersion()))
	if err != nil {
		return nil, nil, err
	}
	_, report := s.o.Describe(sess.Policy())
	return jsonResult(report)
}

type checkIn struct {
	Action string `json:"action" jsonschema:"read, write, connect or run"`
	Object string `json:"object" jsonschema:"a path, HOST[:PORT], or shell text"`
}

func (s *server) check(_ context.Context, req *sdk.CallToolRequest, in checkIn) (*sdk.CallToolResult, any, error) {
	sess, err := s.session(clientOf(req.Session, req.ClientCapabilities(), req.ProtocolVersion()))
	if err != nil {
		return nil, nil, err
	}
	text, report, err := s.o.Check(sess.Policy(), in.Action, in.Object)
	if err != nil {
		return nil, nil, err
	}
	return textResult(text, false), report, nil
}

func jsonResult(v any) (*sdk.CallToolResult, any, error) {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, nil, err
	}
	return textResult(string(b), false), v, nil
}
