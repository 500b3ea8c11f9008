//go:build unix

package approval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// Rules of the line prompt:
//   - it is read from and written to the controlling terminal, never to the
//     command's streams;
//   - it appears only while this process is in the terminal's foreground and no
//     other program holds the terminal in a mode of its own;
//   - keys count from when the line with the choices has appeared, and that
//     appears when the keyboard has been quiet: whoever is typing something
//     else answers nothing;
//   - the terminal is brought to plain text first: what wrote on it before may
//     have left it in another state;
//   - a yes is its letter and Enter. Enter alone, Esc, ^C, the end of the
//     terminal and silence are no;
//   - the terminal's modes are put back, and what is left of the keys dropped.

// quiet is how long no key must have been pressed before keys count.
const quiet = 300 * time.Millisecond

// TTY asks on the terminal that controls this process.
type TTY struct {
	fd   int
	turn chan struct{} // holds one token: a question at a time
	wait time.Duration
}

// Errors of OpenTTY: why nobody can be asked.
var (
	ErrNoTerminal = errors.New("there is no terminal to ask on")
	ErrBackground = errors.New("bawn is not in the foreground of its terminal")
	ErrInUse      = errors.New("another program is using the terminal")
)

// OpenTTY opens the terminal, if a person can be asked there now. It wraps
// ErrNoTerminal, ErrBackground or ErrInUse.
func OpenTTY() (*TTY, error) {
	// A description of its own: its mode is not that of anybody's stdin.
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == unix.ENXIO { // the kernel's word for a process without one
		return nil, ErrNoTerminal
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	t := &TTY{fd: fd, turn: make(chan struct{}, 1), wait: Patience}
	t.turn <- struct{}{}
	if _, err := t.ready(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return t, nil
}

// Close lets go of the terminal. No question may be open.
func (t *TTY) Close() error { return unix.Close(t.fd) }

// ready returns the terminal's modes, if it can be asked on.
func (t *TTY) ready() (*unix.Termios, error) {
	m, err := getTermios(t.fd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	if !t.foreground() {
		return nil, ErrBackground
	}
	if m.Lflag&unix.ICANON == 0 {
		// An editor, a pager or an agent's screen: it would read the answer,
		// or draw over the question.
		return nil, ErrInUse
	}
	return m, nil
}

func (t *TTY) foreground() bool {
	pgrp, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && pgrp == unix.Getpgrp()
}

// Ask shows the prompt and waits for a line.
func (t *TTY) Ask(ctx context.Context, p Prompt) Answer {
	ctx, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	select {
	case <-t.turn:
		defer func() { t.turn <- struct{}{} }()
	case <-ctx.Done():
		return Answer{Reason: withdrawn(ctx)}
	}
	saved, err := t.ready()
	if err != nil {
		return Answer{Reason: err.Error()}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Answer{Reason: "asking failed: " + err.Error()}
	}
	defer r.Close()
	stop := context.AfterFunc(ctx, func() { w.Close() })
	defer func() {
		if stop() {
			w.Close()
		}
	}()
	q := question{TTY: t, ctx: ctx, wake: int(r.Fd()), prompt: p}
	m := *saved
	// Output stays as it is. ^C is read here: it means no, and must not leave
	// the terminal in these modes.
	m.Iflag = m.Iflag&^(unix.IGNBRK|unix.PARMRK|unix.ISTRIP|unix.INLCR|unix.IGNCR|unix.IXON) | unix.BRKINT | unix.ICRNL
	m.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.ISIG | unix.IEXTEN
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
	if err := setTermios(t.fd, &m); err != nil {
		return Answer{Reason: "asking failed: " + err.Error()}
	}
	defer func() {
		if t.foreground() { // in the background the modes are another's
			flushInput(t.fd)
			_ = setTermios(t.fd, saved)
		}
	}()
	return q.ask()
}

// withdrawn says why a question ended without an answer.
func withdrawn(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "nobody answered"
	}
	return "the question was withdrawn"
}

// question is a prompt on the screen.
type question struct {
	*TTY
	ctx    context.Context
	wake   int // readable when ctx has ended
	prompt Prompt
}

func (q *question) ask() Answer {
	if err := q.write(neutral() + q.prompt.text(q.columns())); err != nil {
		return q.no(err)
	}
	for {
		if err := q.settle(); err != nil {
			return q.no(err)
		}
		if err := q.write(q.prompt.choices()); err != nil {
			return q.no(err)
		}
		line, err := q.line()
		if err != nil {
			return q.no(err)
		}
		if scope, ok := q.prompt.scope(line); ok {
			a := Answer{Scope: scope, Given: true}
			if scope == No {
				a.Reason = saidNo
			}
			_ = q.write("\n")
			return a
		}
		if err := q.write("\n"); err != nil {
			return q.no(err)
		}
	}
}

// neutral ends whatever a program's output was in the middle of: a control
// sequence or string, concealed text, another character set, an invisible
// cursor. Else it could keep a question from being read.
func neutral() string {
	if os.Getenv("TERM") == "dumb" {
		return ""
	}
	return "\x18\x1b\\\x0f\x1b(B\x1b[0m\x1b[?25h"
}

const saidNo = "the answer was no"

var errNo = errors.New(saidNo) // by a key

// no is the answer when there was no line.
func (q *question) no(err error) Answer {
	switch {
	case errors.Is(err, errNo):
		_ = q.write("no\n")
		return Answer{Given: true, Reason: saidNo}
	case q.ctx.Err() != nil:
		why := withdrawn(q.ctx)
		q.parting(why)
		return Answer{Reason: why}
	}
	return Answer{Reason: err.Error()}
}

// parting writes a last line, without waiting for a terminal that is stopped.
func (q *question) parting(why string) {
	_, _ = unix.Write(q.fd, []byte(why+": no\n"))
}

// settle waits until no key has been pressed for a while, and drops what was.
func (q *question) settle() error {
	for {
		flushInput(q.fd)
		some, err := q.poll(unix.POLLIN, quiet)
		if err != nil || !some {
			return err
		}
	}
}

// line reads keys up to Enter.
func (q *question) line() (string, error) {
	var line []byte
	buf := make([]byte, 64)
	for {
		if _, err := q.poll(unix.POLLIN, -1); err != nil {
			return "", err
		}
		if !q.foreground() {
			return "", ErrBackground // a read would stop this process
		}
		n, err := unix.Read(q.fd, buf)
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			continue
		case err != nil:
			return "", fmt.Errorf("the terminal is gone: %w", err)
		case n == 0:
			return "", errors.New("the terminal is gone")
		}
		for _, c := range buf[:n] {
			switch {
			case c == '\r' || c == '\n':
				return string(line), nil
			case c == 0x1b, c == 'C'-'@', c == 'D'-'@', c == '\\'-'@':
				return "", errNo
			case c == 0x7f || c == '\b':
				if len(line) > 0 {
					line = line[:len(line)-1]
					_ = q.write("\b \b")
				}
			case c > ' ' && c < 0x7f && len(line) < 8:
				line = append(line, c)
				_ = q.write(string(c))
			}
		}
	}
}

// poll waits for the terminal. False is that nothing came in time; a negative
// time is without end. An error is the question's end.
func (q *question) poll(events int16, d time.Duration) (bool, error) {
	end := time.Now().Add(d)
	for {
		ms := -1
		if d >= 0 {
			ms = int(max(time.Until(end), 0).Milliseconds())
		}
		fds := []unix.PollFd{{Fd: int32(q.fd), Events: events}, {Fd: int32(q.wake), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, ms)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return false, fmt.Errorf("wait for the terminal: %w", err)
		case fds[1].Revents != 0:
			return false, context.Cause(q.ctx)
		case fds[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0 || fds[0].Revents&(unix.POLLHUP|unix.POLLIN) == unix.POLLHUP:
			return false, errors.New("the terminal is gone")
		}
		return n > 0, nil
	}
}

// write shows all of s, however slow the terminal.
func (q *question) write(s string) error {
	for b := []byte(s); len(b) > 0; {
		n, err := unix.Write(q.fd, b)
		switch {
		case err == nil:
			b = b[n:]
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			if _, err := q.poll(unix.POLLOUT, -1); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the terminal is gone: %w", err)
		}
	}
	return nil
}

// keys are the letters of the scopes, and what a person may write out.
var keys = [...]struct{ letter, word string }{No: {"n", "no"}, Once: {"y", "yes"}, Session: {"s", "session"}, Always: {"a", "always"}}

// scope reads an answer, if it is one.
func (p Prompt) scope(line string) (Scope, bool) {
	line = strings.ToLower(line)
	if line == "" || line == keys[No].letter || line == keys[No].word {
		return No, true
	}
	for _, o := range p.Offers {
		if k := keys[o.Scope]; o.Scope != No && (line == k.letter || line == k.word) {
			return o.Scope, true
		}
	}
	return No, false
}

// text is the question as it is shown, before the choices. All but what it is
// about is broken between words where the terminal would break them, and set in.
func (p Prompt) text(width int) string {
	var b strings.Builder
	line := func(indent, text string) {
		b.WriteString(indent)
		at := len(indent)
		for i, word := range strings.Split(policy.Escape(text), " ") {
			n := cells(word)
			switch {
			case i == 0:
			case width > 0 && at+1+n > width:
				b.WriteString("\n" + setIn)
				at = len(setIn)
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += n
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	line("", "bawn: "+p.Title)
	fmt.Fprintf(&b, "\n    %s\n\n", policy.Escape(p.Object))
	for _, n := range p.Notes {
		line("  ", n)
	}
	if p.Rule.ID != "" {
		line("  ", fmt.Sprintf("rule: %s (%s)", p.Rule.ID, p.Rule.Origin))
	}
	if n := rows(b.String()); n > someRows {
		line("  ", fmt.Sprintf("careful: this question is about %d lines long, and its beginning may have left the screen", n))
	}
	for _, o := range p.Offers {
		line("  "+keys[o.Scope].letter+"  ", o.Text)
	}
	line("  "+keys[No].letter+"  ", "no (also Enter, Esc)")
	return b.String()
}

const (
	setIn = "     " // where a line goes on: no line of its own begins so
	// narrow is the least width that is believed: a program may have set it, and
	// a question of many short lines leaves the screen.
	narrow = 30
)

// columns is where the terminal breaks lines; 0 is unknown.
func (q *question) columns() int {
	ws, err := unix.IoctlGetWinsize(q.fd, unix.TIOCGWINSZ)
	if err != nil || ws.Col < narrow {
		return 0
	}
	return int(ws.Col)
}

// columns and someRows are a small screen, with room for the choices. What the
// terminal says of its size any program may have changed.
const (
	columns  = 80
	someRows = 16
)

// rows is how many lines of such a screen a text takes, at most.
func rows(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n += 1 + max(0, cells(line)-2)/columns // without the line's end
	}
	return n
}

// cells is how many columns a text takes, at most.
func cells(text string) (n int) {
	for _, r := range text {
		if n++; r >= 0x80 {
			n++ // letters of East Asia take two
		}
	}
	return n
}

// choices is the line at which keys begin to count.
func (p Prompt) choices() string {
	letters := make([]string, 0, len(p.Offers)+1)
	for _, o := range p.Offers {
		letters = append(letters, keys[o.Scope].letter)
	}
	letters = append(letters, strings.ToUpper(keys[No].letter))
	return "Answer and Enter [" + strings.Join(letters, "/") + "]: "
}
