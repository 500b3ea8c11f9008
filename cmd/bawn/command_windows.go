package main

import (
	"context"
	"os"

	"bawn/internal/approval"
)

// executable reports whether a real path is a regular file.
func executable(real string) bool {
	st, err := os.Lstat(real)
	return err == nil && st.Mode().IsRegular()
}

func ask(a approval.Asker, p approval.Prompt) approval.Answer { return a.Ask(context.Background(), p) }
