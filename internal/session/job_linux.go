package session

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// parentOf returns the parent of process pid, 0 if it cannot be told.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// pid (name) state ppid …, and the name may hold anything.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(string(f[1]))
	return ppid
}

// ignored reports whether sig is ignored in the kernel's eyes: os/signal
// knows only of SIGHUP and SIGINT that they were ignored from the start.
func ignored(sig unix.Signal) bool {
	var act [8]uintptr // the handler is the first word of struct sigaction
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0)
	return errno == 0 && act[0] == 1 // SIG_IGN
}

// replace makes fd mean what with means.
func replace(fd, with int) error { return unix.Dup3(with, fd, 0) }
