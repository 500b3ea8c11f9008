//go:build linux && !amd64 && !arm64

package stage

// noIPC: without a program loadFilter refuses, and so does the weaker mode.
func noIPC() string { return "" }
