//go:build linux

package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// A long text arrives whole and once, beside words that look like one.
func TestHeldText(t *testing.T) {
	var out bytes.Buffer
	l := newLines(io.NopCloser(strings.NewReader("")), &out)
	long := strings.Repeat("a \"line\" <&>\n", heldLong/10)
	if got := l.hold("short"); got != "short" {
		t.Errorf("%q", got)
	}
	key := l.hold(long)
	if len(key) > 100 {
		t.Fatalf("%d bytes", len(key))
	}
	msg, err := json.Marshal([]string{heldMark + "x", key, "end \"" + heldMark, key})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.Write(append(msg, '\n')); err != nil || n != len(msg)+1 {
		t.Fatalf("%d, %v", n, err)
	}
	var got []string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || got[0] != heldMark+"x" || got[1] != long || got[2] != "end \""+heldMark || got[3] != key {
		t.Errorf("%.100q", got)
	}
	if len(l.held) != 0 || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Errorf("%d are held, %d lines", len(l.held), bytes.Count(out.Bytes(), []byte("\n")))
	}
	for range heldMost {
		l.hold(long)
	}
	if got := l.hold(long); got != long {
		t.Error("more wait than may")
	}
}
