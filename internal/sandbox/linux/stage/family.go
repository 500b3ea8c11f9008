//go:build linux

package stage

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// family gathers the processes of a run that are seen: by a look at /proc from
// time to time, and when they make names, which the guard answers anyway. To
// be told of every exec would have to stop each (docs/decisions/0014).
//
// Equal ones (the same name below the same one) are one member and a count, so
// that a loop costs the supervisor nothing.
type family struct {
	tell func(msg []byte) // must not block
	root int              // this process, which starts the command

	mu      sync.Mutex
	members map[kin]*member
	count   int // of members that were told
	more    int // processes that had no place
	// By number, whom each process was taken for; before is what known was when
	// it was full.
	known, before map[int]*member

	looked time.Time     // the last look
	pause  time.Duration // until the next

	looks sync.Mutex // one look at a time
	last  string     // the newest number at the last one
	still bool       // it was that before
}

type kin struct {
	parent  int
	command string
}

type member struct {
	kin
	pid, count int // of the first one, and how many
}

const (
	// maxFamily is how many are told one by one.
	maxFamily = 256
	// maxKnown is how many numbers are remembered, twice.
	maxKnown = 2048
	// maxAbove is how far up those that started one are followed.
	maxAbove = 16
	// maxLook is how many processes one look reads.
	maxLook = 1024

	// A look comes when a quarter of the time that went by before has passed
	// again, so that what lasts longer is always seen.
	firstLook, lastLook = 50 * time.Millisecond, 5 * time.Second
)

func newFamily(tell func(msg []byte)) *family {
	return &family{tell: tell, root: os.Getpid(), pause: firstLook}
}

// add notes one process as it is now.
func (f *family) add(pid, parent int, command string) {
	if pid <= 1 || pid == f.root || command == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	above := f.above(parent, maxAbove)
	if m := f.find(pid); m != nil && m.command == command && (m.parent == above || above == f.root) {
		return // or it lost its parent
	}
	f.put(pid, kin{above, command})
}

// find gives whom the process was taken for.
func (f *family) find(pid int) *member {
	m, ok := f.known[pid]
	if !ok {
		if m, ok = f.before[pid]; ok {
			f.remember(pid, m)
		}
	}
	return m
}

func (f *family) remember(pid int, m *member) {
	if f.known == nil || len(f.known) >= maxKnown {
		f.before, f.known = f.known, map[int]*member{}
	}
	f.known[pid] = m
}

// above gives the number that stands for a parent, which is noted with those
// that started it.
func (f *family) above(pid, depth int) int {
	if pid <= 1 || pid == f.root || depth == 0 {
		return pid
	}
	if m := f.find(pid); m != nil {
		return m.pid
	}
	command, _, parent, ok := processStat(pid)
	if !ok {
		return pid
	}
	return f.put(pid, kin{f.above(parent, depth-1), command}).pid
}

func (f *family) put(pid int, k kin) *member {
	m := f.members[k]
	switch {
	case m != nil:
		m.count++
	case f.count == maxFamily:
		f.more++
		m = &member{k, pid, 1}
	default:
		if f.members == nil {
			f.members = map[kin]*member{}
		}
		m = &member{k, pid, 1}
		f.members[k] = m
		f.count++
		f.tell(appendMember([]byte{MsgProcess}, m.pid, m.parent, 0, m.command))
	}
	f.remember(pid, m)
	return m
}

func appendMember(msg []byte, pid, parent, count int, command string) []byte {
	return append(fmt.Appendf(msg, "%d %d %d %s", pid, parent, count, command), 0)
}

// counts are messages of how many there were, of which more than one was seen.
func (f *family) counts() (out [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	msg := []byte{MsgProcess}
	add := func(more []byte) {
		if len(msg)+len(more) > maxName {
			out, msg = append(out, msg), []byte{MsgProcess}
		}
		msg = append(msg, more...)
	}
	for _, m := range f.members {
		if m.count > 1 {
			add(appendMember(nil, m.pid, m.parent, m.count, m.command))
		}
	}
	if f.more > 0 {
		add(appendMember(nil, 0, 0, f.more, ""))
	}
	if len(msg) > 1 {
		out = append(out, msg)
	}
	return out
}

// wait is how long the next look may wait, in milliseconds; it looks if it is
// time for one. One goroutine calls it.
func (f *family) wait() int {
	now := time.Now()
	if f.looked.IsZero() {
		f.looked = now
	}
	if now.Sub(f.looked) >= f.pause {
		f.look()
		f.looked = now
		f.pause = min(f.pause*5/4, lastLook)
	}
	return max(int((f.pause-now.Sub(f.looked))/time.Millisecond), 1)
}

// look reads all processes. Without a new one since two looks there is nothing
// to see: one at least, since a process becomes another after it began.
func (f *family) look() {
	f.looks.Lock()
	defer f.looks.Unlock()
	var buf [8192]byte
	n := readFile("/proc/loadavg", buf[:])
	last := string(buf[bytes.LastIndexByte(buf[:n], ' ')+1 : n])
	still := last == f.last && last != ""
	if still && f.still {
		return
	}
	f.last, f.still = last, still
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	for left := maxLook; left > 0; {
		n, err := unix.Getdents(dir, buf[:])
		if err != nil || n <= 0 {
			return
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil || pid <= 1 || left == 0 {
				continue
			}
			left--
			if command, _, parent, ok := processStat(pid); ok {
				f.add(pid, parent, command)
			}
		}
	}
}

// atEnd looks once more if the command left anything behind.
func (f *family) atEnd() {
	if unix.Kill(-1, 0) == nil {
		f.looks.Lock()
		f.last = ""
		f.looks.Unlock()
		f.look()
	}
}

// processStat reads a process's name, its state (proc(5)) and who started it.
func processStat(pid int) (command string, state byte, parent int, ok bool) {
	var buf [512]byte
	text := string(buf[:readFile("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])])
	_, text, _ = strings.Cut(text, "(")
	end := strings.LastIndexByte(text, ')') // a name may have some
	if end < 0 {
		return "", 0, 0, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 2 {
		return "", 0, 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return text[:end], fields[0][0], parent, err == nil
}

// readFile reads what one read gives; 0 bytes if it fails.
func readFile(path string, buf []byte) int {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for err == unix.EINTR {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	for err == unix.EINTR {
		n, err = unix.Read(fd, buf)
	}
	return max(n, 0)
}
