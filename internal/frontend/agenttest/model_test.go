//go:build linux && agents

package agenttest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// step is one call of a tool that the model makes.
type step struct {
	tool  string
	input map[string]any
}

// model is a model server on the loopback: it answers in the form of each
// vendor, makes its steps one after another, and keeps what came back.
type model struct {
	stop  func() error
	steps []step
	sub   *model // answers a sub-agent; nil for itself

	mu      sync.Mutex
	results []string
	keys    map[string]bool // with which it was asked
}

// subTask is in what a sub-agent is told to do, first of all.
const subTask = "THE TASK OF A SUB-AGENT"

// fromSub reports whether a request is of a sub-agent.
func fromSub(in obj) bool {
	told := 0
	for _, key := range []string{"messages", "contents", "input"} {
		for _, msg := range list(in[key]) {
			if at(msg, "role") != "user" {
				continue
			}
			text, _ := json.Marshal(msg)
			if strings.Contains(string(text), subTask) {
				return true
			}
			if told++; told == 2 { // what it is, then what it is told; more is what came back
				return false
			}
		}
	}
	return false
}

// modelURL is where it is: the namespace is the test's own.
const modelURL = "http://127.0.0.1:8399"

func serve(t *testing.T, steps, sub []step) *model {
	t.Helper()
	l, err := net.Listen("tcp", strings.TrimPrefix(modelURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	m := &model{steps: steps, sub: &model{steps: sub, keys: map[string]bool{}}, keys: map[string]bool{}}
	s := &http.Server{Handler: m}
	m.stop = s.Close
	go s.Serve(l)
	return m
}

type obj = map[string]any

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in obj
	_ = json.NewDecoder(r.Body).Decode(&in)
	m.mu.Lock()
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			m.keys[key] = true
		}
	}
	m.mu.Unlock()
	if m.sub != nil && fromSub(in) {
		m = m.sub
	}
	switch path := r.URL.Path; {
	case strings.Contains(path, "count"):
		reply(w, obj{"input_tokens": 1, "totalTokens": 1})
	case strings.HasSuffix(path, "/v1/messages"):
		m.messages(w, in)
	case strings.HasSuffix(path, "/responses"):
		m.responses(w, in)
	case strings.HasSuffix(path, "/chat/completions"):
		m.chat(w, in)
	case strings.Contains(strings.ToLower(path), "generatecontent"):
		m.generate(w, in, strings.Contains(path, "stream"))
	case strings.HasSuffix(path, "/models"):
		reply(w, obj{"object": "list", "data": []obj{{"id": "mock-model", "object": "model"}}, "models": []obj{}})
	default:
		w.WriteHeader(http.StatusNotFound)
		reply(w, obj{})
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("content-type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// events are a stream; those of a vendor that names them carry a type.
func events(w http.ResponseWriter, named bool, list ...any) {
	w.Header().Set("content-type", "text/event-stream")
	for _, e := range list {
		data, _ := json.Marshal(e)
		if s, ok := e.(string); ok {
			data = []byte(s)
		}
		if named {
			fmt.Fprintf(w, "event: %s\n", e.(obj)["type"])
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// next notes what came back so far and returns the step to make; ok is false
// when all are made, or the request has none of the tools.
func (m *model) next(results []any, tools map[string]bool) (s step, n int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n = len(results)
	if n > len(m.results) {
		for _, r := range results[len(m.results):] {
			text, _ := json.Marshal(r)
			m.results = append(m.results, string(text))
		}
	}
	if n >= len(m.steps) || !tools[m.steps[n].tool] {
		return step{}, n, false
	}
	return m.steps[n], n, true
}

func list(v any) []any { l, _ := v.([]any); return l }
func at(v any, key string) any {
	m, _ := v.(obj)
	return m[key]
}

func (m *model) messages(w http.ResponseWriter, in obj) {
	var results []any
	for _, msg := range list(in["messages"]) {
		for _, c := range list(at(msg, "content")) {
			if at(c, "type") == "tool_result" {
				results = append(results, at(c, "content"))
			}
		}
	}
	tools := map[string]bool{}
	for _, x := range list(in["tools"]) {
		name, _ := at(x, "name").(string)
		tools[name] = true
	}
	s, n, ok := m.next(results, tools)
	block, delta, stop := obj{"type": "text", "text": ""}, obj{"type": "text_delta", "text": "done"}, "end_turn"
	if ok {
		text, _ := json.Marshal(s.input)
		block = obj{"type": "tool_use", "id": fmt.Sprint("tu_", n), "name": s.tool, "input": obj{}}
		delta, stop = obj{"type": "input_json_delta", "partial_json": string(text)}, "tool_use"
	}
	head := obj{"id": fmt.Sprint("m", n), "type": "message", "role": "assistant", "model": in["model"], "content": []any{}, "stop_reason": nil, "usage": obj{"input_tokens": 1, "output_tokens": 1}}
	if in["stream"] != true {
		head["content"], head["stop_reason"] = []any{obj{"type": "text", "text": "done"}}, "end_turn"
		reply(w, head)
		return
	}
	events(w, true, obj{"type": "message_start", "message": head}, obj{"type": "content_block_start", "index": 0, "content_block": block},
		obj{"type": "content_block_delta", "index": 0, "delta": delta}, obj{"type": "content_block_stop", "index": 0},
		obj{"type": "message_delta", "delta": obj{"stop_reason": stop, "stop_sequence": nil}, "usage": obj{"output_tokens": 5}}, obj{"type": "message_stop"})
}

func (m *model) responses(w http.ResponseWriter, in obj) {
	var results []any
	for _, x := range list(in["input"]) {
		if kind, _ := at(x, "type").(string); strings.HasSuffix(kind, "_output") {
			results = append(results, at(x, "output"))
		}
	}
	tools := map[string]bool{}
	for _, x := range list(in["tools"]) {
		name, _ := at(x, "name").(string)
		tools[name] = true
	}
	s, n, ok := m.next(results, tools)
	item := obj{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{obj{"type": "output_text", "text": "done", "annotations": []any{}}}}
	if ok {
		text, _ := json.Marshal(s.input)
		item = obj{"type": "function_call", "id": fmt.Sprint("fc_", n), "call_id": fmt.Sprint("call_", n), "name": s.tool, "arguments": string(text), "status": "completed"}
	}
	r := obj{"id": fmt.Sprint("resp_", n), "object": "response", "status": "completed", "model": in["model"], "output": []any{item}, "usage": obj{
		"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": obj{"cached_tokens": 0}, "output_tokens_details": obj{"reasoning_tokens": 0},
	}}
	begun := obj{"id": r["id"], "object": "response", "status": "in_progress", "model": in["model"], "output": []any{}}
	events(w, true, obj{"type": "response.created", "response": begun}, obj{"type": "response.output_item.added", "output_index": 0, "item": item},
		obj{"type": "response.output_item.done", "output_index": 0, "item": item}, obj{"type": "response.completed", "response": r})
}

func (m *model) chat(w http.ResponseWriter, in obj) {
	var results []any
	for _, msg := range list(in["messages"]) {
		if at(msg, "role") == "tool" {
			results = append(results, at(msg, "content"))
		}
	}
	tools := map[string]bool{}
	for _, x := range list(in["tools"]) {
		name, _ := at(at(x, "function"), "name").(string)
		tools[name] = true
	}
	s, n, ok := m.next(results, tools)
	delta, finish := obj{"role": "assistant", "content": "done"}, "stop"
	if ok {
		text, _ := json.Marshal(s.input)
		delta = obj{"role": "assistant", "tool_calls": []any{obj{"index": 0, "id": fmt.Sprint("call_", n), "type": "function", "function": obj{"name": s.tool, "arguments": string(text)}}}}
		finish = "tool_calls"
	}
	base := func(kind string, choice obj) obj {
		return obj{"id": fmt.Sprint("c", n), "object": kind, "created": 1, "model": in["model"], "choices": []any{choice}, "usage": obj{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
	}
	if in["stream"] != true {
		reply(w, base("chat.completion", obj{"index": 0, "message": delta, "finish_reason": finish}))
		return
	}
	events(w, false, base("chat.completion.chunk", obj{"index": 0, "delta": delta}), base("chat.completion.chunk", obj{"index": 0, "delta": obj{}, "finish_reason": finish}), "[DONE]")
}

func (m *model) generate(w http.ResponseWriter, in obj, stream bool) {
	var results []any
	for _, c := range list(in["contents"]) {
		for _, p := range list(at(c, "parts")) {
			if r := at(p, "functionResponse"); r != nil {
				results = append(results, at(r, "response"))
			}
		}
	}
	tools := map[string]bool{}
	for _, x := range list(in["tools"]) {
		for _, f := range list(at(x, "functionDeclarations")) {
			name, _ := at(f, "name").(string)
			tools[name] = true
		}
	}
	s, _, ok := m.next(results, tools)
	part := obj{"text": "done"}
	switch {
	case ok:
		part = obj{"functionCall": obj{"name": s.tool, "args": s.input}}
	case len(tools) == 0: // it asks which model to take, and who speaks next
		part = obj{"text": `{"reasoning":"x","next_speaker":"user","model_choice":"flash","complexity_reasoning":"x","complexity_score":1}`}
	}
	out := obj{"candidates": []any{obj{"content": obj{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}}, "usageMetadata": obj{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
	if stream {
		events(w, false, out)
		return
	}
	reply(w, out)
}
