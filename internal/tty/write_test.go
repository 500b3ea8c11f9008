//go:build unix

package tty

import (
	"bytes"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// All of it arrives, also where the reader is slow and the descriptor was made
// non-blocking; without a reader it is an error.
func TestWriteAll(t *testing.T) {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(p[1], true); err != nil {
		t.Fatal(err)
	}
	r := os.NewFile(uintptr(p[0]), "r")
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than a pipe holds
	got := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(r)
		got <- b
	}()
	if err := WriteAll(p[1], want); err != nil {
		t.Fatal(err)
	}
	unix.Close(p[1])
	if b := <-got; !bytes.Equal(b, want) {
		t.Errorf("%d bytes of %d arrived", len(b), len(want))
	}
	if err := unix.Pipe(p[:]); err != nil {
		t.Fatal(err)
	}
	unix.Close(p[0])
	defer unix.Close(p[1])
	if err := WriteAll(p[1], want); err != unix.EPIPE {
		t.Errorf("without a reader: %v", err)
	}
}
