package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"bawn/internal/audit"
	"bawn/internal/policy"
)

const (
	evil  = `<script>document.title="RAN"</script>`
	trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

// records are two runs: one with everything, and one that was refused.
func records() []audit.Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	out := []audit.Record{
		{Kind: audit.Opened, File: 1, FirstFile: 1},
		{Kind: audit.Started, Run: "aaaaaaaaaaaaaaaa", Command: "make " + evil, Dir: "/ws", Tier: "guarded", Place: "sandbox", PID: 7, Trace: trace},
		{Kind: audit.Decided, Run: "aaaaaaaaaaaaaaaa", Verdict: "deny", Action: audit.Connect, Target: "evil.test:443", Command: "=curl|`x`", Via: "connect", PID: 8,
			Rule: policy.Rule{ID: "host:unlisted", Text: "evil.test is not on the list", Lift: "allow it", Origin: policy.Origin{File: "/c.toml", Line: 3}}},
		{Kind: audit.Decided, Run: "aaaaaaaaaaaaaaaa", Verdict: "allow", Action: audit.Connect, Target: "good.test:443", Command: "curl", PID: 8},
		{Kind: audit.Connection, Run: "aaaaaaaaaaaaaaaa", Action: audit.Connect, Target: "good.test:443", Command: "curl", Up: 1000, Down: 2_000_000, Duration: 500 * time.Millisecond},
		{Kind: audit.Decided, Run: "aaaaaaaaaaaaaaaa", Verdict: "deny", Action: audit.Write, Target: "/ws/.git/hooks/\"x\"", Command: "sh", Inside: 6},
		{Kind: audit.Ended, Run: "aaaaaaaaaaaaaaaa", Code: 2, Denied: 2, Duration: 3 * time.Second},
		{Kind: audit.Decided, Run: "bbbbbbbbbbbbbbbb", Verdict: "deny", Action: audit.Run, Target: "rm -rf x"},
	}
	for i := range out {
		out[i].Seq, out[i].Time = uint64(i+1), at.Add(time.Duration(i)*time.Second)
	}
	return out
}

func text(t *testing.T, f func(io.Writer, []audit.Record) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, records()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(text(t, CSV))).ReadAll()
	if err != nil || len(rows) != 1+len(records()) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	if r := rows[3]; r[at["target"]] != "evil.test:443" || r[at["rule_line"]] != "3" || r[at["command"]] != "'=curl|`x`" {
		t.Errorf("%q", r)
	}
	if r := rows[7]; r[at["code"]] != "2" || r[at["us"]] != "3000000" {
		t.Errorf("%q", r)
	}
}

// No cell is a formula, and none acts on a terminal.
func TestCSVCells(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\t=1": "'\t=1", "\n=1": "'\n=1", " =1": "' =1", "＝1": "'＝1", "＠x": "'＠x",
		"a=1": "a=1", "é": "é", " a": " a", "": "", "\x1b[2Jx": "·[2Jx", "\u009b31m": "·31m", "x\u202ey": "x·y",
	} {
		var b bytes.Buffer
		if err := CSV(&b, []audit.Record{{Kind: audit.Decided, Target: text}}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil || rows[1][6] != want {
			t.Errorf("%q became %q, want %q: %v", text, rows[1][6], want, err)
		}
	}
}

