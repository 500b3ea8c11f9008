package mcp

import (
	"context"
	"encoding/json"

	"bawn/internal/frontend/mcp/protocol"
)

func (s *server) tools() []protocol.Tool {
	yes, no := true, false
	acts := protocol.Hints{Destructive: &yes, OpenWorld: &yes}
	looks := protocol.Hints{ReadOnly: true, OpenWorld: &no}
	writes := protocol.Hints{Destructive: &yes, OpenWorld: &no}
	tools := []protocol.Tool{
		protocol.NewTool("bash", "Run shell text in the sandbox. The output and what was denied come back; with background it goes on, and bash_output, bash_input and bash_kill work on its run_id.", acts, s.bash),
		protocol.NewTool("bash_output", "What a command wrote since the last time, or from an offset on; also of commands that have ended.", looks, s.output),
		protocol.NewTool("bash_input", "Type to a command that runs in the background or has a terminal.", acts, s.input),
		protocol.NewTool("bash_kill", "End a command and everything it started.", writes, s.kill),
		protocol.NewTool("run_tests", "Run the project's tests in the sandbox.", acts, s.runTests),
		protocol.NewTool("read_file", "Read a text file.", looks, s.readFile),
		protocol.NewTool("write_file", "Make a file, or replace all of it.", writes, s.writeFile).Long(),
		protocol.NewTool("edit_file", "Replace text in a file. It fails if the text is not there, is there more than once (without replace_all), or if the file changed since read_file.", writes, s.editFile).Long(),
		protocol.NewTool("fetch", "Read an http or https address, under the rules of the commands' network; pages become Markdown.", protocol.Hints{ReadOnly: true, OpenWorld: &yes}, s.fetch),
		protocol.NewTool("web_fetch", "Read any public http or https address, once the user has allowed that for the session.", protocol.Hints{ReadOnly: true, OpenWorld: &yes}, s.webFetch),
		protocol.NewTool("sandbox", "How commands run here: the tier, what they may write and reach, and whether a person can be asked.", looks, s.describe),
		protocol.NewTool("policy", "The whole policy: every path, host and rule.", looks, s.policy),
		protocol.NewTool("check", "Say whether something is allowed, and the rule behind it, without doing it.", looks, s.check),
	}
	if s.o.Search != "" {
		tools = append(tools, protocol.NewTool("web_search", "Search the web with the user's search service, under the rules of the commands' network.", protocol.Hints{ReadOnly: true, OpenWorld: &yes}, s.webSearch))
	}
	return tools
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

func (s *server) describe(_ context.Context, req *protocol.Request, _ noIn) (*protocol.Result, SandboxResult, error) {
	c := req.Client
	sess, err := s.session(c)
	if err != nil {
		return nil, SandboxResult{}, err
	}
	p, st := sess.Policy(), sess.State()
	out := SandboxResult{Tier: p.Tier().String(), Workspace: s.o.Workspace, Network: p.HasNetwork(), NoNetwork: st.NoNetwork, Asks: st.Asks && s.asks.present(), ReadIn: []string{}, WriteIn: []string{}}
	if p.Mode() != 0 {
		out.Mode = p.Mode().String()
	}
	read, write := s.o.Limits(p)
	out.ReadIn, out.WriteIn = append(out.ReadIn, read...), append(out.WriteIn, write...)
	text, _ := s.o.Describe(p)
	return textResult(text, false), out, nil
}

func (s *server) policy(_ context.Context, req *protocol.Request, _ noIn) (*protocol.Result, any, error) {
	sess, err := s.session(req.Client)
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

func (s *server) check(_ context.Context, req *protocol.Request, in checkIn) (*protocol.Result, any, error) {
	sess, err := s.session(req.Client)
	if err != nil {
		return nil, nil, err
	}
	if in.Action == "read" || in.Action == "write" {
		in.Object, err = s.path(in.Object)
		if err != nil {
			return nil, nil, err
		}
	}
	text, report, err := s.o.Check(sess, in.Action, in.Object)
	if err != nil {
		return nil, nil, err
	}
	return textResult(text, false), report, nil
}

func jsonResult(v any) (*protocol.Result, any, error) {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, nil, err
	}
	return textResult(string(b), false), v, nil
}
