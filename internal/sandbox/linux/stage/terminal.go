//go:build linux

package stage

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal of the sandbox's own devpts: what is typed
// into it by force (TIOCSTI) can only reach the sandbox itself.
type terminal struct{ slave int }

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
	// The supervisor answers once size and modes are set.
	var ack [2]byte
	for {
		if _, err = unix.Read(ControlFD, ack[:]); err != unix.EINTR {
			break
		}
	}
	if err != nil || ack[0] != MsgTTY {
		return nil, fmt.Errorf("hand over the terminal: no answer: %w", err)
	}
	return &terminal{slave}, nil
}

func (t *terminal) close() {
	if t != nil {
		_ = unix.Close(t.slave)
	}
}
