package hint

import (
	"slices"
	"strings"
)

// candidate is what an error text says: what failed, and on what.
type candidate struct {
	path, host string // one of them,
	port       uint16 // or a port of the loopback
	failed     failure
	write      bool // the words are about writing
}

type failure uint8

const (
	none     failure = iota
	denied           // EACCES
	readOnly         // EROFS
)

// phrases are how programs word the two errors, in small letters. Java has the
// one as the name of an exception.
var phrases = [...]struct {
	text   string
	failed failure
}{
	{"permission denied", denied}, {"accessdeniedexception", denied},
	{"read-only file system", readOnly},
}

// candidates are what the lines of a text tell of, in their order.
func candidates(text []byte) []candidate {
	lines := strings.Split(plainText(text), "\n")
	if len(text) > MaxText {
		lines = lines[1:] // it begins in the middle
	}
	var out []candidate
	for i, line := range lines {
		if len(line) > maxLine {
			continue
		}
		low := lower(line)
		if host := unknownHost(line, low); host != "" {
			out = append(out, candidate{host: host})
		}
		if port := refusedPort(low); port != 0 {
			out = append(out, candidate{port: port})
		}
		at, size, failed := phrase(low)
		if failed == none {
			continue
		}
		one := candidate{failed: failed, path: place(line[:at], line[at+size:], failed)}
		if one.path == "" && strings.TrimSpace(line[:at]) == "" {
			one.path = cause(lines[:i])
		}
		if one.path != "" {
			one.write = failed == readOnly || aboutWriting(low)
			out = append(out, one)
		}
	}
	return out
}

// phrase finds the last error of a line: what stands before it is about it.
func phrase(low string) (at, size int, failed failure) {
	at = -1
	for _, p := range phrases {
		if i := strings.LastIndex(low, p.text); i > at {
			at, size, failed = i, len(p.text), p.failed
		}
	}
	return at, size, failed
}

// lower is ToLower for ASCII alone, byte by byte, so that places in it are
// places in s.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

var writing = [...]string{"creat", "writ", "sav", "mkdir", "remov", "unlink", "renam", "mov", "touch", "delet", "append", "truncat", "chmod"}

func aboutWriting(low string) bool {
	return slices.ContainsFunc(writing[:], func(w string) bool { return strings.Contains(low, w) })
}

// place finds the path that an error is about: the nearest before it, as in
// "cat: /x: Permission denied", else the nearest behind, as in "[Errno 13]
// Permission denied: '/x'". Any other path of the line may be a bystander.
func place(before, behind string, failed failure) string {
	before = strings.TrimRight(before, " \t(:,;-")
	// Some say what failed between the path and the error: "tar: /x: Cannot open: …".
	rest := before
	for range 3 {
		cut := strings.LastIndex(rest, ": ")
		if p := lastPath(rest[max(cut+1, 0):]); p != "" {
			if cut < 0 && failed == readOnly && !strings.ContainsAny(strings.TrimSpace(rest), " '\"`") {
				return "" // a line begins like that with the program's own path
			}
			return p
		}
		if cut < 0 {
			break
		}
		rest = strings.TrimRight(rest[:cut], " ;,")
	}
	return firstPath(behind, failed)
}

// quotes that open a name, and what closes it.
var quotes = [...]struct{ open, end string }{{"'", "'"}, {`"`, `"`}, {"`", "`"}, {"‘", "’"}, {"“", "”"}}

// quoted returns the quoted absolute paths of a text.
func quoted(s string) (out []string) {
	for i := 0; i < len(s); {
		next := i + 1
		for _, q := range quotes {
			body, ok := strings.CutPrefix(s[i:], q.open)
			if !ok || !strings.HasPrefix(body, "/") {
				continue
			}
			if n := strings.Index(body, q.end); n > 0 {
				out = append(out, body[:n])
				next = i + len(q.open) + n + len(q.end)
			}
		}
		i = next
	}
	return out
}

// lastPath is the absolute path at the end of a part of a line.
func lastPath(s string) string {
	if q := quoted(s); len(q) > 0 {
		return q[len(q)-1]
	}
	s = strings.Trim(s, " \t")
	if strings.HasPrefix(s, "/") {
		return strings.TrimRight(s, ".,;")
	}
	words := strings.Fields(s)
	for _, w := range slices.Backward(words) {
		if w = strings.TrimLeft(w, "("); strings.HasPrefix(w, "/") {
			return strings.TrimRight(w, ".,;)")
		}
	}
	return ""
}

// firstPath is the absolute path at the start of what follows an error; of
// two, "a -> b", what could not be written is the second.
func firstPath(s string, failed failure) string {
	if q := quoted(s); len(q) > 0 {
		if failed == readOnly && strings.Contains(s, "->") {
			return q[len(q)-1]
		}
		return q[0]
	}
	s = strings.TrimLeft(s, " \t:,")
	if strings.HasPrefix(s, "/") {
		return strings.TrimRight(s, " \t.,;)")
	}
	return ""
}

// cause finds the path for an error that has a line of its own, as those of
// Rust's programs have: "could not create `/x`", "", "Caused by:", the error.
func cause(before []string) string {
	for i, left := len(before)-1, 4; i >= 0 && left > 0; i, left = i-1, left-1 {
		line := strings.TrimSpace(before[i])
		if line == "" || lower(line) == "caused by:" || len(line) > maxLine {
			continue
		}
		return lastPath(line)
	}
	return ""
}

// names are the words between which programs tell of a host that they could
// not find, in small letters; the name ends before end.
var names = [...]struct{ before, end string }{
	{"could not resolve host: ", " "}, {"could not resolve hostname ", ":"}, {"unable to resolve host address ", " "},
	{"could not translate host name ", " "}, {"getaddrinfo enotfound ", " "}, {"getaddrinfo eai_again ", " "},
	{"unknownhostexception: ", ":"}, {"dial tcp: lookup ", " "},
}

// unknownHost is the host that a line says is not known, "" for none.
func unknownHost(line, low string) string {
	for _, n := range names {
		i := strings.Index(low, n.before)
		if i < 0 {
			continue
		}
		name := line[i+len(n.before):]
		if end := strings.Index(name, n.end); end >= 0 {
			name = name[:end]
		}
		return strings.Trim(name, " \t'\"‘’:.,;")
	}
	return ""
}
