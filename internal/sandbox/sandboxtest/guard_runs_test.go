//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// F2: two runs of one workspace have a guard each, which know nothing of each
// other. What one has vetted under an ordinary name (git's config.lock), the
// other must not be able to open before it gets the protected one.
func TestF2_TwoRunsRaceAVettedRename(t *testing.T) {
	b := New(t, "native")
	Host(t, b, "git init -q .").OK(t)
	Write(t, filepath.Join(b.Workspace, "renames.py"), `
import os
good = b"[core]\n\tbare = false\n[user]\n\tname = me\n" + b"# " + b"x" * 4000 + b"\n"
for i in range(1000):
    with open(".git/l", "wb") as f:
        f.write(good)
    try:
        os.rename(".git/l", ".git/config")
    except OSError: # what the other wrote in time is seen, and refused
        pass
    if b"evil" in open(".git/config", "rb").read():
        print("EVIL")
        break
open("done", "w").close()
`)
	Write(t, filepath.Join(b.Workspace, "opens.py"), `
import os
won = 0
import time
end = time.time() + 60
while not os.path.exists("done") and time.time() < end:
    try:
        fd = os.open(".git/l", os.O_WRONLY)
    except OSError:
        continue
    for _ in range(20):
        os.pwrite(fd, b"[core]\n\tfsmonitor = ./evil\n#", 0)
    os.close(fd)
    won += 1
print("opened", won)
`)
	var first, second Result
	var both sync.WaitGroup
	both.Go(func() { first = b.Sh(t, "python3 renames.py") })
	both.Go(func() { second = b.Sh(t, "python3 opens.py") })
	both.Wait()
	second.OK(t)
	config, err := os.ReadFile(filepath.Join(b.Workspace, ".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(first.Stdout, "EVIL") || strings.Contains(string(config), "evil") {
		t.Errorf("a setting that nobody vetted got in: %+v, %+v", first, second)
	}
	if strings.Contains(second.Stdout, "opened 0\n") {
		t.Error("the other run opened nothing: there was no race")
	}
	if left, _ := filepath.Glob(filepath.Join(b.Workspace, ".git/.bawn-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
