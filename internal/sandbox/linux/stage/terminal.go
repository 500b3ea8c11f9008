//go:build linux

package stage

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal of the sandbox's own devpts: what is typed
// into it by force (TIOCSTI) can only reach the sandbox itself.
type terminal struct {
	slave   int
	pending []syscall.Signal
}

// openTerminal makes the pair, gives the master to the supervisor and takes
// the slave as this session's controlling terminal.
func openTerminal() (*terminal, error) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer unix.Close(master)
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return nil, fmt.Errorf("unlock the terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return nil, fmt.Errorf("number of the terminal: %w", err)
	}
	slave, err := unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the terminal's slave: %w", err)
	}
	if err := unix.IoctlSetInt(slave, unix.TIOCSCTTY, 0); err != nil {
		return nil, fmt.Errorf("take the terminal: %w", err)
	}
	if err := unix.Sendmsg(ControlFD, []byte{MsgTTY}, unix.UnixRights(master), nil, 0); err != nil {
		return nil, fmt.Errorf("hand over the terminal: %w", err)
	}
	t := &terminal{slave: slave}
	if err := t.awaitAck(); err != nil {
		return nil, fmt.Errorf("hand over the terminal: %w", err)
	}
	return t, nil
}

// awaitAck waits until the supervisor has set size and modes. Signals that
// come first are kept for the command.
func (t *terminal) awaitAck() error {
	var msg [2]byte
	for {
		n, err := unix.Read(ControlFD, msg[:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return errors.New("the supervisor is gone")
		case n == 1 && msg[0] == MsgTTY:
			return nil
		case n == 2 && msg[0] == MsgSignal:
			t.pending = append(t.pending, syscall.Signal(msg[1]))
		default:
			return fmt.Errorf("malformed message %q", msg[0])
		}
	}
}

// close lets go of the terminal and returns the signals that came early.
func (t *terminal) close() []syscall.Signal {
	if t == nil {
		return nil
	}
	_ = unix.Close(t.slave)
	return t.pending
}
