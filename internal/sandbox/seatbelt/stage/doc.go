// Package stage runs inside a macOS sandbox, before the command; elsewhere it
// is empty.
package stage
