//go:build linux

package stage

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Prefault has the kernel make the heap pages that this process is about to
// use in one call: taken one by one, each costs a fault, which in a virtual
// machine is most of what a short run waits for. It is advice: where the
// kernel refuses (before 5.14), nothing is lost.
func Prefault(bytes uintptr) {
	p := unsafe.Pointer(new([16]*byte))
	from := uintptr(p) &^ 4095
	_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, from, bytes, unix.MADV_POPULATE_WRITE)
}
