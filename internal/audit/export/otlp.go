package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bawn/internal/audit"
)

// The messages of OTLP 1.x in their JSON form: ids in hexadecimal, 64-bit
// numbers as strings.
type (
	otlpLogs struct {
		ResourceLogs []resourceLogs `json:"resourceLogs"`
	}
	otlpTraces struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceLogs struct {
		Resource  resource    `json:"resource"`
		ScopeLogs []scopeLogs `json:"scopeLogs"`
	}
	scopeLogs struct {
		Scope      scope       `json:"scope"`
		LogRecords []logRecord `json:"logRecords"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scope struct {
		Name string `json:"name"`
	}
	logRecord struct {
		TimeUnixNano string      `json:"timeUnixNano"`
		Severity     int         `json:"severityNumber"`
		SeverityText string      `json:"severityText"`
		Body         value       `json:"body"`
		Attributes   []attribute `json:"attributes"`
		TraceID      string      `json:"traceId,omitempty"`
		SpanID       string      `json:"spanId,omitempty"`
		EventName    string      `json:"eventName,omitempty"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Status     status      `json:"status"`
	}
	status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string `json:"stringValue,omitempty"`
		Int    string  `json:"intValue,omitempty"`
	}
)

// Numbers of the protocol.
const (
	severityInfo, severityWarn = 9, 13
	spanInternal, spanClient   = 1, 3
	statusError                = 2
)

// OTLP is the two requests that carry the records: logs and traces, each nil if
// there is nothing to say. A run is a span, whose parent is the one that the
// run was started from (TRACEPARENT); its connections are spans below it.
func OTLP(records []audit.Record, getenv func(string) string) (logs, traces []byte, err error) {
	res := resource{resourceOf(getenv)}
	who := scope{"bawn"}
	var lines []logRecord
	var spans []span
	for _, run := range audit.Runs(records) {
		id := identify(run)
		for _, r := range run.Records {
			lines = append(lines, id.log(r))
			if r.Kind == audit.Connection {
				spans = append(spans, id.connection(r))
			}
		}
		if run.Start.Kind != "" {
			spans = append(spans, id.run(run))
		}
	}
	if len(lines) > 0 {
		logs, err = json.Marshal(otlpLogs{[]resourceLogs{{res, []scopeLogs{{who, lines}}}}})
	}
	if len(spans) > 0 && err == nil {
		traces, err = json.Marshal(otlpTraces{[]resourceSpans{{res, []scopeSpans{{who, spans}}}}})
	}
	return logs, traces, err
}

// identity is the place of a run among traces.
type identity struct{ trace, span, parent string }

func identify(run audit.RunRecords) identity {
	if f := strings.Split(audit.TraceParent(run.Start.Trace), "-"); len(f) == 4 {
		return identity{f[1], spanID(run.ID), f[2]}
	}
	sum := sha256.Sum256([]byte("bawn run " + run.ID))
	return identity{trace: hex.EncodeToString(sum[:16]), span: spanID(run.ID)}
}

