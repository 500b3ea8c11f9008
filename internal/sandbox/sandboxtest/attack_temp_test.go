//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bawn/internal/tools/tempdir"
)

// F5: /tmp, /var/tmp, /run and /dev/shm are the run's own: nothing of the
// host is in them, and what is written there does not arrive.
func TestF5_PrivateTemp(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		mark := fmt.Sprintf("bawn-attack-%d-%s", os.Getpid(), l)
		b.Env = []string{"TMPDIR=/var/tmp/" + mark, "TEMP=/tmp"}
		dirs := []string{"/tmp", "/var/tmp", "/dev/shm"}
		for _, d := range dirs {
			Write(t, d+"/"+mark, "HOST")
			t.Cleanup(func() { os.Remove(d + "/" + mark) })
		}
		p := probeIn(t, b)
		for _, d := range dirs {
			if got := p.text("list", d); got != "" {
				t.Errorf("%s holds %s", d, got)
			}
			p.want("ENOENT", "read", d+"/"+mark)
			p.want("ok", "fill", d+"/"+mark, "INSIDE")
			p.want("ok", "mkdir", d+"/"+mark+"-dir")
			p.want("ok", "read", d+"/"+mark)
		}
		p.want("EROFS|EACCES", "creat", "/run/"+mark)
		p.want("EROFS|EACCES", "creat", "/dev/"+mark)
		p.want("ok", "write", "/dev/null")
		for name := range strings.FieldsSeq(p.text("list", "/run")) {
			if !slices.Contains([]string{"systemd", "resolvconf", "NetworkManager", "user"}, name) {
				t.Errorf("/run holds %s", name)
			}
		}
		if got := p.text("getenv", "TMPDIR") + p.text("getenv", "TEMP"); got != "/tmp/tmp" {
			t.Errorf("temp variables: %s", got)
		}
		p.end()
		for _, d := range dirs {
			if data, err := os.ReadFile(d + "/" + mark); err != nil || string(data) != "HOST" {
				t.Errorf("the host's file in %s: %q, %v", d, data, err)
			}
			if exists(d + "/" + mark + "-dir") {
				t.Errorf("a folder made inside arrived in %s", d)
			}
		}
	})
}

// A workspace and a home below /tmp are shown there, their neighbours not.
func TestF5_WorkspaceBelowTmp(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		root := tempdir.ForTest(t, "/tmp")
		b := &Box{Launcher: l, Workspace: root + "/a/ws", Home: root + "/home"}
		mkdir(t, b.Workspace)
		Write(t, root+"/neighbour", "HOST")
		Write(t, root+"/a/neighbour", "HOST")
		Write(t, b.Home+"/.ssh/id", "SECRET")
		Write(t, b.Home+"/plain", "TWIN")
		p := probeIn(t, b)
		p.want("ENOENT", "read", root+"/neighbour")
		p.want("ENOENT", "read", root+"/a/neighbour")
		p.want("EACCES", "read", b.Home+"/.ssh/id")
		p.want("EROFS", "creat", b.Home+"/new")
		p.want("ok", "read", b.Home+"/plain")
		p.want("ok", "creat", b.Workspace+"/new")
		p.end()
		if !exists(b.Workspace + "/new") {
			t.Error("the write to the workspace did not arrive")
		}
	})
}
