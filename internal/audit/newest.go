package audit

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"

	"bawn/internal/config/disk"
)

// newest returns the last n wanted lines. It reads from the end: where most
// lines are wanted, all others need not be looked at.
func newest(state string, f Filter, n int) ([][]byte, error) {
	dir, err := disk.Open(filepath.Join(state, Folder))
	if err != nil {
		if errIsNone(err) {
			err = nil
		}
		return nil, err
	}
	defer dir.Close()
	files, err := logFiles(dir)
	if err != nil {
		return nil, err
	}
	s := newScanner(f)
	var parts [][][]byte // the latest first
	for _, file := range slices.Backward(files) {
		err := backwards(dir, file, func(text []byte) bool {
			found := s.last(text, n)
			parts, n = append(parts, found), n-len(found)
			return n > 0
		})
		if err != nil {
			return nil, err
		}
		if n == 0 || s.before(dir, file) {
			break
		}
	}
	slices.Reverse(parts)
	return slices.Concat(parts...), nil
}

// last returns the last n wanted lines of a text, n > 0.
func (s *scanner) last(text []byte, n int) (lines [][]byte) {
	oldest := 0 // lines is a ring
	s.yield = func(line []byte) bool {
		if len(lines) < n {
			lines = append(lines, bytes.Clone(line))
			return true
		}
		lines[oldest] = append(lines[oldest][:0], line...)
		oldest = (oldest + 1) % n
		return true
	}
	s.lines(text)
	return append(lines[oldest:], lines[:oldest]...)
}

// backwards calls yield with whole lines of a file, the last ones first, until
// it returns false. A last line without an end is left out.
func backwards(dir *disk.Dir, file int, yield func(text []byte) bool) error {
	f, err := dir.OpenFile(name(file), os.O_RDONLY, 0)
	if err != nil {
		if errIsNone(err) { // rotated away
			err = nil
		}
		return err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	buf := make([]byte, chunk+maxRecord)
	var rest []byte // of a line whose beginning is ahead
	for whole := false; end > 0; {
		at := max(0, end-chunk)
		n, err := f.ReadAt(buf[:end-at], at)
		if n < int(end-at) {
			if err == io.EOF { // half a line was cut off meanwhile
				end = at + int64(n)
				rest, whole = rest[:0], false
				continue
			}
			return err
		}
		text := buf[:n+copy(buf[n:], rest)]
		if !whole {
			text = text[:bytes.LastIndexByte(text, '\n')+1]
			whole = len(text) > 0
		}
		begin := 0
		if at > 0 {
			begin = bytes.IndexByte(text, '\n') + 1
		}
		if len(text) > begin && !yield(text[begin:]) {
			return nil
		}
		rest, end = append(rest[:0], text[:begin]...), at
		if len(rest) > maxRecord { // no line is that long
			rest, whole = rest[:0], false
		}
	}
	return nil
}
