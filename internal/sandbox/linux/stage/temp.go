//go:build linux

package stage

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// temp is the session's: one tmpfs with a folder for each place. It is mounted
// in a mount namespace of which a single thread is part, so that no stage has
// it in its copy of the keeper's: each is handed the mounts that it shows.
type temp struct{ ask chan chan<- tempMounts }

type tempMounts struct {
	fds [2]int // for /tmp and /var/tmp, detached
	err error
}

var tempFolders = [2]string{"tmp", "var"}

func keepTemp() (*temp, error) {
	t := &temp{make(chan chan<- tempMounts)}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		dir, err := makeTemp()
		made <- err
		if err != nil {
			return
		}
		for answer := range t.ask {
			answer <- cloneTemp(dir)
		}
	}()
	return t, <-made
}

func makeTemp() (dir int, err error) {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return -1, err
	}
	unix.Umask(0) // this thread's alone by now
	p, err := newPool(tempSize)
	if err != nil {
		return -1, err
	}
	for _, name := range tempFolders {
		if err := mkdirat(p.dir, name, 0o1777); err != nil {
			return -1, err
		}
	}
	return p.dir, nil
}

func cloneTemp(dir int) (m tempMounts) {
	for i, name := range tempFolders {
		if m.fds[i], m.err = openTree(dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC); m.err != nil {
			closeAll(m.fds[:i])
			return m
		}
	}
	return m
}

// mounts makes one pair of mounts, which the caller closes.
func (t *temp) mounts() ([2]int, error) {
	answer := make(chan tempMounts)
	t.ask <- answer
	m := <-answer
	return m.fds, m.err
}

// keptTemp is the temp that the keeper has handed to this stage, by its place.
func keptTemp(mark Mark) map[string]int {
	if mark.Launcher != Kept {
		return nil
	}
	return map[string]int{"/tmp": TempFD, "/var/tmp": VarTempFD}
}
