//go:build linux

package stage

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// told collects what a family tells.
func told() (*family, *[]string) {
	out := new([]string)
	f := newFamily(func(msg []byte) {
		*out = append(*out, strings.TrimSuffix(string(msg[1:]), "\x00"))
	})
	f.root = 1
	return f, out
}

// Equal processes are one and a count, and what they started is below the one
// that was told.
func TestFamilyMerges(t *testing.T) {
	f, out := told()
	f.add(10, 1, "make")
	for i := range 100 {
		f.add(1000+2*i, 10, "sh")
		f.add(1001+2*i, 1000+2*i, "cc1")
		f.add(1001+2*i, 1000+2*i, "cc1") // seen again
	}
	f.add(1001, 1, "cc1")   // lost its parent
	f.add(1000, 10, "echo") // became another
	if got, want := strings.Join(*out, ", "), "10 1 0 make, 1000 10 0 sh, 1001 1000 0 cc1, 1000 10 0 echo"; got != want {
		t.Errorf("told %s", got)
	}
	counts := f.counts()
	if len(counts) != 1 {
		t.Fatalf("%q", counts)
	}
	for _, want := range []string{"1000 10 100 sh\x00", "1001 1000 100 cc1\x00"} {
		if !strings.Contains(string(counts[0]), want) {
			t.Errorf("%q has no %q", counts[0], want)
		}
	}
}

// Nothing grows with the number of processes, and none is forgotten in the sum.
func TestFamilyIsBounded(t *testing.T) {
	f, out := told()
	const n = 20000
	for i := range n {
		f.add(10+i, 1, fmt.Sprint("p", i))
	}
	sum, more := len(*out), 0
	for _, msg := range f.counts() {
		if len(msg) > maxName+64 {
			t.Errorf("a message of %d bytes", len(msg))
		}
		_, _ = fmt.Sscanf(string(msg[1:]), "0 0 %d", &more)
	}
	if sum != maxFamily || sum+more != n || len(f.known)+len(f.before) > 2*maxKnown {
		t.Errorf("%d told, %d more, %d remembered", sum, more, len(f.known)+len(f.before))
	}
	if f.find(10+n-1) == nil || f.find(10) != nil {
		t.Error("not the newest are remembered")
	}
}

// A look sees what runs, below whoever started it.
func TestFamilyLooks(t *testing.T) {
	f, _ := told()
	f.root = os.Getpid()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	f.look()
	if m := f.find(cmd.Process.Pid); m == nil || m.kin != (kin{f.root, "sleep"}) {
		t.Errorf("%+v", m)
	}
}
