package egress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// field is one line of a head. The value has no white space around it.
type field struct{ name, value string }

func (f field) is(name string) bool { return strings.EqualFold(f.name, name) }

// head is a start line and its fields, of a request or a response.
type head struct {
	line   string
	fields []field
}

// fault is a message that cannot be served; status is what a client is told.
type fault struct {
	status int
	text   string
}

func (f *fault) Error() string { return f.text }

func bad(text string) error { return &fault{400, text} }

// headEnd gives the length of the head at the start of b, 0 if it is not
// complete. Lines end in CR LF and nothing else: what different parsers make
// of a bare CR or LF is how requests are smuggled.
func headEnd(b []byte) (int, error) {
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0, nil
		}
		if n == 0 || b[i+n-1] != '\r' {
			return 0, bad("a line of the head does not end in CR LF")
		}
		if n == 1 && i > 0 {
			return i + 2, nil
		}
		if n == 1 {
			return 0, bad("an empty line before the request")
		}
		i += n + 1
	}
}

// parseHead parses what headEnd found.
func parseHead(b []byte) (head, error) {
	lines := strings.Split(strings.TrimSuffix(string(b), "\r\n\r\n"), "\r\n")
	h := head{line: lines[0]}
	if len(lines)-1 > maxFields {
		return head{}, &fault{431, "too many header fields"}
	}
	if !plain(h.line) {
		return head{}, bad("a control character in the first line")
	}
	var err error
	h.fields, err = parseFields(lines[1:])
	return h, err
}

func parseFields(lines []string) ([]field, error) {
	fields := make([]field, 0, len(lines))
	for _, l := range lines {
		name, value, ok := strings.Cut(l, ":")
		// A token: so no white space before the colon, and no line that
		// continues the one before (obs-fold).
		if !ok || !token(name) {
			return nil, bad("a header line that is no field")
		}
		value = strings.Trim(value, " \t")
		if !plain(value) {
			return nil, bad("a control character in a header field")
		}
		fields = append(fields, field{name, value})
	}
	return fields, nil
}

// plain reports whether s has no control character except tab.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func token(s string) bool {
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func tokenByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// one gives the value of the field that may stand once only.
func (h head) one(name string) (value string, ok bool, err error) {
	for _, f := range h.fields {
		if !f.is(name) {
			continue
		}
		if ok {
			return "", false, bad("two fields " + name)
		}
		value, ok = f.value, true
	}
	return value, ok, nil
}

// list gives the members of all fields of that name, which are lists of
// tokens, in lower case.
func (h head) list(name string) []string {
	var out []string
	for _, f := range h.fields {
		if !f.is(name) {
			continue
		}
		for v := range strings.SplitSeq(f.value, ",") {
			if v = strings.Trim(v, " \t"); v != "" {
				out = append(out, strings.ToLower(v))
			}
		}
	}
	return out
}

// Lengths of a body that are no number of bytes.
const (
	chunked  = -1
	tillEnd  = -2 // of the connection; responses only
	noLength = -3 // neither field is there
)

// length gives the framing that the fields announce: one Content-Length, or
// chunked, never both.
func (h head) length() (int64, error) {
	cl, hasCL, err := h.one("Content-Length")
	if err != nil {
		return 0, err
	}
	te, hasTE, err := h.one("Transfer-Encoding")
	if err != nil {
		return 0, err
	}
	switch {
	case hasCL && hasTE:
		return 0, bad("both Content-Length and Transfer-Encoding")
	case hasTE && strings.EqualFold(te, "chunked"):
		return chunked, nil
	case hasTE:
		return 0, &fault{501, "a transfer coding other than chunked"}
	case hasCL:
		for i := range len(cl) {
			if cl[i] < '0' || cl[i] > '9' {
				return 0, bad("a Content-Length that is no number")
			}
		}
		n, err := strconv.ParseInt(cl, 10, 63)
		if err != nil {
			return 0, bad("a Content-Length that is no number")
		}
		return n, nil
	}
	return noLength, nil
}

// requestLine splits a start line into method, target and minor version.
func requestLine(line string) (method, target string, minor int, err error) {
	method, rest, ok := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	switch {
	case !ok || !ok2 || target == "" || strings.ContainsAny(version, " \t"):
		return "", "", 0, bad("no HTTP request line")
	case !token(method):
		return "", "", 0, bad("no HTTP request line")
	}
	switch {
	case version == "HTTP/1.1":
		minor = 1
	case version == "HTTP/1.0":
	case strings.HasPrefix(version, "HTTP/"):
		return "", "", 0, &fault{505, "only HTTP/1.1 and HTTP/1.0 are spoken here"}
	default:
		return "", "", 0, bad("no HTTP request line")
	}
	if len(method) > 32 || strings.ToUpper(method) != method {
		return "", "", 0, &fault{405, "an unknown method"}
	}
	return method, target, minor, nil
}

// statusLine splits a start line into minor version, status and reason.
func statusLine(line string) (minor, status int, reason string, err error) {
	version, rest, _ := strings.Cut(line, " ")
	code, reason, _ := strings.Cut(rest, " ")
	switch version {
	case "HTTP/1.1":
		minor = 1
	case "HTTP/1.0":
	default:
		return 0, 0, "", errors.New("the server does not speak HTTP/1")
	}
	if len(code) != 3 || code[0] < '1' || code[0] > '9' || code[1] < '0' || code[1] > '9' || code[2] < '0' || code[2] > '9' {
		return 0, 0, "", errors.New("the server's status is no number")
	}
	status, _ = strconv.Atoi(code)
	return minor, status, reason, nil
}

// readHead reads a whole head and consumes it. io.EOF alone means that the
// connection ended before it began.
func (c *reader) readHead() (head, error) {
	n, err := c.until(headEnd)
	if err != nil {
		switch {
		case errors.Is(err, errFull):
			return head{}, &fault{431, fmt.Sprintf("the head is longer than %d bytes", c.p.limits.Header)}
		case errors.Is(err, errBudget):
			return head{}, &fault{503, err.Error()}
		case errors.Is(err, os.ErrDeadlineExceeded):
			return head{}, &fault{408, "the head took too long"}
		case err == io.EOF && c.r < c.w:
			return head{}, io.ErrUnexpectedEOF
		}
		return head{}, err
	}
	h, err := parseHead(c.buffered()[:n])
	c.take(n)
	c.relax()
	return h, err
}
