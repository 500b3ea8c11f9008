package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/session/hint"
	"bawn/internal/tty"
)

const (
	// maxRuns bounds the commands that run at once, and maxKept those that have
	// ended and whose output is kept.
	maxRuns = 128
	maxKept = 32
	// maxInput bounds what is typed at once, in bytes.
	maxInput = 64 << 10
)

// run is one command of the session.
type run struct {
	sess    *session.Session
	id      string // what the model calls it; "" for the tools' own
	ready   bool   // it was started; under the mutex of the runs
	name    string // what to show
	task    int
	begun   time.Time
	limit   time.Duration // 0 is none
	waited  atomic.Int64  // nanoseconds for a person's answers, which do not count
	rounds  int           // of questions; under the mutex of the asks
	out     *session.Output
	err     *session.Output
	tty     bool
	done    chan struct{} // closed when what follows is set
	code    int
	reason  string
	denied  []session.Denial
	refused policy.Rule // by which nothing ran
	took    time.Duration
	late    atomic.Bool // it was ended for its time
	mu      sync.Mutex
	stdin   *os.File          // nil when there is nothing to type to
	tidy    func(failed bool) // after a tool's process; nil is nothing to do
	typing  chan struct{}     // holds one while something is typed
	shown   [2]int64          // what bash_output has shown of each stream
	readers sync.WaitGroup
}

// start is what to run.
type start struct {
	session.Start
	name   string
	limit  time.Duration
	tty    bool
	typed  bool   // its input stays open
	input  []byte // all of its input, but for body, which is behind it
	body   *spool
	stderr *os.File  // in the place of a pipe
	pipe   **os.File // takes the other end of the output
	kept   bool      // the model may ask for it by its id
}

// runs are those that the model knows.
type runs struct {
	mu   sync.Mutex
	last int
	all  []*run
}

func (rs *runs) find(id string) (*run, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.all {
		if r.id == id && r.ready {
			return r, nil
		}
	}
	return nil, fmt.Errorf("there is no run %q, or its output is no longer kept", id)
}

// add names a run; the oldest of those that have ended are let go of.
func (rs *runs) add(r *run) error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	running, ended := 0, 0
	for _, o := range rs.all {
		if o.over() {
			ended++
		} else {
			running++
		}
	}
	if running >= maxRuns {
		return fmt.Errorf("%d commands run already; end one with bash_kill", running)
	}
	left := rs.all[:0]
	for _, o := range rs.all {
		if ended >= maxKept && o.over() {
			ended--
			o.forget()
			continue
		}
		left = append(left, o)
	}
	rs.last++
	r.id = "r" + strconv.Itoa(rs.last)
	rs.all = append(left, r)
	return nil
}

// began lets a run be found.
func (rs *runs) began(r *run) {
	rs.mu.Lock()
	r.ready = true
	rs.mu.Unlock()
}

func (rs *runs) remove(r *run) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i, o := range rs.all {
		if o == r {
			rs.all = append(rs.all[:i], rs.all[i+1:]...)
			return
		}
	}
}

func (rs *runs) close() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.all {
		r.forget()
	}
	rs.all = nil
}

func (r *run) forget() {
	r.out.Close()
	r.err.Close()
}

// dropped lets go of what nobody can ask for again, once it has ended.
func (r *run) dropped() {
	if r.id != "" {
		return
	}
	r.forget()
	if r.tidy != nil {
		r.tidy(r.code != 0)
	}
}

func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// kill ends it with all that it started.
func (r *run) kill() { r.sess.Kill(r.task) }

