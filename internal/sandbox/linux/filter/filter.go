//go:build linux

// Package filter holds the seccomp programs that sandboxed commands run under,
// ready for the kernel: they are assembled before the build (gen) from the rules
// in internal/rules, so that a start costs no work and no package.
package filter

//go:generate go run ./gen

// Base returns the filter for every sandboxed command: an array of struct
// sock_filter, 8 bytes each, for seccomp(2) SECCOMP_SET_MODE_FILTER or bwrap
// --seccomp. What it refuses and why is the table in internal/rules/base.go.
//
// The loader sets no_new_privs first, and loads it as the last step before exec:
// mounting, namespaces and handles are refused afterwards. It kills programs of
// a foreign architecture (i386, 32-bit ARM) with SIGSYS.
//
// It is "" where bawn has no filter (neither amd64 nor arm64); the caller must
// then refuse to start rather than go on without one.
func Base() string { return base }

// NoInet returns a filter to load in addition to Base, in either order, where
// there is no network namespace: socket(2) and socketpair(2) make AF_UNIX
// sockets only and else fail with EACCES. Descriptors that are already open or
// received are not its concern. It is "" under the same condition as Base.
func NoInet() string { return noInet }

// Guard returns a filter to load in addition to Base, as the one with a
// listener: it hands every call that makes or changes a file by its name to the
// listener (package guard). It is "" under the same condition as Base.
func Guard() string { return guard }

// GuardRemovals returns Guard that hands over the calls that remove a name, too.
func GuardRemovals() string { return guardRemovals }
