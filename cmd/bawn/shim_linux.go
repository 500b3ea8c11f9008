package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
