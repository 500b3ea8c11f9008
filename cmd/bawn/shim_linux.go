package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// agentFolder is the working folder of the agent itself, which a command
// cannot move as it can its shell's: the process of that id, if it is among
// the callers of this one.
func agentFolder(id string) (string, error) {
	want, err := strconv.Atoi(id)
	if err != nil || want < 2 {
		return "", errNoAgent
	}
	for pid, n := os.Getppid(), 0; pid > 1 && n < 8; n++ {
		if pid == want {
			return filepath.EvalSymlinks("/proc/" + id + "/cwd")
		}
		if pid = parent(pid); pid == 0 {
			break
		}
	}
	return "", errNoAgent
}

// parent is the parent of a process; 0 if it cannot be read.
func parent(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	text := string(data)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n
}

// startedAs is the path that was executed, with its links, absolute; "" if that
// cannot be told.
func startedAs() string {
	const name, longest = 31 /* AT_EXECFN, getauxval(3) */, 4096
	aux, err := unix.Auxv()
	at := slices.IndexFunc(aux, func(v [2]uintptr) bool { return v[0] == name })
	if err != nil || at < 0 {
		return ""
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return ""
	}
	defer mem.Close()
	text := make([]byte, longest)
	n, _ := mem.ReadAt(text, int64(aux[at][1])) // #nosec G115 -- an address of this process
	path, _, ended := bytes.Cut(text[:n], []byte{0})
	if !ended || len(path) == 0 {
		return ""
	}
	abs, err := filepath.Abs(string(path))
	if err != nil {
		return ""
	}
	return abs
}
