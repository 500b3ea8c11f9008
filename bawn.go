package bawn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Cmd is a command that is to run, runs or has run under a policy. Like
// [os/exec.Cmd] it is used once, and its fields are read when it starts.
type Cmd struct {
	// Path is the program: a name without a slash is looked up inside the
	// sandbox in the PATH of Env. It is also what the program finds as its
	// first argument. A path relative to the workspace begins with "./".
	Path string

	// Args are the arguments, of which the first is the command's name; it is
	// only for the reader, since the program gets Path in its place.
	Args []string

	// Env is the environment, as "key=value"; nil is the caller's. Of a
	// repeated key the last value counts. Unless the tier is Open, what the
	// policy drops is removed, and BAWN_SANDBOXED, BAWN_TIER, PWD and, with a
	// private temp folder, the TMPDIR variables are set. The credentials that
	// it names (KUBECONFIG, HOME) are hidden beside those of the caller's.
	Env []string

	// Dir is the working folder, relative to the current folder; "" is the
	// workspace, or with WithScratch the scratch folder. In a sandboxed tier it must lie in the workspace or in an
	// added folder.
	Dir string

	// Stdin is the command's standard input; nil is the null device. An
	// *os.File is handed over as it is (a folder is refused). Anything else
	// is copied through a pipe by a goroutine, and Wait waits for it to end:
	// a reader that blocks forever makes Wait block.
	Stdin io.Reader

	// Stdout and Stderr take the command's output; nil is the null device. An
	// *os.File is handed over as it is; anything else is filled by a
	// goroutine that ends before Wait returns. If both are the same
	// comparable value, at most one goroutine at a time calls Write.
	Stdout io.Writer
	Stderr io.Writer

	// ProcessState is set by Wait and Run once the command has ended.
	ProcessState *ProcessState

	ctx       context.Context
	policy    Policy
	run       running
	waited    bool
	childEnds []io.Closer // this package's copies of what the command holds
	pipeEnds  []io.Closer // the caller's ends, of the pipe methods
	copyEnds  []io.Closer // the ends that the copies read or write, and close
	copies    []func() error
	copied    chan error
	release   func()
}

// running is a started command, in a sandbox or not.
type running interface {
	wait() (code int, err error)
	signal(os.Signal) error
}

// Command returns the Cmd that runs the named program with these arguments
// under a policy. Nothing happens before it is started, and whatever is wrong
// with the policy or the name is reported then.
//
// When ctx ends before the command, the sandbox is killed: the command, all
// that it started, and all that those started. Wait then returns an
// *ExitError that wraps the context's error. In Open, where there is no
// sandbox, the command's session is killed, so what made a session of its own
// lives on (on Windows only the command itself ends). A nil ctx panics.
func Command(ctx context.Context, p Policy, name string, args ...string) *Cmd {
	if ctx == nil {
		panic("bawn: nil Context")
	}
	return &Cmd{Path: name, Args: append([]string{name}, args...), ctx: ctx, policy: p}
}

// String returns the command for people, not for a shell.
func (c *Cmd) String() string {
	if len(c.Args) < 2 {
		return c.Path
	}
	return c.Path + " " + strings.Join(c.Args[1:], " ")
}

// Run starts the command and waits for it. The error is that of Start, or
// that of Wait.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Start makes the sandbox and starts the command in it. It returns nil once
// the command runs; Wait must be called then. Otherwise nothing runs, and the
// error is a *RefusedError (the rules forbid it), an *ExecError (the program
// was not found or cannot be executed), an error that is ErrUnavailable (no
// sandbox can be made here), the context's, or one of the system.
func (c *Cmd) Start() error {
	if c.run != nil || c.copied != nil {
		return errors.New("bawn: already started")
	}
	c.copied = make(chan error, 3)
	var once sync.Once
	c.release = func() { once.Do(func() { closeAll(c.childEnds) }) }
	err := c.start()
	if err != nil {
		c.release()
		closeAll(c.pipeEnds)
		closeAll(c.copyEnds)
		return err
	}
	for _, f := range c.copies {
		go func() { c.copied <- f() }()
	}
	return nil
}

func closeAll(list []io.Closer) {
	for _, f := range list {
		_ = f.Close()
	}
}

func (c *Cmd) start() error {
	if !c.policy.made {
		return errZero
	}
	if c.Path == "" {
		return &RefusedError{What: "a command without a name", Why: "there is nothing to run"}
	}
	if err := c.ctx.Err(); err != nil {
		return public(err)
	}
	v, err := c.policy.inspect(c.Env...)
	if err != nil {
		return err
	}
	dir, err := c.dir(v)
	if err != nil {
		return err
	}
	stdio, err := c.streams()
	if err != nil {
		return public(err)
	}
	args := []string{c.Path}
	if len(c.Args) > 1 {
		args = append(args, c.Args[1:]...)
	}
	j := job{
		ctx: c.ctx, policy: v.policy, host: v.host, launcher: v.launcher, upstream: v.upstream, stdio: stdio, release: c.release,
		command: sandbox.Command{Args: args, Environ: c.environ(dir), Dir: dir},
	}
	if !v.policy.Sandboxed() {
		c.run, err = startOpen(j)
		return err
	}
	if os.Getenv("BAWN_SANDBOXED") != "" {
		return &RefusedError{
			What: "a sandbox inside a sandbox", Why: "this program runs in a bawn sandbox already (BAWN_SANDBOXED is set)",
			Lift: "run the command without one: the boundary around it holds",
		}
	}
	c.run, err = startSandboxed(j)
	return err
}