func TestMarkdown(t *testing.T) {
	out := text(t, Markdown)
	for line := range strings.Lines(out) {
		// Whatever stands in a cell, it ends no cell and begins no element.
		if strings.HasPrefix(line, "| 2026") {
			plain := strings.NewReplacer(`\\`, "", `\|`, "").Replace(line)
			if n := strings.Count(plain, "|"); n != 6 && n != 7 || strings.Contains(line, "<") {
				t.Errorf("%d cells: %s", n-1, line)
			}
		}
	}
	for _, want := range []string{"2 runs, 8 records", "evil.test:443", "/c.toml:3", "allow it", "not run"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// The page is looked at in a browser: it shows what it should, nothing of the
// records runs in it, and it asks for nothing else.
func TestHTMLInABrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the browser is installed on Linux")
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/log.html", []byte(text(t, HTML)), 0o644); err != nil {
		t.Fatal(err)
	}
	// The page in a frame of one whose script measures it.
	probe := `<!doctype html><iframe id=f src=log.html style="width:1000px;height:2000px;border:0"></iframe><pre id=out></pre><script>
f.onload = () => {
  const d = f.contentDocument, w = f.contentWindow, r = {title: d.title, runs: d.querySelectorAll('details').length, scripts: d.scripts.length};
  const size = s => [...d.querySelectorAll(s)].map(e => { const b = e.getBoundingClientRect(); return Math.round(b.width) + 'x' + Math.round(b.height) });
  r.bars = size('svg rect').filter(s => !s.endsWith('x0')); r.denied = size('#denied .bar i'); r.traffic = size('#traffic .bar i');
  r.color = w.getComputedStyle(d.querySelector('svg rect.deny')).fill; r.tiles = [...d.querySelectorAll('.tile')].map(e => e.innerText.replace(/\s+/g, ' '));
  r.wide = d.documentElement.scrollWidth; r.loads = w.performance.getEntriesByType('resource').length;
  d.querySelectorAll('details').forEach(e => e.open = true); r.text = d.body.innerText;
  out.textContent = JSON.stringify(r);
}</script>`
	if err := os.WriteFile(dir+"/probe.html", []byte(probe), 0o644); err != nil {
		t.Fatal(err)
	}
	// file: pages may not look into one another; one server may.
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	cmd := exec.Command("chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+dir+"/profile",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=5000", "--dump-dom", server.URL+"/probe.html")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	dom, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium-headless-shell: %v", err)
	}
	_, rest, _ := strings.Cut(string(dom), `<pre id="out">`)
	found, _, _ := strings.Cut(rest, "</pre>")
	found = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(found)
	var r struct {
		Title, Color, Text           string
		Runs, Scripts, Wide, Loads   int
		Bars, Denied, Traffic, Tiles []string
	}
	if err := json.Unmarshal([]byte(found), &r); err != nil {
		t.Fatalf("%v: %s", err, dom)
	}
	if r.Title != "bawn log" || r.Scripts != 0 || r.Loads != 0 || !strings.Contains(r.Text, evil) {
		t.Errorf("the records are more than text: %+v", r)
	}
	if r.Runs != 2 || len(r.Bars) != 4 || len(r.Denied) != 3 || len(r.Traffic) != 1 || strings.HasPrefix(r.Traffic[0], "0x") || r.Wide > 1000 {
		t.Errorf("%+v", r)
	}
	if want := "2 runs|1 allowed|3 denied|1 kB sent|2 MB received"; strings.Join(r.Tiles, "|") != want {
		t.Errorf("%q, want %q", r.Tiles, want)
	}
	if r.Color != "rgb(192, 57, 43)" && r.Color != "rgb(240, 112, 95)" {
		t.Errorf("denied bars are %s", r.Color)
	}
	for _, want := range []string{"exit 2", "deny connect", "evil.test:443", "allow it", "not run", "rm -rf x"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is not shown in:\n%s", want, r.Text)
		}
	}
	if err := HTML(io.Discard, nil); err != nil {
		t.Error(err)
	}
}

// collector keeps what it is sent.
type collector struct {
	mu   sync.Mutex
	got  map[string][]map[string]any
	head http.Header
	code int
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(400)
		return
	}
	if c.got == nil {
		c.got = map[string][]map[string]any{}
	}
	c.got[r.URL.Path] = append(c.got[r.URL.Path], body)
	c.head = r.Header
	w.WriteHeader(max(c.code, 200))
	io.WriteString(w, "{}")
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return func(k string) string { return m[k] }
}

