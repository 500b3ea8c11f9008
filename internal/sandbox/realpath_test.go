//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRealPath(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"dir": "a/b", "abs": root + "/a", "gone": "nowhere", "far": root + "/x/y", "chain": "gone", "up": "a/b/../../z",
		"a/b/back": "../../q", "dirgone": "dir/new", "upgone": "dir/../new", "loop": "loop", "one": "two", "two": "one",
	} {
		if err := os.Symlink(target, root+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string]string{
		"a/b": "/a/b", "a/b/new/er": "/a/b/new/er", "dir": "/a/b", "dir/new": "/a/b/new", "abs/b": "/a/b", "gone": "/nowhere",
		"gone/x": "/nowhere/x", "far": "/x/y", "chain": "/nowhere", "chain/x": "/nowhere/x", "up": "/z", "dir/back": "/q",
		"dirgone": "/a/b/new", "a//b/./new": "/a/b/new", "dir/..": "/a", "dir/../new": "/a/new", "dir/../../dir/../b/new": "/a/b/new", "abs/b/../../a/..//z": "/z", "gone/../x": "/x", "upgone": "/a/new", "loop/../x": "",
		"loop": "", "loop/x": "", "one": "", "": "", "a\x00": "",
	} {
		path := root + "/" + in
		if in == "" {
			path = ""
		}
		got, err := RealPath(path)
		if want == "" {
			if err == nil {
				t.Errorf("%q: %q", in, got)
			}
		} else if err != nil || got != root+want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, root+want)
		}
	}
	long := strings.Repeat("/long"+strings.Repeat("x", 195), 3)
	if err := os.Symlink(root+long, root+"/to-long"); err != nil {
		t.Fatal(err)
	}
	if got, err := RealPath(root + "/to-long/y"); err != nil || got != root+long+"/y" {
		t.Errorf("a long link: %q, %v", got, err)
	}
	t.Chdir(root)
	if got, err := RealPath("dir/../new"); err != nil || got != root+"/a/new" {
		t.Errorf("relative, up: %q, %v", got, err)
	}
	if got, err := RealPath("dir/new"); err != nil || got != root+"/a/b/new" {
		t.Errorf("relative: %q, %v", got, err)
	}
}