// spanID is a name's own: two exports of one record give one span.
func spanID(name string) string {
	sum := sha256.Sum256([]byte("bawn span " + name))
	return hex.EncodeToString(sum[:8])
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func (id identity) log(r audit.Record) logRecord {
	severity, text := severityInfo, "INFO"
	if r.Verdict == "deny" {
		severity, text = severityWarn, "WARN"
	}
	return logRecord{
		TimeUnixNano: nanos(r.Time), Severity: severity, SeverityText: text, Body: stringOf(r.What() + " " + r.Text()),
		Attributes: attributesOf(r), TraceID: id.trace, SpanID: id.span, EventName: "bawn." + string(r.Kind),
	}
}

func (id identity) run(run audit.RunRecords) span {
	s := span{
		TraceID: id.trace, SpanID: id.span, Parent: id.parent, Name: "bawn run", Kind: spanInternal,
		Start: nanos(run.Start.Time), End: nanos(run.Last()), Attributes: attributesOf(run.Start),
	}
	if run.End.Kind == "" {
		s.Status.Message = run.Outcome()
		return s
	}
	s.Attributes = append(s.Attributes, intAttribute("process.exit.code", int64(run.End.Code)), intAttribute("bawn.denied", int64(run.End.Denied)))
	if run.End.Code != 0 {
		s.Status = status{statusError, run.Outcome()}
	}
	return s
}

func (id identity) connection(r audit.Record) span {
	s := span{
		TraceID: id.trace, SpanID: spanID(r.Run + " " + strconv.FormatUint(r.Seq, 10)), Parent: id.span, Name: "connect", Kind: spanClient,
		Start: nanos(r.Time.Add(-r.Duration)), End: nanos(r.Time), Attributes: attributesOf(r),
	}
	if r.Error != "" {
		s.Status = status{statusError, r.Error}
	}
	return s
}

func stringOf(s string) value { return value{String: &s} }

func stringAttribute(key, s string) attribute { return attribute{key, stringOf(s)} }

func intAttribute(key string, n int64) attribute {
	return attribute{key, value{Int: strconv.FormatInt(n, 10)}}
}

// attributesOf uses the names of the semantic conventions where there are any.
func attributesOf(r audit.Record) []attribute {
	out := []attribute{stringAttribute("bawn.run", r.Run), intAttribute("bawn.seq", int64(r.Seq))}
	text := func(key, s string) {
		if s != "" {
			out = append(out, stringAttribute(key, s))
		}
	}
	number := func(key string, n int64) {
		if n != 0 {
			out = append(out, intAttribute(key, n))
		}
	}
	text("bawn.verdict", r.Verdict)
	text("bawn.action", r.Action)
	switch host, port, err := net.SplitHostPort(r.Target); {
	case r.Action == audit.Connect && err == nil:
		text("server.address", host)
		n, _ := strconv.ParseInt(port, 10, 64)
		number("server.port", n)
	case r.Action == audit.Connect, r.Action == audit.Resolve:
		text("server.address", r.Target)
	case r.Action == audit.Write, r.Action == audit.Read:
		text("file.path", r.Target)
	default:
		text("bawn.target", r.Target)
	}
	if r.Kind == audit.Started {
		text("process.command_line", r.Command)
		text("process.working_directory", r.Dir)
	} else {
		text("process.executable.name", r.Command)
	}
	text("bawn.tier", r.Tier)
	text("bawn.place", r.Place)
	text("bawn.via", r.Via)
	text("network.peer.address", r.Addr)
	number("bawn.bytes.sent", r.Up)
	number("bawn.bytes.received", r.Down)
	number("process.pid", int64(r.PID))
	number("bawn.process.inside", int64(r.Inside))
	number("bawn.process.parent", int64(r.Parent))
	number("bawn.process.count", int64(r.Count))
	text("bawn.rule.id", r.Rule.ID)
	text("bawn.rule.text", r.Rule.Text)
	text("bawn.rule.file", r.Rule.Origin.File)
	number("bawn.rule.line", int64(r.Rule.Origin.Line))
	text("bawn.rule.lift", r.Rule.Lift)
	text("error.message", r.Error)
	return out
}

// resourceOf says who speaks: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
func resourceOf(getenv func(string) string) []attribute {
	pairs := keyValues(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		pairs = slices.DeleteFunc(pairs, func(p [2]string) bool { return p[0] == "service.name" })
		pairs = append(pairs, [2]string{"service.name", name})
	}
	if !slices.ContainsFunc(pairs, func(p [2]string) bool { return p[0] == "service.name" }) {
		pairs = append(pairs, [2]string{"service.name", "bawn"})
	}
	var out []attribute
	for _, p := range pairs {
		out = append(out, stringAttribute(p[0], p[1]))
	}
	return out
}

// keyValues reads key=value,key=value with percent escapes, as these variables
// have them. What is no pair is left out.
func keyValues(s string) (out [][2]string) {
	for part := range strings.SplitSeq(s, ",") {
		key, text, ok := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		text = strings.TrimSpace(text)
		if v, err := url.PathUnescape(text); err == nil {
			text = v
		}
		if ok && key != "" {
			out = append(out, [2]string{key, text})
		}
	}
	return out
}
