package hook

import "encoding/json"

// Agent is an agent whose hooks can be answered: the shape of its events and
// answers, as data.
type Agent struct {
	Name string // as it is typed: bawn hook NAME

	event  string   // the key that names the event; "" if there is none
	events []string // the events that are answered
	tool   string   // the key of the tool's name
	input  string   // the key of what the tool is given
	dirs   []string // keys of the working folder, the first that is there

	// Project is the variable that names the project's folder; "" if the
	// event's folder is it.
	Project string
	tools   map[string]tool

	// shim is the variable that names the program through which this agent
	// runs commands; "" if its hook may change the command instead.
	shim string

	deny    func(reason string) any
	ask     func(reason string) any                               // nil: its hooks cannot ask
	rewrite func(in map[string]json.RawMessage, field string) any // field: what was changed
}

// tool is what is known of a tool: what it does, and which fields of its input
// name the command, files or addresses.
type tool struct {
	kind   Kind
	fields []string
	globs  []string // of Search: name patterns, which may lead out of the folder
	prose  string   // of Fetch: a field whose text has the addresses in it
	patch  bool     // fields hold a patch that names the files
	into   string   // of Fetch: names the file that is written
	why    string   // of Refused
}

func never(why string) tool { return tool{kind: Refused, why: why} }

const unhooked = "hooks do not see what sub-agents run, so their commands would run outside the sandbox"

// globbed is a search by a pattern.
func globbed(pattern string, fields ...string) tool {
	return tool{kind: Search, fields: fields, globs: []string{pattern}}
}

func on(k Kind, fields ...string) tool { return tool{kind: k, fields: fields} }

// ShimVariable is the variable that names the program through which the agent
// runs commands; "" for agents that have none.
func (a *Agent) ShimVariable() string { return a.shim }

// names are the agents, in the order of the documentation.
var names = [...]string{"claude", "codex", "gemini", "opencode", "copilot", "cursor", "goose", "crush"}

// Names are the agents, in the order of the documentation.
func Names() []string { return append([]string(nil), names[:]...) }

// Sample is an event in which the agent is about to use a tool of a kind; nil
// if it has none.
func (a *Agent) Sample(k Kind, value, dir string) []byte {
	for name, t := range a.tools {
		if t.kind == k && len(t.fields) > 0 && !t.patch {
			e := obj{a.tool: name, a.input: obj{t.fields[0]: value}, a.dirs[0]: dir}
			if a.event != "" {
				e[a.event] = a.events[0]
			}
			data, err := marshal(e)
			if err != nil {
				return nil
			}
			return data
		}
	}
	return nil
}

func (a *Agent) answers(event string) bool {
	for _, e := range a.events {
		if e == event {
			return true
		}
	}
	return false
}

func (a *Agent) folder(top map[string]json.RawMessage) string {
	for _, key := range a.dirs {
		if s, ok := text(top[key]); ok && s != "" {
			return s
		}
		var list []string
		if json.Unmarshal(top[key], &list) == nil && len(list) > 0 {
			return list[0]
		}
	}
	return ""
}

type obj = map[string]any

// claude is the shape that several agents share.
func claude(fields obj) any {
	fields["hookEventName"] = "PreToolUse"
	return obj{"hookSpecificOutput": fields}
}

func claudeSays(decision string) func(string) any {
	return func(reason string) any {
		return claude(obj{"permissionDecision": decision, "permissionDecisionReason": reason})
	}
}

func decision(word string) func(string) any {
	return func(reason string) any { return obj{"decision": word, "reason": reason} }
}

