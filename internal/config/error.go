package config

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"bawn/internal/policy"
)

// Error is a setting that cannot be taken as it stands. Nothing may run under
// a configuration that has one.
type Error struct {
	File   string // or the variable or flag
	Line   int    // from 1; 0 where there are no lines
	Column int    // from 1, in characters
	Text   string
	// Excerpt is the line with a mark under the place; "" where the line may
	// not be shown.
	Excerpt string
}

func (e *Error) Error() string {
	at := shown(e.File)
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", at, e.Line, e.Column)
	}
	s := at + ": " + e.Text
	if e.Excerpt != "" {
		s += "\n" + e.Excerpt
	}
	return s
}

// Is makes every Error match policy.ErrRefused.
func (e *Error) Is(target error) bool { return target == policy.ErrRefused }

// source is the text of a file and where its lines begin.
type source struct {
	file  string
	data  []byte
	lines []int // offset of the first byte of each line
}

func newSource(file string, data []byte) *source {
	s := &source{file: file, data: data, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// line returns the number of the line that holds the byte at offset, from 1.
func (s *source) line(offset int) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
}

func (s *source) origin(offset int) policy.Origin {
	return policy.Origin{File: s.file, Line: s.line(offset)}
}

const excerptWidth = 76 // characters of a line that are shown

// fail is an Error about the bytes from offset on.
func (s *source) fail(offset, length int, format string, a ...any) *Error {
	offset = max(0, min(offset, len(s.data)))
	for i := 0; i < utf8.UTFMax-1 && offset > 0 && offset < len(s.data) && !utf8.RuneStart(s.data[offset]); i++ {
		offset-- // the parser points at bytes, people at characters
	}
	n := s.line(offset)
	start, end := s.lines[n-1], len(s.data)
	if n < len(s.lines) {
		end = s.lines[n] - 1
	}
	before := runes(s.data[start:offset])
	e := &Error{File: s.file, Line: n, Column: len(before) + 1, Text: fmt.Sprintf(format, a...)}
	if secretLine(s.data[start:end]) {
		return e
	}
	marked := runes(s.data[offset:max(offset, min(end, offset+length))])
	line := runes(s.data[start:end])
	// Of a long line the part around the place is shown.
	from := 0
	if len(before) > excerptWidth-20 {
		from = len(before) - 20
	}
	to := min(len(line), from+excerptWidth)
	num := fmt.Sprintf("%5d | ", n)
	pad := strings.Repeat(" ", len(num)-2) + "| "
	width := max(1, min(len(marked), to-len(before)))
	e.Excerpt = strings.TrimRight(num+string(line[from:to]), " ") + "\n" +
		pad + strings.Repeat(" ", len(before)-from) + strings.Repeat("^", width)
	return e
}

// secretLine reports whether a line may hold a password: an error's text
// reaches the agent whose command was refused.
func secretLine(line []byte) bool { return bytes.IndexByte(line, '@') >= 0 }

// runes decodes a line for showing: every character takes one place, and none
// acts on the terminal.
func runes(line []byte) []rune {
	out := make([]rune, 0, len(line))
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		line = line[n:]
		switch {
		case r == '\t' || r == '\r':
			r = ' '
		case r == utf8.RuneError && n == 1, !policy.Visible(r):
			r = '·'
		}
		out = append(out, r)
	}
	return out
}

// shown is a name as it may be printed.
func shown(s string) string { return string(runes([]byte(s))) }

// Nearest names the known word that is most like the given one, "" if none is:
// a few letters differ, and the fewer the shorter the word.
func Nearest(word string, known []string) string {
	best, dist := "", len(word)+1
	for _, k := range known {
		if d := edits(word, k); d < dist && d <= maxEdits(word, k) {
			best, dist = k, d
		}
	}
	return best
}

// maxEdits is how many letters of a word may be wrong. What stands before the
// last mark that two names share is no sign that the rest was meant, so
// BAWN_FOO is not near to BAWN_TMP.
func maxEdits(word, known string) int {
	shared := 0
	for i := 0; i < len(word) && i < len(known) && word[i] == known[i]; i++ {
		if strings.IndexByte("._-", word[i]) >= 0 {
			shared = i + 1
		}
	}
	return min(3, (len(word)-shared+2)/4)
}

// edits counts the letters to insert, remove, change or swap with their
// neighbour between two words. Long words are near to nothing.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	var before []int // the row above the one above
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			d := above[j]
			if a[i] != b[j] {
				d++
			}
			row[j+1] = min(d, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
