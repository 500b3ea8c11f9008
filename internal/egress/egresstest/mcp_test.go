//go:build linux

package egresstest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

// mcpServer is bawn mcp in a world.
type mcpServer struct {
	*sandboxtest.Box
	t  *testing.T
	w  *World
	cs *sdk.ClientSession

	version string
	flags   []string

	mu      sync.Mutex
	answers []string // in turn; none left is a dismissal
	asked   []string
}

// serveMCP starts one; without answers its client cannot ask.
func serveMCP(t *testing.T, w *World, version string, answers []string, flags ...string) *mcpServer {
	t.Helper()
	m := &mcpServer{Box: sandboxtest.New(t, "native"), t: t, w: w, answers: answers, version: version, flags: flags}
	copyFile(t, filepath.Join(w.Dir, "ca.pem"), filepath.Join(m.Workspace, "ca.pem"))
	m.again()
	t.Cleanup(func() { _ = m.cs.Close() })
	return m
}

// again starts the server.
func (m *mcpServer) again() {
	t, w := m.t, m.w
	t.Helper()
	argv := w.inside(m.Workspace, append([]string{sandboxtest.Binary(), "mcp"}, m.flags...)...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = m.Workspace, append(m.Environ(), "SSL_CERT_FILE="+filepath.Join(m.Workspace, "ca.pem")), os.Stderr
	o := &sdk.ClientOptions{}
	if m.answers != nil {
		o.ElicitationHandler = m.elicit
	}
	ctx, cancel := context.WithTimeout(t.Context(), sandboxtest.Limit)
	t.Cleanup(cancel)
	var err error
	if m.cs, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(ctx, &sdk.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, &sdk.ClientSessionOptions{ProtocolVersion: m.version}); err != nil {
		t.Fatal(err)
	}
}

func (m *mcpServer) elicit(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r.Params.Message)
	if len(m.answers) == 0 {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	word := m.answers[0]
	m.answers = m.answers[1:]
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": word}}, nil
}

func (m *mcpServer) questions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

// page is what a tool gave: its text, whether that is an error, and the denials.
func (m *mcpServer) page(tool, url string, more ...string) (text string, bad bool, out mcp.FetchResult) {
	m.t.Helper()
	a := map[string]any{"url": url}
	if tool == "bash" {
		a = map[string]any{"command": url}
	}
	for i := 0; i+1 < len(more); i += 2 {
		a[more[i]] = more[i+1]
	}
	res, err := m.cs.CallTool(m.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		m.t.Fatalf("%s %s: %v", tool, url, err)
	}
	for _, c := range res.Content {
		if one, ok := c.(*sdk.TextContent); ok {
			text += one.Text
		}
	}
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return text, res.IsError, out
}

func (m *mcpServer) reads(tool, url string) {
	m.t.Helper()
	if text, bad, out := m.page(tool, url); bad || !strings.Contains(text, "hello ") || len(out.Denied) != 0 {
		m.t.Errorf("%s %s: %v %+v\n%s", tool, url, bad, out, text)
	}
}

func (m *mcpServer) denied(tool, url, words string) {
	m.t.Helper()
	if text, bad, out := m.page(tool, url); !bad || len(out.Denied) == 0 || !strings.Contains(text, words) || strings.Contains(text, "hello ") {
		m.t.Errorf("%s %s: %v %+v, want %q\n%s", tool, url, bad, out, words, text)
	}
}

// N8: fetch is under the commands' rules, at every redirect and at the address
// that is dialled.
func TestN8_Fetch(t *testing.T) {
	w := NewWorld(t)
	m := serveMCP(t, w, "2025-06-18", nil, "--allow-domain", "allowed.test", "--allow-domain", "intra.test", "--allow-domain", "loop.test", "--allow-domain", "rebind.test")
	m.reads("fetch", "http://allowed.test:18080/x")
	m.reads("fetch", "https://allowed.test:18443/x")
	m.reads("fetch", "http://allowed.test:18080/go?to=http://sub.allowed.test:18080/y")
	before := w.Hits(t, "11.0.0.11:18080")
	m.denied("fetch", "http://other.test:18080/", "[denied: ")
	m.denied("fetch", "http://allowed.test:18080/go?to=http://other.test:18080/", "[denied: connect other.test:18080")
	if n := w.Hits(t, "11.0.0.11:18080"); n != before {
		t.Error("the host was reached")
	}
	for _, u := range []string{"http://intra.test:18080/", "http://loop.test:18080/", "http://10.1.2.3:18080/", "http://169.254.169.254/", "http://allowed.test:18080/go?to=http://169.254.169.254:18080/"} {
		m.denied("fetch", u, "[denied: ")
	}
	for _, u := range []string{"file:///etc/passwd", "ftp://allowed.test/", "http://u:p@allowed.test:18080/", "http://", "x", "http://allowed.test:18080/go?to=file:///etc/passwd"} {
		if text, bad, _ := m.page("fetch", u); !bad || strings.Contains(text, "root:") {
			t.Errorf("%s: %s", u, text)
		}
	}
	// Bounds and forms.
	if text, bad, out := m.page("fetch", "http://allowed.test:18080/page"); bad || text != "# Title\n\nOne [two](/three) four\n\n- item" || out.Type != "text/html; charset=utf-8" {
		t.Errorf("%v %q %+v", bad, text, out)
	}
	if text, _, _ := m.page("fetch", "http://allowed.test:18080/page", "format", "text"); text != "Title\n\nOne two four\n\nitem" {
		t.Errorf("%q", text)
	}
	if text, _, _ := m.page("fetch", "http://allowed.test:18080/page", "format", "html"); !strings.HasPrefix(text, "<html>") {
		t.Errorf("%q", text)
	}
	if text, bad, out := m.page("fetch", "http://allowed.test:18080/endless"); bad || !out.Truncated || len(text) > 103_000 {
		t.Errorf("%v, %d bytes, %+v", bad, len(text), out)
	}
}

// N11: in airlock the tools say what would help.
func TestN8_FetchInAirlock(t *testing.T) {
	w := NewWorld(t)
	m := serveMCP(t, w, "2025-06-18", []string{"once", "session"}, "--tier", "airlock", "--allow-domain", "allowed.test")
	m.denied("fetch", "http://allowed.test:18080/", "Alt+S")
	m.denied("web_fetch", "http://allowed.test:18080/", "Alt+S")
	if m.questions() != 0 || w.Hits(t, "11.0.0.10:18080") != 0 {
		t.Errorf("asked %q", m.asked)
	}
}

// N8: web_fetch has a permission of its own, given once, and never reaches a
// private address or a denied host.
func TestN8_WebFetch(t *testing.T) {
	w := NewWorld(t)
	for _, v := range []string{"2025-06-18", "2026-07-28"} {
		m := serveMCP(t, w, v, []string{"deny", "session"}, "--deny-domain", "evil.test", "--allow-domain", "intra.test", "--allow-private", "intra.test")
		before := w.Hits(t, "11.0.0.11:18080")
		m.denied("web_fetch", "http://other.test:18080/", "")
		if w.Hits(t, "11.0.0.11:18080") != before {
			t.Error("it was reached without an approval")
		}
		m.reads("web_fetch", "http://other.test:18080/")
		m.reads("web_fetch", "http://allowed.test:18080/go?to=http://other.test:18080/")
		if m.questions() != 2 {
			t.Errorf("%s: asked %q", v, m.asked)
		}
		for _, u := range []string{"http://evil.test:18080/", "http://intra.test:18080/", "http://10.1.2.3:18080/", "http://loop.test:18080/", "http://169.254.169.254/", "http://allowed.test:18080/go?to=http://10.1.2.3:18080/"} {
			m.denied("web_fetch", u, "[denied: ")
		}
		// The way is web_fetch's alone.
		m.reads("fetch", "http://intra.test:18080/")
		if text, _, _ := m.page("bash", "curl -sS --max-time 20 http://other.test:18080/"); strings.Contains(text, "hello ") {
			t.Error("a command went web_fetch's way")
		}
	}
	m := serveMCP(t, w, "2025-06-18", nil)
	m.denied("web_fetch", "http://other.test:18080/", "nobody to ask")
	// Without a sandbox there is no egress to see to it.
	m = serveMCP(t, w, "2025-06-18", []string{"session"}, "--tier", "open")
	m.reads("web_fetch", "http://other.test:18080/")
	for _, u := range []string{"http://10.1.2.3:18080/", "http://loop.test:18080/", "http://other.test:18080/go?to=http://10.1.2.3:18080/"} {
		if text, bad, _ := m.page("web_fetch", u); !bad || !strings.Contains(text, "no public address") {
			t.Errorf("%s: %s", u, text)
		}
	}
}

// A permission rule denies it for good, or gives it without a question.
func TestN8_WebFetchByRule(t *testing.T) {
	w := NewWorld(t)
	for rule, reads := range map[string]bool{"deny = [\"web_fetch *\"]": false, "allow = [\"web_fetch *\"]": true} {
		m := serveMCP(t, w, "2025-06-18", []string{"session"}, "--allow-domain", "allowed.test")
		_ = m.cs.Close()
		sandboxtest.Write(t, filepath.Join(m.Home, ".config/bawn/config.toml"), "[permissions]\n"+rule+"\n")
		m.again()
		if reads {
			m.reads("web_fetch", "http://other.test:18080/")
		} else {
			m.denied("web_fetch", "http://other.test:18080/", "not run")
		}
		if m.questions() != 0 {
			t.Errorf("%s: asked %q", rule, m.asked)
		}
	}
}

// N7: a host that no rule names is asked about in the client, as far as the
// answer says.
func TestN7_AskedByElicitation(t *testing.T) {
	w := NewWorld(t)
	for _, v := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		const get = "curl -sS --fail http://other.test:18080/"
		m := serveMCP(t, w, v, []string{"once", "deny"})
		m.reads("bash", get)
		before := w.Hits(t, "11.0.0.11:18080")
		if text, _, out := m.page("bash", get); len(out.Denied) != 1 || out.Denied[0].Target != "other.test:18080" || strings.Contains(text, "hello") {
			t.Errorf("%s: %s", v, text)
		}
		if m.questions() != 2 || w.Hits(t, "11.0.0.11:18080") != before || !strings.Contains(m.asked[0], "other.test:18080") {
			t.Errorf("%s: asked %q", v, m.asked)
		}
		m = serveMCP(t, w, v, []string{"session"})
		m.reads("bash", get)
		m.reads("bash", get)
		m.reads("fetch", "http://other.test:18080/")
		if m.questions() != 1 {
			t.Errorf("%s: asked %q", v, m.asked)
		}
	}
}