// Find returns the agent of a name; nil if there is none. It is a function, not a
// table: a hook's answer makes one agent, and all else none.
func Find(name string) *Agent {
	switch name {
	case "claude":
		return &Agent{
			Name: "claude", event: "hook_event_name", events: []string{"PreToolUse"},
			tool: "tool_name", input: "tool_input", dirs: []string{"cwd"}, Project: "CLAUDE_PROJECT_DIR",
			shim: "CLAUDE_CODE_SHELL_PREFIX",
			tools: map[string]tool{
				"Bash": on(Shell, "command"), "PowerShell": never("it is run without bawn's shell; use Bash"),
				"Read": on(Read, "file_path"), "NotebookRead": on(Read, "notebook_path"),
				"Write": on(Write, "file_path"), "Edit": on(Write, "file_path"), "MultiEdit": on(Write, "file_path"), "NotebookEdit": on(Write, "notebook_path"),
				"Glob": globbed("pattern", "path"), "Grep": on(Search, "path"), "LS": on(Search, "path"),
				"WebFetch": on(Fetch, "url"), "WebSearch": on(WebSearch),
			},
			deny: claudeSays("deny"), ask: claudeSays("ask"),
		}
	case "codex":
		return &Agent{
			Name: "codex", event: "hook_event_name", events: []string{"PreToolUse"},
			tool: "tool_name", input: "tool_input", dirs: []string{"cwd"},
			tools: map[string]tool{
				"Bash": on(Shell, "command"), "apply_patch": {kind: Write, fields: []string{"command", "input", "patch"}, patch: true},
			},
			deny: claudeSays("deny"),
			// Without the word "allow" it runs the command as it was.
			rewrite: func(in map[string]json.RawMessage, _ string) any {
				return claude(obj{"permissionDecision": "allow", "updatedInput": in})
			},
		}
	case "gemini":
		return &Agent{
			Name: "gemini", event: "hook_event_name", events: []string{"BeforeTool"},
			tool: "tool_name", input: "tool_input", dirs: []string{"cwd"}, Project: "GEMINI_PROJECT_DIR",
			tools: map[string]tool{
				"run_shell_command": on(Shell, "command"),
				"read_file":         on(Read, "file_path", "absolute_path"), "read_many_files": {kind: Search, globs: []string{"include", "paths"}},
				"write_file": on(Write, "file_path"), "replace": on(Write, "file_path"),
				"list_directory": on(Search, "dir_path", "path"), "glob": globbed("pattern", "dir_path", "path"),
				"grep_search": on(Search, "dir_path", "path"), "search_file_content": on(Search, "dir_path", "path"),
				"web_fetch": {kind: Fetch, fields: []string{"url"}, prose: "prompt"}, "google_web_search": on(WebSearch),
			},
			deny: decision("deny"),
			rewrite: func(in map[string]json.RawMessage, field string) any {
				return obj{"hookSpecificOutput": obj{"hookEventName": "BeforeTool", "tool_input": obj{field: in[field]}}}
			},
		}
	case "opencode": // bawn's own plugin sends these and throws on anything but an answer
		return &Agent{
			Name: "opencode", tool: "tool", input: "args", dirs: []string{"directory"},
			tools: map[string]tool{
				"bash": on(Shell, "command"),
				"read": on(Read, "filePath"), "write": on(Write, "filePath"), "edit": on(Write, "filePath"),
				"patch": {kind: Write, fields: []string{"patchText"}, patch: true}, "apply_patch": {kind: Write, fields: []string{"patchText"}, patch: true},
				"glob": globbed("pattern", "path"), "grep": on(Search, "path"), "list": on(Search, "path"),
				"webfetch": on(Fetch, "url"), "websearch": on(WebSearch), "codesearch": on(WebSearch),
			},
			deny:    func(reason string) any { return obj{"deny": reason} },
			rewrite: func(in map[string]json.RawMessage, field string) any { return obj{"args": obj{field: in[field]}} },
		}
	case "copilot":
		return &Agent{
			Name: "copilot", tool: "toolName", input: "toolArgs", dirs: []string{"cwd"},
			tools: map[string]tool{
				"bash": on(Shell, "command"), "powershell": never("its commands cannot be put into the sandbox; use bash"),
				"view": on(Read, "path"), "create": on(Write, "path"), "edit": on(Write, "path"), "str_replace_editor": on(Write, "path"),
				"apply_patch": {kind: Write, fields: []string{"patch", "input"}, patch: true},
				"grep":        on(Search, "path", "paths"), "glob": globbed("pattern", "path"), "rg": on(Search, "path", "paths"),
				"web_fetch": on(Fetch, "url"), "web_search": on(WebSearch),
			},
			deny: func(reason string) any {
				return obj{"permissionDecision": "deny", "permissionDecisionReason": reason}
			},
			ask: func(reason string) any {
				return obj{"permissionDecision": "ask", "permissionDecisionReason": reason}
			},
			rewrite: func(in map[string]json.RawMessage, _ string) any { return obj{"modifiedArgs": in} },
		}
	case "cursor":
		return &Agent{
			Name: "cursor", event: "hook_event_name", events: []string{"preToolUse", "PreToolUse"},
			tool: "tool_name", input: "tool_input", dirs: []string{"workspace_roots", "cwd"},
			tools: map[string]tool{
				"Shell": on(Shell, "command"),
				"Read":  on(Read, "file_path", "path", "target_file"), "Write": on(Write, "file_path", "path", "target_file"),
				"Edit": on(Write, "file_path", "path", "target_file"), "StrReplace": on(Write, "file_path", "path", "target_file"),
				"Delete": on(Write, "file_path", "path", "target_file"), "Grep": on(Search, "path"), "Glob": globbed("glob_pattern", "path", "target_directory"),
			},
			deny: func(reason string) any {
				return obj{"permission": "deny", "user_message": reason, "agent_message": reason}
			},
			rewrite: func(in map[string]json.RawMessage, _ string) any { return obj{"updated_input": in} },
		}
	case "goose":
		return &Agent{
			Name: "goose", event: "event", events: []string{"PreToolUse"},
			tool: "tool_name", input: "tool_input", dirs: []string{"working_dir"},
			shim: "GOOSE_SHELL",
			tools: map[string]tool{
				"developer__shell": on(Shell, "command"), "developer__write": on(Write, "path"), "developer__edit": on(Write, "path"),
				"developer__text_editor": on(Write, "path"), "developer__tree": on(Search, "path"), "developer__read_image": on(Read, "source"),
			},
			deny: decision("block"),
		}
	case "crush":
		return &Agent{
			Name: "crush", event: "event", events: []string{"PreToolUse"},
			tool: "tool_name", input: "tool_input", dirs: []string{"cwd"}, Project: "CRUSH_PROJECT_DIR",
			tools: map[string]tool{
				"bash": on(Shell, "command"),
				// Its sub-agents are not hooked: their commands would run outside.
				"agent": never(unhooked), "agentic_fetch": never(unhooked),
				"view": on(Read, "file_path"), "write": on(Write, "file_path"), "edit": on(Write, "file_path"), "multiedit": on(Write, "file_path"),
				"ls": on(Search, "path"), "glob": globbed("pattern", "path"), "grep": on(Search, "path"),
				"fetch": on(Fetch, "url"), "download": {kind: Fetch, fields: []string{"url"}, into: "file_path"}, "sourcegraph": on(WebSearch),
			},
			deny: decision("deny"),
			rewrite: func(in map[string]json.RawMessage, field string) any {
				return obj{"updated_input": obj{field: in[field]}}
			},
		}
	}
	return nil
}
