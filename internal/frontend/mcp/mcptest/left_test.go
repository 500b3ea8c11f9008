//go:build linux

package mcptest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A write whose process ends in the middle leaves the file as it was, or as it
// was to be, and nothing beside it.
func TestF11_EndedWriteLeavesNothing(t *testing.T) {
	d := open(t, options{version: "2025-11-25"})
	content := strings.Repeat("0123456789abcde\n", 2<<20/16)
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, d.Workspace, unix.IN_CREATE|unix.IN_MODIFY); err != nil {
		t.Fatal(err)
	}
	ended := 0
	for range 8 {
		ctx, cancel := context.WithCancel(t.Context())
		var looking sync.WaitGroup
		over := make(chan struct{})
		looking.Go(func() { // as soon as anything happens in the folder
			defer cancel()
			buf := make([]byte, 64<<10)
			for {
				if n, _ := unix.Read(watch, buf); n > 0 {
					return
				}
				select {
				case <-over:
					return
				default:
					_, _ = unix.Poll([]unix.PollFd{{Fd: int32(watch), Events: unix.POLLIN}}, 1)
				}
			}
		})
		if _, err := d.tryCall(ctx, "write_file", args{"path": "file", "content": content}); err != nil {
			ended++
		}
		close(over)
		looking.Wait()
	}
	if ended == 0 {
		t.Error("not one was cancelled in time")
	}
	t.Logf("%d ended", ended)
	if err := d.cs.Close(); err != nil { // when all calls are over
		t.Fatal(err)
	}
	if list, err := os.ReadDir(d.Workspace); err != nil || len(list) > 3 {
		t.Errorf("left behind: %v", list)
	}
	if b, err := os.ReadFile(filepath.Join(d.Workspace, "file")); err == nil && string(b) != content {
		t.Errorf("%d bytes", len(b))
	}
}
