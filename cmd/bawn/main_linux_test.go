//go:build !race

// The built program has no race detector in it, so tests that only drive it are
// left out where one watches the tests' own process (make unit); make suite has
// them all.

package main

import (
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }
