package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp/inside"
	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/session"
)

const (
	// maxAtWork bounds the calls of one kind of tool that have a process of the
	// tools' own, or hold what it said, and idleReaders the processes that are kept
	// for the next file to read.
	maxAtWork   = 8
	idleReaders = 2
	// readTime is how long the reading of one file may take: a file system may
	// answer slowly, or never.
	readTime = 30 * time.Second
)

// room bounds what works at once: it holds a token for each.
type room chan struct{}

// take waits for room, which is given back when the call's result is written.
func (r room) take(ctx context.Context, req *protocol.Request) error {
	select {
	case r <- struct{}{}:
		req.AfterReply(func() { <-r })
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readers are the processes that read files. They are kept, since to start a
// sandbox for each file takes longer than to read it; one that is stuck holds up
// nobody else.
type readers struct {
	room room // for the files that are read at once

	mu    sync.Mutex
	idle  []*reader
	asked map[*run]*reading // about which a person is asked
}

// reader is one process, which reads one file after the other.
type reader struct {
	run     *run
	in, out *os.File
	room    []byte // for what is read from out
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
	rd := &reader{room: make([]byte, 128<<10)}
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

// reading is a file that a process was asked for.
type reading struct {
	rd   *reader
	done chan got
}

type got struct {
	a    inside.Answer
	text *protocol.Text
	err  error
}

// read takes one answer; what is in the file is never there as a whole.
func (rd *reader) read() (g got) {
	size, err := inside.ReceiveHead(rd.out, &g.a)
	if err == nil && size > maxRead {
		err = fmt.Errorf("an answer of %d bytes: at most %d are taken", size, maxRead)
	}
	if err != nil {
		return got{err: err}
	}
	g.text = protocol.NewText()
	g.text.Grow(size)
	if n, err := io.CopyBuffer(g.text, io.LimitReader(rd.out, int64(size)), rd.room); err != nil || n < int64(size) {
		return got{err: io.ErrUnexpectedEOF}
	}
	return g
}

// begun is the reading of a call: a new one, or the one that a person was asked
// about.
func (s *server) begun(sess *session.Session, req *protocol.Request, r inside.Request) (*reading, error) {
	if req.State != "" {
		run, err := s.asks.resume(req.State, req.Same(), req.Answers)
		if err != nil {
			return nil, err
		}
		s.readers.mu.Lock()
		defer s.readers.mu.Unlock()
		one := s.readers.asked[run]
		if one == nil {
			return nil, errors.New("the question is over; call the tool again without requestState")
		}
		delete(s.readers.asked, run)
		return one, nil
	}
	rd, err := s.take(sess)
	if err != nil {
		return nil, err
	}
	one := &reading{rd, make(chan got, 1)}
	go func() { // what is stuck may not even be killed
		var g got
		if g.err = inside.Send(rd.in, r, nil); g.err == nil {
			g = rd.read()
		}
		one.done <- g
	}()
	return one, nil
}

// keep holds a reading until its call comes back, or its process ends.
func (rs *readers) keep(one *reading) {
	rs.mu.Lock()
	if rs.asked == nil {
		rs.asked = map[*run]*reading{}
	}
	rs.asked[one.rd.run] = one
	rs.mu.Unlock()
	go func() {
		<-one.rd.run.done
		rs.mu.Lock()
		delete(rs.asked, one.rd.run)
		rs.mu.Unlock()
		one.rd.in.Close()
		one.rd.out.Close()
	}()
}

// ask sends one request and waits for the answer, at most readTime, in which a
// person's does not count. A result is a question about the process.
func (s *server) ask(ctx context.Context, sess *session.Session, req *protocol.Request, r inside.Request) (a inside.Answer, text *protocol.Text, input *protocol.Result, err error) {
	if err := s.readers.room.take(ctx, req); err != nil {
		return a, nil, nil, err
	}
	one, err := s.begun(sess, req, r)
	if err != nil {
		return a, nil, nil, err
	}
	rd := one.rd
	asked := func() (out []session.Question) {
		for _, q := range s.asks.pending(rd.run) {
			if q.Task == rd.run.task {
				out = append(out, q)
			}
		}
		return out
	}
	var changes <-chan struct{}
	if req.Client.Parks() && s.asks.forms(req.Client) {
		tokens, stop := sess.Changes()
		defer stop()
		changes = tokens
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for spent := time.Duration(0); ; {
		if changes != nil {
			if open := asked(); len(open) > 0 {
				if res := s.asks.park(rd.run, req.Same(), open, true); res != nil {
					s.readers.keep(one)
					return a, nil, res, nil
				}
			}
		}
		select {
		case g := <-one.done:
			if g.err == nil {
				s.readers.give(rd)
				return g.a, g.text, nil, nil
			}
			rd.end()
			select { // it ended by itself: it says why
			case <-rd.run.done:
				if rd.run.reason != "" {
					g.err = errors.New(rd.run.reason)
				}
			case <-ctx.Done():
			case <-time.After(readTime):
			}
			return a, nil, nil, g.err
		case <-ctx.Done():
			// An answer that nobody waits for would be taken for the next one's.
			rd.end()
			return a, nil, nil, ctx.Err()
		case <-changes:
		case <-tick.C:
			if len(asked()) > 0 {
				continue
			}
			if spent += time.Second; spent >= readTime {
				rd.end()
				return a, nil, nil, fmt.Errorf("%s: reading it took more than %v", r.Path, readTime)
			}
		}
	}
}
