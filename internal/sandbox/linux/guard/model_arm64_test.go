//go:build linux

package guard

// arm64 has none of the older calls.
var oldNames []string

func oldCall(string, uintptr, uintptr, uintptr, uintptr) (uintptr, []uintptr) { panic("no such call") }
