//go:build linux

package guard

import (
	"bytes"
	"path"
	"strconv"
	"strings"
)

const (
	commMax = 15 // bytes of a thread's name that the kernel keeps (TASK_COMM_LEN without its NUL)
	nameMax = 64 // bytes of a whole one
)

// FullName completes a thread's name that the kernel has cut: with the last
// part of the program's path, or of one of the first arguments, which name a
// script. A process writes both, and they only ever add to the name.
func FullName(comm, exe string, cmdline []byte) string {
	if len(comm) < commMax {
		return comm
	}
	words := append([]string{strings.TrimSuffix(exe, " (deleted)")}, strings.SplitN(string(cmdline), "\x00", 4)...)
	for _, w := range words {
		w, _, _ = strings.Cut(w, "\x00")
		if name := path.Base(w); strings.HasPrefix(name, comm) && len(name) <= nameMax {
			return name
		}
	}
	return comm
}

// command is the calling thread's name.
func (w *worker) command() string {
	text, err := w.procRead("comm", w.text[:])
	if err != nil {
		return ""
	}
	comm := string(bytes.TrimSuffix(text, []byte("\n")))
	if len(comm) < commMax {
		return comm
	}
	exe := ""
	if n, err := readlinkat(w.proc, strconv.Itoa(w.pid())+"/exe", w.path[:]); err == nil {
		exe = string(w.path[:n])
	}
	line, _ := w.procRead("cmdline", w.text[:])
	return FullName(comm, exe, line)
}
