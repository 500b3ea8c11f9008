package mcp

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"bawn/internal/approval"
	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// Options is what a server is made from.
type Options struct {
	Workspace string // real
	Version   string // of the program
	// Open makes the session, when the first call needs it; present reports
	// whether a person can be asked now. nil means never.
	Open func(present func() bool) (*session.Session, func() error, error)
	// Elsewhere is the user's session, on whose screen questions can be asked;
	// nil is none, ever. It is looked for at each question.
	Elsewhere *Elsewhere
	// Program is this program, open for reading; it does the work of the file
	// tools, inside.
	Program *os.File
	Environ []string // the commands', before the policy looks at it
	Folder  string   // where the output of commands is kept, in files without a name
	// Limits are the folders, by their real paths, in which the file tools read
	// and write; nil is no limit of theirs.
	Limits func(policy.Policy) (read, write []string)
	// TestCommand is what run_tests runs; "" looks what the workspace has.
	TestCommand string
	// Search is the address of a search service, of the user's settings; "" is
	// none.
	Search string
	// Lift is what would change a decision, with the places of this machine.
	Lift func(string) string
	// Describe and Check explain the policy: as lines, and as JSON.
	Describe func(policy.Policy) (text string, report any)
	Check    func(s *session.Session, action, object string) (text string, report any, err error)
}

// Elsewhere is another session of the user's, as far as questions go.
type Elsewhere struct {
	// Always: it is asked even where the client can show forms.
	Always bool
	// Open reports whether there is one now.
	Open func() bool
	// Ask waits for what its person says. An error says why nobody did.
	Ask func(context.Context, session.Question) (approval.Answer, error)
}

// server is one client's.
type server struct {
	o Options

	opening sync.Mutex
	sess    *session.Session
	end     func() error
	failed  error

	asks    asks
	runs    runs
	readers readers
	writes  room
	pages   room
	spools  spools
	seen    seen
	notes   notes
}

const instructions = `Commands and file tools run in a sandbox (bawn). What it refuses is listed in "denied", with the rule and what would lift it; do not try to get round it, tell the user. "sandbox" says what is allowed, "check" asks about one path, host or command before you try. Long output is kept: bash_output reads on.`

// Serve answers a client until in ends or ctx does, and ends every command that
// it started.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	s := &server{o: o, readers: readers{room: make(room, maxAtWork)}, writes: make(room, maxAtWork), pages: make(room, maxAtWork)}
	s.asks.elsewhere = o.Elsewhere
	srv := &protocol.Server{Name: "bawn", Version: o.Version, Instructions: instructions, Tools: s.tools(), Listed: s.warm}
	tidyNoted(o.Folder)
	err := srv.Serve(ctx, in, out)
	if e := s.close(); e != nil && err == nil {
		err = e
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// warm makes the session as soon as it is known whether the client can ask, so
// that no call has to wait for it.
func (s *server) warm(c protocol.Client) {
	go func() { _, _ = s.session(c) }() // the first call gets the error
}

// session is the one in which everything runs.
func (s *server) session(c protocol.Client) (*session.Session, error) {
	s.asks.set(c)
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.sess != nil || s.failed != nil {
		return s.sess, s.failed
	}
	var present func() bool
	if c.Elicits || s.o.Elsewhere != nil {
		present = s.asks.present
	}
	if s.sess, s.end, s.failed = s.o.Open(present); s.failed == nil {
		s.asks.watch(s.sess)
	}
	return s.sess, s.failed
}

func (s *server) close() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.failed == nil {
		s.failed = session.ErrClosed
	}
	s.asks.close()
	if s.sess == nil {
		return nil
	}
	err := s.end()
	s.notes.close()
	s.runs.close()
	return err
}

// home is a path with ~ as a shell takes it.
func home(p string) string {
	if dir := os.Getenv("HOME"); filepath.IsAbs(dir) && (p == "~" || strings.HasPrefix(p, "~/")) {
		return dir + p[1:]
	}
	return p
}

// path is a path of the model's as an absolute one.
func (s *server) path(p string) (string, error) {
	if p == "" {
		return "", errors.New("path is empty")
	}
	if p = home(p); !filepath.IsAbs(p) {
		p = s.o.Workspace + "/" + p // not cleaned: .. behind a link is the kernel's to follow
	}
	return p, nil
}
