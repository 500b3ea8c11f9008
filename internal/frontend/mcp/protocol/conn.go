package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// patience is how long a client may take to read what is left for it at the
// end.
const patience = time.Second

// Error codes of JSON-RPC, and the protocol's own.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeVersion        = -32022
)

// message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`

	whole []byte // of an answer with a result: all of it as JSON
	text  *Text  // in whose buffer it lies; nil is none
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

// conn is one client's connection.
type conn struct {
	server *Server

	writing chan struct{} // holds one while a message is written
	out     io.Writer
	broken  context.CancelFunc // the client reads no more
	left    chan struct{}      // closed some time after the end: what is not written by then never is

	mu      sync.Mutex
	old     *Client // of the handshake of the older revisions
	calls   map[string]context.CancelFunc
	waiting map[string]chan message // requests of the server
	next    int
	work    sync.WaitGroup
}

// Serve answers the client on in and out until in ends, out breaks or ctx is
// done. Then every call's context is done too, and it returns when they have.
// A line that is no message is answered with an error, and the next is read.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &conn{
		server: s, out: out, broken: cancel, writing: make(chan struct{}, 1), left: make(chan struct{}),
		calls: map[string]context.CancelFunc{}, waiting: map[string]chan message{},
	}
	context.AfterFunc(ctx, func() { time.AfterFunc(patience, func() { close(c.left) }) })
	defer c.work.Wait()
	defer cancel()
	type read struct {
		line []byte
		err  error
	}
	lines := make(chan read)
	go func() { // a read of a terminal or a file cannot be ended: it is left behind
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			line, err := readLine(r)
			select {
			case lines <- read{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil && !errors.Is(err, errLong) {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r := <-lines:
			switch {
			case errors.Is(r.err, errLong):
				c.fail(nil, codeParse, fmt.Sprintf("the message is longer than %d bytes", MaxLine), nil)
			case r.err == io.EOF:
				return nil
			case r.err != nil:
				return r.err
			case len(r.line) > 0:
				c.line(ctx, r.line)
			}
		}
	}
}

var errLong = errors.New("the line is too long")

// readLine reads one line, without the white space around it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxLine+1; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil && long:
			return nil, errLong
		case err == nil:
			return bytes.TrimSpace(line), nil
		case err == io.EOF && !long && len(bytes.TrimSpace(line)) > 0:
			return bytes.TrimSpace(line), nil // the end comes again
		}
		return nil, err
	}
}

// line takes one message, or a list of them (revision 2025-03-26 has these).
func (c *conn) line(ctx context.Context, line []byte) {
	if line[0] != '[' {
		var m message
		if !c.parse(line, &m) {
			return
		}
		c.take(ctx, m, c.answer)
		return
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		c.fail(nil, codeParse, "the line is no JSON", nil)
		return
	}
	if len(raw) == 0 || len(raw) > maxCalls {
		c.fail(nil, codeInvalidRequest, fmt.Sprintf("a list has 1 to %d messages, this one %d", maxCalls, len(raw)), nil)
		return
	}
	var answers []message
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, one := range raw {
		var m message
		if !c.parse(one, &m) {
			continue
		}
		if m.Method == "" || m.ID == nil {
			c.take(ctx, m, nil)
			continue
		}
		all.Add(1)
		c.take(ctx, m, func(a message) {
			mu.Lock()
			if a.Version != "" { // a call that was cancelled has no answer
				answers = append(answers, a)
			}
			mu.Unlock()
			all.Done()
		})
	}
	c.work.Go(func() {
		all.Wait()
		if len(answers) > 0 {
			_ = c.write(answers)
		}
	})
}

// parse reads a message, or answers that it is none.
func (c *conn) parse(b []byte, m *message) bool {
	if err := json.Unmarshal(b, m); err != nil {
		if json.Valid(b) {
			c.fail(nil, codeInvalidRequest, "the message is no JSON-RPC message", nil)
		} else {
			c.fail(nil, codeParse, "the line is no JSON", nil)
		}
		return false
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	switch {
	case m.Version != "2.0", m.ID != nil && !validID(m.ID):
		c.fail(nil, codeInvalidRequest, `the message needs "jsonrpc": "2.0", and an id that is a string or a whole number`, nil)
		return false
	case m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil):
		c.fail(m.ID, codeInvalidRequest, "the message is neither a request nor a response", nil)
		return false
	}
	return true
}

func validID(id json.RawMessage) bool {
	if id[0] == '"' {
		return true
	}
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}

func (c *conn) answer(a message) {
	if a.Version != "" {
		_ = c.write(a)
	}
}

func (c *conn) fail(id json.RawMessage, code int, text string, data any) {
	if id == nil {
		id = json.RawMessage("null")
	}
	_ = c.write(message{Version: "2.0", ID: id, Error: &rpcError{code, text, data}})
}

// take handles one message; answer gets the answer to a request, once, or the
// zero message if there is to be none.
func (c *conn) take(ctx context.Context, m message, answer func(message)) {
	switch {
	case m.Method == "":
		c.mu.Lock()
		ch := c.waiting[string(m.ID)]
		delete(c.waiting, string(m.ID))
		c.mu.Unlock()
		if ch != nil { // else a late answer, or one to nothing
			ch <- m
		}
	case m.ID == nil:
		if m.Method == "notifications/cancelled" {
			var p struct {
				ID json.RawMessage `json:"requestId"`
			}
			if json.Unmarshal(m.Params, &p) == nil {
				c.mu.Lock()
				cancel := c.calls[string(p.ID)]
				c.mu.Unlock()
				if cancel != nil {
					cancel()
				}
			}
		}
	case m.Method == "initialize":
		result, err := c.initialize(m.Params)
		answer(reply(m.ID, result, err))
	default:
		c.start(ctx, m, answer)
	}
}

