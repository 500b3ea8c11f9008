//go:build unix

package session

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What was there to read when the relay looked may have gone to a question
// since: the relay does not wait for more with the terminal locked, or the end
// of the run would wait for a key.
func TestReadNeverWaits(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	tty := &terminal{in: int(r.Fd()), isRaw: true}
	read := func() (string, error) {
		buf := make([]byte, 8)
		n, err := tty.read(buf)
		return string(buf[:max(n, 0)]), err
	}
	w.WriteString("key")
	if s, err := read(); s != "key" || err != nil {
		t.Fatalf("%q, %v", s, err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := read()
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != unix.EAGAIN {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits")
		w.WriteString("x")
	}
}
