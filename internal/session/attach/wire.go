//go:build linux

package attach

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long either end waits for the other to read or to say what
// it must say at once.
const patience = 10 * time.Second

// wire is one connection. Messages of one end are read by one goroutine.
type wire struct {
	c  *net.UnixConn
	mu sync.Mutex // of writing
}

func wireOf(fd int) (*wire, error) {
	f := os.NewFile(uintptr(fd), "attach")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("no UNIX socket")
	}
	return &wire{c: u}, nil
}

// send writes a message, with descriptors beside its first byte. An end that
// does not read is turned away: a part of a message may be written, and to wait
// for it again with each would hold up the end of the session.
func (w *wire) send(kind byte, body []byte, files ...*os.File) error {
	b := make([]byte, 4, 5+len(body))
	binary.BigEndian.PutUint32(b, uint32(1+len(body)))
	b = append(append(b, kind), body...)
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.c.SetWriteDeadline(time.Now().Add(patience))
	n, _, err := w.c.WriteMsgUnix(b, rights, nil)
	if err == nil && n < len(b) {
		_, err = w.c.Write(b[n:])
	}
	if err != nil {
		w.c.Close()
	}
	return err
}

// receive reads a message of at most limit bytes with exactly so many
// descriptors as wanted says of its kind; others are closed and an error.
func (w *wire) receive(limit int, wanted func(kind byte) int) (kind byte, body []byte, files []*os.File, err error) {
	fail := func(err error) (byte, []byte, []*os.File, error) {
		for _, f := range files {
			f.Close()
		}
		return 0, nil, nil, err
	}
	head, oob := make([]byte, 5), make([]byte, unix.CmsgSpace(4*8))
	// Descriptors lie beside the first byte of a message.
	n, oobn, flags, _, err := w.c.ReadMsgUnix(head, oob)
	if err != nil {
		return fail(err)
	}
	files, err = rights(oob[:oobn])
	switch {
	case err != nil:
		return fail(err)
	case flags&unix.MSG_CTRUNC != 0:
		return fail(errMessage)
	case n == 0:
		return fail(io.EOF)
	}
	if _, err := io.ReadFull(w.c, head[n:]); err != nil {
		return fail(err)
	}
	size := binary.BigEndian.Uint32(head)
	if size == 0 || size > uint32(limit) || len(files) != wanted(head[4]) {
		return fail(errMessage)
	}
	body = make([]byte, size-1)
	if _, err := io.ReadFull(w.c, body); err != nil {
		return fail(err)
	}
	return head[4], body, files, nil
}

// rights are the descriptors of a control message. Go's runtime asks for them
// to be closed at exec.
func rights(oob []byte) (files []*os.File, err error) {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, errMessage
	}
	for _, m := range list {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return files, errMessage
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}