// start works on a request in a goroutine of its own.
func (c *conn) start(ctx context.Context, m message, answer func(message)) {
	ctx, cancel := context.WithCancel(ctx)
	key := string(m.ID)
	c.mu.Lock()
	_, twice := c.calls[key]
	full := len(c.calls) >= maxCalls
	if !twice && !full {
		c.calls[key] = cancel
	}
	c.mu.Unlock()
	if twice || full {
		cancel()
		why := fmt.Sprintf("more than %d requests at once", maxCalls)
		if twice {
			why = "a request with this id is being worked on"
		}
		answer(reply(m.ID, nil, &rpcError{codeInvalidRequest, why, nil}))
		return
	}
	c.work.Go(func() {
		result, err := c.handle(ctx, m)
		gone := ctx.Err() != nil
		c.mu.Lock()
		delete(c.calls, key)
		c.mu.Unlock()
		cancel()
		if gone { // whoever cancels wants no answer
			answer(message{})
			return
		}
		answer(reply(m.ID, result, err))
	})
}

// reply is the answer to a request.
func reply(id json.RawMessage, result any, err *rpcError) message {
	if err != nil {
		return message{Version: "2.0", ID: id, Error: err}
	}
	head := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"result":`...)
	b, text, e := appendResult(head, result)
	if e != nil {
		return message{Version: "2.0", ID: id, Error: &rpcError{codeInternal, e.Error(), nil}}
	}
	return message{Version: "2.0", ID: id, Result: b[len(head):], whole: append(b, '}'), text: text}
}

var errUnread = errors.New("the client does not read")

// write sends one message, and waits until it is written. A client that is gone
// ends the connection; one that has stopped reading does not keep it from
// ending.
func (c *conn) write(v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	select {
	case c.writing <- struct{}{}:
	case <-c.left:
		return errUnread
	}
	select {
	case err := <-c.send(b):
		if m, one := v.(message); one {
			m.text.free()
		}
		return err
	case <-c.left:
		return errUnread
	}
}

// offer sends one message, unless the client does not get to reading the one
// before, and does not wait until it is written.
func (c *conn) offer(v any) {
	b, err := marshal(v)
	if err != nil {
		return
	}
	select {
	case c.writing <- struct{}{}:
		c.send(b)
	case <-time.After(patience / 10):
	}
}

// send writes a line, in a goroutine: a write to a pipe cannot be ended. The
// caller holds writing, which ends with the line.
func (c *conn) send(b []byte) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.out.Write(append(b, '\n'))
		<-c.writing
		if err != nil {
			c.broken()
		}
		done <- err
	}()
	return done
}

// encode is a message, or a list of them, as JSON.
func encode(v any) ([]byte, error) {
	if m, one := v.(message); one && m.whole != nil {
		return m.whole, nil
	}
	return marshal(v)
}

// marshal is JSON without the escapes for HTML, which a model would read.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func notification(method string, params any) (message, error) {
	b, err := marshal(params)
	return message{Version: "2.0", Method: method, Params: b}, err
}

// request asks the client, and waits for its answer. When ctx is done it tells
// the client that nobody waits any longer.
func (c *conn) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	b, err := marshal(params)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.next++
	id := strconv.Quote("bawn-" + strconv.Itoa(c.next))
	ch := make(chan message, 1)
	c.waiting[id] = ch
	c.mu.Unlock()
	forget := func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}
	if err := c.write(message{Version: "2.0", ID: json.RawMessage(id), Method: method, Params: b}); err != nil {
		forget()
		return nil, err
	}
	select {
	case m := <-ch:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		forget()
		if m, err := notification("notifications/cancelled", map[string]any{"requestId": json.RawMessage(id), "reason": "the question is over"}); err == nil {
			_ = c.write(m)
		}
		return nil, ctx.Err()
	}
}

// capabilities are a client's.
type capabilities struct {
	Elicitation *struct {
		Form *struct{} `json:"form"`
		URL  *struct{} `json:"url"`
	} `json:"elicitation"`
}

// forms reports whether a client shows forms: one that names no kind does.
func (c capabilities) forms() bool {
	return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// initialize is the handshake of the revisions before Stateless.
func (c *conn) initialize(raw json.RawMessage) (any, *rpcError) {
	var p struct {
		Version      *string      `json:"protocolVersion"`
		Capabilities capabilities `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &p); err != nil || p.Version == nil {
		return nil, &rpcError{codeInvalidParams, "initialize needs a protocolVersion", nil}
	}
	version := *p.Version
	if version >= Stateless || !slices.Contains(Versions, version) {
		version = Versions[1]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.old != nil {
		return nil, &rpcError{codeInvalidRequest, "initialize came twice", nil}
	}
	c.old = &Client{Version: version, Elicits: p.Capabilities.forms(), conn: c}
	return c.server.identity(map[string]any{"protocolVersion": version, "serverInfo": c.server.info()}), nil
}

func (s *Server) info() map[string]any { return map[string]any{"name": s.Name, "version": s.Version} }

// identity adds what a server says of itself.
func (s *Server) identity(m map[string]any) map[string]any {
	m["capabilities"] = map[string]any{"tools": map[string]any{}}
	if s.Instructions != "" {
		m["instructions"] = s.Instructions
	}
	return m
}
