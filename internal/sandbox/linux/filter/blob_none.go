//go:build linux && !amd64 && !arm64

package filter

const base, noInet, guard, guardRemovals = "", "", "", ""
