package seatbelt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A reader and an evaluator of the profile language, as far as profiles here
// use it. What it does not know is an error, so that a slip of the pen fails.

// node is a list, a string or a word.
type node struct {
	list   []node
	text   string
	string bool
}

func (n node) word() string {
	if n.list != nil || n.string {
		return ""
	}
	return n.text
}

func readAll(text string) (out []node, err error) {
	for rest := text; ; {
		var n node
		var ok bool
		if n, rest, ok, err = read(rest); err != nil || !ok {
			return out, err
		}
		out = append(out, n)
	}
}

// read gives the next expression; ok is false at the end.
func read(s string) (n node, rest string, ok bool, err error) {
	for {
		s = strings.TrimLeft(s, " \n")
		if !strings.HasPrefix(s, ";") {
			break
		}
		_, s, _ = strings.Cut(s, "\n")
	}
	switch {
	case s == "":
		return node{}, "", false, nil
	case s[0] == '(':
		n.list = []node{}
		for s = s[1:]; ; {
			s = strings.TrimLeft(s, " \n")
			if strings.HasPrefix(s, ")") {
				return n, s[1:], true, nil
			}
			var e node
			if e, s, ok, err = read(s); err != nil || !ok {
				return node{}, "", false, fmt.Errorf("a list without an end: %v", err)
			}
			n.list = append(n.list, e)
		}
	case s[0] == ')':
		return node{}, "", false, fmt.Errorf("a ) without a (")
	case s[0] == '"':
		var b strings.Builder
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '"':
				return node{text: b.String(), string: true}, s[i+1:], true, nil
			case '\\':
				if i++; i >= len(s) || s[i] != '\\' && s[i] != '"' {
					return node{}, "", false, fmt.Errorf("an unknown escape in a string")
				}
			}
			b.WriteByte(s[i])
		}
		return node{}, "", false, fmt.Errorf("a string without an end")
	}
	i := strings.IndexAny(s, " \n()\";")
	if i < 0 {
		i = len(s)
	}
	for _, c := range s[:i] {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-*_", c) {
			return node{}, "", false, fmt.Errorf("an unknown character in the word %q", s[:i])
		}
	}
	return node{text: s[:i]}, s[i:], true, nil
}

// operations are those that profiles may name, each with its groups, the
// nearest first.
var operations = map[string][]string{
	"file-read-data": {"file-read*"}, "file-read-metadata": {"file-read*"}, "file-read-xattr": {"file-read*"}, "file-read*": {},
	"file-write-data": {"file-write*"}, "file-write-create": {"file-write*"}, "file-write-unlink": {"file-write*"},
	"file-write-mode": {"file-write*"}, "file-write-times": {"file-write*"}, "file-write-xattr": {"file-write*"}, "file-write*": {},
	"file-link": {}, "file-clone": {}, "file-ioctl": {}, "pseudo-tty": {},
	"network-outbound": {}, "network-inbound": {}, "network-bind": {}, "system-socket": {},
	"mach-lookup": {}, "process-exec": {}, "process-fork": {}, "process-info*": {}, "signal": {},
	"sysctl-read": {}, "sysctl-write": {}, "ipc-posix-sem": {}, "ipc-posix-shm*": {},
	"appleevent-send": {}, "lsopen": {}, "job-creation": {}, "nvram*": {}, "default": {},
}

// subject is what is done to what.
type subject struct {
	operation string
	path      string
	kind      string // REGULAR-FILE, DIRECTORY, SYMLINK
	extension bool   // a terminal that was made inside
	name      string // of a service, a kernel value
	own       bool   // a process of the same sandbox
	addr      string // host:port
	socket    string // path of a unix socket
	af        string
}

type filter func(subject) bool

type sbplRule struct {
	allow      bool
	operations []string
	filters    []filter
	compound   bool
}

func (r sbplRule) matches(s subject) bool {
	return len(r.filters) == 0 || slices.ContainsFunc(r.filters, func(f filter) bool { return f(s) })
}

type profile []sbplRule

func parseProfile(text string) (profile, error) {
	nodes, err := readAll(text)
	if err != nil {
		return nil, err
	}
	if len(nodes) < 2 || len(nodes[0].list) != 2 || nodes[0].list[0].word() != "version" || nodes[0].list[1].word() != "1" {
		return nil, fmt.Errorf("no version")
	}
	var p profile
	for _, n := range nodes[1:] {
		if len(n.list) < 2 {
			return nil, fmt.Errorf("no rule: %q", n.text)
		}
		r := sbplRule{allow: n.list[0].word() == "allow"}
		if !r.allow && n.list[0].word() != "deny" {
			return nil, fmt.Errorf("neither allow nor deny: %q", n.list[0].text)
		}
		for _, e := range n.list[1:] {
			if word := e.word(); word != "" {
				if _, ok := operations[word]; !ok || len(r.filters) > 0 {
					return nil, fmt.Errorf("an unknown operation: %q", word)
				}
				r.operations = append(r.operations, word)
				continue
			}
			f, err := parseFilter(e)
			if err != nil {
				return nil, err
			}
			r.compound = r.compound || e.list[0].word() == "require-all"
			r.filters = append(r.filters, f)
		}
		if len(r.operations) == 0 {
			return nil, fmt.Errorf("a rule about nothing")
		}
		p = append(p, r)
	}
	return p, nil
}

// patternWords is what a regular expression may be made of.
var patternWords = regexp.MustCompile(`^\^([^\\.\[\](){}*+?|^$]|\\[\\.\[\](){}*+?|^$]|\[\^?[-0-9A-Za-z_~./]+\]|[()|*+?])*\$$`)

