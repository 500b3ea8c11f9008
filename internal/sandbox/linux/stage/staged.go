//go:build linux

package stage

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// stagedTree lays the layer of one run over a folder of the host. Unlike a
// cache it has no second way: what is written must not land in the folder. lock
// holds the layer for as long as it is open.
func stagedTree(m sandbox.Mount) (tree, lock int, err error) {
	lower, err := openDir(m.Target)
	if err != nil {
		return -1, -1, err
	}
	defer closeFD(lower)
	store, err := openDir(policy.Parent(m.Source))
	if err != nil {
		return -1, -1, err
	}
	defer closeFD(store)
	return overlay(lower, store, base(m.Source), func(upper int) error { return likeRoot(lower, upper) })
}

// likeRoot gives the layer's root, which is what the command sees, the mode and
// times of the folder. It is called before the overlay is there, and so is
// bound by nothing but the user's own rights.
func likeRoot(lower, upper int) error {
	var st unix.Stat_t
	if err := unix.Fstat(lower, &st); err != nil {
		return err
	}
	var now unix.Stat_t // of a layer that another run has left, often the same
	if err := unix.Fstat(upper, &now); err != nil {
		return err
	}
	if now.Mode == st.Mode && now.Mtim == st.Mtim && now.Atim == st.Atim {
		return nil
	}
	if err := unix.Fchmod(upper, st.Mode&0o7777); err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, fdPath(upper), []unix.Timespec{st.Atim, st.Mtim}, 0)
}

// maxClock bounds how far the clock of file systems may be behind: a tick, at
// most 10 ms.
const maxClock = 100 * time.Millisecond

// awaitClocks comes last, when the clock has most likely passed the start.
func awaitClocks(mounts []sandbox.Mount) error {
	for _, m := range mounts {
		if m.Op != sandbox.OpStaged || m.Kept {
			continue
		}
		if err := awaitClock(m.Data); err != nil {
			return stepError(m, err)
		}
	}
	return nil
}

// awaitClock waits until whatever is changed from now on shows that it was
// changed after since: file systems take their times from a clock that moves
// once a tick.
func awaitClock(since string) error {
	want, err := strconv.ParseInt(since, 10, 64)
	if err != nil {
		return err
	}
	for waited := time.Duration(0); ; waited += 200 * time.Microsecond {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			return err
		}
		if now.Nano() >= want {
			return nil
		}
		if waited > maxClock {
			return errors.New("the clock was set back")
		}
		ts := unix.NsecToTimespec(int64(200 * time.Microsecond))
		_ = unix.Nanosleep(&ts, nil)
	}
}

// said is what the kernel says about a mount that failed, if it does.
func said(ctx int) string {
	buf := make([]byte, 512)
	n, err := unix.Read(ctx, buf)
	if err != nil || n <= 0 {
		return ""
	}
	line := strings.TrimSpace(string(buf[:n]))
	if len(line) > 2 && line[1] == ' ' { // the kind of message comes first
		line = line[2:]
	}
	return " (" + line + ")"
}
