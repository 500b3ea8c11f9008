package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Keys of a request's _meta, from revision 2026-07-28 on.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

// client tells from a request who sent it; nil is one that has not said.
func (c *conn) client(params json.RawMessage) (*Client, *rpcError) {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(params, &p) // no _meta: a client of the handshake
	var version string
	if json.Unmarshal(p.Meta[metaVersion], &version) != nil || version < Stateless {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.old, nil
	}
	if !slices.Contains(Versions, version) {
		return nil, &rpcError{codeVersion, "unsupported protocol version", map[string]any{"supported": Versions, "requested": version}}
	}
	var can *capabilities
	if json.Unmarshal(p.Meta[metaCapabilities], &can) != nil || can == nil {
		return nil, &rpcError{codeInvalidParams, fmt.Sprintf("_meta needs %q", metaCapabilities), nil}
	}
	return &Client{Version: version, Elicits: can.forms(), conn: c}, nil
}

// handle is the answer to one request.
func (c *conn) handle(ctx context.Context, t *task) (any, *rpcError) {
	who, err := c.client(t.params)
	if err != nil {
		return nil, err
	}
	stateless := who != nil && who.Parks()
	unknown := &rpcError{codeNoMethod, fmt.Sprintf("no method %.100q here", t.method), nil}
	var out map[string]any
	switch {
	case t.method == "ping" && !stateless:
		return map[string]any{}, nil
	case t.method == "server/discover" && stateless:
		out = c.server.identity(map[string]any{"supportedVersions": Versions, "ttlMs": 0, "cacheScope": "private"})
	case t.method == "server/discover": // from the revision on that has it
		return nil, unknown
	case who == nil:
		return nil, &rpcError{codeInvalidRequest, "initialize comes first", nil}
	case t.method == "tools/list":
		if c.server.Listed != nil {
			c.server.Listed(*who)
		}
		out = c.server.list(*who)
	case t.method == "tools/call":
		if out, err = c.call(ctx, *who, t); err != nil {
			return nil, err
		}
	default:
		return nil, unknown
	}
	if stateless {
		if _, ok := out["resultType"]; !ok {
			out["resultType"] = "complete"
		}
		out["_meta"] = map[string]any{metaServer: c.server.info()}
	}
	return out, nil
}

// list is all tools, in their order, in one page.
func (s *Server) list(who Client) map[string]any {
	tools := []map[string]any{}
	for _, t := range s.Tools {
		one := map[string]any{"name": t.name, "description": t.description, "inputSchema": t.input}
		if who.Version >= "2025-03-26" {
			one["annotations"] = t.hints
		}
		tools = append(tools, one)
	}
	out := map[string]any{"tools": tools}
	if who.Parks() {
		out["ttlMs"], out["cacheScope"] = 0, "private"
	}
	return out
}

func (c *conn) call(ctx context.Context, who Client, t *task) (map[string]any, *rpcError) {
	var p struct {
		Name      string            `json:"name"`
		Arguments json.RawMessage   `json:"arguments"`
		State     string            `json:"requestState"`
		Answers   map[string]Answer `json:"inputResponses"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	size := len(t.params)
	err := json.Unmarshal(t.params, &p)
	t.params = nil // they may be long, and are here twice
	if err != nil {
		why := "they are missing"
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			why = fmt.Sprintf("%q may not be a %s", strings.TrimPrefix(wrong.Field, "."), wrong.Value)
		}
		return nil, &rpcError{codeInvalidParams, "the parameters of tools/call: " + why, nil}
	}
	i := slices.IndexFunc(c.server.Tools, func(t Tool) bool { return t.name == p.Name })
	if i < 0 {
		var names []string
		for _, t := range c.server.Tools {
			names = append(names, t.name)
		}
		return nil, &rpcError{codeInvalidParams, fmt.Sprintf("no tool %.100q; there are %s", p.Name, strings.Join(names, ", ")), nil}
	}
	if c.server.Tools[i].long { // its arguments alone may be
		size -= len(p.Arguments)
	}
	if size > maxSmall {
		return nil, &rpcError{codeInvalidParams, fmt.Sprintf("the parameters of this call have %d bytes: at most %d are taken", size, maxSmall), nil}
	}
	if !c.server.Tools[i].long { // what is left is small, and may be held for long
		t.taken()
	}
	if string(p.Meta.Token) == "null" {
		p.Meta.Token = nil
	}
	r := &Request{Client: who, Tool: p.Name, State: p.State, Answers: p.Answers, token: p.Meta.Token, arguments: p.Arguments, task: t}
	p.Arguments = nil
	res, err := c.server.Tools[i].call(ctx, r)
	if err != nil { // the model is to read it, and to do better
		res = &Result{Text: []string{err.Error()}, IsError: true}
	}
	out, err := res.wire(who)
	if err != nil {
		return nil, &rpcError{codeInternal, err.Error(), nil}
	}
	return out, nil
}
