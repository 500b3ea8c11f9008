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

	result any      // of an answer, until its turn comes: then it becomes JSON
	sent   []func() // what waits until it is written
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
	listed  int                     // bytes of the answers that wait for the rest of their list
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
	defer func() {
		c.work.Wait()
		select { // a message that was offered may still be on its way
		case c.writing <- struct{}{}:
		case <-c.left:
		}
	}()
	defer cancel()
	type read struct {
		line []byte
		done func() // nil of one that is not large
		err  error
	}
	lines := make(chan read)
	go func() { // a read of a terminal or a file cannot be ended: it is left behind
		r := bufio.NewReaderSize(in, 64<<10)
		large := make(chan struct{}, 1) // holds one while a large message is in memory
		for {
			var done func()
			line, err := readLine(r, func() error {
				select {
				case large <- struct{}{}:
					done = sync.OnceFunc(func() { <-large })
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			select {
			case lines <- read{line, done, err}:
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
			done := r.done
			if done == nil {
				done = func() {}
			}
			switch {
			case errors.Is(r.err, errLong):
				done()
				c.fail(nil, codeParse, fmt.Sprintf("the message is longer than %d bytes", MaxLine), nil)
			case r.err == io.EOF:
				return nil
			case r.err != nil:
				return r.err
			case len(r.line) > 0:
				c.line(ctx, r.line, done)
			default:
				done()
			}
		}
	}
}

func (c *conn) answer(a message) {
	if a.Version != "" {
		_ = c.write(a)
	}
	for _, f := range a.sent {
		f()
	}
}

func (c *conn) fail(id json.RawMessage, code int, text string, data any) {
	if id == nil {
		id = json.RawMessage("null")
	}
	_ = c.write(message{Version: "2.0", ID: id, Error: &rpcError{code, text, data}})
}

// take handles one message; answer gets the answer to a request, once, or the
// zero message if there is to be none. done is called when the message is no
// longer held.
func (c *conn) take(ctx context.Context, m message, answer func(message), done func()) {
	if m.Method != "" && m.ID != nil && m.Method != "initialize" {
		c.start(ctx, m, answer, done)
		return
	}
	defer done()
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
	default:
		result, err := c.initialize(m.Params)
		answer(reply(m.ID, result, err))
	}
}

// start works on a request in a goroutine of its own.
func (c *conn) start(ctx context.Context, m message, answer func(message), done func()) {
	ctx, cancel := context.WithCancel(ctx)
	id, key := m.ID, string(m.ID)
	c.mu.Lock()
	_, twice := c.calls[key]
	full := len(c.calls) >= maxCalls
	if !twice && !full {
		c.calls[key] = cancel
	}
	c.mu.Unlock()
	if twice || full {
		cancel()
		done()
		why := fmt.Sprintf("more than %d requests at once", maxCalls)
		if twice {
			why = "a request with this id is being worked on"
		}
		answer(reply(id, nil, &rpcError{codeInvalidRequest, why, nil}))
		return
	}
	t := &task{method: m.Method, params: m.Params, taken: done}
	c.work.Go(func() {
		result, err := c.handle(ctx, t)
		done()
		gone := ctx.Err() != nil
		c.mu.Lock()
		delete(c.calls, key)
		c.mu.Unlock()
		cancel()
		a := message{}
		if !gone { // whoever cancels wants no answer
			a = reply(id, result, err)
		}
		a.sent = t.sent
		answer(a)
	})
}

// task is a request that is worked on.
type task struct {
	method string
	params json.RawMessage // nil once they are read
	taken  func()          // tells that they are no longer held
	sent   []func()        // what waits until the answer is written
}

// reply is the answer to a request.
func reply(id json.RawMessage, result any, err *rpcError) message {
	if err != nil {
		return message{Version: "2.0", ID: id, Error: err}
	}
	return message{Version: "2.0", ID: id, result: result}
}

var errUnread = errors.New("the client does not read")

// write sends one message, and waits until it is written. A client that is gone
// ends the connection; one that has stopped reading does not keep it from
// ending. It becomes JSON when it is its turn, so that only one is there twice.
func (c *conn) write(v any) error {
	select {
	case c.writing <- struct{}{}:
	case <-c.left:
		return errUnread
	}
	var text *Text
	var b []byte
	var err error
	if m, one := v.(message); !one {
		b, err = marshal(v)
	} else if b, text, err = m.encode(); err != nil {
		b, err = marshal(message{Version: "2.0", ID: m.ID, Error: &rpcError{codeInternal, err.Error(), nil}})
	}
	if err != nil {
		<-c.writing
		return err
	}
	select {
	case err := <-c.send(b):
		text.free()
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

// encode is a message as JSON, and the text in whose buffer that lies, if any.
func (m message) encode() ([]byte, *Text, error) {
	if m.result == nil {
		b, err := marshal(m)
		return b, nil, err
	}
	head := append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...), `,"result":`...)
	b, text, err := appendResult(head, m.result)
	return append(b, '}'), text, err
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
