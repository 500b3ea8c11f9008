package egress

import (
	"strings"

	"golang.org/x/net/http2/hpack"

	"bawn/internal/policy"
)

// h2Preface begins HTTP/2 where the client knows that it is spoken (RFC 9113,
// 3.4): without TLS, so that the name of the first request can be seen.
const h2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const (
	h2Data         = 0
	h2Headers      = 1
	h2Reset        = 3
	h2Push         = 5
	h2GoAway       = 7
	h2Continuation = 9

	h2EndHeaders = 4
	h2Padded     = 8
	h2Priority   = 0x20

	h2FrameLen  = 9
	h2MaxFrame  = 1 << 14  // as long as the server has not allowed more
	h2TableSize = 64 << 10 // of HPACK: servers allow clients more than 4 KiB
)

// h2Head finds the first request's fields, still packed. before is how much of
// b stands ahead of its frames, all of it whole.
func h2Head(b []byte) (before int, block []byte, state helloState) {
	before = len(h2Preface)
	stream := uint32(0) // whose fields are not whole
	for at := before; ; {
		f := b[at:]
		if len(f) < h2FrameLen {
			return before, nil, helloMore
		}
		n, kind, flags := int(f[0])<<16|int(f[1])<<8|int(f[2]), f[3], f[4]
		id := (uint32(f[5])<<24 | uint32(f[6])<<16 | uint32(f[7])<<8 | uint32(f[8])) &^ (1 << 31)
		first := stream == 0 && kind == h2Headers
		switch {
		case n > h2MaxFrame, first && id == 0, stream != 0 && (kind != h2Continuation || id != stream):
			return before, nil, helloBroken
		case stream == 0 && (kind == h2Data || kind == h2Reset || kind == h2Push || kind == h2GoAway || kind == h2Continuation):
			return before, nil, helloBroken // nothing is open yet
		case len(f) < h2FrameLen+n:
			return before, nil, helloMore
		}
		body := f[h2FrameLen : h2FrameLen+n]
		at += h2FrameLen + n
		if first {
			var ok bool
			if body, ok = h2Fragment(body, flags); !ok {
				return before, nil, helloBroken
			}
			stream = id
		}
		if stream == 0 {
			before = at // settings and the like
			continue
		}
		block = append(block, body...)
		if flags&h2EndHeaders != 0 {
			return before, block, helloWhole
		}
	}
}

// h2Fragment takes padding and priority off a HEADERS frame.
func h2Fragment(body []byte, flags byte) ([]byte, bool) {
	c, pad := &cursor{b: body}, 0
	if flags&h2Padded != 0 {
		pad = c.number(1)
	}
	if flags&h2Priority != 0 {
		c.bytes(5)
	}
	if c.broken || pad > len(c.b) {
		return nil, false
	}
	return c.b[:len(c.b)-pad], true
}

func checkHTTP2(host policy.Host, b []byte) First {
	_, block, state := h2Head(b)
	switch state {
	case helloMore:
		return FirstMore
	case helloBroken:
		return FirstHTTP
	}
	d := hpack.NewDecoder(h2TableSize, nil)
	d.SetMaxStringLength(maxHello)
	fields, err := d.DecodeFull(block)
	if err != nil {
		return FirstHTTP
	}
	for _, f := range fields {
		switch strings.ToLower(f.Name) {
		case ":authority", "host":
			if !names(f.Value, host) {
				return FirstHTTP
			}
		case ":path":
			if !strings.HasPrefix(f.Value, "/") && f.Value != "*" {
				return FirstHTTP
			}
		case ":method":
			if f.Value == "CONNECT" {
				return FirstHTTP // a proxy behind the host would lead anywhere
			}
		}
	}
	return FirstOK
}
