package tui

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"bawn/internal/frontend/tui/screen"
	"bawn/internal/session"
)

// runPlain is the session for a terminal that knows lines alone: the terminal
// reads and edits them itself, and is raw only while a command has it.
func (a *app) runPlain() error {
	changes, stop := a.s.Changes()
	defer stop()
	if a.only != nil {
		return a.beginPlain(changes, func() { a.begin(session.Start{Args: a.only, Preset: true}) })
	}
	a.print("Sandbox: " + tierWord(a.s.State()) + ", network " + networkWord(a.s.State()) + "\n") // there is no status bar
	for !a.quit {
		for more := true; more; {
			select {
			case line := <-a.o.Notices:
				a.notice(line)
			default:
				more = false
			}
		}
		a.update()
		if c, ok := a.next(); ok {
			a.echo(c)
			if err := a.beginPlain(changes, func() { a.launch(c) }); err != nil {
				return err
			}
			continue
		}
		prompt := "> "
		if a.s.State().Staged != nil {
			prompt = "staged> "
		}
		fmt.Fprint(a.tty, prompt)
		line, err := readLine(a.tty)
		switch {
		case errors.Is(err, io.EOF): // Ctrl+D, or there is no terminal any more, again and again
			a.print("\n")
			a.leave()
			continue
		case err != nil:
			return fmt.Errorf("%w: %w", ErrHungUp, err)
		}
		switch line := strings.TrimSpace(line); {
		case line == "":
		case strings.HasPrefix(line, "/"):
			a.slash(line)
		default:
			if err := a.beginPlain(changes, func() { a.start(line) }); err != nil {
				return err
			}
		}
	}
	return a.err
}

// beginPlain runs a command to its end.
func (a *app) beginPlain(changes <-chan struct{}, begin func()) (err error) {
	a.scr, err = screen.Open(a.tty, screen.Options{
		Plain: true, Key: a.commandKey,
		Hangup: a.hangup,
	})
	if err != nil {
		return fmt.Errorf("open the session's screen: %w", err)
	}
	defer a.scr.Recover()
	begin()
	for a.task != 0 && !a.quit {
		select {
		case _, ok := <-changes:
			a.quit = a.quit || !ok
			a.update()
		case f := <-a.todo:
			f()
		case line := <-a.o.Notices:
			a.notice(line)
		case <-a.ctx.Done():
			a.err, a.quit = a.ended(), true
		}
	}
	scr := a.scr
	a.scr = nil
	return scr.Close()
}

// readLine reads a line, and nothing after it.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for {
		var b [1]byte
		n, err := r.Read(b[:])
		switch {
		case n == 1 && b[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, b[0])
		case err != nil:
			return "", err
		}
	}
}
