// Package hook answers the hooks of AI coding agents: what they are about to
// do is described on standard input, and the answer lets it be, changes the
// command so that it runs in the sandbox, or refuses it with a reason that the
// model reads.
//
// An answer about a file or an address is given before the agent opens it, in
// the agent's own process. It holds what the agent says it will do, not what a
// link that is exchanged meanwhile, or a redirect, makes of it: the boundary
// is the sandbox around commands.
package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bawn/internal/policy"
)

// MaxEvent is the longest event that is read, in bytes: an event holds the
// whole text of a file that is to be written.
const MaxEvent = 32 << 20

// maxPlaces bounds the files and addresses of one event: an agent goes on where
// an answer takes too long.
const maxPlaces = 1000

// Event is what an agent is about to do. Parse makes it.
type Event struct {
	// Dir is the agent's working folder, as it says; "" if it does not.
	Dir  string
	tool string // the agent's own name of the tool
	Kind Kind

	input   map[string]json.RawMessage
	field   string // of input, that holds command
	command string
	paths   []string
	urls    []string
	why     string
}

// Kind is what a tool does. The zero value is a tool that this package has no
// opinion about.
type Kind uint8

const (
	Other     Kind = iota
	Shell          // runs a command
	Read           // opens a file
	Write          // changes one
	Search         // reads files below a folder
	Fetch          // opens an address
	WebSearch      // asks a search service
	Refused        // would run commands outside the sandbox, whatever the answer
)

// NeedsPolicy reports whether an answer to the event depends on the policy.
func (e Event) NeedsPolicy() bool { return e.Kind > Shell && e.Kind != Refused }

// Writes reports whether a file may be changed by what the event is about.
func (e Event) Writes() bool { return e.Kind == Write || e.Kind == Fetch && len(e.paths) > 0 }

var errShape = errors.New("the event has a shape that is not known")

// Parse reads an event. An error means that nobody knows what the agent is
// about to do: the answer is Closed.
func Parse(a *Agent, data []byte) (Event, error) {
	if len(data) > MaxEvent {
		return Event{}, fmt.Errorf("the event is larger than %d MiB", MaxEvent>>20)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return Event{}, errShape
	}
	if name, ok := text(top[a.event]); a.event != "" && (!ok || !a.answers(name)) {
		return Event{}, fmt.Errorf("%w: %s is %q", errShape, a.event, name)
	}
	e := Event{Dir: a.folder(top)}
	var ok bool
	if e.tool, ok = text(top[a.tool]); !ok || e.tool == "" {
		return Event{}, fmt.Errorf("%w: it names no tool in %s", errShape, a.tool)
	}
	t, known := a.tools[e.tool]
	if !known {
		return e, nil
	}
	e.Kind, e.why = t.kind, t.why
	if e.input = object(top[a.input]); e.input == nil {
		return Event{}, fmt.Errorf("%w: %s of %s is no object", errShape, a.input, e.tool)
	}
	if err := e.read(t); err != nil {
		return e, err
	}
	if len(e.paths)+len(e.urls) > maxPlaces {
		return e, fmt.Errorf("the event names more than %d places", maxPlaces)
	}
	return e, nil
}

// places are the fields in which agents name files and folders. All are looked
// at in each file tool: a release that gives a field another of these names is
// judged as the one before.
var places = [...]string{
	"path", "paths", "file_path", "filePath", "absolute_path", "notebook_path", "target_file",
	"dir_path", "directory", "folder", "target_directory",
}

