package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

var errLong = errors.New("the line is too long")

// readLine reads one line, without the white space around it. It waits for room
// before it takes more of it than maxSmall.
func readLine(r *bufio.Reader, room func() error) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if room != nil && len(line)+len(part) > maxSmall+1 {
			if err := room(); err != nil {
				return nil, err
			}
			room = nil
		}
		if long = long || len(line)+len(part) > MaxLine+1; long {
			line = nil
		} else {
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

// line takes one message, or a list of them (revision 2025-03-26 has these). done
// is called when what is large of it is no longer held.
func (c *conn) line(ctx context.Context, line []byte, done func()) {
	if line[0] != '[' {
		var m message
		if !c.parse(line, &m) {
			done()
			return
		}
		c.take(ctx, m, c.answer, done)
		return
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		done()
		c.fail(nil, codeParse, "the line is no JSON", nil)
		return
	}
	if len(raw) == 0 || len(raw) > maxCalls {
		done()
		c.fail(nil, codeInvalidRequest, fmt.Sprintf("a list has 1 to %d messages, this one %d", maxCalls, len(raw)), nil)
		return
	}
	var answers []message
	var mu sync.Mutex
	var all, held sync.WaitGroup
	size := 0
	for _, one := range raw {
		var m message
		if !c.parse(one, &m) {
			continue
		}
		if m.Method == "" || m.ID == nil {
			c.take(ctx, m, nil, func() {})
			continue
		}
		let := func() {}
		if len(one) > maxSmall {
			held.Add(1)
			let = sync.OnceFunc(held.Done)
		}
		all.Add(1)
		c.take(ctx, m, func(a message) {
			defer all.Done()
			n := c.whole(&a)
			for _, f := range a.sent { // the others of the list may wait for it
				f()
			}
			if a.sent = nil; a.Version == "" { // a call that was cancelled has no answer
				return
			}
			mu.Lock()
			answers, size = append(answers, a), size+n
			mu.Unlock()
		}, let)
	}
	c.work.Go(func() {
		held.Wait()
		done()
	})
	c.work.Go(func() {
		all.Wait()
		if len(answers) > 0 {
			_ = c.write(answers)
		}
		c.mu.Lock()
		c.listed -= size
		c.mu.Unlock()
	})
}

// whole makes an answer JSON that waits for the rest of its list, and counts
// it. One for which there is no room becomes an error.
func (c *conn) whole(a *message) (size int) {
	if a.result == nil {
		return 0
	}
	b, text, err := a.encode()
	defer text.free()
	if err == nil {
		c.mu.Lock()
		if c.listed+len(b) <= maxListed {
			size = len(b)
			c.listed += size
		}
		c.mu.Unlock()
		if size == 0 {
			err = fmt.Errorf("the answers of lists have more than %d bytes together: ask for this alone", maxListed)
		}
	}
	var m message
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if a.result, a.Result = nil, m.Result; err != nil {
		a.Error = &rpcError{codeInternal, err.Error(), nil}
	}
	return size
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
		c.fail(nil, codeInvalidRequest, `the message needs "jsonrpc": "2.0", and an id that is a string of at most `+strconv.Itoa(maxID)+` bytes or a whole number`, nil)
		return false
	case m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil):
		c.fail(m.ID, codeInvalidRequest, "the message is neither a request nor a response", nil)
		return false
	}
	return true
}

func validID(id json.RawMessage) bool {
	if len(id) > maxID {
		return false
	}
	if id[0] == '"' {
		return true
	}
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}
