package mcp

import (
	"context"
	"strings"
	"time"

	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// call runs a command for one tool call and stays with it until its end; a call
// that comes back with a person's answers goes on with its own.
func call[Out any](ctx context.Context, s *server, req *protocol.Request,
	begin func(*session.Session) (*run, error), render func(*run) (*protocol.Result, Out, error),
) (*protocol.Result, Out, error) {
	var none Out
	c := req.Client
	sess, err := s.session(c)
	if err != nil {
		return nil, none, err
	}
	var r *run
	name := req.Same()
	if req.State != "" {
		r, err = s.asks.resume(req.State, name, req.Answers)
	} else {
		r, err = begin(sess)
	}
	if err != nil {
		return nil, none, err
	}
	input, err := s.wait(ctx, req, c, r, name)
	if input != nil { // it goes on, parked
		return input, none, nil
	}
	defer r.dropped()
	if err != nil {
		return nil, none, err
	}
	return render(r)
}

// wait stays with a run until its end, its time, or that of the call. A result
// is a question: the run goes on, parked.
func (s *server) wait(ctx context.Context, req *protocol.Request, c protocol.Client, r *run, name string) (*protocol.Result, error) {
	var changes <-chan struct{}
	if c.Parks() && s.asks.forms(c) {
		tokens, stop := r.sess.Changes()
		defer stop()
		changes = tokens
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if changes != nil && !r.over() {
			if open := s.asks.pending(r); len(open) > 0 {
				if res := s.asks.park(r, name, open, true); res != nil {
					return res, nil
				}
			}
		}
		select {
		case <-r.done:
			return nil, nil
		case <-ctx.Done():
			r.kill()
			<-r.done
			return nil, ctx.Err()
		case <-changes:
		case <-tick.C:
			if s.late(r) {
				<-r.done
				return nil, nil
			}
			if req.WantsProgress() {
				req.Progress(time.Since(r.begun).Seconds(), r.lastLine())
			}
		}
	}
}

// late ends a run whose time is over. It is asked once a second: a person's time
// is not the command's.
func (s *server) late(r *run) bool {
	if len(s.asks.pending(r)) > 0 {
		r.waited.Add(int64(time.Second))
	}
	if r.limit == 0 || time.Since(r.begun)-time.Duration(r.waited.Load()) <= r.limit {
		return false
	}
	r.late.Store(true)
	r.kill()
	return true
}

// lastLine is what the command wrote last, as it may be shown.
func (r *run) lastLine() string {
	if r.out == nil {
		return policy.Escape(r.name)
	}
	b, _, err := r.out.From(r.out.Size()-200, 200)
	if err != nil {
		return policy.Escape(r.name)
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(b), "")), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return policy.Escape(last)
	}
	return policy.Escape(r.name) + ": no output yet"
}
