package egress

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
)

const (
	maxChunkLine = 1 << 10 // size and extensions
	maxTrailer   = 8 << 10
)

// copyBody copies one body from src, as length says it is framed there, to
// dst: as chunks if framed, else as it is. Each piece goes on as it arrives.
// Chunks are read strictly and written anew, without extensions, so that both
// sides see the same end. It stops at the body's last byte.
func (p *Proxy) copyBody(dst io.Writer, src *reader, length int64, framed bool) error {
	q := pieces{p: p}
	defer q.close()
	switch length {
	case chunked:
		for {
			n, err := src.chunkSize()
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			if err := q.copy(dst, src, n, framed); err != nil {
				return err
			}
			if err := src.expect("\r\n"); err != nil {
				return err
			}
		}
		trailer, err := src.trailer()
		if err != nil || !framed {
			return err
		}
		_, err = io.WriteString(dst, "0\r\n"+trailer+"\r\n")
		return err
	case tillEnd:
		err := q.copy(dst, src, math.MaxInt64, framed)
		if err == io.ErrUnexpectedEOF {
			err = nil
			if framed {
				_, err = io.WriteString(dst, "0\r\n\r\n")
			}
		}
		return err
	}
	return q.copy(dst, src, max(length, 0), framed)
}

// copy copies exactly n bytes.
func (q *pieces) copy(dst io.Writer, src io.Reader, n int64, framed bool) error {
	for n > 0 {
		m, err := q.read(src, n)
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		b := q.piece(m)
		if framed {
			b = q.chunk(m)
		}
		if _, err := dst.Write(b); err != nil {
			return &writeError{err}
		}
		n -= int64(m)
	}
	return nil
}

// writeError tells which side of a copy failed.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// chunkSize reads the line before a chunk. Zero is the last chunk's.
func (c *reader) chunkSize() (int64, error) {
	n, err := c.until(chunkLine)
	if err != nil {
		return 0, midway(err)
	}
	size, err := parseChunkLine(c.buffered()[:n])
	c.take(n)
	return size, err
}

func chunkLine(b []byte) (int, error) {
	n := bytes.IndexByte(b, '\n')
	if n < 0 && len(b) < maxChunkLine {
		return 0, nil
	}
	if n < 0 || n >= maxChunkLine {
		return 0, bad("the line before a chunk is too long")
	}
	return n + 1, nil
}

func parseChunkLine(b []byte) (int64, error) {
	s, ok := strings.CutSuffix(string(b), "\r\n")
	digits, ext, hasExt := strings.Cut(s, ";")
	if !ok || !plain(ext) || len(digits) == 0 || len(digits) > 15 {
		return 0, bad("a chunk without a proper size")
	}
	if hasExt {
		digits = strings.TrimRight(digits, " \t")
	}
	var n int64
	for i := range len(digits) {
		v := strings.IndexByte("0123456789abcdef", digits[i]|0x20)
		if v < 0 || digits[i] < '0' {
			return 0, bad("a chunk without a proper size")
		}
		n = n<<4 | int64(v)
	}
	if len(digits) == 0 {
		return 0, bad("a chunk without a proper size")
	}
	return n, nil
}

func (c *reader) expect(s string) error {
	for len(c.buffered()) < len(s) {
		if err := c.fill(); err != nil {
			return midway(err)
		}
	}
	if string(c.buffered()[:len(s)]) != s {
		return bad("a chunk longer than its size")
	}
	c.take(len(s))
	c.relax()
	return nil
}

// trailer reads the fields behind the last chunk and gives those that may go
// on: none that speak of framing, routing or this connection.
func (c *reader) trailer() (string, error) {
	n, err := c.until(trailerEnd)
	if err != nil {
		return "", midway(err)
	}
	b := string(c.buffered()[:n])
	c.take(n)
	c.relax()
	if b == "\r\n" {
		return "", nil
	}
	lines := strings.Split(strings.TrimSuffix(b, "\r\n\r\n"), "\r\n")
	if len(lines) > maxFields {
		return "", bad("too many fields behind a body")
	}
	fields, err := parseFields(lines)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, f := range fields {
		if !hopByHop(f.name) && !f.is("Host") && !f.is("Content-Length") && !f.is("Authorization") && !f.is("Cookie") && !f.is("Set-Cookie") {
			out.WriteString(f.name + ": " + f.value + "\r\n")
		}
	}
	return out.String(), nil
}

func trailerEnd(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("\r\n")) {
		return 2, nil
	}
	if len(b) == 1 && b[0] == '\r' {
		return 0, nil
	}
	n, err := headEnd(b)
	if n == 0 && err == nil && len(b) > maxTrailer {
		err = bad("the fields behind a body are too long")
	}
	return n, err
}

// midway is err at a place where the connection must not end.
func midway(err error) error {
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case errors.Is(err, errFull):
		return bad("a line of a chunk is too long")
	}
	return err
}

// hopByHop reports whether a field is about one connection only, so that it
// is never passed on as it is.
func hopByHop(name string) bool {
	switch strings.ToLower(name) {
	case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
		"proxy-authentication-info", "te", "transfer-encoding", "upgrade", "http2-settings":
		return true
	}
	return false
}
