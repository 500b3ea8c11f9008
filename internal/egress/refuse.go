package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"bawn/internal/policy"
)

// Made where one is needed: few runs refuse anything.
func reasonOf(status int) string {
	return map[int]string{
		400: "Bad Request", 403: "Forbidden", 405: "Method Not Allowed", 407: "Proxy Authentication Required", 408: "Request Timeout", 417: "Expectation Failed",
		431: "Request Header Fields Too Large", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
		504: "Gateway Timeout", 505: "HTTP Version Not Supported",
	}[status]
}

// answer is a whole response that ends the connection. The reason stands in
// the status line, which is all that most clients show, and in the body.
func answer(status int, reason string, fields []field) []byte {
	phrase := "blocked by bawn: " + reason
	if status != 403 {
		phrase = reasonOf(status) + ": " + reason
	}
	body := phrase + "\n"
	b := []byte("HTTP/1.1 " + strconv.Itoa(status) + " " + phrase + "\r\n")
	for _, f := range append(fields,
		field{"Content-Type", "text/plain; charset=utf-8"},
		field{"X-Content-Type-Options", "nosniff"},
		field{"Cache-Control", "no-store"},
		field{"Content-Length", strconv.Itoa(len(body))},
		field{"Connection", "close"}) {
		b = append(b, f.name+": "+f.value+"\r\n"...)
	}
	return append(b, "\r\n"+body...)
}

// statusOf says what a client is told of an error; 0 is nothing, because
// nobody is there any more.
func statusOf(err error) int {
	var f *fault
	var denied *DeniedError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &f):
		return f.status
	case errors.As(err, &denied):
		return 403
	case errors.Is(err, ErrBusy):
		return 503
	case errors.Is(err, context.Canceled), errors.Is(err, net.ErrClosed):
		return 0
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return 504
	}
	return 502
}

// refuse answers with an error over HTTP and ends what the client may still be
// sending.
func (p *Proxy) refuse(c net.Conn, s *slot, err error, noBody bool) {
	status := statusOf(err)
	if status == 0 {
		return
	}
	var fields []field
	switch status {
	case 405:
		fields = []field{{"Allow", "CONNECT, GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH"}}
	case 407:
		fields = []field{{"Proxy-Authenticate", `Basic realm="bawn"`}}
	}
	b := answer(status, Line(err.Error(), maxReason), fields)
	if noBody {
		b = b[:len(b)-len(bodyOf(b))]
	}
	c.SetWriteDeadline(time.Now().Add(answerTime))
	if _, err := c.Write(b); err == nil {
		p.linger(c, s)
	}
}

func bodyOf(b []byte) []byte {
	n, _ := headEnd(b)
	return b[n:]
}

// malformed records a request that could not be understood, and answers it.
func (k *client) malformed(err error, noBody bool) {
	var f *fault // anything else: nobody is there to be told
	if errors.As(err, &f) {
		k.record(err)
		k.p.refuse(k.Conn, k.slot, err, noBody)
	}
}

func (k *client) record(err error) {
	k.p.recordWho(Event{
		Request: Request{Via: k.via, Peer: k.peer}, Start: time.Now(), Err: errLine(err),
		Decision: policy.Decision{Rule: policy.Rule{ID: "request:malformed", Text: "the request cannot be understood"}},
	})
}

// busy is the decision that there is no place.
var busy = policy.Decision{Rule: policy.Rule{ID: "egress:busy", Text: ErrBusy.Error()}}

// linger lets a client read an answer: closing with unread bytes would reset
// the connection, and the answer with it. Its place is free for others.
func (p *Proxy) linger(c net.Conn, s *slot) {
	if s != nil {
		p.waits(s, true)
	}
	if closeWrite(c) != nil {
		return
	}
	c.SetReadDeadline(time.Now().Add(time.Second))
	io.CopyN(io.Discard, struct{ io.Reader }{c}, 1<<20)
}

// turnAway answers a client for which there is no place.
func (p *Proxy) turnAway(c net.Conn, err error) {
	s, closed := p.enter(c, false)
	if closed != nil {
		c.Close()
		return
	}
	_ = p.record(Event{Request: Request{Peer: peerOf(c)}, Decision: busy, Start: time.Now()}) // who it is would take time
	if p.lingers.Add(1) > int64(p.limits.Lingers) {
		p.lingers.Add(-1)
		writeNow(c, answer(503, ErrBusy.Error(), nil))
		p.leave(s)
		return
	}
	go func() {
		defer p.lingers.Add(-1)
		defer p.leave(s)
		defer p.caught("refusal")
		p.refuse(c, nil, err, false) // a SOCKS client sees that this is no SOCKS
	}()
}