// start starts a command in the session.
func (s *server) start(sess *session.Session, c start) (_ *run, err error) {
	r := &run{sess: sess, name: c.name, tty: c.tty, limit: c.limit, begun: time.Now(), done: make(chan struct{}), typing: make(chan struct{}, 1)}
	var files []*os.File // theirs
	closeFiles := sync.OnceFunc(func() {
		for _, f := range files {
			f.Close()
		}
	})
	var ours []*os.File
	defer func() {
		if err != nil {
			closeFiles()
			for _, f := range ours {
				f.Close()
			}
			r.forget()
			s.runs.remove(r)
		}
	}()
	if c.kept {
		if err := s.runs.add(r); err != nil {
			return nil, err
		}
	}
	pipe := func() (mine, theirs *os.File, err error) {
		mine, theirs, err = os.Pipe()
		if err == nil {
			ours, files = append(ours, mine), append(files, theirs)
		}
		return mine, theirs, err
	}
	var stdio sandbox.Stdio
	var sources []source
	if c.input != nil || c.typed && !c.tty {
		in, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		ours, files = append(ours, w), append(files, in)
		stdio.In, r.stdin = in, w
	} else {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, null)
		stdio.In = null
	}
	if c.tty {
		stdio.Out, stdio.Err = stdio.In, stdio.In
	} else if c.pipe != nil {
		if *c.pipe, stdio.Out, err = pipe(); err != nil {
			return nil, err
		}
	} else {
		if r.out, err = session.NewOutput(s.o.Folder); err != nil {
			return nil, err
		}
		mine, theirs, err := pipe()
		if err != nil {
			return nil, err
		}
		stdio.Out, sources = theirs, append(sources, source{mine, r.out})
	}
	switch {
	case c.tty:
		if r.out, err = session.NewOutput(s.o.Folder); err != nil {
			return nil, err
		}
	case c.stderr != nil:
		stdio.Err = c.stderr
	default:
		if r.err, err = session.NewOutput(s.o.Folder); err != nil {
			return nil, err
		}
		mine, theirs, err := pipe()
		if err != nil {
			return nil, err
		}
		stdio.Err, sources = theirs, append(sources, source{mine, r.err})
	}
	for _, src := range sources { // before anything can wait for them
		r.copy(src)
	}
	known := make(chan struct{}) // that task is set
	c.Kind = session.Attached
	r.task, err = sess.Serve(c.Start, session.Client{
		Stdio: stdio, TTY: c.tty, Environ: s.o.Environ, Tier: policy.Open,
		Event: func(ev sandbox.Event, end session.Ended) {
			switch ev.Kind {
			case sandbox.EventTTY:
				_ = unix.IoctlSetWinsize(int(ev.TTY.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
				r.mu.Lock()
				r.stdin = ev.TTY
				r.mu.Unlock()
				r.copy(source{ev.TTY, r.out})
				go func() {
					<-known
					sess.Ack(r.task)
				}()
			case sandbox.EventStarted:
				closeFiles()
			case sandbox.EventStopped:
				// Nobody would ever continue it: there is no shell in between.
				go func() {
					<-known
					sess.Signal(r.task, int(unix.SIGCONT))
				}()
			case sandbox.EventExited, sandbox.EventFailed:
				closeFiles()
				go r.end(ev, end, sources)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	close(known)
	s.runs.began(r)
	if c.input != nil {
		w := r.stdin
		r.stdin = nil
		go func() {
			defer w.Close()
			defer c.body.close()
			if _, err := w.Write(c.input); err == nil { // who does not read it has ended
				c.body.writeTo(w)
			}
		}()
	}
	return r, nil
}

type source struct {
	from *os.File
	to   *session.Output
}

func (r *run) copy(s source) {
	r.readers.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(s.from, buf)
			if _, werr := s.to.Write(buf[:n]); err != nil || werr != nil {
				s.from.Close() // a command that writes on gets SIGPIPE
				return
			}
		}
	})
}

// end is the last that happens to a run.
func (r *run) end(ev sandbox.Event, came session.Ended, sources []source) {
	r.took = time.Since(r.begun) - time.Duration(r.waited.Load())
	for _, s := range sources {
		// What left the sandbox's session may hold a pipe; nothing else can.
		_ = s.from.SetReadDeadline(time.Now().Add(time.Second))
	}
	r.readers.Wait()
	r.mu.Lock()
	if r.stdin != nil {
		r.stdin.Close()
		r.stdin = nil
	}
	r.mu.Unlock()
	r.code, r.denied, r.refused = ev.Code, came.Denials, came.Refused
	if ev.Kind == sandbox.EventFailed {
		r.reason = ev.Reason
	}
	if r.id != "" && r.code != 0 && r.reason == "" {
		r.denied = append(r.denied, r.hinted()...)
	}
	close(r.done)
}

// hinted are the denials that only the command's error text tells of.
func (r *run) hinted() []session.Denial {
	p := r.sess.Policy()
	said := r.err
	if said == nil { // a terminal has one stream
		said = r.out
	}
	if said == nil || !p.Sandboxed() {
		return nil
	}
	text, _, err := said.From(said.Size()-hint.MaxText, hint.MaxText)
	if err != nil {
		return nil
	}
	return session.Hinted(text, p, r.sess.State().Asks, r.denied)
}

// endOfInput is Ctrl-D, which ends a program's input on a terminal.
const endOfInput = "\x04"

var errDeaf = errors.New("the command reads no input: it has ended, or was started without background or tty")

// typeIn writes to the command's input; eof ends that.
func (r *run) typeIn(ctx context.Context, text string, eof bool) error {
	if len(text) > maxInput {
		return fmt.Errorf("at most %d bytes are typed at once", maxInput)
	}
	// One after the other: what is typed to a command that reads nothing would
	// pile up.
	late := time.NewTimer(5 * time.Second)
	defer late.Stop()
	select {
	case r.typing <- struct{}{}:
	case <-r.done:
		return errDeaf
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return errors.New("the command does not read its input, and what was typed before still waits: this was not typed")
	}
	r.mu.Lock()
	f := r.stdin
	if eof && r.tty { // to close a terminal is to hang up, and its output would be lost
		if eof = false; text != "" && !strings.HasSuffix(text, "\n") {
			text += endOfInput // the first ends the line alone
		}
		text += endOfInput
	} else if eof {
		r.stdin = nil
	}
	r.mu.Unlock()
	if f == nil || r.over() {
		<-r.typing
		return errDeaf
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(f, text)
		if eof {
			f.Close()
		}
		<-r.typing
		wrote <- err
	}()
	select {
	case err := <-wrote:
		return err
	case <-r.done:
		select { // perhaps by what was typed
		case err := <-wrote:
			return err
		case <-time.After(100 * time.Millisecond):
			return errors.New("the command has ended")
		}
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return errors.New("the command does not read its input; what was typed waits")
	}
}
