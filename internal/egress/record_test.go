//go:build unix

package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// What would be allowed is denied while nothing can be recorded, on every way
// in and on a connection that stands already; afterwards it works again.
func TestNoRecordNoConnection(t *testing.T) {
	w := newWorld(t, allowed(t))
	url := fmt.Sprintf("http://allowed.test:%d/", hello(t))
	full := func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.full = err
	}
	var kept net.Conn
	var answers *bufio.Reader
	again := func() string {
		fmt.Fprintf(kept, "GET %s HTTP/1.1\r\nHost: allowed.test\r\n\r\n", url)
		r, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		return string(body)
	}
	kept, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	answers = bufio.NewReader(kept)
	if got := again(); !strings.HasPrefix(got, "host=") {
		t.Fatalf("%q", got)
	}
	ways := [][]string{{"-x", "http://" + w.addr}, {"-p", "-x", "http://" + w.addr}, {"-x", "socks5h://" + w.addr}}
	full(errors.New("no space left on device"))
	if got := again(); !strings.Contains(got, "no space left on device") {
		t.Errorf("on the connection that stands: %q", got)
	}
	for _, way := range ways {
		if out, err := w.curl(append(way, "-f", url)...); err == nil {
			t.Errorf("%v: %q", way, out)
		}
	}
	dials := len(w.dialed)
	full(nil)
	for _, way := range ways {
		if out, err := w.curl(append(way, "-f", url)...); err != nil || !strings.HasPrefix(out, "host=") {
			t.Errorf("%v: %q, %v", way, out, err)
		}
	}
	if dials != 2+len(ways) { // each is looked at once before it is dialled, and once when it is
		t.Errorf("%d looks at an address: something was dialled without a record", dials)
	}
}
