//go:build linux

package mcptest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp/inside"
	"bawn/internal/sandbox/sandboxtest"
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

// What a server that was killed left of a write is taken away by the next one
// that starts; what one that lives is writing is not.
func TestF11_KilledServerIsTidiedAfter(t *testing.T) {
	asked, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	d := open(t, options{version: "2025-11-25", client: &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		close(asked)
		select {
		case <-over:
		case <-ctx.Done():
		}
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}}, prepare: func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = [\"edit_file *\"]\n")
		sandboxtest.Write(t, filepath.Join(b.Workspace, "sub/a \" file"), "one\n")
	}})
	go func() {
		_, _ = d.tryCall(t.Context(), "edit_file", args{"path": "sub/a \" file", "old_string": "one", "new_string": "1"})
	}()
	<-asked
	notes := func() []string {
		list, err := filepath.Glob(filepath.Join(filepath.Dir(d.Home), "state/bawn/sessions/.writes-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if len(notes()) != 1 {
		t.Fatalf("notes %q", notes())
	}
	line, err := os.ReadFile(notes()[0])
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(line))
	temp := filepath.Join(d.Workspace, "sub", fields[len(fields)-1])
	if !inside.IsTemp(temp) {
		t.Fatalf("%q names no temporary file", line)
	}
	sandboxtest.Write(t, temp, "half")
	other := filepath.Join(d.Workspace, "sub", inside.NewTemp()) // nobody's that is known
	sandboxtest.Write(t, other, "")
	next := func() {
		cmd := exec.Command(sandboxtest.Binary(), "mcp")
		cmd.Dir, cmd.Env = d.Workspace, d.Environ()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if next(); len(notes()) != 1 || !exists(temp) {
		t.Fatalf("a server that lives lost its file: notes %q", notes())
	}
	d.killed = true
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cs.Close()
	if next(); len(notes()) != 0 || exists(temp) {
		t.Errorf("left behind: %q, %q", notes(), temp)
	}
	if !exists(other) || content(t, filepath.Join(d.Workspace, "sub/a \" file")) != "one\n" {
		t.Error("more was taken away")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
