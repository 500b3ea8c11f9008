package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/session"
)

const (
	defaultLimit = 2 * time.Minute
	maxLimit     = 12 * time.Hour
	maxWait      = 10 * time.Minute
)

type bashIn struct {
	Command     string `json:"command" jsonschema:"shell text, run by bash"`
	Description string `json:"description,omitempty" jsonschema:"what it does, in a few words"`
	Workdir     string `json:"workdir,omitempty" jsonschema:"the working folder (default: the workspace)"`
	TimeoutMS   int64  `json:"timeout_ms,omitempty" jsonschema:"ends the command and all it started after that time (default: 120000; in the background: none)"`
	Background  bool   `json:"background,omitempty" jsonschema:"return at once; bash_output reads what it writes"`
	TTY         bool   `json:"tty,omitempty" jsonschema:"give it a terminal"`
}

// limit is the time that a command has; 0 is all.
func limit(ms int64, background bool) (time.Duration, error) {
	switch d := time.Duration(ms) * time.Millisecond; {
	case ms < 0 || ms > maxLimit.Milliseconds():
		return 0, fmt.Errorf("timeout_ms is %d: it is from 1 to %d", ms, maxLimit.Milliseconds())
	case ms > 0:
		return d, nil
	case background:
		return 0, nil
	}
	return defaultLimit, nil
}

func (s *server) bash(ctx context.Context, req *protocol.Request, in bashIn) (*protocol.Result, RunResult, error) {
	if in.Command == "" {
		return nil, RunResult{}, errors.New("command is empty")
	}
	most, err := limit(in.TimeoutMS, in.Background)
	if err != nil {
		return nil, RunResult{}, err
	}
	return s.shell(ctx, req, start{
		Start: session.Start{Text: in.Command, Dir: in.Workdir}, name: in.Command, limit: most, tty: in.TTY, typed: in.Background, kept: true,
	}, in.Background)
}

// shell runs a command of the model's.
func (s *server) shell(ctx context.Context, req *protocol.Request, c start, background bool) (*protocol.Result, RunResult, error) {
	if background && req.State == "" {
		sess, err := s.session(req.Client)
		if err != nil {
			return nil, RunResult{}, err
		}
		r, err := s.begin(sess, c)
		if err != nil {
			return nil, RunResult{}, err
		}
		if r.limit > 0 {
			go s.watchTime(r)
		}
		res := RunResult{RunID: r.id, Running: true, Denied: []Denied{}}
		return textResult(res.text(), false), res, nil
	}
	return call(ctx, s, req, func(sess *session.Session) (*run, error) { return s.begin(sess, c) },
		func(r *run) (*protocol.Result, RunResult, error) {
			res := s.ended(r)
			return textResult(res.text(), res.Reason != ""), res, nil
		})
}

// watchTime ends a run that no call stays with, when its time is over.
func (s *server) watchTime(r *run) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-tick.C:
			if s.late(r) {
				return
			}
		}
	}
}

// begin starts a command of the model's, in a folder with its links resolved.
func (s *server) begin(sess *session.Session, c start) (*run, error) {
	dir := s.o.Workspace
	if c.Dir != "" {
		var err error
		if dir, err = realDir(sess.Policy(), s.o.Workspace, c.Dir); err != nil {
			return nil, err
		}
	}
	c.Dir = dir
	return s.start(sess, c)
}

type outputIn struct {
	RunID  string `json:"run_id"`
	WaitMS int64  `json:"wait_ms,omitempty" jsonschema:"wait that long for new output or the end (at most 600000)"`
	Offset *int64 `json:"offset,omitempty" jsonschema:"read from that byte on, instead of what is new"`
	Stream string `json:"stream,omitempty" jsonschema:"stdout (default) or stderr, with offset"`
}

