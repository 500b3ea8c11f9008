//go:build linux

package stage

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// layers are the overlays of a session: one mount of each, of which every
// command shows a clone, since what two mounts do that write one layer is
// undefined. As the temp they are in a mount namespace of a single thread.
type layers struct {
	pool  pool
	n     int   // how many there are
	locks []int // hold them for the session
}

// serveLayers makes layers and answers for them until nobody asks any more.
func serveLayers(control, file int) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	defer unix.Close(control)
	spec, err := takeSpec(file)
	var l layers
	if err == nil {
		err = l.make(spec.Mounts)
	}
	defer l.close() // before the socket: its end says so
	if err != nil {
		reportTo(control, err)
		return
	}
	if sendTo(control, MsgStage) != nil {
		return
	}
	for {
		msg, fds, err := receive(control)
		closeAll(fds)
		if err != nil {
			return
		}
		if len(msg) != 1 || msg[0] != MsgStage {
			reportTo(control, fmt.Errorf("malformed message %q to the keeper", msg))
			continue
		}
		if err := l.hand(control); err != nil {
			reportTo(control, err)
		}
	}
}

func (l *layers) make(mounts []sandbox.Mount) (err error) {
	if len(mounts) > MaxStaged {
		return fmt.Errorf("%d folders: at most %d can be staged at once", len(mounts), MaxStaged)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	unix.Umask(0) // this thread's alone by now
	trees := make([]int, 0, len(mounts))
	defer func() { closeAll(trees) }()
	for _, m := range mounts {
		if m.Op != sandbox.OpStaged {
			return stepError(m, unix.EINVAL)
		}
		tree, lock, err := stagedTree(m)
		if err != nil {
			return stepError(m, err)
		}
		trees, l.locks = append(trees, tree), append(l.locks, lock)
	}
	if l.pool, err = newPool("1m"); err != nil { // last: it covers a part of the host
		return err
	}
	for i, tree := range trees {
		name := strconv.Itoa(i)
		if err := mkdirat(l.pool.dir, name, 0o700); err != nil {
			return err
		}
		at, err := openPath(l.pool.dir, name)
		if err != nil {
			return err
		}
		err = moveTo(tree, at)
		closeFD(at)
		if err != nil {
			return err
		}
		l.n++
	}
	return awaitClocks(mounts)
}

// hand sends a mount of each.
func (l *layers) hand(control int) error {
	var out []int
	defer func() { closeAll(out) }()
	for i := range l.n {
		fd, err := openTree(l.pool.dir, strconv.Itoa(i), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("show what the session has staged: %w", err)
		}
		out = append(out, fd)
	}
	return unix.Sendmsg(control, []byte{MsgStage}, unix.UnixRights(out...), nil, 0)
}

// close unmounts them: from then on another may write the layers.
func (l *layers) close() {
	for i := range l.n {
		at := fdPath(l.pool.dir) + "/" + strconv.Itoa(i)
		if err := unix.Unmount(at, unix.UMOUNT_NOFOLLOW); errors.Is(err, unix.EBUSY) {
			_ = unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
	}
	l.n = 0
	closeAll(l.locks)
	l.locks = nil
}