// job is all that a way of running needs to know.
type job struct {
	ctx      context.Context
	policy   policy.Policy
	host     sandbox.Host
	command  sandbox.Command
	launcher Launcher
	upstream upstream
	stdio    sandbox.Stdio
	release  func() // to be called once the command holds its streams
}

// dir resolves the working folder and keeps it where the policy allows work.
func (c *Cmd) dir(v view) (string, error) {
	if c.Dir == "" {
		if v.policy.Profile() == policy.ScratchProfile {
			return "", nil // it is made with the sandbox
		}
		return v.workspace, nil
	}
	refuse := func(why, lift string) error {
		return &RefusedError{What: "working folder " + quote(c.Dir), Why: why, Lift: lift}
	}
	abs, err := filepath.Abs(c.Dir)
	if err != nil {
		return "", refuse(err.Error(), "")
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", refuse(err.Error(), "")
	}
	if !v.policy.Sandboxed() {
		return real, nil
	}
	for _, d := range append([]string{v.workspace}, v.dirs...) {
		if policy.Inside(real, d) {
			return real, nil
		}
	}
	return "", refuse("it is outside the workspace and the added folders", "add it with WithDirs")
}

// environ is the command's environment before the policy looks at it: the
// last value of each key, and PWD.
func (c *Cmd) environ(dir string) []string {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	if dir != "" {
		env = append(env[:len(env):len(env)], "PWD="+dir)
	}
	last := make(map[string]int, len(env))
	key := func(e string) string {
		// Windows has keys that begin with "=".
		if i := strings.IndexByte(e, '='); i > 0 {
			return e[:i]
		}
		return e
	}
	for i, e := range env {
		last[key(e)] = i
	}
	out := make([]string, 0, len(last))
	for i, e := range env {
		if last[key(e)] == i {
			out = append(out, e)
		}
	}
	return out
}

// Wait waits until the command has ended and its output is copied, and
// closes the pipes of StdinPipe, StdoutPipe and StderrPipe. Whatever the
// command left behind in its sandbox ends with it.
//
// The error is nil if the command ended with status 0, and an *ExitError if
// it ended otherwise; it is another one if the sandbox failed or a stream
// could not be copied.
func (c *Cmd) Wait() error {
	switch {
	case c.run == nil:
		return errors.New("bawn: not started")
	case c.waited:
		return errors.New("bawn: Wait was already called")
	}
	c.waited = true
	code, err := c.run.wait()
	c.release()
	closeAll(c.pipeEnds)
	var copyErr error
	for range c.copies {
		if e := <-c.copied; e != nil && copyErr == nil {
			copyErr = e
		}
	}
	c.ProcessState = &ProcessState{code}
	switch {
	case err != nil && c.ctx.Err() != nil && errors.Is(err, c.ctx.Err()):
		return &ExitError{ProcessState: c.ProcessState, cause: err}
	case err != nil:
		return public(err)
	case code != 0:
		return &ExitError{ProcessState: c.ProcessState}
	}
	return public(copyErr)
}

// Signal sends a signal to the command's process group (on Windows only
// os.Kill works, and only for Open). After the command has ended it returns
// os.ErrProcessDone. To end all that runs in the sandbox cancel the context.
func (c *Cmd) Signal(sig os.Signal) error {
	if c.run == nil {
		return errors.New("bawn: not started")
	}
	return c.run.signal(sig)
}

// Output runs the command and returns its standard output. If it fails and
// Stderr was nil, the *ExitError holds what it wrote there.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("bawn: Stdout already set")
	}
	var out bytes.Buffer
	c.Stdout = &out
	var kept *endsKeeper
	if c.Stderr == nil {
		kept = &endsKeeper{limit: 32 << 10}
		c.Stderr = kept
	}
	err := c.Run()
	var exit *ExitError
	if kept != nil && errors.As(err, &exit) {
		exit.Stderr = kept.bytes()
	}
	return out.Bytes(), err
}

// CombinedOutput runs the command and returns its standard output and
// standard error, in the order in which they were written.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("bawn: Stdout or Stderr already set")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// endsKeeper keeps the first and the last bytes of a text.
type endsKeeper struct {
	limit      int
	head, tail []byte
	leftOut    int64
}

func (k *endsKeeper) Write(p []byte) (int, error) {
	n := len(p)
	if room := k.limit - len(k.head); room > 0 {
		take := min(room, len(p))
		k.head, p = append(k.head, p[:take]...), p[take:]
	}
	k.tail = append(k.tail, p...)
	if extra := len(k.tail) - k.limit; extra > 0 {
		k.leftOut += int64(extra)
		k.tail = append(k.tail[:0], k.tail[extra:]...)
	}
	return n, nil
}

func (k *endsKeeper) bytes() []byte {
	out := k.head
	if k.leftOut > 0 {
		out = append(out, "\n... "+strconv.FormatInt(k.leftOut, 10)+" bytes left out ...\n"...)
	}
	return append(out, k.tail...)
}

func quote(s string) string { return strconv.Quote(s) }