// find walks through maps and lists.
func find(v any, path ...any) any {
	for _, p := range path {
		switch k := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

func attributes(v any) map[string]string {
	out := map[string]string{}
	list, _ := find(v, "attributes").([]any)
	for _, a := range list {
		value, _ := find(a, "value").(map[string]any)
		for _, x := range value {
			out[fmt.Sprint(find(a, "key"))] = fmt.Sprint(x)
		}
	}
	return out
}

func TestSend(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	to, err := Send(t.Context(), records(), env("OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL+"/base/", "OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b,y=1",
		"OTEL_SERVICE_NAME=agents", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=ci,service.name=other"))
	if err != nil || len(to) != 2 {
		t.Fatalf("%v %v", to, err)
	}
	if c.head.Get("X-Key") != "a b" || c.head.Get("Y") != "1" || c.head.Get("Content-Type") != "application/json" {
		t.Errorf("%v", c.head)
	}
	logs, traces := c.got["/base/v1/logs"], c.got["/base/v1/traces"]
	if len(logs) != 1 || len(traces) != 1 {
		t.Fatalf("%v", c.got)
	}
	res := attributes(find(logs[0], "resourceLogs", 0, "resource"))
	if res["service.name"] != "agents" || res["deployment.environment"] != "ci" {
		t.Errorf("%v", res)
	}
	lines, _ := find(logs[0], "resourceLogs", 0, "scopeLogs", 0, "logRecords").([]any)
	if len(lines) != 7 {
		t.Fatalf("%d lines", len(lines))
	}
	deny := lines[1]
	if a := attributes(deny); a["server.address"] != "evil.test" || a["server.port"] != "443" || a["bawn.rule.line"] != "3" || find(deny, "severityText") != "WARN" ||
		find(deny, "timeUnixNano") != fmt.Sprint(records()[2].Time.UnixNano()) || find(deny, "traceId") != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("%v %v", a, deny)
	}
	spans, _ := find(traces[0], "resourceSpans", 0, "scopeSpans", 0, "spans").([]any)
	if len(spans) != 2 { // the command that was not run is none
		t.Fatalf("%v", spans)
	}
	connect, run := spans[0], spans[1]
	if find(run, "traceId") != "4bf92f3577b34da6a3ce929d0e0e4736" || find(run, "parentSpanId") != "00f067aa0ba902b7" || find(connect, "parentSpanId") != find(run, "spanId") ||
		attributes(run)["process.exit.code"] != "2" || find(run, "status", "code") != 2.0 || len(fmt.Sprint(find(run, "spanId"))) != 16 {
		t.Errorf("%v\n%v", run, connect)
	}
	// The second run continues no trace: it has one of its own.
	other := fmt.Sprint(find(lines[6], "traceId"))
	if len(other) != 32 || other == "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("trace %q", other)
	}
}

func TestSendVariables(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	send := func(pairs ...string) ([]string, error) {
		c.got = nil
		return Send(t.Context(), records(), env(pairs...))
	}
	if to, err := send("OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL); err != nil || len(to) != 0 || len(c.got) != 0 {
		t.Errorf("%v %v %v", to, err, c.got)
	}
	if to, err := send("OTEL_LOGS_EXPORTER=none", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+server.URL+"/exactly?x=1"); err != nil || len(to) != 1 || len(c.got["/exactly"]) != 1 || len(c.got) != 1 {
		t.Errorf("%v %v %v", to, err, c.got)
	}
	for _, pairs := range [][]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT=ftp://x"}, {"OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, {"OTEL_EXPORTER_OTLP_TIMEOUT=soon"},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=b%0d%0aHost: x", "OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL},
	} {
		if _, err := send(pairs...); err == nil || len(c.got) != 0 || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_") {
			t.Errorf("%v: %v", pairs, err)
		}
	}
	c.code = 503
	if _, err := send("OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("%v", err)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection seen
		<-r.Context().Done()
	}))
	defer silent.Close()
	begin := time.Now()
	if _, err := send("OTEL_EXPORTER_OTLP_ENDPOINT="+silent.URL, "OTEL_EXPORTER_OTLP_TIMEOUT=100"); err == nil || time.Since(begin) > 5*time.Second {
		t.Errorf("%v", err)
	}
}

// HTTPS is curl's, whose command line shows no header.
func TestSendHTTPS(t *testing.T) {
	c := &collector{}
	server := httptest.NewTLSServer(c)
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	planted := t.TempDir() // which a command could have written
	if err := os.WriteFile(filepath.Join(planted, "curl"), []byte("#!/bin/sh\necho 200\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", planted+":"+os.Getenv("PATH"))
	getenv := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, `OTEL_EXPORTER_OTLP_HEADERS=x-key=a"b\c`}
	if _, err := Send(t.Context(), records(), env(getenv...)); err == nil || len(c.got) != 0 {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
	if _, err := Send(t.Context(), records(), env(append(getenv, "OTEL_EXPORTER_OTLP_CERTIFICATE="+ca)...)); err != nil || len(c.got) != 2 || c.head.Get("X-Key") != `a"b\c` {
		t.Errorf("%v %v", err, c.head)
	}
}

func TestBatches(t *testing.T) {
	var all []audit.Record
	for run := range 5 {
		for range 400 {
			all = append(all, audit.Record{Kind: audit.Decided, Run: fmt.Sprintf("%016d", run)})
		}
	}
	n := 0
	for _, b := range batches(all) {
		n += len(b)
		if len(b) > maxBatch {
			t.Errorf("%d in one", len(b))
		}
	}
	if n != len(all) {
		t.Errorf("%d of %d", n, len(all))
	}
}
