//go:build linux

package staged

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// place is a name below a root.
type place struct {
	root int
	rel  string
}

// seen is what a name of the workspace had when its change was approved. Our
// own work changes a change time too: of the other names of a file, and of
// folders.
type seen struct {
	ino         uint64
	size, mtime int64
	dir         bool
}

func seenOf(st *unix.Stat_t) seen {
	if isDir(st) {
		return seen{ino: st.Ino, dir: true}
	}
	return seen{ino: st.Ino, size: st.Size, mtime: st.Mtim.Nano()}
}

// journal is what a keep notes before it acts, so that another can go on where
// it was killed. Besides, all that is needed is in the two trees: what was kept
// already looks the same in both.
//
//	ok ROOT "PATH" INO SIZE MTIME DIR   approved, though its change time may move
//	mode ROOT "PATH" MODE               its mode in the layer, which is now wider
//	at ROOT "PATH"                      the folder in which a temporary file may be
//	kept ROOT "PATH" CTIME              brought there by a keep that left others staged
type journal struct {
	path     string
	f        *os.File
	whole    int64 // length of its whole lines when it was read
	approved map[place]seen
	modes    map[place]uint32
	at       map[place]bool
	kept     map[place]int64
}

func openJournal(dir string) (*journal, error) {
	j := &journal{path: dir + "/" + journalName, approved: map[place]seen{}, modes: map[place]uint32{}, at: map[place]bool{}, kept: map[place]int64{}}
	f, err := os.OpenFile(j.path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return j, nil // a torn last line was never acted on
		}
		j.whole += int64(len(line))
		j.read(line)
	}
}

func (j *journal) read(line string) {
	kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	number, rest, _ := strings.Cut(rest, " ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return
	}
	rel, err := strconv.Unquote(quoted)
	root, err2 := strconv.Atoi(number)
	if err != nil || err2 != nil {
		return
	}
	p := place{root, rel}
	rest = rest[len(quoted):]
	switch kind {
	case "ok":
		var s seen
		if _, err := fmt.Sscan(rest, &s.ino, &s.size, &s.mtime, &s.dir); err == nil {
			j.approved[p] = s
		}
	case "mode":
		var m uint32
		if _, err := fmt.Sscan(rest, &m); err == nil {
			j.modes[p] = m
		}
	case "at":
		j.at[p] = true
	case "kept":
		var ctime int64
		if _, err := fmt.Sscan(rest, &ctime); err == nil {
			j.kept[p] = ctime
		}
	}
}

// journalError is that something cannot be noted: nothing more may be done.
type journalError struct{ err error }

func (e *journalError) Error() string { return "it cannot be noted: " + e.err.Error() }
func (e *journalError) Unwrap() error { return e.err }

// write adds lines. What a full disk tore before is cut off first: with the
// next line behind it, it would say something else.
func (j *journal) write(format string, a ...any) error {
	if j.f == nil {
		f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return &journalError{err}
		}
		if err := f.Truncate(j.whole); err != nil {
			f.Close()
			return &journalError{err}
		}
		j.f = f
	}
	n, err := fmt.Fprintf(j.f, format, a...)
	if err != nil {
		j.close()
		return &journalError{err}
	}
	j.whole += int64(n)
	return nil
}

// approve notes what was approved, on the disk before anything is done.
func (j *journal) approve(all map[place]seen) error {
	var b strings.Builder
	for p, s := range all {
		if j.approved[p] == s {
			continue
		}
		j.approved[p] = s
		fmt.Fprintf(&b, "ok %d %q %d %d %d %t\n", p.root, p.rel, s.ino, s.size, s.mtime, s.dir)
	}
	if b.Len() == 0 {
		return nil
	}
	if err := j.write("%s", b.String()); err != nil {
		return err
	}
	return j.f.Sync()
}

func (j *journal) mode(p place, mode uint32) error {
	if _, ok := j.modes[p]; ok {
		return nil
	}
	err := j.write("mode %d %q %d\n", p.root, p.rel, mode)
	if err == nil {
		j.modes[p] = mode
	}
	return err
}

// enter notes that a temporary file may be in a folder from now on.
func (j *journal) enter(p place) error {
	if j.at[p] {
		return nil
	}
	err := j.write("at %d %q\n", p.root, p.rel)
	if err == nil {
		j.at[p] = true
	}
	return err
}

// keep notes what a keep has brought into the workspace, by its change time,
// which it has until somebody else changes it.
func (j *journal) keep(all map[place]int64) error {
	var b strings.Builder
	for p, ctime := range all {
		j.kept[p] = ctime
		fmt.Fprintf(&b, "kept %d %q %d\n", p.root, p.rel, ctime)
	}
	if b.Len() == 0 {
		return nil
	}
	return j.write("%s", b.String())
}

// compact leaves what has to outlive the keeps: what was approved and what was
// kept.
func (j *journal) compact() error {
	var b strings.Builder
	for p, s := range j.approved {
		fmt.Fprintf(&b, "ok %d %q %d %d %d %t\n", p.root, p.rel, s.ino, s.size, s.mtime, s.dir)
	}
	for p, ctime := range j.kept {
		fmt.Fprintf(&b, "kept %d %q %d\n", p.root, p.rel, ctime)
	}
	j.close()
	tmp := j.path + ".new"
	if err := os.WriteFile(tmp, []byte(b.String()), 0o600); err != nil {
		return err
	}
	j.whole = int64(b.Len())
	return os.Rename(tmp, j.path)
}

func (j *journal) close() {
	if j.f != nil {
		j.f.Close()
		j.f = nil
	}
}

// knows reports whether a keep put what st is of in place, or a person approved
// it as it is.
func (j *journal) knows(p place, st *unix.Stat_t) bool {
	if ctime, ok := j.kept[p]; ok && ctime == st.Ctim.Nano() {
		return true
	}
	s, ok := j.approved[p]
	return ok && s == seenOf(st)
}
