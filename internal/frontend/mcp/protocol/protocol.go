// Package protocol is the server's side of the Model Context Protocol, as far
// as tools go, over a pair of streams: JSON-RPC 2.0, a message a line. It serves
// the revisions 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28
// at once; a request says which it follows (modelcontextprotocol.io/specification).
//
// The official SDK is what the tests speak to it with. Linked, it would cost
// every start of the program more than a millisecond before main
// (docs/decisions/0022-mcp.md).
package protocol

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Stateless is the first revision without a handshake, in which each request
// says who its client is, and a server asks by the result of a call.
const Stateless = "2026-07-28"

// Versions are the revisions that are served, newest first.
var Versions = []string{Stateless, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Bounds of one connection.
const (
	MaxLine  = 32 << 20 // bytes of one message
	maxCalls = 512      // requests that are worked on at once
	maxID    = 1 << 10  // bytes of a request's id
	// maxSmall bounds the messages of which any number is held, in bytes; of
	// those that are larger it is one, until its call is over or holds no more.
	maxSmall = 256 << 10
	// maxListed bounds the answers that wait for the rest of their list, in bytes.
	maxListed = 16 << 20
)

// Server is what a client sees. Its fields are not changed while it serves.
type Server struct {
	Name, Version string
	Instructions  string // for the model
	Tools         []Tool
	// Listed, if set, is called when a client asks for the tools: what the
	// first call needs can be made ready then.
	Listed func(Client)
}

// Tool is one tool. Make it with NewTool.
type Tool struct {
	name, description string
	hints             Hints
	input             schema
	long              bool
	call              func(context.Context, *Request) (*Result, error)
}

// Long is the tool, whose arguments may be as long as a message is. Its handler
// calls Taken before it waits for anything, and then holds them no longer: until
// that no other long message is read.
func (t Tool) Long() Tool {
	t.long = true
	return t
}

// Hints are what a client may tell its user about a tool.
type Hints struct {
	ReadOnly    bool  `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Handler does the work of a tool. A nil Result is Out alone; an error is told
// to the model as the result of the call, in its own words.
type Handler[In, Out any] func(context.Context, *Request, In) (*Result, Out, error)

// NewTool is a tool whose input is the struct In: its fields are strings,
// booleans, numbers and lists of these, named by json tags (optional with
// omitempty) and described by jsonschema tags. Further keys are let through:
// models add some.
func NewTool[In, Out any](name, description string, hints Hints, h Handler[In, Out]) Tool {
	input := schemaOf(reflect.TypeFor[In]())
	return Tool{name: name, description: description, hints: hints, input: input, call: func(ctx context.Context, r *Request) (*Result, error) {
		in, err := arguments[In](r, input)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		res, out, err := h(ctx, r, in)
		if err != nil {
			return nil, err
		}
		if res == nil {
			res = new(Result)
		}
		if res.Questions == nil && reflect.TypeFor[Out]() != reflect.TypeFor[struct{}]() {
			res.structured = out
		}
		return res, nil
	}}
}

// arguments reads those of a call, which are not held besides.
func arguments[In any](r *Request, s schema) (in In, err error) {
	raw := r.arguments
	r.arguments = nil
	if err := decode(raw, &in, s); err != nil {
		return in, err
	}
	if r.Client.Parks() {
		r.sum, err = sumOf(in)
	}
	return in, err
}

// sumOf tells one input from another, without a copy of its texts.
func sumOf(in any) (string, error) {
	h := sha256.New()
	v := reflect.ValueOf(in)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.String {
			fmt.Fprintf(h, "%d:", f.Len())
			_, _ = io.WriteString(h, f.String())
			continue
		}
		b, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%d:%s", len(b), b)
	}
	return string(h.Sum(nil)), nil
}

// Client is who sent a request.
type Client struct {
	Version string // the revision that it follows
	Elicits bool   // it can show a form to a person
	conn    *conn
}

// Parks reports whether the client is asked by the result of its call, and not
// by requests of the server.
func (c Client) Parks() bool { return c.Version >= Stateless }

// Request is one call of a tool.
type Request struct {
	Client Client
	Tool   string
	// State and Answers are of a call that comes again, after a result with
	// Questions: that result's State, and what was answered to each.
	State   string
	Answers map[string]Answer

	token     json.RawMessage
	arguments json.RawMessage // nil once they are read
	sum       string          // of them
	task      *task
}

// Same is what a call that comes again has in common with the first: the tool
// and its arguments. Only calls of a client that Parks have it.
func (r *Request) Same() string { return r.Tool + " " + r.sum }

// Taken tells that the handler of a Long tool holds its arguments no longer.
func (r *Request) Taken() { r.task.taken() }

// AfterReply has f called when the result was written to the client, or never
// will be: until then it is held. It is for the goroutine of the call.
func (r *Request) AfterReply(f func()) { r.task.sent = append(r.task.sent, f) }

// Progress tells the client how far a call is, if it wants to know. The figure
// must grow from one to the next.
func (r *Request) Progress(seconds float64, message string) {
	if len(r.token) == 0 || r.Client.conn == nil {
		return
	}
	m, err := notification("notifications/progress", map[string]any{
		"progressToken": r.token, "progress": seconds, "message": message,
	})
	if err == nil { // not waited for: a client that does not read stops no clock
		r.Client.conn.offer(m)
	}
}

// WantsProgress reports whether Progress tells anybody.
func (r *Request) WantsProgress() bool { return len(r.token) > 0 }

// Result is what came of a call.
type Result struct {
	Text    []string // without any, the structured result is its text
	Long    *Text    // stands before Text; nil is none
	IsError bool
	// Questions, of a client that Parks, are asked before the call goes on:
	// the client calls again with State and the answers.
	Questions map[string]Form
	State     string

	structured any
}

// Form is a question for a person.
type Form struct {
	Message string
	Field   string   // the one field
	Title   string   // of the field
	Words   []string // what it may be
}

// Answer is what a person made of a form: Action is accept, decline or cancel.
type Answer struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}

// UnmarshalJSON takes the names of an answer letter for letter: encoding/json
// takes "Action" for "action" too, also behind it.
func (a *Answer) UnmarshalJSON(b []byte) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(b, &given); err != nil {
		return err
	}
	*a = Answer{}
	if raw := given["action"]; raw != nil {
		if err := json.Unmarshal(raw, &a.Action); err != nil {
			return err
		}
	}
	if raw := given["content"]; raw != nil {
		return json.Unmarshal(raw, &a.Content)
	}
	return nil
}

// ErrNoForms is what Elicit says of a client that cannot be asked so.
var ErrNoForms = errors.New("the client shows no forms")

// Elicit asks the person behind a client of a revision before Stateless, and
// waits for the answer.
func (c Client) Elicit(ctx context.Context, f Form) (Answer, error) {
	if !c.Elicits || c.Parks() || c.conn == nil {
		return Answer{}, ErrNoForms
	}
	raw, err := c.conn.request(ctx, "elicitation/create", f.wire())
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return Answer{}, fmt.Errorf("the client's answer: %w", err)
	}
	return a, nil
}

func (f Form) wire() map[string]any {
	return map[string]any{"mode": "form", "message": f.Message, "requestedSchema": map[string]any{
		"type": "object", "required": []string{f.Field},
		"properties": map[string]any{f.Field: map[string]any{"type": "string", "title": f.Title, "enum": f.Words}},
	}}
}

// wire is a result as the client's revision has it.
func (r *Result) wire(c Client) (map[string]any, error) {
	if len(r.Questions) > 0 {
		if !c.Parks() {
			return nil, errors.New("a client of an older revision is asked by requests")
		}
		asked := map[string]any{}
		for key, f := range r.Questions {
			asked[key] = map[string]any{"method": "elicitation/create", "params": f.wire()}
		}
		return map[string]any{"resultType": "input_required", "inputRequests": asked, "requestState": r.State}, nil
	}
	text := r.Text
	if len(text) == 0 && r.Long == nil && r.structured != nil {
		b, err := marshal(r.structured)
		if err != nil {
			return nil, err
		}
		text = []string{string(b)}
	}
	out := map[string]any{"content": contents{r.Long, text}}
	if r.structured != nil { // the revisions before 2025-06-18 let it pass
		out["structuredContent"] = r.structured
	}
	if r.IsError {
		out["isError"] = true
	}
	return out, nil
}

// schema is the JSON schema of a tool's input.
type schema struct {
	Type       string           `json:"type"`
	Properties map[string]field `json:"properties"`
	Required   []string         `json:"required,omitempty"`
}

type field struct {
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Items       *field `json:"items,omitempty"`
}

func schemaOf(t reflect.Type) schema {
	s := schema{Type: "object", Properties: map[string]field{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		kind := typeOf(f.Type)
		kind.Description = f.Tag.Get("jsonschema")
		s.Properties[name] = kind
		if !slices.Contains(strings.Split(options, ","), "omitempty") {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

func typeOf(t reflect.Type) field {
	switch t.Kind() {
	case reflect.String:
		return field{Type: "string"}
	case reflect.Bool:
		return field{Type: "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return field{Type: "integer"}
	case reflect.Float64:
		return field{Type: "number"}
	case reflect.Slice:
		items := typeOf(t.Elem())
		return field{Type: "array", Items: &items}
	case reflect.Pointer:
		return typeOf(t.Elem())
	}
	panic("protocol: an input of " + t.String()) // a type of this program's
}

// decode reads a tool's arguments, and says which of them is wrong.
func decode(raw json.RawMessage, into any, s schema) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil || given == nil {
		return errors.New("the arguments are no JSON object")
	}
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			return fmt.Errorf("%q is missing", name)
		}
	}
	for name, v := range given {
		if _, ok := s.Properties[name]; !ok || string(v) == "null" {
			delete(given, name)
		}
	}
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			return fmt.Errorf("%q is null", name)
		}
	}
	// Field by field, letter for letter: encoding/json takes "Path" for "path" too.
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		raw, ok := given[name]
		if !ok {
			continue
		}
		err := json.Unmarshal(raw, v.Field(i).Addr().Interface())
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("%q is a %s; it must be of type %s", name, wrong.Value, s.Properties[name].Type)
		}
		if err != nil {
			return err
		}
		delete(given, name)
	}
	return nil
}
