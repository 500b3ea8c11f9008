//go:build linux

package mcptest

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// raw is a server that gets lines as they are.
type raw struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // what it writes, read at once: a client that only writes stops both
	err   error       // of the reading, when lines is closed
}

// unread is how many lines a test may leave unread.
const unread = 1 << 12

func openRaw(t *testing.T) *raw { return openRawAt(t, sandboxtest.New(t, "native")) }

func openRawAt(t *testing.T, b *sandboxtest.Box) *raw {
	t.Helper()
	r := &raw{t: t, cmd: exec.Command(sandboxtest.Binary(), "mcp")}
	r.cmd.Dir, r.cmd.Env = b.Workspace, b.Environ()
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.lines = make(chan string, unread)
	go func() {
		defer close(r.lines)
		for in := bufio.NewReader(out); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				if r.err = err; line == "" && err == io.EOF {
					r.err = nil
				}
				return
			}
			r.lines <- line
		}
	}()
	return r
}

// line is the next line the server writes.
func (r *raw) line() string {
	r.t.Helper()
	line, more := <-r.lines
	if !more {
		r.t.Fatalf("the server is gone: %v", r.err)
	}
	return line
}

func (r *raw) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.t.Fatalf("the server is gone: %v", err)
	}
}

// ends closes the server's input: it ends well.
func (r *raw) ends() {
	r.t.Helper()
	r.in.Close()
	for range r.lines {
	}
	if r.err != nil {
		r.t.Fatal(r.err)
	}
	if err := r.cmd.Wait(); err != nil {
		r.t.Errorf("the end: %v", err)
	}
}

// answer waits for the answer to a request.
func (r *raw) answer(id string) map[string]any {
	r.t.Helper()
	for {
		line := r.line()
		var list []map[string]any // a list is answered by one
		if !strings.HasPrefix(line, "[") {
			line = "[" + line + "]"
		}
		if err := json.Unmarshal([]byte(line), &list); err != nil {
			r.t.Fatalf("%q: %v", line, err)
		}
		for _, m := range list {
			if m["id"] == id {
				return m
			}
		}
	}
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// What is no message, at whatever moment, is answered and goes by; the next one
// is served.
func TestBrokenLines(t *testing.T) {
	broken := []string{
		"", "x", "{", "}", "[]", "[1]", "null", "true", "1", `"text"`, "\x00\x01\xff", "{}", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":true,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":99,"error":5}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":["x"]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"true","timeout_ms":1e99}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","requestState":"x","inputResponses":{"q1":7}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"true"},"requestState":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"zzz"}}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":{}}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},7]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`, strings.Repeat("[", 20_000), `{"jsonrpc":"2.0","id":1,"method":"ping"} trailing`, "{\"a\":" + strings.Repeat("{\"a\":", 9_000),
	}
	deep := strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)
	for _, in := range []string{`"command":"true","x":` + deep, `"command":` + deep, `"command":null`, `"command":"true","workdir":{}`, `"command":"true\u0000x"`, `"command":"true","timeout_ms":99999999999999999999`, `"command":"true","workdir":"a\u0000b"`} {
		broken = append(broken, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{`+in+`}}}`)
	}
	broken = append(broken, `{"jsonrpc":"2.0","id":"`+strings.Repeat("x", 1<<20)+`","method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("m", 1<<20)+`"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":{"path":"x"},"offset":"1"}}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","_meta":{"progressToken":`+deep+`},"arguments":{"command":"true"}}}`)
	r := openRaw(t)
	for _, line := range broken { // before the handshake
		r.send(line)
	}
	r.send(hello)
	r.answer("hello")
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, line := range broken {
		r.send(line)
	}
	r.send(`{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"bash","arguments":{"command":"echo served"}}}`)
	if got := r.answer("last"); !strings.Contains(mustJSON(t, got), "served") {
		t.Errorf("%v", got)
	}
	r.ends()
}

// A line without end is let go of, and the next one served.
func TestLongLine(t *testing.T) {
	r := openRaw(t)
	for range 40 {
		if _, err := io.WriteString(r.in, strings.Repeat("[1,", 1<<20/3)); err != nil {
			t.Fatal(err)
		}
	}
	r.send("")
	r.send(hello)
	r.answer("hello")
	r.ends()
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// In the revisions that have lists, one is answered by a list.
func TestListOfMessages(t *testing.T) {
	r := openRaw(t)
	r.send(strings.Replace(hello, "2025-06-18", "2025-03-26", 1))
	r.answer("hello")
	r.send(`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`)
	line := r.line()
	if !strings.HasPrefix(line, "[") || !strings.Contains(line, `"a"`) || !strings.Contains(line, `"b"`) {
		t.Errorf("%q", line)
	}
	// Requests with one id at once are the client's mistake, not the end.
	for range 3 {
		r.send(`{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"bash","arguments":{"command":"sleep 0.1"}}}`)
	}
	r.send(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	r.answer("last")
	r.ends()
}
