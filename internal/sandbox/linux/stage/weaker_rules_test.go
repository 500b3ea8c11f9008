//go:build linux

package stage

import (
	"sort"
	"strings"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// walkTree carries the steps out on a made-up tree and returns the rules.
func walkTree(t *testing.T, mounts []sandbox.Mount, tree ...string) (rules []string) {
	t.Helper()
	n, err := needs(mounts)
	if err != nil {
		t.Fatal(err)
	}
	w := newWalker(n)
	w.list = func(dir string) (names []string, err error) {
		seen := map[string]bool{}
		for _, p := range tree {
			if p != dir && policy.Inside(p, dir) {
				name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"), "/")
				if !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			}
		}
		return names, nil
	}
	w.rule = func(path string, n need) error {
		rules = append(rules, path+map[need]string{needRead: " r", needWrite: " w"}[n])
		return nil
	}
	if err := w.walk("/", needRead); err != nil {
		t.Fatal(err)
	}
	sort.Strings(rules)
	return rules
}

func TestWeakerRules(t *testing.T) {
	bind := func(path string, write bool) sandbox.Mount {
		return sandbox.Mount{Op: sandbox.OpBind, Source: path, Target: path, Write: write}
	}
	mask := func(path string) sandbox.Mount { return sandbox.Mount{Op: sandbox.OpMask, Target: path} }
	tree := []string{"/usr/bin", "/etc/passwd", "/etc/shadow", "/h/u/.ssh/k", "/h/u/.cache/hf/token", "/h/u/.cache/pip", "/h/u/doc", "/h/v", "/w", "/tmp/x", "/proc/1", "/dev/sda"}
	for _, c := range []struct {
		name   string
		mounts []sandbox.Mount
		want   string
	}{
		{"nothing hidden", nil, "/ r"},
		{"a private cache is not the host's to write", []sandbox.Mount{{Op: sandbox.OpLayer, Target: "/h/u/.cache", Source: "/s", Write: true, Dir: true}, bind("/w", true)}, "/ r;/w w"},
		{"a workspace", []sandbox.Mount{bind("/w", true)}, "/ r;/w w"},
		{"a mask opens only its neighbours", []sandbox.Mount{mask("/etc/shadow")},
			"/dev r;/etc/passwd r;/h r;/proc r;/tmp r;/usr r;/w r"},
		{"a home", []sandbox.Mount{
			{Op: sandbox.OpSkeleton, Target: "/h/u"}, bind("/h/u/doc", false), bind("/h/u/.cache", true), mask("/h/u/.cache/hf/token"),
			{Op: sandbox.OpDir, Target: "/h/u/.ssh"}, {Op: sandbox.OpSeal, Target: "/h/u"},
		}, "/dev r;/etc r;/h/u/.cache/pip w;/h/u/doc r;/h/v r;/proc r;/tmp r;/usr r;/w r"},
		{"temp, devices, processes", []sandbox.Mount{
			{Op: sandbox.OpTmpfs, Target: "/tmp"}, {Op: sandbox.OpTmpfs, Target: "/tmp/p", Source: "/tmp/p"},
			{Op: sandbox.OpProc, Target: "/proc"}, {Op: sandbox.OpDev, Target: "/dev"}, mask("/proc/kcore"), {Op: sandbox.OpPin, Target: "/proc/sys"},
		}, "/etc r;/h r;/proc r;/tmp/p w;/usr r;/w r"},
		{"a workspace in the temp", []sandbox.Mount{{Op: sandbox.OpTmpfs, Target: "/tmp"}, bind("/tmp/x", true)},
			"/dev r;/etc r;/h r;/proc r;/tmp/x w;/usr r;/w r"},
		{"host temp", []sandbox.Mount{bind("/tmp", true)}, "/ r;/tmp w"},
		{"a hidden place in a readable one in a hidden one", []sandbox.Mount{
			{Op: sandbox.OpSkeleton, Target: "/h/u"}, bind("/h/u/.cache", false), mask("/h/u/.cache/hf"),
		}, "/dev r;/etc r;/h/u/.cache/pip r;/h/v r;/proc r;/tmp r;/usr r;/w r"},
	} {
		if got := strings.Join(walkTree(t, c.mounts, tree...), ";"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A step without a counterpart must not be passed over.
func TestWeakerRulesRefuse(t *testing.T) {
	for _, m := range []sandbox.Mount{
		{Op: sandbox.OpBind, Source: "/a", Target: "/b"}, {Op: sandbox.OpLayer + 1, Target: "/a"}, {Target: "/a"},
	} {
		if _, err := needs([]sandbox.Mount{m}); err == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
	for op := sandbox.OpTmpfs; op <= sandbox.OpLayer; op++ {
		if _, err := needs([]sandbox.Mount{{Op: op, Source: "/a", Target: "/a"}}); err != nil {
			t.Errorf("step %d: %v", op, err)
		}
	}
}