// read takes out what the answer is about.
func (e *Event) read(t tool) error {
	var found []string
	fields := t.fields
	if (e.Kind == Read || e.Kind == Write || e.Kind == Search) && !t.patch {
		fields = slices.Clone(fields)
		for _, f := range places {
			if !slices.Contains(fields, f) && !slices.Contains(t.globs, f) {
				fields = append(fields, f)
			}
		}
	}
	for _, f := range fields {
		list, err := e.texts(f)
		if err != nil {
			return err
		}
		if list != nil {
			found = append(found, list...)
			e.field = f
		}
	}
	switch e.Kind {
	case Shell:
		if len(found) != 1 || found[0] == "" {
			return fmt.Errorf("%w: %s has no command", errShape, e.tool)
		}
		e.command = found[0]
	case Fetch:
		said, err := e.texts(t.prose)
		if err != nil {
			return err
		}
		if len(found)+len(said) == 0 {
			return fmt.Errorf("%w: %s has no address", errShape, e.tool)
		}
		e.urls = append(found, addresses(said)...)
		if file, ok := text(e.input[t.into]); t.into != "" && ok {
			e.paths = []string{file}
		}
	case Write:
		if t.patch {
			found = patched(found)
		}
		if len(found) == 0 {
			return fmt.Errorf("%w: %s names no file", errShape, e.tool)
		}
		e.paths = found
	case Read:
		if len(found) == 0 {
			return fmt.Errorf("%w: %s names no file", errShape, e.tool)
		}
		e.paths = found
	case Search:
		return e.search(found, t.globs)
	}
	return nil
}

// texts are those of a field of the input: one, or a list; nil where it is not
// there.
func (e *Event) texts(field string) (list []string, err error) {
	raw, ok := e.input[field]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	if s, ok := text(raw); ok {
		return []string{s}, nil
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil, fmt.Errorf("%w: %s of %s is no text", errShape, field, e.tool)
	}
	return list, nil
}

// search takes the folders, and where patterns lead from there.
func (e *Event) search(folders, globs []string) error {
	if len(folders) == 0 {
		folders = []string{"."}
	}
	e.paths = folders
	for _, f := range globs {
		list, err := e.texts(f)
		if err != nil {
			return err
		}
		for _, pattern := range list {
			starts, ok := patternStarts(pattern)
			if !ok {
				return fmt.Errorf("%w: %s of %s is no pattern that can be judged", errShape, f, e.tool)
			}
			for _, start := range starts {
				for _, dir := range folders {
					if !strings.HasPrefix(start, "/") && start != "~" && !strings.HasPrefix(start, "~/") {
						start = dir + "/" + start
					}
					e.paths = append(e.paths, start)
				}
			}
		}
	}
	return nil
}

// text is a JSON string.
func text(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil { // RawMessage has no space around it
		return "", false
	}
	return s, true
}

// object is a JSON object, or one written as a string, as older versions of
// some agents do.
func object(raw json.RawMessage) map[string]json.RawMessage {
	if s, ok := text(raw); ok {
		raw = json.RawMessage(s)
	}
	var m map[string]json.RawMessage
	if raw == nil || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// addresses are the web addresses in sentences: each by itself, and with what
// stands at it, which a reader of another kind may take for a part of it.
func addresses(texts []string) (out []string) {
	isAddress := func(w string) bool {
		lower := strings.ToLower(w)
		return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
	}
	for _, s := range texts {
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' }) {
			if w = strings.TrimRight(strings.TrimLeft(w, "\"'`<(["), "\"'`>).,;:!?]"); isAddress(w) {
				out = append(out, w)
			}
			for _, part := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune("\"'`<>(),", r) }) {
				if part != w && isAddress(part) {
					out = append(out, part)
				}
			}
		}
	}
	return out
}

// patched are the files that a patch in the form of apply_patch names.
func patched(texts []string) (out []string) {
	for _, s := range texts {
		for line := range strings.Lines(s) {
			line = strings.TrimSpace(line)
			for _, head := range [...]string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
				if name, ok := strings.CutPrefix(line, head); ok {
					out = append(out, strings.TrimSpace(name))
				}
			}
		}
	}
	return out
}

