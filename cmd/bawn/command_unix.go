//go:build unix

package main

import (
	"context"
	"os/signal"

	"golang.org/x/sys/unix"

	"bawn/internal/approval"
)

// executable reports whether a real path is a regular file that this process
// may execute.
func executable(real string) bool {
	var st unix.Stat_t
	return unix.Lstat(real, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && unix.Faccessat(unix.AT_FDCWD, real, unix.X_OK, unix.AT_EACCESS) == nil
}

// ask puts a question before anything runs. A signal that would end bawn
// withdraws it, so that the terminal is left as it was.
func ask(a approval.Asker, p approval.Prompt) approval.Answer {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	return a.Ask(ctx, p)
}