func (s *server) output(ctx context.Context, req *protocol.Request, in outputIn) (*protocol.Result, RunResult, error) {
	var none RunResult
	r, err := s.runs.find(in.RunID)
	if err != nil {
		return nil, none, err
	}
	if in.WaitMS < 0 || in.WaitMS > maxWait.Milliseconds() {
		return nil, none, fmt.Errorf("wait_ms is %d: it is from 0 to %d", in.WaitMS, maxWait.Milliseconds())
	}
	c := req.Client
	s.asks.set(c)
	name := req.Same()
	if req.State != "" {
		if _, err := s.asks.resume(req.State, name, req.Answers); err != nil {
			return nil, none, err
		}
	} else {
		s.asks.begin(r)
	}
	if in.Offset != nil {
		res, err := r.from(*in.Offset, in.Stream)
		if err != nil {
			return nil, none, err
		}
		s.fill(r, &res)
		return textResult(res.text(), false), res, nil
	}
	var changes <-chan struct{}
	if c.Parks() && s.asks.forms(c) {
		tokens, stop := r.sess.Changes()
		defer stop()
		changes = tokens
	}
	for end := time.Now().Add(time.Duration(in.WaitMS) * time.Millisecond); ; {
		if changes != nil && !r.over() {
			if open := s.asks.pending(r); len(open) > 0 {
				if res := s.asks.park(r, name, open, false); res != nil {
					return res, none, nil
				}
			}
		}
		if r.awaitOutput(ctx, time.Until(end), changes) {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, none, ctx.Err()
	}
	res, err := r.news()
	if err != nil {
		return nil, none, err
	}
	s.fill(r, &res)
	return textResult(res.text(), false), res, nil
}

// fill adds to what a run wrote how it stands.
func (s *server) fill(r *run, res *RunResult) {
	if !r.over() {
		res.RunID, res.Running, res.DurationMS, res.Denied = r.id, true, time.Since(r.begun).Milliseconds(), []Denied{}
		return
	}
	all := s.ended(r)
	all.Stdout, all.Stderr, all.Truncated, all.Start, all.NextOut, all.NextErr = res.Stdout, res.Stderr, res.Truncated, res.Start, res.NextOut, res.NextErr
	*res = all
}

// awaitOutput returns when there is something new, when the run has ended, or
// after that time; false when there may be a question.
func (r *run) awaitOutput(ctx context.Context, most time.Duration, changes <-chan struct{}) bool {
	end := time.NewTimer(most)
	defer end.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		r.mu.Lock()
		news := r.out.Size() > r.shown[0] || r.err.Size() > r.shown[1]
		r.mu.Unlock()
		if news {
			return true
		}
		select {
		case <-r.done:
			return true
		case <-ctx.Done():
			return true
		case <-end.C:
			return true
		case <-changes:
			return false
		case <-look.C:
		}
	}
}

// news is what was written since the last time, as much as one result shows.
func (r *run) news() (RunResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var res RunResult
	for i, o := range []*session.Output{r.out, r.err} {
		if o == nil {
			continue
		}
		b, at, err := o.From(r.shown[i], maxShown)
		if err != nil {
			return res, err
		}
		if at > r.shown[i] {
			res.Start = max(res.Start, at)
		}
		r.shown[i] = at + int64(len(b))
		res.Truncated = res.Truncated || r.shown[i] < o.Size()
		if i == 0 {
			res.Stdout, res.NextOut = valid(b), r.shown[i]
		} else {
			res.Stderr, res.NextErr = valid(b), r.shown[i]
		}
	}
	return res, nil
}

// from is a stream from an offset on.
func (r *run) from(offset int64, stream string) (RunResult, error) {
	o := r.out
	switch stream {
	case "", "stdout":
	case "stderr":
		o = r.err
	default:
		return RunResult{}, fmt.Errorf("stream is %q: it is stdout or stderr", stream)
	}
	if offset < 0 {
		return RunResult{}, fmt.Errorf("offset is %d: it counts bytes from 0", offset)
	}
	if o == nil {
		return RunResult{}, nil
	}
	b, at, err := o.From(offset, maxShown)
	if err != nil {
		return RunResult{}, err
	}
	res := RunResult{Truncated: at+int64(len(b)) < o.Size()}
	if at > offset {
		res.Start = at
	}
	if stream == "stderr" {
		res.Stderr, res.NextErr = valid(b), at+int64(len(b))
	} else {
		res.Stdout, res.NextOut = valid(b), at+int64(len(b))
	}
	return res, nil
}

type inputIn struct {
	RunID string `json:"run_id"`
	Text  string `json:"text" jsonschema:"typed as it is; end a line with \\n"`
	EOF   bool   `json:"eof,omitempty" jsonschema:"end the input after it; on a terminal as Ctrl-D does"`
}

type killIn struct {
	RunID string `json:"run_id"`
}

func (s *server) input(ctx context.Context, _ *protocol.Request, in inputIn) (*protocol.Result, RunResult, error) {
	r, err := s.runs.find(in.RunID)
	if err == nil {
		err = r.typeIn(ctx, in.Text, in.EOF)
	}
	if err != nil {
		return nil, RunResult{}, err
	}
	var res RunResult
	s.fill(r, &res)
	return textResult("typed\n", false), res, nil
}

func (s *server) kill(ctx context.Context, _ *protocol.Request, in killIn) (*protocol.Result, RunResult, error) {
	r, err := s.runs.find(in.RunID)
	if err != nil {
		return nil, RunResult{}, err
	}
	r.kill()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, RunResult{}, ctx.Err()
	}
	res, err := r.news()
	if err != nil {
		return nil, RunResult{}, err
	}
	s.fill(r, &res)
	return textResult(res.text(), false), res, nil
}
