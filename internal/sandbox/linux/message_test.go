//go:build linux

package linux

import (
	"os"
	"reflect"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// message is a MsgNetwork with one new descriptor for each kind.
func message(t *testing.T, kinds string, said int) (msg, oob []byte, fds []int) {
	t.Helper()
	for range kinds {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	return append([]byte{stage.MsgNetwork, byte(said)}, kinds...), oob, fds
}

func TestNetworkMessage(t *testing.T) {
	p := &process{local: []uint16{5432, 6379}}
	msg, oob, fds := message(t, "pllutsurs", 9)
	ev, err := p.decode(append(msg, "no device"...), oob)
	if err != nil || ev.Kind != sandbox.EventNetwork || ev.Net.Reason != "no device" {
		t.Fatalf("%+v, %v", ev, err)
	}
	s := ev.Net
	if len(s.Local) != 2 || s.Local[5432].Fd() != uintptr(fds[1]) || s.Local[6379].Fd() != uintptr(fds[2]) ||
		s.Proxy == nil || s.TUN == nil || s.Relay == nil || len(s.DNSPackets) != 2 || len(s.DNSStreams) != 2 {
		t.Errorf("%+v", s)
	}
	s.Close()
}

// What is malformed is closed, and once: by the second time a number may be
// another file's.
func TestMalformedNetworkMessage(t *testing.T) {
	for _, c := range []struct {
		kinds string
		said  int
	}{
		{"px", 2}, {"plll", 4}, {"pp", 2}, {"tt", 2}, {"prr", 3}, {"p\x00", 2}, {"pt", 1}, {"pt", 3}, {"p", 200},
	} {
		p := &process{local: []uint16{5432, 6379}}
		msg, oob, fds := message(t, c.kinds, c.said)
		if ev, err := p.decode(msg, oob); err == nil {
			t.Errorf("%q, %d: %+v", c.kinds, c.said, ev)
		}
		for _, fd := range fds {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
				t.Errorf("%q, %d: descriptor %d is open: %v", c.kinds, c.said, fd, err)
			}
		}
		// The same numbers again, for files that are nobody else's to close.
		var again []int
		for range fds {
			fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, fd)
		}
		for range 3 { // finalizers run after a collection
			runtime.GC()
			done := make(chan struct{})
			runtime.AddCleanup(new([16]byte), func(struct{}) { close(done) }, struct{}{})
			runtime.GC()
			<-done
		}
		for _, fd := range again {
			if l, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err != nil || l != "anon_inode:[eventfd]" {
				t.Errorf("%q, %d: descriptor %d was closed: %q, %v", c.kinds, c.said, fd, l, err)
			}
			unix.Close(fd)
		}
	}
}

func TestNameCounts(t *testing.T) {
	for text, want := range map[string]*sandbox.NameCounts{
		"=3\x00":                  {More: 3},
		"=0\x000 2\x00255 17\x00": {Again: []sandbox.NameAgain{{Number: 0, Times: 2}, {Number: 255, Times: 17}}},
		"=":                       nil,
		"=3":                      nil,
		"=-1\x00":                 nil,
		"=0\x00-1 2\x00":          nil,
		"=0\x001 0\x00":           nil,
		"=0\x001\x00":             nil,
		"=0\x001 2":               nil,
	} {
		ev, err := new(process).decode(append([]byte{stage.MsgName}, text...), nil)
		if (err == nil) != (want != nil) || err == nil && !reflect.DeepEqual(ev.Counts, want) {
			t.Errorf("%q: %+v, %v", text, ev.Counts, err)
		}
	}
}
