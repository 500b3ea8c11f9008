package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp/inside"
	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

const (
	// maxRead bounds what read_file returns, in bytes.
	maxRead = 2 << 20
	// maxSeen bounds the files whose state is remembered.
	maxSeen = 4096
)

// FileResult is what came of a file tool.
type FileResult struct {
	Path      string   `json:"path"` // real
	FirstLine int64    `json:"first_line,omitempty"`
	Lines     int64    `json:"lines,omitempty"`
	Size      int64    `json:"size"`
	Truncated bool     `json:"truncated"`
	Created   bool     `json:"created,omitempty"`
	Replaced  int      `json:"replaced,omitempty"`
	Denied    []Denied `json:"denied"`
}

// seen are files as they were read or written here last, by both the asked and
// the real path.
type seen struct {
	mu  sync.Mutex
	all map[string]inside.Version
}

func (s *seen) note(v inside.Version, paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= maxSeen {
		s.all = map[string]inside.Version{}
	}
	for _, p := range paths {
		s.all[p] = v
	}
}

func (s *seen) last(path string) *inside.Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.all[path]; ok {
		return &v
	}
	return nil
}

// self are the words that run this program where commands run. In a sandbox it
// may lie in a folder that is not there, so it is named by the descriptor that
// it gets.
func (s *server) self(sess *session.Session) []string {
	path := "/proc/self/fd/2"
	if !sess.Policy().Sandboxed() {
		path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.o.Program.Fd())
	}
	return []string{path, "mcp", "--inside"}
}

// once starts the work of one request in a sandbox of its own, as a command
// that is started now: under what the policy says now. body is what belongs to
// it; as is what rules and the record see.
func (s *server) once(sess *session.Session, r inside.Request, body *spool, web bool, as ...string) (*run, error) {
	head, err := inside.Head(r, body.size())
	if err != nil {
		return nil, err
	}
	return s.start(sess, start{
		Start: session.Start{Args: s.self(sess), As: as, Web: web, Dir: s.o.Workspace}, name: strings.Join(as, " "), input: head, body: body, stderr: s.o.Program, limit: defaultLimit,
	})
}

// answer is what a run of once said.
func answer(r *run) (a inside.Answer, body []byte, err error) {
	b, at, err := r.out.From(0, 2*inside.MaxFrame)
	if err == nil && at > 0 {
		err = errors.New("the answer is too long")
	}
	if err == nil && r.code == 0 && r.reason == "" {
		body, err = inside.Receive(bytes.NewReader(b), &a)
		return a, body, err
	}
	switch {
	case r.reason != "":
		err = errors.New(r.reason)
	case r.late.Load():
		err = errors.New("it took too long")
	case err == nil:
		err = fmt.Errorf("its process ended with code %d", r.code)
	}
	return a, nil, err
}

type readIn struct {
	Path   string `json:"path" jsonschema:"absolute, or relative to the workspace"`
	Offset int64  `json:"offset,omitempty" jsonschema:"the first line, from 1"`
	Limit  int64  `json:"limit,omitempty" jsonschema:"how many lines (default: all that fit)"`
}

func (s *server) readFile(ctx context.Context, req *protocol.Request, in readIn) (*protocol.Result, FileResult, error) {
	sess, path, err := s.file(req, in.Path)
	if err != nil {
		return nil, FileResult{}, err
	}
	if in.Offset < 0 || in.Limit < 0 {
		return nil, FileResult{}, errors.New("offset and limit count lines from 1")
	}
	p := sess.Policy()
	roots, _ := s.o.Limits(p)
	a, text, input, err := s.ask(ctx, sess, req, inside.Request{Op: "read", Path: path, Roots: roots, Offset: in.Offset, Limit: in.Limit, Max: maxRead})
	if input != nil || err != nil {
		return input, FileResult{}, err
	}
	if a.Failed != "" {
		return s.fileFailed(p, policy.Read{Path: cleaned(a.Real, path)}, a, nil)
	}
	// The process may have been started before there was something to hide.
	if d := p.Decide(policy.Read{Path: a.Real}); d.Verdict != policy.Allow {
		return s.fileRefused("read", a.Real, d.Rule)
	}
	if a.Links > 1 && p.Sandboxed() {
		if rule, ok := otherName(p, a.Version); ok {
			return s.fileRefused("read", a.Real, rule)
		}
	}
	s.seen.note(a.Version, path, a.Real)
	out := FileResult{Path: a.Real, FirstLine: a.First, Lines: a.Lines, Size: a.Version.Size, Truncated: a.More, Denied: []Denied{}}
	res := &protocol.Result{Long: text}
	switch {
	case a.Cut:
		res.Text = append(res.Text, fmt.Sprintf("[line %d has more than the %d bytes that are read at once: the rest of it with bash, the lines after it with offset %d]", a.First, maxRead, a.First+1))
	case a.More:
		res.Text = append(res.Text, fmt.Sprintf("[there is more: read on with offset %d]", a.First+a.Lines))
	}
	return res, out, nil
}