func parseFilter(n node) (filter, error) {
	if len(n.list) < 2 {
		return nil, fmt.Errorf("no filter: %q", n.text)
	}
	name, args := n.list[0].word(), n.list[1:]
	text := func(i int) string {
		if len(args) != i+1 || !args[i].string {
			return "\x00"
		}
		return args[i].text
	}
	word := func() string {
		if len(args) != 1 {
			return ""
		}
		return args[0].word()
	}
	switch name {
	case "require-all", "require-any":
		var parts []filter
		for _, a := range args {
			f, err := parseFilter(a)
			if err != nil {
				return nil, err
			}
			parts = append(parts, f)
		}
		return func(s subject) bool {
			for _, f := range parts {
				if f(s) != (name == "require-all") {
					return name != "require-all"
				}
			}
			return name == "require-all"
		}, nil
	case "require-not":
		if len(args) != 1 {
			return nil, fmt.Errorf("require-not of several")
		}
		f, err := parseFilter(args[0])
		return func(s subject) bool { return !f(s) }, err
	case "literal", "subpath":
		p := text(0)
		if !strings.HasPrefix(p, "/") || p != "/" && strings.HasSuffix(p, "/") {
			return nil, fmt.Errorf("%s without a path: %q", name, p)
		}
		return func(s subject) bool {
			return s.path == p || name == "subpath" && strings.HasPrefix(s.path, strings.TrimSuffix(p, "/")+"/")
		}, nil
	case "regex", "ipc-posix-name-regex":
		p := text(0)
		if !patternWords.MatchString(p) {
			return nil, fmt.Errorf("an unknown pattern: %q", p)
		}
		re, err := regexp.Compile(p)
		return func(s subject) bool {
			if name == "regex" {
				return s.path != "" && re.MatchString(s.path)
			}
			return re.MatchString(s.name)
		}, err
	case "vnode-type":
		if w := word(); w == "DIRECTORY" || w == "SYMLINK" {
			return func(s subject) bool { return s.kind == w }, nil
		}
	case "extension":
		if text(0) == "com.apple.sandbox.pty" {
			return func(s subject) bool { return s.extension }, nil
		}
	case "target":
		if word() == "same-sandbox" {
			return func(s subject) bool { return s.own }, nil
		}
	case "global-name", "sysctl-name":
		if p := text(0); p != "\x00" {
			return func(s subject) bool { return s.name == p }, nil
		}
	case "sysctl-name-prefix":
		if p := text(0); p != "\x00" {
			return func(s subject) bool { return strings.HasPrefix(s.name, p) }, nil
		}
	case "socket-domain", "socket-protocol":
		if w := word(); w == "AF_SYSTEM" || w == "2" {
			return func(s subject) bool { return s.af == "AF_SYSTEM" }, nil
		}
	case "local", "remote":
		if len(args) != 2 || args[0].word() == "ip" && !args[1].string {
			break
		}
		switch args[0].word() {
		case "ip":
			host, port, _ := strings.Cut(args[1].text, ":")
			if host != "localhost" || port == "" {
				break
			}
			return func(s subject) bool {
				h, p, _ := strings.Cut(s.addr, ":")
				return h == "localhost" && (port == "*" || port == p)
			}, nil
		case "unix-socket":
			f, err := parseFilter(args[1])
			return func(s subject) bool { return s.socket != "" && f(subject{path: s.socket}) }, err
		}
	}
	return nil, fmt.Errorf("an unknown filter: %s %v", name, args)
}

// readings are the ways in which rules may count against each other. The last
// one that matches wins, says what is known of the language; but it has been
// seen that a rule for one operation beats one for its group, that a rule
// without a filter is beaten by any with one, and that require-all beats a
// plain filter. A verdict must be the same by all.
// They judge the rules that match, in their order.
var readings = map[string]func(matching profile, op string) bool{
	"last": func(p profile, _ string) bool { return p.last() },
	"specific": func(p profile, op string) bool {
		for _, op := range chain(op) {
			if first := p.only(func(r sbplRule) bool { return slices.Contains(r.operations, op) }); len(first) > 0 {
				return first.last()
			}
		}
		return false
	},
	"filtered": func(p profile, _ string) bool { return p.first(func(r sbplRule) bool { return len(r.filters) > 0 }) },
	"compound": func(p profile, _ string) bool { return p.first(func(r sbplRule) bool { return r.compound }) },
}

// chain is an operation with the groups that hold it, the nearest first.
func chain(op string) []string {
	return append(append([]string{op}, operations[op]...), "default")
}

func (p profile) last() bool { return len(p) > 0 && p[len(p)-1].allow }

func (p profile) only(which func(sbplRule) bool) (out profile) {
	for _, r := range p {
		if which(r) {
			out = append(out, r)
		}
	}
	return out
}

// first lets the rules that which takes beat all others.
func (p profile) first(which func(sbplRule) bool) bool {
	if strong := p.only(which); len(strong) > 0 {
		return strong.last()
	}
	return p.last()
}

// allows is the verdict; an error says that it depends on the reading.
func (p profile) allows(s subject) (bool, error) {
	if _, ok := operations[s.operation]; !ok {
		return false, fmt.Errorf("unknown operation %q", s.operation)
	}
	ops := chain(s.operation)
	matching := p.only(func(r sbplRule) bool {
		return slices.ContainsFunc(r.operations, func(op string) bool { return slices.Contains(ops, op) }) && r.matches(s)
	})
	for name, read := range readings {
		if read(matching, s.operation) != matching.last() {
			return false, fmt.Errorf("%+v: %v by the last rule, not by the reading %q", s, matching.last(), name)
		}
	}
	return matching.last(), nil
}