// Facts are what an answer depends on. The zero value refuses.
type Facts struct {
	// Program is bawn, by an absolute path; Workspace the real path of the
	// folder that commands may write. Both for agents whose commands are
	// changed.
	Program, Workspace string
	// Shim is the program through which the agent must run commands, Set the
	// one that it does.
	Shim, Set string
	// Policy is what holds, if the event NeedsPolicy.
	Policy policy.Policy
	// Real resolves the links of a path as far as it exists, as the kernel does:
	// .. leads up from what a link leads to. It lists the links on the way, by their
	// real places.
	Real func(path string) (real string, links []string, err error)
	Home string // what ~ stands for
	// Inside: the agent itself runs in a sandbox of bawn's, which holds what it
	// opens. Hidden are the rules for what that shows to the agent's own process
	// alone: its credentials.
	Inside bool
	Hidden []policy.PathRule
}

// Reply is what the hook prints, and its exit code.
type Reply struct {
	Stdout, Stderr string
	Code           int
}

// Closed refuses whatever the agent is about to do: all agents block on this
// code and show the model what is on standard error.
func Closed(reason string) Reply {
	return Reply{Stderr: "bawn: " + reason + "\n", Code: 2}
}

// Answer decides. It is a pure function but for Facts.Real.
func Answer(a *Agent, e Event, f Facts) Reply {
	switch e.Kind {
	case Other:
		return Reply{}
	case Refused:
		return printed(a.deny("bawn: " + e.tool + " is refused: " + e.why))
	case Shell:
		return a.shell(e, f)
	}
	d := e.decide(f)
	switch d.Verdict {
	case policy.Allow:
		return Reply{}
	case policy.Ask:
		if a.ask != nil {
			return printed(a.ask(sentence(e.tool, d.Rule)))
		}
		d.Rule.Text += ", and this agent's hooks cannot ask"
	}
	return printed(a.deny(sentence(e.tool, d.Rule)))
}

// shell lets a command run where the sandbox is sure to be around it.
func (a *Agent) shell(e Event, f Facts) Reply {
	if a.shim != "" {
		if f.Shim != "" && f.Set == f.Shim {
			return Reply{}
		}
		return printed(a.deny(fmt.Sprintf("bawn: %s is not run: %s does not name bawn's shell, so no sandbox would be around it "+
			"(a project's own settings can replace it); a person mends that: bawn setup %s --check", e.tool, a.shim, a.Name)))
	}
	if f.Program == "" || f.Workspace == "" {
		return Closed("the folder of the project is not known")
	}
	wrapped := Wrap(f.Program, f.Workspace, e.command)
	if Wrapped(f.Program, f.Workspace, e.command) {
		return Reply{} // by another hook that is the same
	}
	input := make(map[string]json.RawMessage, len(e.input))
	for k, v := range e.input {
		input[k] = v
	}
	quoted, err := marshal(wrapped)
	if err != nil {
		return Closed(err.Error())
	}
	input[e.field] = quoted
	return printed(a.rewrite(input, e.field))
}

// Wrap is shell text that runs a command in the sandbox.
func Wrap(program, workspace, command string) string {
	return quote(program) + " run --no-terminal --workspace " + quote(workspace) + " -c " + quote(command)
}

// Wrapped reports whether text is what Wrap makes of some command.
func Wrapped(program, workspace, text string) bool {
	head := strings.TrimSuffix(Wrap(program, workspace, ""), "''")
	rest, ok := strings.CutPrefix(text, head)
	if !ok || len(rest) < 2 || rest[0] != '\'' {
		return false
	}
	return quote(strings.ReplaceAll(rest[1:len(rest)-1], `'\''`, `'`)) == rest
}

// quote writes a word for any POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// sentence is what the model reads.
func sentence(tool string, r policy.Rule) string {
	s := "bawn: " + tool + " is refused: " + r.Text
	if r.Origin.File != "" {
		s += " (" + r.Origin.String() + ")"
	}
	if r.Lift != "" {
		s += "; a person can change that: " + r.Lift
	}
	return s
}

func printed(v any) Reply {
	data, err := marshal(v)
	if err != nil {
		return Closed(err.Error())
	}
	return Reply{Stdout: string(data) + "\n"}
}

// marshal does not escape what only matters in web pages.
func marshal(v any) (json.RawMessage, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}
