package main

import (
	"os"
	"strconv"
	"strings"

	"bawn/internal/sandbox"
)

// maxLine bounds how far up a line of processes is followed.
const maxLine = 16

// lineOf is a process of a sandbox, by the host's number, and those that
// started it up to the sandbox's pid 1: for people, since any of them may be
// another by the time it is read.
func lineOf(pid int) (out []sandbox.Ancestor) {
	for pid > 0 && len(out) < maxLine {
		name, parent, inside := status(pid)
		if inside <= 1 {
			break
		}
		_, _, above := status(parent)
		out = append(out, sandbox.Ancestor{PID: inside, Parent: above, Command: name})
		pid = parent
	}
	return out
}

// status reads a process's name, its parent as the host counts, and its own
// number as the sandbox counts; 0 outside of one.
func status(pid int) (name string, parent, inside int) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return "", 0, 0
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":\t")
		switch key {
		case "Name":
			name = value
		case "PPid":
			parent, _ = strconv.Atoi(value)
		case "NSpid":
			if f := strings.Fields(value); len(f) > 1 {
				inside, _ = strconv.Atoi(f[len(f)-1])
			}
		}
	}
	return name, parent, inside
}
