package inside

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxScan bounds what is gone through before the first line that is wanted.
const maxScan = 256 << 20

// sniff is how much of a file tells whether it is text.
const sniff = 8 << 10

// chunk is how much of a file is read at once, in bytes.
const chunk = 256 << 10

// read returns lines of a text file, in what room has space for or is given.
func read(r Request, room *[]byte) (Answer, []byte) {
	o, err := find(r)
	if err != nil {
		return failed(err, r.Path), nil
	}
	defer o.close()
	f, err := o.reopen()
	if err != nil {
		return failed(err, o.real), nil
	}
	defer f.Close()
	a := Answer{Real: o.real, Version: o.version(), Links: uint64(o.stat.Nlink), First: max(r.Offset, 1)}
	var src io.Reader = io.LimitReader(f, maxScan)
	binary := fmt.Errorf("%s is a binary file of %d bytes; look at it with bash", o.real, o.stat.Size)
	if a.First > 1 {
		b := bufio.NewReaderSize(src, chunk)
		if head, _ := b.Peek(sniff); bytes.IndexByte(head, 0) >= 0 {
			return failed(binary, o.real), nil
		}
		if err := skip(b, a.First, o); err != nil {
			return failed(err, o.real), nil
		}
		src = b
	}
	body, end, err := fill(src, (*room)[:0], min(o.stat.Size, int64(r.Max)), r)
	*room = body
	if err != nil {
		return failed(err, o.real), nil
	}
	if a.First == 1 && bytes.IndexByte(body[:min(len(body), sniff)], 0) >= 0 {
		return failed(binary, o.real), nil
	}
	whole := body[:min(len(body), r.Max)]
	if r.Limit > 0 {
		if n := linesEnd(whole, r.Limit); n > 0 {
			a.Lines, a.More = r.Limit, n < len(body)
			return a, body[:n]
		}
	}
	switch last := bytes.LastIndexByte(whole, '\n') + 1; {
	case end && len(body) <= r.Max:
		a.Lines, a.More = int64(bytes.Count(body, []byte("\n"))), o.stat.Size > maxScan
		if last < len(body) {
			a.Lines++
		}
		return a, body
	case last > 0: // the line is the next one's first
		a.Lines, a.More = int64(bytes.Count(body[:last], []byte("\n"))), true
		return a, body[:last]
	}
	a.Lines, a.More, a.Cut = 1, true, true
	return a, whole
}

// skip reads up to the first line that is wanted.
func skip(b *bufio.Reader, first int64, o *opened) error {
	for n := int64(1); n < first; {
		part, err := b.ReadSlice('\n')
		switch {
		case err == nil:
			n++
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && o.stat.Size > maxScan:
			return fmt.Errorf("line %d lies beyond the first %d MiB of %s; use bash", first, maxScan>>20, o.real)
		case err == io.EOF:
			if len(part) > 0 {
				n++
			}
			return fmt.Errorf("%s has %d lines", o.real, n-1)
		default:
			return err
		}
	}
	return nil
}

// fill reads one byte more than is shown, or up to the end, or until there are
// the lines that are wanted and something behind them. size is what is expected.
func fill(src io.Reader, b []byte, size int64, r Request) (_ []byte, end bool, err error) {
	b = slices.Grow(b, int(size)+1)
	lines := int64(0)
	for len(b) <= r.Max {
		b = slices.Grow(b, 1)
		n, err := src.Read(b[len(b):min(cap(b), len(b)+chunk, r.Max+1)])
		if r.Limit > 0 {
			if lines >= r.Limit && n > 0 {
				return b[:len(b)+n], false, nil
			}
			lines += int64(bytes.Count(b[len(b):len(b)+n], []byte("\n")))
		}
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, true, nil
		}
		if err != nil {
			return b, false, err
		}
		if r.Limit > 0 && lines > r.Limit {
			return b, false, nil
		}
	}
	return b, false, nil
}

// linesEnd is where a number of lines ends; 0 if there are not so many.
func linesEnd(b []byte, lines int64) (end int) {
	for ; lines > 0; lines-- {
		n := bytes.IndexByte(b[end:], '\n') + 1
		if n == 0 {
			return 0
		}
		end += n
	}
	return end
}
