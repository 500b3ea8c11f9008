//go:build linux

package guard

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// What is written to a held name comes to a vetted one, and no more.
func heldTrick() {
	fd, err := unix.Open("held", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, 0o640)
	must(err)
	_, _ = unix.Write(fd, []byte("go"))
	b, _ := os.ReadFile("held")
	f, err := os.OpenFile("held", os.O_WRONLY|os.O_APPEND, 0)
	must(err)
	_, _ = f.WriteString("od")
	fmt.Printf("%q ", b)
	must(unix.Rename("held", "vetted"))
	_, _ = unix.Pwrite(fd, []byte("evil"), 0)
	b, _ = os.ReadFile("vetted")
	var st unix.Stat_t
	must(unix.Stat("vetted", &st))
	fmt.Printf("%q %o", b, st.Mode&0o777)
}

// Its content is judged.
func heldEvil() {
	must(os.WriteFile("held", []byte("evil"), 0o600))
	fmt.Print(unix.Rename("held", "vetted"))
}

// A file that the guard did not make, or has forgotten, is not renamed.
func heldByAnother() {
	must(os.WriteFile("held", []byte("good"), 0o600))
	for i := range maxHeld { // only the last ones are known
		must(os.Rename("held", "h"+strconv.Itoa(i)))
		must(os.WriteFile("held", []byte("good"), 0o600))
	}
	must(os.Rename("held", "last"))
	must(os.Rename("h0", "x")) // what has lost the name is an empty file
	b, _ := os.ReadFile("x")
	fmt.Printf("%q ", b)
	fd, err := unix.Open("f", unix.O_CREAT|unix.O_RDWR, 0o600)
	must(err)
	unix.Close(fd)
	fmt.Print(unix.Rename("f", "held"), " ")
	fmt.Print(unix.Rename("held", "vetted"))
}
