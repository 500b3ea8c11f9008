//go:build linux

package egresstest

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

// search calls web_search.
func (m *mcpServer) search(query string) (text string, bad bool, out mcp.SearchResult) {
	m.t.Helper()
	res, err := m.cs.CallTool(m.t.Context(), &sdk.CallToolParams{Name: "web_search", Arguments: map[string]any{"query": query}})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, c := range res.Content {
		if one, ok := c.(*sdk.TextContent); ok {
			text += one.Text
		}
	}
	b, err := json.Marshal(res.StructuredContent)
	if err == nil && string(b) != "null" {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return text, res.IsError, out
}

func (m *mcpServer) has(tool string) bool {
	m.t.Helper()
	list, err := m.cs.ListTools(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return slices.ContainsFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == tool })
}

// N8: web_search is there when the user's settings name a service, which is
// under the rules of every host; the workspace's cannot name one.
func TestN8_WebSearch(t *testing.T) {
	w := NewWorld(t)
	m := serveMCP(t, w, "2025-06-18", nil, "--allow-domain", "allowed.test")
	if m.has("web_search") {
		t.Error("there is a search without a service")
	}
	_ = m.cs.Close()
	sandboxtest.Write(t, filepath.Join(m.Workspace, ".bawn/config.toml"), "[sandbox]\nsearch = \"http://allowed.test:18080/search\"\n")
	m.again()
	if m.has("web_search") {
		t.Error("the workspace names the service")
	}
	_ = m.cs.Close()
	user := filepath.Join(m.Home, ".config/bawn/config.toml")
	sandboxtest.Write(t, user, "[sandbox]\nsearch = \"http://allowed.test:18080/search\"\n")
	m.again()
	text, bad, out := m.search("a b&format=html")
	if bad || len(out.Results) != 2 || out.Results[0].Title != "One about a b&format=html" || out.Results[0].URL != "https://one.example/x" || strings.Contains(text, "\x1b") ||
		!strings.HasPrefix(text, "1. One about a b&format=html\n   https://one.example/x\n   first ") || strings.Contains(text, "javascript") {
		t.Errorf("%v %q %+v", bad, text, out)
	}
	if text, bad, _ := m.search("form"); !bad || !strings.Contains(text, "not JSON") {
		t.Errorf("%q", text)
	}
	if _, bad, _ := m.search(" "); !bad {
		t.Error("an empty query")
	}
	_ = m.cs.Close()
	sandboxtest.Write(t, user, "[sandbox]\nsearch = \"http://other.test:18080/search\"\n")
	m.again()
	before := w.Hits(t, "11.0.0.11:18080")
	if text, bad, out := m.search("x"); !bad || len(out.Denied) != 1 || out.Denied[0].Target != "other.test:18080" || !strings.Contains(text, "[denied: connect other.test:18080") || w.Hits(t, "11.0.0.11:18080") != before {
		t.Errorf("%v %q %+v", bad, text, out)
	}
}
