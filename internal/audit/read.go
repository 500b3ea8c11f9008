package audit

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bawn/internal/config/disk"
)

// Filter says which records are wanted. A zero field wants all.
type Filter struct {
	Run     string // a run's id, or its beginning
	Verdict string // of decisions
	Host    string // of Target: the host, or one below it
	Path    string // of Target: the path, or one below it
	Command string // a part of Command, or of the target of a decision to run one
	Since   time.Time
	// NoProcesses leaves records of processes out, which belong to a run's tree.
	NoProcesses bool
}

// needles are what a line must hold to be one that is wanted, the longest
// first. Most lines are left out by that, without being parsed.
func (f Filter) needles() (out [][]byte) {
	add := func(before, s, after string) {
		if s != "" {
			n := []byte(before)
			for _, c := range s {
				n = appendRune(n, c)
			}
			out = append(out, append(n, after...))
		}
	}
	add(`"run":"`, f.Run, "")
	add(`"verdict":"`, f.Verdict, `"`)
	add("", bare(strings.ToLower(f.Host)), "")
	add("", strings.TrimSuffix(f.Path, "/"), "")
	add("", f.Command, "")
	slices.SortFunc(out, func(a, b []byte) int { return len(b) - len(a) })
	return out
}

// Match reports whether a record is wanted.
func (f Filter) Match(r *Record) bool {
	return strings.HasPrefix(r.Run, f.Run) &&
		(f.Verdict == "" || r.Verdict == f.Verdict) &&
		(f.Host == "" || hostMatches(r, strings.ToLower(f.Host))) &&
		(f.Path == "" || pathMatches(r, valid(f.Path))) &&
		(f.Command == "" || strings.Contains(r.Command, valid(f.Command)) || r.Action == Run && strings.Contains(r.Target, valid(f.Command))) &&
		!r.Time.Before(f.Since) && !(f.NoProcesses && r.Kind == Process)
}

// valid is a text as a record has it: a byte that is none of UTF-8 is U+FFFD.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func hostMatches(r *Record, want string) bool {
	if r.Action != Connect && r.Action != Resolve {
		return false
	}
	is := func(host string) bool { return host == want || strings.HasSuffix(host, "."+want) }
	if is(r.Target) {
		return true
	}
	i := strings.LastIndexByte(r.Target, ':')
	if i < 0 || r.Action != Connect {
		return false
	}
	want = bare(want)
	return is(bare(r.Target[:i]))
}

// bare is an IPv6 address without its brackets.
func bare(host string) string {
	if s, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(s, "]") {
		return s[:len(s)-1]
	}
	return host
}

func pathMatches(r *Record, want string) bool {
	if r.Action != Write && r.Action != Read && r.Kind != Written {
		return false
	}
	rest, ok := strings.CutPrefix(r.Target, strings.TrimSuffix(want, "/"))
	return ok && r.Target != "" && (rest == "" || rest[0] == '/')
}

// Scan calls yield with each wanted record of the log in a state folder, the
// oldest first, until it returns false. Lines that are no records, such as one
// that is being written, are left out: Verify speaks of those. There may be no
// log yet.
func Scan(state string, f Filter, yield func(line []byte, r *Record) bool) error {
	_, err := scan(state, f, position{}, func(line []byte) bool {
		r, err := Parse(line)
		return err != nil || yield(line, &r)
	})
	return err
}

// Last returns the last n wanted records; with n 0 all.
func Last(state string, f Filter, n int) (out []Record, err error) {
	lines, err := LastLines(state, f, n) // only those that are asked for are parsed
	for _, line := range lines {
		if r, err := Parse(line); err == nil {
			out = append(out, r)
		}
	}
	return out, err
}

// LastLines returns them as they are written, without line ends.
func LastLines(state string, f Filter, n int) (lines [][]byte, err error) {
	if n > 0 {
		return newest(state, f, n)
	}
	_, err = scan(state, f, position{}, func(line []byte) bool {
		lines = append(lines, bytes.Clone(line))
		return true
	})
	return lines, err
}

// position is how far a log has been read.
type position struct {
	file int
	size int64
}

