package export

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"bawn/internal/audit"
)

// maxBatch is how many records go into one request.
const maxBatch = 1000

// Send sends the records to an OpenTelemetry collector by OTLP/HTTP with JSON,
// as the OTEL_ variables say, and reports to where.
func Send(ctx context.Context, records []audit.Record, getenv func(string) string) (to []string, err error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	logsTo, err := target("LOGS", "/v1/logs", getenv)
	if err != nil {
		return nil, err
	}
	tracesTo, err := target("TRACES", "/v1/traces", getenv)
	if err != nil {
		return nil, err
	}
	for _, batch := range batches(records) {
		logs, traces, err := OTLP(batch, getenv)
		if err == nil && logsTo != nil && logs != nil {
			err = logsTo.post(ctx, logs)
		}
		if err == nil && tracesTo != nil && traces != nil {
			err = tracesTo.post(ctx, traces)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, e := range []*endpoint{logsTo, tracesTo} {
		if e != nil {
			to = append(to, e.url.Redacted())
		}
	}
	return to, nil
}

// batches cuts records into requests; a run is never cut, since its span needs
// its beginning and its end.
func batches(records []audit.Record) (out [][]audit.Record) {
	var batch []audit.Record
	for _, run := range audit.Runs(records) {
		if len(batch) > 0 && len(batch)+len(run.Records) > maxBatch {
			out = append(out, batch)
			batch = nil
		}
		batch = append(batch, run.Records...)
	}
	if len(batch) > 0 {
		out = append(out, batch)
	}
	return out
}

// endpoint is where one signal goes.
type endpoint struct {
	url         *url.URL
	headers     [][2]string
	certificate string
	timeout     time.Duration
}

const defaultTimeout = 10 * time.Second

// target reads the variables of one signal; those that name it win. nil: the
// signal is not wanted.
func target(signal, path string, getenv func(string) string) (*endpoint, error) {
	if getenv("OTEL_"+signal+"_EXPORTER") == "none" {
		return nil, nil
	}
	get := func(name string) (v, from string) {
		if v := getenv("OTEL_EXPORTER_OTLP_" + signal + "_" + name); v != "" {
			return v, "OTEL_EXPORTER_OTLP_" + signal + "_" + name
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name), "OTEL_EXPORTER_OTLP_" + name
	}
	// A collector takes both forms of HTTP on one port, and gRPC on another.
	if v, from := get("PROTOCOL"); v == "grpc" {
		return nil, fmt.Errorf("%s is grpc: bawn speaks http/json; unset it for bawn, and name the port for HTTP (4318)", from)
	}
	e := &endpoint{timeout: defaultTimeout}
	text, from := get("ENDPOINT")
	if text == "" {
		text = "http://localhost:4318"
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is no http:// or https:// address", from) // not shown: it may hold a password
	}
	if from == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u.Path = strings.TrimSuffix(u.Path, "/") + path
	} else if u.Path == "" {
		u.Path = "/"
	}
	e.url = u
	headers, from := get("HEADERS")
	e.headers = keyValues(headers)
	for _, h := range e.headers {
		if strings.ContainsAny(h[0]+h[1], "\r\n\x00") || strings.ContainsAny(h[0], " :\t") {
			return nil, fmt.Errorf("%s holds what is no header", from)
		}
	}
	if text, from := get("TIMEOUT"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%s is %q: it is a number of milliseconds", from, text)
		}
		e.timeout = time.Duration(ms) * time.Millisecond
	}
	e.certificate, _ = get("CERTIFICATE")
	return e, nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// post sends one request. Written out here: net/http and crypto/tls would make
// every start of this program slower, so HTTPS is curl's.
func (e *endpoint) post(ctx context.Context, body []byte) error {
	if e.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.timeout)
		defer cancel()
	}
	send := e.plain
	if e.url.Scheme == "https" {
		send = e.curl
	}
	code, err := send(ctx, body)
	if err == nil && (code < 200 || code > 299) {
		err = fmt.Errorf("it answered %d", code)
	}
	if err != nil {
		return fmt.Errorf("sending to %s: %w", e.url.Redacted(), err)
	}
	return nil
}

func (e *endpoint) plain(ctx context.Context, body []byte) (code int, err error) {
	host := e.url.Host
	if e.url.Port() == "" {
		host = net.JoinHostPort(e.url.Hostname(), "80")
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\nUser-Agent: bawn\r\n", e.url.RequestURI(), e.url.Host, len(body))
	for _, h := range e.headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	b.Write(body)
	if _, err := c.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return status1(bufio.NewReader(io.LimitReader(c, maxAnswer)))
}

// status1 reads the code of an HTTP/1 answer.
func status1(r *bufio.Reader) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("no answer: %w", err)
	}
	f := strings.Fields(line)
	if len(f) < 2 || !strings.HasPrefix(f[0], "HTTP/1.") {
		return 0, errors.New("its answer is no HTTP")
	}
	code, err := strconv.Atoi(f[1])
	if err != nil || len(f[1]) != 3 {
		return 0, errors.New("its answer is no HTTP")
	}
	return code, nil
}

// findCurl prefers the system's own: a folder of PATH may be one that sandboxed
// commands write, and curl is given the headers and the log.
func findCurl() (string, error) {
	for _, path := range []string{"/usr/bin/curl", "/bin/curl"} {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, nil
		}
	}
	return exec.LookPath("curl")
}

// curl sends by the host's curl. What it is told goes by descriptors, so that
// no other user sees a header.
func (e *endpoint) curl(ctx context.Context, body []byte) (code int, err error) {
	path, err := findCurl()
	if err != nil {
		return 0, errors.New("an https:// address needs curl, which is not installed")
	}
	var settings strings.Builder
	set := func(key, v string) {
		fmt.Fprintf(&settings, "%s = \"%s\"\n", key, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v))
	}
	set("url", e.url.String())
	set("header", "Content-Type: application/json")
	for _, h := range e.headers {
		set("header", h[0]+": "+h[1])
	}
	if e.certificate != "" {
		set("cacert", e.certificate)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, path, "-q", "-sS", "-o", os.DevNull, "-w", "%{http_code}", "--data-binary", "@-", "-K", "/dev/fd/3")
	cmd.Stdin, cmd.ExtraFiles = bytes.NewReader(body), []*os.File{r}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	go func() {
		_, _ = w.WriteString(settings.String())
		w.Close()
	}()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("curl: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return strconv.Atoi(out.String())
}
