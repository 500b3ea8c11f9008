// Package hint finds denials in what a command wrote before it failed.
//
// The guard tells of writes and the egress of connections, each exactly. What
// neither sees is a read of a hidden place, a write where the name guard is
// off, a name that was asked for without a way to the network, and a service of
// the host that was looked for on the sandbox's own loopback. Of those only the program's own error text tells, and a text proves nothing: it is
// reported if the policy denies that very path or host, and if the user could
// do outside what failed. What a program calls by a relative name is left
// out: nobody knows in which folder it stood.
//
// A command can write any text. So a hint is told to people and agents, and
// nothing follows from it: it is not recorded, and no question comes from it.
package hint

import (
	"strconv"
	"strings"

	"bawn/internal/policy"
)

const (
	// MaxText is how much of the end of a text is looked at, in bytes.
	MaxText = 64 << 10
	// maxLine is the longest line that is looked at: error lines are short.
	maxLine = 8 << 10
	// maxFound bounds what one text can make bawn say.
	maxFound = 16
)

// Context is what a text is judged by.
type Context struct {
	// Policy is the one that the command ran under.
	Policy policy.Policy
	// Asks: a person may have allowed a host that the policy asks about.
	Asks bool
	// Real resolves the links of an absolute path of the host, as far as it
	// exists.
	Real func(path string) (string, error)
	// Outside reports whether the user could read a path, or make or change it.
	Outside func(path string, write bool) bool
	// Listens reports whether somebody listens on a port of the host's
	// loopback; nil where that is not known.
	Listens func(port uint16) bool
}

// Denial is something that failed because the policy denies it.
type Denial struct {
	Path  string // "" for a host
	Write bool   // the path was to be written; else to be read
	Host  string
	Port  uint16 // 0 if only the name was asked for
	Rule  policy.Rule
}

// Find returns the denials that the end of a text tells of, each once, in its
// order.
func Find(text []byte, c Context) []Denial {
	if !c.Policy.Sandboxed() {
		return nil
	}
	var out []Denial
	seen := map[string]bool{}
	for _, one := range candidates(text) {
		d, ok := c.judge(one)
		if key := d.Path + "\x00" + d.Host + ":" + strconv.Itoa(int(d.Port)); ok && !seen[key] {
			seen[key] = true
			if out = append(out, d); len(out) == maxFound {
				break
			}
		}
	}
	return out
}

// judge reports whether the policy denies what failed.
func (c Context) judge(one candidate) (Denial, bool) {
	switch {
	case one.host != "":
		return c.judgeHost(one.host)
	case one.port != 0:
		return c.judgePort(one.port)
	}
	if !policy.IsClean(one.path) {
		return Denial{}, false
	}
	// A hidden place is not looked into: whether something is there is not for
	// the command to find out.
	rule := c.Policy.Files().Lookup(one.path)
	path := one.path
	if rule.Access != policy.Hidden {
		real, err := c.Real(path)
		if err != nil {
			return Denial{}, false
		}
		path, rule = real, c.Policy.Files().Lookup(real)
	}
	if rule.Access == policy.Hidden {
		if rule.Rule().ID == "path:none" || !c.Outside(rule.Path, one.failed == readOnly) {
			return Denial{}, false
		}
		return Denial{Path: one.path, Write: one.write, Rule: rule.Rule()}, true
	}
	if one.failed != readOnly { // an ordinary file's own mode
		return Denial{}, false
	}
	d := c.Policy.Decide(policy.Write{Path: path})
	if d.Verdict != policy.Deny || !c.Outside(path, true) {
		return Denial{}, false
	}
	return Denial{Path: one.path, Write: true, Rule: d.Rule}, true
}

func (c Context) judgeHost(name string) (Denial, bool) {
	host, err := policy.ParseHost(name)
	if err != nil {
		return Denial{}, false
	}
	d := policy.Decision{Rule: c.Policy.NoNetwork()}
	if c.Policy.HasNetwork() {
		d = c.Policy.Network().DecideName(host)
	}
	if d.Verdict == policy.Allow || d.Verdict == policy.Ask && c.Asks {
		return Denial{}, false
	}
	return Denial{Host: host.String(), Rule: d.Rule}, true
}

// Tail keeps the end of what is written to it. The zero value is empty; it is
// not for several goroutines at once.
type Tail struct{ b []byte }

// Write never fails.
func (t *Tail) Write(b []byte) (int, error) {
	n := len(b)
	if n >= MaxText {
		t.b = append(t.b[:0], b[n-MaxText:]...)
		return n, nil
	}
	if len(t.b)+n > 2*MaxText { // seldom: each byte is moved once more
		t.b = append(t.b[:0], t.b[len(t.b)-MaxText:]...)
	}
	t.b = append(t.b, b...)
	return n, nil
}

// Bytes is what was written last, at most MaxText; it holds until the next Write.
func (t *Tail) Bytes() []byte { return t.b[max(0, len(t.b)-MaxText):] }

// plainText is the text without what steers a terminal.
func plainText(text []byte) string {
	if len(text) > MaxText {
		text = text[len(text)-MaxText:]
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == 0x1b:
			i = escape(text, i)
		case c == '\r':
			b.WriteByte('\n')
		case c >= ' ' || c == '\n' || c == '\t':
			b.WriteByte(c)
		}
	}
	return b.String()
}

// escape returns where the escape sequence at i ends.
func escape(text []byte, i int) int {
	if i+1 >= len(text) {
		return i
	}
	switch text[i+1] {
	case '[':
		for i += 2; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e || c == '\n' {
				return i
			}
		}
		return i
	case ']', 'P', '_', '^':
		for i += 2; i < len(text); i++ {
			if c := text[i]; c == 0x07 || c == '\n' || c == '\\' && text[i-1] == 0x1b {
				return i
			}
		}
		return i
	}
	return i + 1
}
