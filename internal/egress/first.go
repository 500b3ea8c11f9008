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

// CheckFirst compares the first bytes that a client sends over a connection
// to host with host itself: the server name of TLS, or the Host field and the
// absolute target of an HTTP/1 request, if that is what they are. Many hosts
// share one address, and the server decides by these which it is: without the
// check, any of them is reached through an allowed one. A host that is an
// address is named by no ClientHello, as the standard wants it.
//
// b is everything the client has sent. While the answer is FirstMore, as much
// of it as Passable says may go on to the server.
func CheckFirst(host policy.Host, b []byte) First {
	if len(b) == 0 {
		return FirstMore
	}
	if b[0] == recordHandshake && (len(b) == 1 || b[1] == 3) {
		return checkTLS(host, b)
	}
	return checkHTTP(host, b)
}

// Passable says how many of the bytes for which CheckFirst wants more may go on
// already: what could be another protocol must, because its server may be
// waited for. Nothing of a ClientHello, and of an HTTP head only whole lines:
// no server acts before the end of either.
func Passable(b []byte) int {
	if len(b) > 0 && b[0] == recordHandshake {
		return 0
	}
	n := bytes.LastIndexByte(b, '\n') + 1
	if len(bytes.Trim(b[:n], "\r\n")) == 0 {
		return len(b)
	}
	return n
}

func checkTLS(host policy.Host, b []byte) First {
	name, state := serverName(b)
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

// checkHTTP looks at each complete line. What is no HTTP/1 request is known
// at its first line at the latest.
func checkHTTP(host policy.Host, b []byte) First {
	b = bytes.TrimLeft(b, "\r\n") // servers skip empty lines
	line, rest, whole := cutLine(b)
	if !whole {
		if n := bytes.IndexByte(b, ' '); n < 0 && !token(string(b)) && len(b) > 0 || n >= 0 && !token(string(b[:n])) {
			return FirstOK
		}
		return FirstMore
	}
	method, target, ok := strings.Cut(line, " ")
	i := strings.LastIndex(target, " ")
	if !ok || !token(method) || i < 0 || !strings.HasPrefix(strings.TrimLeft(target[i:], " "), "HTTP/1.") {
		return FirstOK
	}
	target = strings.Trim(target[:i], " \t")
	if strings.IndexByte(line, '\r') >= 0 {
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