func scan(state string, f Filter, from position, yield func(line []byte) bool) (position, error) {
	dir, err := disk.Open(filepath.Join(state, Folder))
	if err != nil {
		if errIsNone(err) {
			err = nil
		}
		return from, err
	}
	defer dir.Close()
	files, err := logFiles(dir)
	if err != nil {
		return from, err
	}
	s := newScanner(f)
	s.yield = yield
	for i, n := range files {
		if n < from.file || i+1 < len(files) && s.before(dir, files[i+1]) {
			continue
		}
		at := int64(0)
		if n == from.file {
			at = from.size
		}
		size, more, err := s.file(dir, n, at)
		if from = (position{n, size}); err != nil || !more {
			return from, err
		}
	}
	return from, nil
}

type scanner struct {
	Filter
	needles [][]byte
	since   []byte // as lines have it, which sorts as time does
	yield   func([]byte) bool
}

func newScanner(f Filter) scanner {
	s := scanner{Filter: f, needles: f.needles()}
	if !f.Since.IsZero() {
		s.since = f.Since.UTC().AppendFormat(nil, timeFormat)
	}
	return s
}

// before reports whether a file begins before what is wanted, and so the one
// ahead of it holds nothing.
func (s *scanner) before(dir *disk.Dir, file int) bool {
	if s.since == nil {
		return false
	}
	f, err := dir.OpenFile(name(file), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, maxRecord).ReadSlice('\n')
	return err == nil && s.early(line)
}

// early reports whether a line is older than what is wanted.
func (s *scanner) early(line []byte) bool {
	const mark = `,"time":"`
	i := bytes.Index(line[:min(len(line), 64)], []byte(mark))
	if i < 0 {
		return false
	}
	i += len(mark)
	return len(line) >= i+len(s.since) && bytes.Compare(line[i:i+len(s.since)], s.since) < 0
}

// chunk is how much is read at once.
const chunk = 1 << 20

func (s *scanner) file(dir *disk.Dir, n int, at int64) (size int64, more bool, err error) {
	f, err := dir.OpenFile(name(n), os.O_RDONLY, 0)
	if err != nil {
		if errIsNone(err) { // rotated away
			err = nil
		}
		return at, true, err
	}
	defer f.Close()
	buf, have := make([]byte, chunk+maxRecord), 0
	for {
		n, err := f.ReadAt(buf[have:], at+int64(have))
		have += n
		whole := bytes.LastIndexByte(buf[:have], '\n') + 1
		if !s.lines(buf[:whole]) {
			return at, false, nil
		}
		at += int64(whole)
		have = copy(buf, buf[whole:have])
		switch {
		case err == io.EOF:
			return at, true, nil
		case err != nil:
			return at, true, err
		case have == len(buf): // no line is that long
			at, have = at+int64(have), 0
		}
	}
}

func (s *scanner) lines(text []byte) bool {
	for len(text) > 0 {
		// From one line with the longest needle to the next, at once.
		begin := 0
		if len(s.needles) > 0 {
			at := bytes.Index(text, s.needles[0])
			if at < 0 {
				break
			}
			begin = bytes.LastIndexByte(text[:at], '\n') + 1
		}
		line := text[begin : begin+bytes.IndexByte(text[begin:], '\n')]
		text = text[begin+len(line)+1:]
		if !s.may(line) {
			continue
		}
		if s.wanted(line) && !s.yield(line) {
			return false
		}
	}
	return true
}

// wanted is Match, of a line that passed the cheap test. A run and a verdict
// cannot stand there as text of something else: its quotes are escaped.
func (s *scanner) wanted(line []byte) bool {
	if s.Host == "" && s.Path == "" && s.Command == "" {
		return true
	}
	r, err := Parse(line)
	return err == nil && s.Match(&r)
}

// may is the cheap test.
func (s *scanner) may(line []byte) bool {
	for _, n := range s.needles {
		if !bytes.Contains(line, n) {
			return false
		}
	}
	if s.NoProcesses && bytes.Contains(line[:min(len(line), 96)], processKind) {
		return false
	}
	return s.since == nil || !s.early(line)
}

// processKind stands near the beginning of such a line: in texts quotes are escaped.
var processKind = []byte(`,"kind":"` + Process + `"`)

// followPause is how often a log is looked at for more.
const followPause = 200 * time.Millisecond

// Follow is Scan that goes on with what is appended, until ctx ends or yield
// returns false.
func Follow(ctx context.Context, state string, f Filter, yield func(line []byte, r *Record) bool) error {
	var at position
	for more := true; more; {
		var err error
		at, err = scan(state, f, at, func(line []byte) bool {
			r, err := Parse(line)
			more = err != nil || yield(line, &r)
			return more
		})
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
	return nil
}
