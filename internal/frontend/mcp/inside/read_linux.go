package inside

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxScan bounds what is gone through before the first line that is wanted.
const maxScan = 256 << 20

// sniff is how much of a file tells whether it is text.
const sniff = 8 << 10

// read returns lines of a text file.
func read(r Request) (Answer, []byte) {
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
	b := bufio.NewReaderSize(io.LimitReader(f, maxScan), 256<<10)
	if head, _ := b.Peek(sniff); bytes.IndexByte(head, 0) >= 0 {
		return failed(fmt.Errorf("%s is a binary file of %d bytes; look at it with bash", o.real, o.stat.Size), o.real), nil
	}
	for n := int64(1); n < a.First; {
		part, err := b.ReadSlice('\n')
		switch {
		case err == nil:
			n++
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && o.stat.Size > maxScan:
			return failed(fmt.Errorf("line %d lies beyond the first %d MiB of %s; use bash", a.First, maxScan>>20, o.real), o.real), nil
		case err == io.EOF:
			if len(part) > 0 {
				n++
			}
			return failed(fmt.Errorf("%s has %d lines", o.real, n-1), o.real), nil
		default:
			return failed(err, o.real), nil
		}
	}
	body := make([]byte, 0, min(int64(r.Max), o.stat.Size)+1)
	whole := 0 // of the body, in lines that are there to their end
	for r.Limit <= 0 || a.Lines < r.Limit {
		part, err := b.ReadSlice('\n')
		if room := r.Max - len(body); len(part) > room {
			if a.More = true; a.Lines > 0 { // the line is the next one's first
				return a, body[:whole]
			}
			a.Lines, a.Cut = 1, true
			return a, append(body, part[:room]...)
		}
		body = append(body, part...)
		if err == nil || err == io.EOF && len(part) > 0 {
			a.Lines++
			whole = len(body)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if err != io.EOF {
				return failed(err, o.real), nil
			}
			a.More = o.stat.Size > maxScan
			return a, body
		}
	}
	_, err = b.Peek(1)
	a.More = err == nil
	return a, body
}
