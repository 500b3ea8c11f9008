//go:build linux

package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Every line is passed on as a message that the SDK takes, or answered.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"))
	f.Add([]byte("x\n\n[]\n{}\n[1,2]\n{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"ping\"}"))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}\n[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var answers bytes.Buffer
		l := newLines(io.NopCloser(bytes.NewReader(b)), &answers)
		got, err := io.ReadAll(l)
		if err != nil {
			t.Fatal(err)
		}
		full, passed := 0, 0
		for line := range bytes.Lines(b) {
			if len(bytes.TrimSpace(line)) > 0 {
				full++
			}
		}
		for line := range bytes.Lines(got) {
			passed++
			if line[0] == '[' {
				if !json.Valid(line) {
					t.Errorf("%q", line)
				}
				continue
			}
			if _, err := jsonrpc.DecodeMessage(bytes.TrimSpace(line)); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		if n := strings.Count(answers.String(), "\n"); n+passed != full {
			t.Errorf("%d lines, %d passed, %d answered", full, passed, n)
		}
	})
}

func TestTestText(t *testing.T) {
	if got, err := testText(t.TempDir(), "make check", "a'b"); err != nil || got != `make check "a'b"` && got != `make check 'a'\''b'` {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := testText(t.TempDir(), "", ""); err == nil {
		t.Error("tests were found in an empty folder")
	}
}
