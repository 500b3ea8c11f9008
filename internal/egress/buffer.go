package egress

import (
	"io"
	"sync"
	"sync/atomic"
)

const (
	largeBuffer = 64 << 10
	maxLarge    = 256 // in use at once; further copies make do with small ones
	room        = 18  // before a piece: the longest size line of a chunk, 16 digits and CR LF
)

// buffers is a pool of equal buffers.
type buffers struct {
	pool sync.Pool
	used atomic.Int64
}

func (p *buffers) get(size int) []byte {
	p.used.Add(1)
	if b, ok := p.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, size)
}

func (p *buffers) put(b []byte) {
	p.used.Add(-1)
	p.pool.Put(&b)
}

// pieces reads what has arrived, into a small buffer while little comes and a
// large one while much does. Before and behind each piece there is room for
// the frame of a chunk.
type pieces struct {
	p    *Proxy
	buf  []byte
	much bool // the last read filled its buffer
}

func (q *pieces) open() []byte {
	if q.buf == nil {
		if q.much && q.p.large.used.Load() < maxLarge {
			q.buf = q.p.large.get(largeBuffer)
		} else {
			q.buf = q.p.small.get(startBuffer)
		}
	}
	return q.buf[room : len(q.buf)-2]
}

// close gives the buffer back; what read returned is void then.
func (q *pieces) close() {
	switch len(q.buf) {
	case startBuffer:
		q.p.small.put(q.buf)
	case largeBuffer:
		q.p.large.put(q.buf)
	}
	q.buf = nil
}

// got notes that a read gave n bytes.
func (q *pieces) got(n int) { q.much = n == len(q.buf)-room-2 }

// read gives at least one byte, or an error. The piece lies in q.buf.
func (q *pieces) read(r io.Reader, limit int64) (int, error) {
	if q.much != (len(q.buf) == largeBuffer) {
		q.close()
	}
	b := q.open()
	b = b[:min(int64(len(b)), limit)]
	for range 100 {
		n, err := r.Read(b)
		if n > 0 {
			q.got(n)
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// piece is the n bytes that were read.
func (q *pieces) piece(n int) []byte { return q.buf[room : room+n] }

// chunk is the n bytes that were read, as one chunk.
func (q *pieces) chunk(n int) []byte {
	start := room - 2
	q.buf[start], q.buf[start+1] = '\r', '\n'
	for v := n; v > 0; v >>= 4 {
		start--
		q.buf[start] = "0123456789abcdef"[v&15]
	}
	q.buf[room+n], q.buf[room+n+1] = '\r', '\n'
	return q.buf[start : room+n+2]
}
