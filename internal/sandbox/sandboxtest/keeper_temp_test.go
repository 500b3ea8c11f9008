//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/tools/tempdir"
)

// F5: the private temp is the session's, whatever the tier, but for a scratch
// command; shared memory is each command's own. It is bounded.
func TestF5_KeeperTemp(t *testing.T) {
	k := keep(t)
	mark := fmt.Sprintf("kept-%d", os.Getpid())
	k.says(t, "umask 022; mkdir /tmp/"+mark+"; for d in /tmp/"+mark+" /var/tmp /dev/shm; do echo $d >$d/"+mark+"; done")
	look := "cd /; cat tmp/" + mark + "/" + mark + " var/tmp/" + mark + " dev/shm/" + mark + " 2>/dev/null; stat -c %a tmp var/tmp"
	want := "/tmp/" + mark + "\n/var/tmp\n1777\n1777"
	if got := k.says(t, look); got != want {
		t.Errorf("the next command reads %q, want %q", got, want)
	}
	airlock := func(r *sandbox.Request) { r.Tier = policy.Airlock }
	if got := says(t, k.airlock, k.spec(t, look, airlock)); got != want {
		t.Errorf("one in airlock reads %q, want %q", got, want)
	}
	scratch := func(r *sandbox.Request) { r.Tier, r.Profile = policy.Airlock, policy.ScratchProfile }
	for range 2 { // the folder of the first is not there for the second
		if got := says(t, k.airlock, k.spec(t, "ls -A; ls -A /tmp /var/tmp; echo >f", scratch)); got != "/tmp:\nscratch\n\n/var/tmp:" {
			t.Errorf("a scratch command sees %q", got)
		}
	}
	if got := keep(t).says(t, "ls -A /tmp /var/tmp"); got != "/tmp:\n\n/var/tmp:" {
		t.Errorf("another session sees %q", got)
	}
	if exists("/tmp/"+mark) || exists("/var/tmp/"+mark) {
		t.Error("what is written to the temp arrives on the host")
	}
	// All that is in it together may take half of the memory.
	over := "size=$(df --output=size -B1 /tmp | tail -1); fallocate -l 1M /tmp/a && fallocate -l $((size + 4096)) /tmp/b"
	if out, code := k.begin(t, over).exit(); code == 0 || !strings.Contains(out, "No space left on device") {
		t.Errorf("more than the cap: %d %s", code, out)
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	size, err := strconv.ParseUint(k.says(t, "df --output=size -B1 /tmp | tail -1"), 10, 64)
	if half := uint64(info.Totalram) * uint64(info.Unit) / 2; err != nil || size == 0 || size > half+1<<20 {
		t.Errorf("the cap is %d, %v; want half of the memory, %d", size, err, half)
	}
	if got := k.says(t, "stat -c %s /tmp/a /tmp/b; rm /tmp/b"); got != "1048576\n0" {
		t.Errorf("left by the one before: %q", got)
	}
}

// F2: a workspace below the shared temp keeps its protections where another
// command moves the folders above it while they are made.
func TestF2_KeeperFoldersMovedInTemp(t *testing.T) {
	root := tempdir.ForTest(t, "/tmp")
	k := keepIn(t, root+"/a/ws")
	for _, d := range []string{"objects", "refs", "hooks"} {
		mkdir(t, k.workspace+"/.git/"+d)
	}
	Write(t, k.workspace+"/.git/HEAD", "ref: refs/heads/main\n")
	Write(t, k.workspace+"/.git/config", "[core]\n")
	bare := func(r *sandbox.Request) { r.Guard = false } // the mounts alone
	swapper := launch(t, k.guarded, k.spec(t, `exec python3 -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
a, b = b"`+root+`/a", b"`+root+`/b"
os.makedirs(b + b"/ws/.git/hooks"); open(b + b"/ws/.git/config", "w").close()
def swap():
    if libc.renameat2(-100, a, -100, b, 2) < 0: raise OSError(ctypes.get_errno(), "swap")
swap(); print("up", flush=True)
while True: swap()'`, bare))
	if got := swapper.line(t); got != "up" {
		t.Fatal(got)
	}
	spec := k.spec(t, "for d in "+root+"/?/ws .; do echo x >$d/written; echo x >$d/.git/hooks/planted; echo x >>$d/.git/config; done 2>/dev/null; true", bare)
	ran := 0
	for range 60 {
		if out, code := launch(t, k.guarded, spec).exit(); code == 0 {
			ran++
		} else if code != 125 {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
	if ran == 0 || !exists(k.workspace+"/written") {
		t.Errorf("%d commands ran, written: %v", ran, exists(k.workspace+"/written"))
	}
	if exists(k.workspace + "/.git/hooks/planted") {
		t.Error("a hook was planted")
	}
	if data, err := os.ReadFile(k.workspace + "/.git/config"); err != nil || string(data) != "[core]\n" {
		t.Errorf("config: %q, %v", data, err)
	}
	swapper.Kill()
	swapper.Wait()
	// And for good: a link there is no way out.
	says(t, k.guarded, k.spec(t, "mv "+root+"/a "+root+"/c && ln -s /etc "+root+"/a", bare))
	c := k.spec(t, "true", bare)
	p, err := k.guarded.Start(c, sandbox.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	if err == nil {
		p.Close()
		t.Error("started through a link")
	} else if !strings.Contains(err.Error(), "too many levels of symbolic links") {
		t.Error(err)
	}
}
