package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// maxLine bounds one message, in bytes.
const maxLine = 32 << 20

// lines passes on the lines that are JSON objects or lists, and answers the
// others itself: the SDK would end the connection for one.
type lines struct {
	in   *bufio.Reader
	rest []byte
	end  func() error

	mu  sync.Mutex
	out io.Writer
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
		case (line[0] == '{' || line[0] == '[') && json.Valid(line) && message(line):
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

// message reports whether a line is a JSON-RPC message or a list of them: what
// else is valid JSON would end the connection too.
func message(line []byte) bool {
	type one struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	good := func(m one) bool {
		if m.Version != "2.0" || len(m.ID) > 0 && (m.ID[0] == '{' || m.ID[0] == '[' || m.ID[0] == 't' || m.ID[0] == 'f') {
			return false
		}
		if m.Method != nil {
			return m.Result == nil && m.Error == nil
		}
		return len(m.ID) > 0 && (m.Result != nil) != (m.Error != nil)
	}
	if line[0] == '{' {
		var m one
		return json.Unmarshal(line, &m) == nil && good(m)
	}
	var list []one
	if json.Unmarshal(line, &list) != nil || len(list) == 0 {
		return false
	}
	for _, m := range list {
		if !good(m) {
			return false
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

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

// Close is called for each direction.
func (l *lines) Close() error { return l.end() }
