package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine bounds one message, in bytes.
const maxLine = 32 << 20

// lines passes on the lines that are JSON objects or lists, and answers the
// others itself: the SDK would end the connection for one.
type lines struct {
	in   *bufio.Reader
	rest []byte
	// lists: the client's revision has lists of messages.
	lists bool
	end   func() error

	mu   sync.Mutex
	out  io.Writer
	held map[string]heldText
}

func newLines(in io.ReadCloser, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), end: sync.OnceValue(in.Close), out: out}
}

const parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is no JSON message"}}` + "\n"

func (l *lines) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case (line[0] == '{' || line[0] == '[') && json.Valid(line) && l.takes(line):
			l.rest = append(line, '\n')
		default:
			if _, err := l.Write([]byte(parseError)); err != nil {
				return 0, err
			}
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// takes reports whether the SDK will take a line: a message, or a list of them
// in the revisions that have those.
func (l *lines) takes(line []byte) bool {
	if line[0] == '{' {
		m, err := jsonrpc.DecodeMessage(line)
		if r, ok := m.(*jsonrpc.Request); ok && r.Method == "initialize" {
			var p struct {
				Version string `json:"protocolVersion"`
			}
			_ = json.Unmarshal(r.Params, &p)
			l.lists = p.Version == "2024-11-05" || p.Version == "2025-03-26"
		}
		return err == nil
	}
	var list []json.RawMessage
	if !l.lists || json.Unmarshal(line, &list) != nil || len(list) == 0 {
		return false
	}
	ids := map[any]bool{}
	for _, one := range list {
		m, err := jsonrpc.DecodeMessage(one)
		if err != nil {
			return false
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			if ids[r.ID.Raw()] {
				return false
			}
			ids[r.ID.Raw()] = true
		}
	}
	return true
}

// line reads one, whole or not at all.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case err == nil && len(line) > maxLine:
			return []byte("too long"), nil
		case err == nil || err == io.EOF && len(bytes.TrimSpace(line)) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Write writes a message, with the long texts in their places.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole := b
	if len(l.held) > 0 {
		var err error
		if whole, err = l.fill(b); err != nil {
			return 0, err
		}
	}
	if _, err := l.out.Write(whole); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close is called for each direction.
func (l *lines) Close() error { return l.end() }
