package egress

import (
	"bytes"
	"strings"

	"bawn/internal/policy"
)

// First is what the first bytes of a client say about its destination.
type First uint8

const (
	// FirstMore: not enough was read yet.
	FirstMore First = iota
	// FirstOK: they name the host, or speak neither TLS nor HTTP/1.
	FirstOK
	// FirstTLS: a ClientHello for another host, for none, or a broken one.
	FirstTLS
	// FirstHTTP: an HTTP request for another host, or a broken one.
	FirstHTTP
)

// checkFirst compares the first bytes that a client sends over a connection
// to host with host itself: the server name of TLS, or the Host field and the
// absolute target of an HTTP/1 request, if that is what they are. Many hosts
// share one address, and the server decides by these which it is: without the
// check, any of them is reached through an allowed one. A host that is an
// address is named by no ClientHello, as the standard wants it.
//
// b is everything the client has sent. While the answer is FirstMore, as much
// of it as passable says may go on to the server.
func checkFirst(host policy.Host, b []byte) First {
	if len(b) == 0 {
		return FirstMore
	}
	if isHello(b) {
		return checkTLS(host, b)
	}
	if n := min(len(b), len(h2Preface)); string(b[:n]) == h2Preface[:n] {
		if n < len(h2Preface) {
			return FirstMore
		}
		return checkHTTP2(host, b)
	}
	if f := oddRecord(b); f != FirstOK {
		return f
	}
	return checkHTTP(host, b)
}

// isHello reports whether b, not empty, can be the beginning of TLS.
func isHello(b []byte) bool { return b[0] == recordHandshake && (len(b) == 1 || b[1] == 3) }

// oddRecord finds what some server takes for the beginning of TLS, and goes
// unread here: an alert or a change of ciphers where a ClientHello should be,
// which servers skip, or a ClientHello in a record of another version, of which
// some take all below 16.0.
func oddRecord(b []byte) First {
	for i, c := range b[:min(len(b), 6)] {
		ok, hello := true, b[0] == recordHandshake
		switch i {
		case 0:
			ok = hello || c == recordCipher || c == recordAlert
		case 1:
			ok = c < 0x10
		case 3: // length
			ok = hello || c == 0
		case 4:
			ok = hello || c == b[0]-recordCipher+1
		case 5: // a ClientHello; warning or fatal; 1
			ok = c == 1 || c == 2 && !hello
		}
		if !ok {
			return FirstOK
		}
	}
	if len(b) < 6 {
		return FirstMore
	}
	return FirstTLS
}

// passable says how many of the bytes for which checkFirst wants more may go on
// already: what could be another protocol must, because its server may be
// waited for. Nothing of a ClientHello, of an HTTP head only whole lines, and
// of HTTP/2 the settings: no server acts before the end of a head.
func passable(b []byte) int {
	if len(b) > 0 && b[0] == recordHandshake {
		return 0
	}
	if bytes.HasPrefix(b, []byte(h2Preface)) {
		before, _, _ := h2Head(b)
		return before
	}
	n := bytes.LastIndexByte(b, '\n') + 1
	if len(bytes.Trim(b[:n], "\r\n")) == 0 {
		return len(b)
	}
	return n
}

func checkTLS(host policy.Host, b []byte) First {
	name, _, state := serverName(b)
	_, literal := host.Addr()
	switch {
	case state == helloMore:
		return FirstMore
	case state == helloBroken:
		return FirstTLS
	case name == "" && literal:
		return FirstOK
	}
	if h, err := policy.ParseHost(name); err != nil || h != host {
		return FirstTLS
	}
	return FirstOK
}

// spaces are what some server takes for white space between the words of a
// request line.
const spaces = " \t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0"

func isSpace(c byte) bool { return strings.IndexByte(spaces, c) >= 0 }

// likeMethod reports whether some server may take a word for a method. Many
// take every token (RFC 9110, 5.6.2), whatever it says, and choose the host
// before they look at it; those that know other white space than end, the
// blank, take words.
func likeMethod(b []byte, end byte) bool {
	for _, c := range b {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '-', c == '_':
		case end == ' ' && ('0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+.^`|~", c) >= 0):
		default:
			return false
		}
	}
	return true
}

// likeRequest reports whether a line has the version of HTTP as a word, in
// whatever spelling: some server may take it for a request.
func likeRequest(line string) bool {
	for i := 1; i+5 <= len(line); i++ {
		if isSpace(line[i-1]) && strings.EqualFold(line[i:i+5], "HTTP/") {
			return true
		}
	}
	return false
}

// checkHTTP looks at each complete line. What is no HTTP/1 request is known
// at its first line at the latest. Servers are tolerant in different ways, so
// that one which is not exactly as the standard has it is refused.
func checkHTTP(host policy.Host, b []byte) First {
	b = bytes.TrimLeft(b, "\r\n") // servers skip empty lines
	start := 0
	for start < len(b) && (isSpace(b[start]) || b[start] == '\n') {
		start++
	}
	word, end := b[start:], byte(' ')
	for i, c := range word {
		if isSpace(c) || c == '\n' {
			word, end = word[:i], c
			break
		}
	}
	if !likeMethod(word, end) {
		return FirstOK
	}
	if bytes.IndexByte(b[start:], '\n') < 0 {
		return FirstMore
	}
	line, rest, _ := cutLine(b[start:])
	if !likeRequest(line) {
		return FirstOK
	}
	method, target, _ := strings.Cut(line, " ")
	target, version, ok := strings.Cut(target, " ")
	if start != 0 || !ok || target == "" || version != "HTTP/1.1" && version != "HTTP/1.0" ||
		strings.ContainsAny(target, "\t\v\f\r\x1c\x1d\x1e\x1f") || strings.ContainsAny(method, "\t\v\f\r\x1c\x1d\x1e\x1f") {
		return FirstHTTP
	}
	// A server believes an absolute target rather than the Host field.
	if _, after, absolute := strings.Cut(target, "://"); absolute && target[0] != '/' {
		if i := strings.IndexAny(after, "/?#\\"); i >= 0 {
			after = after[:i]
		}
		if !names(after, host) {
			return FirstHTTP
		}
	} else if method == "CONNECT" {
		return FirstHTTP // a proxy behind the host would lead anywhere
	}
	for {
		var whole bool
		line, rest, whole = cutLine(rest)
		switch {
		case !whole:
			return FirstMore
		case line == "":
			return FirstOK
		case line[0] == ' ' || line[0] == '\t' || strings.IndexByte(line, '\r') >= 0:
			return FirstHTTP // read differently by different servers
		}
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(strings.Trim(name, " \t\v\f\x00"), "host") && !names(strings.Trim(value, " \t"), host) {
			return FirstHTTP
		}
	}
}

// cutLine takes one line off b, without its CR LF or LF.
func cutLine(b []byte) (line string, rest []byte, whole bool) {
	head, rest, whole := bytes.Cut(b, []byte("\n"))
	return string(bytes.TrimSuffix(head, []byte("\r"))), rest, whole
}

// names reports whether an authority, with or without port, is host.
func names(authority string, host policy.Host) bool {
	if hasPort(authority) {
		authority = authority[:strings.LastIndexByte(authority, ':')]
	}
	h, err := policy.ParseHost(authority)
	return err == nil && h == host
}
