package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"time"
)

// A long text passes the SDK as a random word and is put in its place when the
// message is written: the SDK encodes and checks a result four times over.

const (
	heldMark = "bawn-text-"
	heldLong = 64 << 10    // bytes of a text for which that is worth it
	heldMost = 64          // texts that wait at once
	heldTime = time.Minute // after which the call of one has been cancelled
)

type heldText struct {
	text  string
	since time.Time
}

// hold returns what stands for a text in a result: itself, if it is short.
func (l *lines) hold(text string) string {
	if len(text) < heldLong {
		return text
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, h := range l.held {
		if time.Since(h.since) > heldTime {
			delete(l.held, k)
		}
	}
	if len(l.held) >= heldMost {
		return text
	}
	if l.held == nil {
		l.held = map[string]heldText{}
	}
	key := heldMark + rand.Text()
	l.held[key] = heldText{text, time.Now()}
	return key
}

// fill puts the texts in their places. The caller holds mu.
func (l *lines) fill(b []byte) ([]byte, error) {
	var out bytes.Buffer
	mark := []byte("\"" + heldMark)
	for {
		i := bytes.Index(b, mark)
		if i < 0 {
			break
		}
		n := bytes.IndexByte(b[i+1:], '"')
		if n < 0 {
			break
		}
		h, ok := l.held[string(b[i+1:i+1+n])]
		if !ok {
			out.Write(b[:i+1])
			b = b[i+1:]
			continue
		}
		out.Write(b[:i])
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(h.text); err != nil {
			return nil, err
		}
		out.Truncate(out.Len() - 1) // its line's end
		delete(l.held, string(b[i+1:i+1+n]))
		b = b[i+n+2:]
	}
	if out.Len() == 0 {
		return b, nil
	}
	out.Write(b)
	return out.Bytes(), nil
}
