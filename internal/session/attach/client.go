//go:build linux

package attach

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// ErrNoSession means that no session runs commands in the folder.
var ErrNoSession = errors.New("no session is open for this folder")

// Any reports whether there may be a session: where there never was one, by one
// look for a folder.
func Any(folders []string) bool {
	for _, path := range folders {
		dir, err := openFolder(path)
		if err != nil {
			continue
		}
		some := len(dir.sessions()) > 0
		dir.close()
		if some {
			return true
		}
	}
	return false
}

// Find returns the session that Dial would take for a folder, "" for none.
func Find(folders []string, wanted, dir string) (id string) {
	if wanted != "" && !isID(wanted) {
		return ""
	}
	_ = each(folders, wanted, func(one string, w *wire) error {
		defer w.c.Close()
		if w.send(msgWhere, []byte(dir)) != nil || w.taken() != nil {
			return ErrNoSession
		}
		id = one
		return nil
	})
	return id
}

// each connects to one session after the other until try has another error
// than ErrNoSession, or none.
func each(folders []string, id string, try func(id string, w *wire) error) error {
	err := ErrNoSession
	for _, path := range folders {
		dir, e := openFolder(path)
		if e != nil {
			continue
		}
		ids := dir.sessions()
		if id != "" {
			ids = []string{id}
		}
		for _, one := range ids {
			w, e := dir.dial(one)
			if e != nil {
				continue
			}
			if err = try(one, w); !errors.Is(err, ErrNoSession) {
				dir.close()
				return err
			}
		}
		dir.close()
	}
	return err
}

// taken waits for the answer to a request.
func (w *wire) taken() error {
	_ = w.c.SetReadDeadline(time.Now().Add(patience))
	kind, body, _, err := w.receive(maxFrame, func(byte) int { return 0 })
	_ = w.c.SetReadDeadline(time.Time{})
	switch {
	case err == nil && kind == msgTaken:
		return nil
	case err == nil && kind == msgRefused:
		return errors.New(string(body))
	}
	return ErrNoSession // it has just ended, or is another's
}

// Process is a command that a session runs for this process. It is a
// sandbox.Process, so that whoever stands for a command stands for this one.
type Process struct {
	// Session is the id of the session.
	Session string
	// Ended is what came of it, once it has ended.
	Ended session.Ended

	w *wire
}

// Dial hands a command to a session: the one with this id, or with "" the
// newest whose workspace holds the folder. ErrNoSession if there is none;
// nothing has run then.
func Dial(folders []string, id string, r Request, stdio sandbox.Stdio) (*Process, error) {
	if id != "" && !isID(id) {
		return nil, fmt.Errorf("%q is not the id of a session", id)
	}
	var p *Process
	err := each(folders, id, func(one string, w *wire) (err error) {
		p, err = ask(w, r, stdio)
		if err != nil {
			w.c.Close()
			return err
		}
		p.Session = one
		return nil
	})
	if id != "" && errors.Is(err, ErrNoSession) {
		return nil, fmt.Errorf("session %s: there is none with this id whose workspace holds %q; leave --session out, and the newest of the folder is taken", id, r.Dir)
	}
	return p, err
}

// Inside hands a command to the session in whose sandbox this process is. It
// runs beside, in a sandbox that can do no more. ErrNoSession if there is no
// way to ask.
func Inside(r Request, stdio sandbox.Stdio) (*Process, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, ErrNoSession
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: sandbox.InnerSocket}); err != nil {
		unix.Close(fd)
		return nil, ErrNoSession
	}
	w, err := wireOf(fd)
	if err != nil {
		return nil, ErrNoSession
	}
	p, err := ask(w, r, stdio)
	if err != nil {
		w.c.Close()
		return nil, err
	}
	return p, nil
}

// ask sends the request and waits for whether it is taken.
func ask(w *wire, r Request, stdio sandbox.Stdio) (*Process, error) {
	body := r.encode()
	if len(body) >= maxRequest {
		return nil, errors.New("the command and its environment are too long for a session")
	}
	if err := w.send(msgRun, body, stdio.In, stdio.Out, stdio.Err); err != nil {
		return nil, ErrNoSession
	}
	if err := w.taken(); err != nil {
		return nil, err
	}
	return &Process{w: w}, nil
}

// Next implements sandbox.Process.
func (p *Process) Next() (sandbox.Event, error) {
	kind, body, files, err := p.w.receive(maxFrame, func(kind byte) int { return map[byte]int{msgTTY: 1}[kind] })
	if err != nil {
		return sandbox.Event{}, errors.New("the session ended")
	}
	switch {
	case kind == msgRefused:
		return sandbox.Event{}, errors.New(string(body))
	case kind == msgNotice:
		return sandbox.Event{Kind: sandbox.EventNotice, Reason: string(body)}, nil
	case kind == msgTTY:
		return sandbox.Event{Kind: sandbox.EventTTY, TTY: files[0]}, nil
	case kind == msgStarted:
		return sandbox.Event{Kind: sandbox.EventStarted}, nil
	case kind == msgStopped && len(body) == 1:
		return sandbox.Event{Kind: sandbox.EventStopped, Code: int(body[0])}, nil
	case kind == msgEnded:
		x, err := decodeEnding(body)
		if err != nil {
			return sandbox.Event{}, err
		}
		p.Ended = x.Ended
		return x.event(), nil
	}
	return sandbox.Event{}, errMessage
}

// Signal implements sandbox.Process.
func (p *Process) Signal(sig int) error { return p.w.send(msgSignal, []byte{byte(sig)}) }

// Ack implements sandbox.Process.
func (p *Process) Ack() error { return p.w.send(msgAck, nil) }

// Kill implements sandbox.Process: the session ends what nobody stands for.
func (p *Process) Kill() { p.w.c.Close() }

// Connect, Owner and Wait implement sandbox.Process: that is the session's.
func (p *Process) Connect(uint16) error               { return errors.New("the session connects") }
func (p *Process) Owner(netip.AddrPort) (int, string) { return 0, "" }
func (p *Process) Wait()                              {}

// Close implements sandbox.Process.
func (p *Process) Close() error { return p.w.c.Close() }
