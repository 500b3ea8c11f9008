//go:build linux

package attach

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// Door is where other processes come in to a session.
type Door struct {
	s      *session.Session
	kind   session.TaskKind
	within string          // the folders in which commands may start
	most   session.Sibling // what a command may have

	l      net.Listener
	done   func() // when the listener is closed
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	room   chan struct{}
	guests chan struct{} // the room of all inner doors together
}

// maxClients bounds who is served at once: each may hold a request and threads.
const maxClients = 256

// Open makes the session's socket in the first of the folders that serves.
func Open(folders []string, s *session.Session) (*Door, error) {
	dir, err := makeFolder(folders)
	if err != nil {
		return nil, err
	}
	fd, err := dir.listen(s.ID())
	if err != nil {
		dir.close()
		return nil, err
	}
	d := &Door{s: s, kind: session.Attached, within: s.Workspace(), most: session.Sibling{Tier: policy.Guarded}, done: func() {
		_ = unix.Unlinkat(dir.fd, s.ID()+suffix, 0)
		dir.close()
	}}
	d.room, d.guests = make(chan struct{}, maxClients), make(chan struct{}, maxClients)
	if err := d.serve(os.NewFile(uintptr(fd), "session")); err != nil {
		d.done()
		return nil, err
	}
	s.ServeInner(func(of session.Sibling) (string, func(), func(), error) { return d.inner(dir, of) })
	return d, nil
}

// inner makes the socket of one command: bound from outside, as pid 1 inside
// need not know of it then, and without a name as soon as it stands inside, so
// that nothing is left behind.
func (d *Door) inner(dir folder, of session.Sibling) (path string, shown, end func(), err error) {
	name := d.s.ID() + "-" + strings.ToLower(rand.Text()) + ".inner"
	fd, err := dir.bind(name, name)
	if err != nil {
		return "", nil, nil, err
	}
	forget := sync.OnceFunc(func() { _ = unix.Unlinkat(dir.fd, name, 0) })
	one := &Door{s: d.s, kind: session.Inner, within: d.within, most: of, done: forget, room: d.guests}
	if err := one.serve(os.NewFile(uintptr(fd), "inner")); err != nil {
		forget()
		return "", nil, nil, err
	}
	return filepath.Join(dir.name, name), forget, func() { _ = one.Close() }, nil
}

// serve takes over a listening socket.
func (d *Door) serve(f *os.File) error {
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	d.l = l
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.work.Go(d.accept)
	return nil
}

// Close turns everybody away, and waits until the commands of those who came
// in have ended.
func (d *Door) Close() error {
	d.cancel()
	err := d.l.Close()
	d.work.Wait()
	if d.done != nil {
		d.done()
	}
	return err
}

func (d *Door) accept() {
	for {
		c, err := d.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor left
			select {
			case <-d.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		u, ok := c.(*net.UnixConn)
		select {
		case d.room <- struct{}{}:
		default:
			ok = false
		}
		if !ok {
			c.Close()
			continue
		}
		d.work.Go(func() {
			defer func() { <-d.room }()
			defer u.Close()
			d.client(&wire{c: u})
		})
	}
}

// client serves one.
func (d *Door) client(w *wire) {
	raw, err := w.c.SyscallConn()
	ours := false
	if err == nil {
		err = raw.Control(func(fd uintptr) { ours = sameUser(int(fd)) })
	}
	if err != nil || !ours {
		return
	}
	stop := context.AfterFunc(d.ctx, func() { w.c.Close() })
	defer stop()
	_ = w.c.SetReadDeadline(time.Now().Add(patience))
	kind, body, files, err := w.receive(maxRequest, func(kind byte) int { return map[byte]int{msgRun: 3}[kind] })
	if err != nil {
		return
	}
	closeAll := sync.OnceFunc(func() {
		for _, f := range files {
			f.Close()
		}
	})
	defer closeAll()
	r, asked := Request{Dir: string(body)}, Question{}
	switch {
	case kind == msgRun:
		r, err = decodeRequest(body)
	case kind == msgAsk && d.kind != session.Inner: // nothing inside speaks to the person
		asked, err = decodeQuestion(body)
		r.Dir = asked.Dir
	case kind != msgWhere:
		err = errMessage
	}
	if err != nil {
		_ = w.send(msgRefused, []byte("the request cannot be understood: is the session of another version?"))
		return
	}
	dir, ok := d.folder(r.Dir)
	if !ok {
		_ = w.send(msgOther, nil)
		return
	}
	if _ = w.send(msgTaken, nil); kind == msgWhere {
		return
	}
	_ = w.c.SetReadDeadline(time.Time{})
	if kind == msgAsk {
		d.relay(w, asked)
		return
	}
	ended := make(chan struct{})
	asking := d.most.Asking // inside a sandbox a command chooses its environment
	if d.kind != session.Inner {
		asking = r.Env
	}
	id, err := d.s.Serve(session.Start{Text: r.Command.Text, Args: r.Command.Args, Dir: dir, Kind: d.kind, NoEgress: r.NoEgress || d.most.NoEgress}, session.Client{
		Stdio: sandbox.Stdio{In: files[0], Out: files[1], Err: files[2]}, TTY: r.TTY, Environ: r.Env, Asking: asking, Tier: min(r.Tier, d.most.Tier),
		Notice: func(line string) { _ = w.send(msgNotice, []byte(line)) },
		Event: func(ev sandbox.Event, end session.Ended) {
			switch ev.Kind {
			case sandbox.EventTTY:
				_ = w.send(msgTTY, nil, ev.TTY)
				ev.TTY.Close()
			case sandbox.EventStarted:
				closeAll() // else a reader of its output would not see the end
				_ = w.send(msgStarted, nil)
			case sandbox.EventStopped:
				_ = w.send(msgStopped, []byte{byte(ev.Code)})
			case sandbox.EventExited, sandbox.EventFailed:
				body := ending{ev.Code, ev.Reason, end}.encode()
				if len(body) >= maxFrame {
					body = ending{ev.Code, ev.Reason, session.Ended{More: len(end.Denials) + end.More}}.encode()
				}
				_ = w.send(msgEnded, body)
				close(ended)
			}
		},
	})
	if err != nil {
		_ = w.send(msgRefused, []byte(err.Error()))
		return
	}
	// Until the command has ended, or whoever it is for has.
	d.listen(w, id)
	d.s.Kill(id)
	<-ended
}

// folder resolves a client's working folder; it is one of this session's or
// none. For a client inside it has no links: following them would tell it which
// folders there are outside.
func (d *Door) folder(path string) (real string, ok bool) {
	if d.kind != session.Inner {
		real, err := filepath.EvalSymlinks(path)
		return real, err == nil && policy.Inside(real, d.within)
	}
	if !policy.IsClean(path) || !policy.Inside(path, d.within) {
		return "", false
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return "", false
	}
	unix.Close(fd)
	return path, true
}

// listen takes a client's messages until it is gone.
func (d *Door) listen(w *wire, id int) {
	for {
		kind, body, _, err := w.receive(maxFrame, func(byte) int { return 0 })
		switch {
		case err != nil:
			return
		case kind == msgSignal && len(body) == 1:
			d.s.Signal(id, int(body[0]))
		case kind == msgAck && len(body) == 0:
			d.s.Ack(id)
		default:
			return
		}
	}
}