type writeIn struct {
	Path    string `json:"path" jsonschema:"absolute, or relative to the workspace"`
	Content string `json:"content"`
}

func (s *server) writeFile(ctx context.Context, req *protocol.Request, in writeIn) (*protocol.Result, FileResult, error) {
	if len(in.Content) > inside.MaxFrame/4 {
		return nil, FileResult{}, fmt.Errorf("content has %d bytes: at most %d are written", len(in.Content), inside.MaxFrame/4)
	}
	body, err := s.spool(req, in.Content)
	if err != nil {
		return nil, FileResult{}, err
	}
	return s.change(ctx, req, inside.Request{Op: "write", Path: in.Path}, body)
}

type editIn struct {
	Path       string `json:"path" jsonschema:"absolute, or relative to the workspace"`
	OldString  string `json:"old_string" jsonschema:"text of the file, exactly; it must be there once, or with replace_all"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

func (s *server) editFile(ctx context.Context, req *protocol.Request, in editIn) (*protocol.Result, FileResult, error) {
	body, err := s.spool(req, in.OldString, in.NewString)
	if err != nil {
		return nil, FileResult{}, err
	}
	return s.change(ctx, req, inside.Request{Op: "edit", Path: in.Path, Old: len(in.OldString), All: in.ReplaceAll}, body)
}

// change writes a file, as a command of the session does.
func (s *server) change(ctx context.Context, req *protocol.Request, r inside.Request, body *spool) (*protocol.Result, FileResult, error) {
	started := false // then it is the process's
	defer func() {
		if !started {
			body.close()
		}
	}()
	if err := s.writes.take(ctx, req); err != nil {
		return nil, FileResult{}, err
	}
	sess, path, err := s.file(req, r.Path)
	if err != nil {
		return nil, FileResult{}, err
	}
	p := sess.Policy()
	r.Path, r.Seen, r.Alone = path, s.seen.last(path), p.Sandboxed()
	_, r.Roots = s.o.Limits(p)
	r.Temp = inside.NewTemp()
	if r.Op == "edit" && r.Alone {
		r.Looked = shown(p, path)
	}
	return call(ctx, s, req,
		func(sess *session.Session) (*run, error) {
			done := s.notes.add(s.o.Folder, path, r.Temp)
			one, err := s.once(sess, r, body, false, r.Op+"_file", path)
			if err != nil {
				done(false)
				return nil, err
			}
			started, one.tidy = true, done
			return one, nil
		},
		func(done *run) (*protocol.Result, FileResult, error) {
			if res := s.ended(done); res.Reason != "" {
				return textResult(res.text(), true), FileResult{Path: path, Denied: res.Denied}, nil
			}
			a, _, err := answer(done)
			if err != nil {
				return nil, FileResult{}, err
			}
			if a.Linked {
				// What is replaced tells what is in the file, and the new one keeps the rest.
				if rule, ok := otherName(p, a.Version); ok {
					return s.fileRefused("read", a.Real, rule)
				}
			}
			if a.Failed != "" {
				for i := range done.denied { // the file's, not its new content's name
					if d := &done.denied[i]; inside.IsTemp(d.Path) {
						d.Path = a.Real
					}
				}
				return s.fileFailed(p, policy.Write{Path: cleaned(a.Real, path)}, a, done.denied)
			}
			s.seen.note(a.Version, path, a.Real)
			out := FileResult{Path: a.Real, Size: a.Version.Size, Created: a.Created, Replaced: a.Changed, Denied: []Denied{}}
			text := "wrote " + a.Real
			switch {
			case a.Created:
				text = "made " + a.Real
			case a.Changed > 0:
				text = fmt.Sprintf("edited %s: %d replaced", a.Real, a.Changed)
			}
			if a.Links > 1 {
				text += "; its other names keep what they had"
			}
			return textResult(policy.Escape(text)+"\n", false), out, nil
		})
}

// tidy takes away what a write that was ended between two of its steps left
// beside the file. Nothing else has that name, wherever path leads meanwhile.
func tidy(path, temp string) {
	dir := path[:strings.LastIndexByte(path, '/')+1]
	if real, err := filepath.EvalSymlinks(path); err == nil {
		dir = filepath.Dir(real) + "/"
	}
	_ = os.Remove(dir + temp)
}

func (s *server) file(req *protocol.Request, path string) (*session.Session, string, error) {
	sess, err := s.session(req.Client)
	if err == nil {
		path, err = s.path(path)
	}
	return sess, path, err
}

// fileFailed is the result of work on a file that could not be done; a denial
// has the rule behind it, as far as one is known.
func (s *server) fileFailed(p policy.Policy, act policy.Action, a inside.Answer, told []session.Denial) (*protocol.Result, FileResult, error) {
	out := FileResult{Path: a.Real, Denied: s.denied(told)}
	if a.Denied && len(out.Denied) == 0 {
		kind, target := "read", a.Real
		if _, ok := act.(policy.Write); ok {
			kind = "write"
		}
		rule := policy.Rule{ID: "file", Text: a.Failed}
		if a.Limit {
			rule = policy.Rule{ID: "tools:folders", Text: "the file tools stay in the workspace and the added folders", Lift: "--add-dir DIR of bawn mcp; or bash, where the sandbox allows it"}
		} else if d := whyRefused(p, act); d.Verdict != policy.Allow {
			rule = d.Rule
		}
		out.Denied = []Denied{s.deniedBy(kind, target, rule)}
	}
	return textResult("["+policy.Escape(a.Failed)+"]\n"+deniedText(out.Denied), true), out, nil
}

// whyRefused is the decision behind what the kernel refused: about the path, or
// about where its links lead now.
func whyRefused(p policy.Policy, act policy.Action) policy.Decision {
	d := p.Decide(act)
	if d.Verdict != policy.Allow {
		return d
	}
	switch a := act.(type) {
	case policy.Read:
		if real, err := sandbox.ShownPath(p, a.Path); err == nil {
			return p.Decide(policy.Read{Path: real})
		}
	case policy.Write:
		if real, err := sandbox.ShownPath(p, a.Path); err == nil {
			return p.Decide(policy.Write{Path: real})
		}
	}
	return d
}

func (s *server) fileRefused(kind, path string, r policy.Rule) (*protocol.Result, FileResult, error) {
	out := FileResult{Path: path, Denied: []Denied{s.deniedBy(kind, path, r)}}
	return textResult(deniedText(out.Denied), true), out, nil
}

// cleaned is the real path, if one is known, as a decision takes it.
func cleaned(real, asked string) string {
	if real == "" {
		real = asked
	}
	return filepath.Clean(real)
}

// realDir is a working folder with its links resolved, as commands would: what
// they do not see tells nothing, and what is theirs alone is looked for by them.
func realDir(p policy.Policy, ws, asked string) (string, error) {
	dir := home(asked)
	if !filepath.IsAbs(dir) {
		dir = ws + "/" + dir
	}
	fail := func(err error) (string, error) { return "", fmt.Errorf("workdir %q: %w", asked, err) }
	real, err := sandbox.ShownPath(p, dir)
	if err != nil {
		return fail(err)
	}
	if p.Decide(policy.Read{Path: real}).Verdict != policy.Allow {
		return fail(errors.New("commands cannot look into that place"))
	}
	if sandbox.Theirs(p, real) {
		return real, nil
	}
	switch info, err := os.Stat(real); {
	case err != nil:
		return fail(err)
	case !info.IsDir():
		return fail(unix.ENOTDIR)
	}
	return real, nil
}
