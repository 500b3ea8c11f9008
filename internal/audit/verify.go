package audit

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bawn/internal/config/disk"
)

// Verified is what Verify found.
type Verified struct {
	Files, Records int
	First, Last    time.Time
	// Head is the hash of the last record, in hexadecimal, and Seq its number.
	// Whoever keeps them elsewhere can tell later that nothing before was
	// changed: the files alone could be written anew, with all their hashes.
	Head string
	Seq  uint64
	// Problems are what does not fit together, in the order of the files.
	Problems []Problem
	// More is how many problems are only counted.
	More int
	// Known: the hash that was looked for is the head, or lies before it.
	Known bool
}

// Problem is one thing that does not fit.
type Problem struct {
	Path string
	Line int // 0: the file as a whole
	Text string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}

const maxProblems = 100

// Verify reads the whole log in a state folder and compares every record with
// the hash that the next one has of it, and the last with the head file. known
// is a hash, in hexadecimal, that must be one of them; "" is none.
func Verify(state, known string) (Verified, error) {
	path := filepath.Join(state, Folder)
	dir, err := disk.Open(path)
	if err != nil {
		if errIsNone(err) {
			return Verified{}, nil
		}
		return Verified{}, err
	}
	defer dir.Close()
	// While nobody appends. A lock that cannot be had (read-only media) is no
	// reason not to look.
	if unlock, err := dir.Lock(); err == nil {
		defer unlock()
	}
	files, err := logFiles(dir)
	if err != nil {
		return Verified{}, err
	}
	v := &verifier{dir: dir, path: path, known: known}
	if err := v.all(files); err != nil {
		return Verified{}, err
	}
	return v.Verified, nil
}

type verifier struct {
	Verified
	dir   *disk.Dir
	path  string
	known string

	at     tip
	passed tip // the one before
	kept   int // the oldest file that must be there
}

func (v *verifier) problem(file, line int, format string, a ...any) {
	p := v.path
	if file > 0 {
		p = filepath.Join(v.path, name(file))
	}
	if len(v.Problems) == maxProblems {
		v.More++
		return
	}
	v.Problems = append(v.Problems, Problem{p, line, fmt.Sprintf(format, a...)})
}

func (v *verifier) all(files []int) error {
	head, err := tip{}, error(nil)
	f, err := v.dir.OpenFile(headName, os.O_RDONLY, 0)
	if err == nil {
		head, err = readHead(f)
		f.Close()
	}
	switch {
	case err == nil:
	case err == errNoHead, errIsNone(err):
		if len(files) > 0 {
			v.problem(0, 0, "%v: a cut at the end would not show", errNoHead)
		}
	default:
		return err
	}
	if n := len(files); n > 0 && err == nil && files[n-1] == head.file+1 && v.unborn(files[n-1]) {
		files = files[:n-1] // a writer was killed while it began this one
	}
	for i, n := range files {
		if i > 0 && n != v.at.file+1 {
			v.problem(n, 0, "the files before it, from %d on, are missing", v.at.file+1)
		}
		v.at.file, v.at.size = n, 0
		if err := v.file(n, i == 0, i == len(files)-1); err != nil {
			return err
		}
	}
	if len(files) > 0 && v.kept > 0 && files[0] > v.kept {
		v.problem(files[0], 0, "the files before it, from %d on, are missing", v.kept)
	}
	if err == nil && (head.seq != v.at.seq || head.hash != v.at.hash) && !v.trails(head) {
		what := "the records do not end as the head says"
		if head.seq > v.at.seq {
			what = fmt.Sprintf("%d records are missing at the end", head.seq-v.at.seq)
		}
		v.problem(v.at.file, 0, "%s (head: record %d, sha256 %x)", what, head.seq, head.hash)
	} else if end := v.end(head); err == nil && len(v.Problems) == 0 && (head.file != end.file || head.size != end.size) {
		v.problem(0, 0, "the head says that record %d ends in file %d after %d bytes, and it ends in file %d after %d", head.seq, head.file, head.size, end.file, end.size)
	}
	v.Files, v.Seq, v.Head = len(files), v.at.seq, hex.EncodeToString(v.at.hash[:])
	return nil
}

// trails reports whether the head is that of the record before the last: its
// writer was killed between the two. passed is the tip before the last line.
func (v *verifier) trails(head tip) bool {
	return head.seq+1 == v.at.seq && head.hash == v.passed.hash
}

// end is where the record of the head ends.
func (v *verifier) end(head tip) tip {
	if head.seq < v.at.seq {
		return v.passed
	}
	return v.at
}

func (v *verifier) unborn(file int) bool { return (&Log{dir: v.dir}).unborn(file) }

// file checks one file. What was rotated away before the first is not there to
// be compared.
func (v *verifier) file(n int, first, last bool) error {
	f, err := v.dir.OpenFile(name(n), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, maxRecord+1)
	for line := 1; ; line++ {
		text, err := r.ReadSlice('\n')
		switch {
		case err == io.EOF && len(text) == 0:
			return nil
		case err == io.EOF && last:
			return nil // a writer was killed; the next one cuts this off
		case err == io.EOF:
			v.problem(n, line, "the last line has no end")
			return nil
		case err == bufio.ErrBufferFull:
			v.problem(n, line, "the line is longer than any record")
			for v.at.size += int64(len(text)); err == bufio.ErrBufferFull; v.at.size += int64(len(text)) {
				text, err = r.ReadSlice('\n')
			}
			continue
		case err != nil:
			return err
		}
		v.line(n, line, text, first && line == 1)
	}
}

func (v *verifier) line(n, line int, text []byte, begin bool) {
	hash := lineHash(text)
	if v.known != "" && hex.EncodeToString(hash[:]) == v.known {
		v.Known = true
	}
	r, err := Parse(bytes.TrimSuffix(text, []byte("\n")))
	if err != nil {
		v.problem(n, line, "%v", err)
		v.passed, v.at.hash = v.at, hash
		v.at.size += int64(len(text))
		return
	}
	switch want := hex.EncodeToString(v.at.hash[:]); {
	case begin && n > 1: // the record before was rotated away
	case r.Prev != want && r.Seq > v.at.seq+1:
		v.problem(n, line, "%d records before this one are missing", r.Seq-v.at.seq-1)
	case r.Prev != want && r.Prev == hex.EncodeToString(make([]byte, len(hash))):
		v.problem(n, line, "the chain begins anew here: the head file was gone, and what is missing cannot be told")
	case r.Prev != want:
		v.problem(n, line, "the record before was changed, or records were put in or taken out")
	case r.Seq != v.at.seq+1:
		v.problem(n, line, "it is record %d after record %d", r.Seq, v.at.seq)
	}
	if r.Kind == Opened {
		if r.File != n || line != 1 {
			v.problem(n, line, "it begins file %d", r.File)
		}
		v.kept = r.FirstFile
	} else if line == 1 {
		v.problem(n, line, "a file does not begin with this")
	}
	v.passed, v.at.seq, v.at.hash = v.at, r.Seq, hash
	v.at.size += int64(len(text))
	v.Records++
	if v.First.IsZero() {
		v.First = r.Time
	}
	v.Last = r.Time
}
