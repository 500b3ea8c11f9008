//go:build linux && !bawn_failpoint

package staged

// failpoint is where tests end a keep (fail_on.go).
func failpoint(string) {}
