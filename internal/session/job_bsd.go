//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package session

import "golang.org/x/sys/unix"

// parentOf is not needed for more than a guess here: 0 is "cannot be told".
func parentOf(int) int { return 0 }

// ignored is what os/signal can tell by itself on these systems.
func ignored(unix.Signal) bool { return false }

// replace makes fd mean what with means.
func replace(fd, with int) error { return unix.Dup2(with, fd) }
