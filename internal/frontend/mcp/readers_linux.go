package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp/inside"
	"bawn/internal/session"
)

const (
	// maxReaders bounds the files that are read at once, and idleReaders the
	// processes that are kept for the next.
	maxReaders  = 8
	idleReaders = 2
	// readTime is how long the reading of one file may take: a file system may
	// answer slowly, or never.
	readTime = 30 * time.Second
)

// readers are the processes that read files. They are kept, since to start a
// sandbox for each file takes longer than to read it; one that is stuck holds up
// nobody else.
type readers struct {
	room chan struct{} // holds a token for each that works

	mu   sync.Mutex
	idle []*reader
}

// reader is one process, which reads one file after the other.
type reader struct {
	run     *run
	in, out *os.File
}

// end lets go of a process, which may take its time to end.
func (rd *reader) end() {
	rd.in.Close()
	rd.run.kill()
	go func() {
		<-rd.run.done
		rd.out.Close()
	}()
}

// take is an idle process, or a new one.
func (s *server) take(sess *session.Session) (*reader, error) {
	rs := &s.readers
	rs.mu.Lock()
	for len(rs.idle) > 0 {
		n := len(rs.idle) - 1
		rd := rs.idle[n]
		if rs.idle = rs.idle[:n]; !rd.run.over() {
			rs.mu.Unlock()
			return rd, nil
		}
		rd.end()
	}
	rs.mu.Unlock()
	rd := new(reader)
	one, err := s.start(sess, start{
		Start: session.Start{Args: s.self(sess), As: []string{"read_file"}, Dir: s.o.Workspace}, name: "read_file", stderr: s.o.Program, typed: true, pipe: &rd.out,
	})
	if err != nil {
		return nil, err
	}
	rd.run, rd.in = one, one.stdin
	Widen(rd.out)
	return rd, nil
}

// Widen makes a pipe hold a long result, so that it takes fewer turns; one that
// cannot be widened stays as it was.
func Widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}

// give keeps a process for the next file.
func (rs *readers) give(rd *reader) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.idle) >= idleReaders {
		rd.end()
		return
	}
	rs.idle = append(rs.idle, rd)
}

// ask sends one request and waits for the answer, at most readTime.
func (s *server) ask(ctx context.Context, sess *session.Session, r inside.Request) (a inside.Answer, body []byte, err error) {
	select {
	case s.readers.room <- struct{}{}:
		defer func() { <-s.readers.room }()
	case <-ctx.Done():
		return a, nil, ctx.Err()
	}
	rd, err := s.take(sess)
	if err != nil {
		return a, nil, err
	}
	timed, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	type got struct {
		a    inside.Answer
		body []byte
		err  error
	}
	done := make(chan got, 1)
	go func() { // what is stuck may not even be killed
		var g got
		if g.err = inside.Send(rd.in, r, nil); g.err == nil {
			g.body, g.err = inside.Receive(rd.out, &g.a)
		}
		done <- g
	}()
	select {
	case g := <-done:
		if g.err == nil {
			s.readers.give(rd)
			return g.a, g.body, nil
		}
		rd.end()
		select { // it ended by itself: it says why
		case <-rd.run.done:
			if rd.run.reason != "" {
				g.err = errors.New(rd.run.reason)
			}
		case <-timed.Done():
		}
		return a, nil, g.err
	case <-timed.Done():
		// An answer that nobody waits for would be taken for the next one's.
		rd.end()
		if ctx.Err() != nil {
			return a, nil, ctx.Err()
		}
		return a, nil, fmt.Errorf("%s: reading it took more than %v", r.Path, readTime)
	}
}
