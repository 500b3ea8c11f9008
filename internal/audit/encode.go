package audit

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"bawn/internal/policy"
)

// Limits of texts, in bytes as they are written.
const (
	maxLine    = 4 << 10 // a command line
	maxText    = 1 << 10 // any other
	maxRecord  = 32 << 10
	timeFormat = "2006-01-02T15:04:05.000000Z"
)

// appendRecord writes r as one line with its end. Written out here, since
// encoding/json costs every run its reflection.
func appendRecord(b []byte, r *Record) []byte {
	e := encoder{b}
	e.b = append(e.b, `{"v":1`...)
	e.number("seq", int64(r.Seq))
	e.b = append(e.b, `,"time":"`...)
	e.b = r.Time.UTC().AppendFormat(e.b, timeFormat)
	e.b = append(e.b, `","kind":"`...)
	e.b = append(append(e.b, r.Kind...), '"')
	e.text("run", r.Run)
	e.text("verdict", r.Verdict)
	e.text("action", r.Action)
	if r.Action == Run {
		e.long("target", r.Target)
	} else {
		e.text("target", r.Target)
	}
	e.long("command", r.Command)
	e.text("dir", r.Dir)
	e.text("tier", r.Tier)
	e.text("place", r.Place)
	e.text("via", r.Via)
	e.text("addr", r.Addr)
	e.number("up", r.Up)
	e.number("down", r.Down)
	e.number("pid", int64(r.PID))
	e.number("inside", int64(r.Inside))
	e.number("parent", int64(r.Parent))
	e.number("count", int64(r.Count))
	if r.Rule != (policy.Rule{}) {
		e.b = append(e.b, `,"rule":{"id":`...)
		e.b = appendString(e.b, r.Rule.ID, maxText)
		e.text("text", r.Rule.Text)
		e.text("file", r.Rule.Origin.File)
		e.number("line", int64(r.Rule.Origin.Line))
		e.text("lift", r.Rule.Lift)
		e.b = append(e.b, '}')
	}
	if r.Kind == Ended {
		e.b = strconv.AppendInt(append(e.b, `,"code":`...), int64(r.Code), 10) // 0 says something
	}
	e.number("denied", int64(r.Denied))
	e.number("us", r.Duration.Microseconds())
	e.text("error", r.Error)
	e.text("trace", r.Trace)
	e.number("file", int64(r.File))
	e.number("first", int64(r.FirstFile))
	e.b = append(e.b, `,"prev":"`...)
	return append(append(e.b, r.Prev...), '"', '}', '\n')
}

type encoder struct{ b []byte }

func (e *encoder) number(key string, n int64) {
	if n != 0 {
		e.key(key)
		e.b = strconv.AppendInt(e.b, n, 10)
	}
}

func (e *encoder) text(key, s string) { e.limited(key, s, maxText) }
func (e *encoder) long(key, s string) { e.limited(key, s, maxLine) }

// limited is the one way for text into the log: what looks like a secret does
// not pass.
func (e *encoder) limited(key, s string, limit int) {
	if s != "" {
		e.key(key)
		e.b = appendString(e.b, s, limit)
	}
}

func (e *encoder) key(key string) { e.b = append(append(append(e.b, ',', '"'), key...), '"', ':') }

// maxLook bounds what is judged of a text, which a command may make long: what
// lies behind is not written either.
const maxLook = 2 * maxLine

// appendString writes a redacted string of at most limit bytes, as JSON. What
// is not valid UTF-8 is replaced.
func appendString(b []byte, s string, limit int) []byte {
	b = append(b, '"')
	cut := len(s) > maxLook
	if cut { // at the end of a word: half a secret does not look like one
		s = s[:strings.LastIndexAny(s[:maxLook], " \t\n")+1]
	}
	s = policy.Redact(s)
	for end := len(b) + limit; s != ""; {
		c, n := utf8.DecodeRuneInString(s)
		if len(b)+6 > end {
			cut = true
			break
		}
		b = appendRune(b, c)
		s = s[n:]
	}
	if cut {
		b = append(b, "…"...)
	}
	return append(b, '"')
}

func appendRune(b []byte, c rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', byte(c))
	case policy.Visible(c):
		return utf8.AppendRune(b, c)
	case c > 0xffff:
		high, low := utf16.EncodeRune(c)
		return appendRune(appendRune(b, high), low)
	}
	return append(b, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15]) // what a terminal or an eye acts on
}
