//go:build linux

package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// What is shut is another user's plain file of this file system without a bit
// for anybody else: for root, and for its owner, nothing is.
func TestShutKernelFiles(t *testing.T) {
	dir, other := t.TempDir(), os.Getuid()+1
	for name, mode := range map[string]os.FileMode{"kcore": 0o400, "kmsg": 0o440, "keys": 0o404, "kallsyms": 0o600, "iomem": 0, "timer_list": 0o401} {
		if err := os.WriteFile(dir+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir+"/ioports", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("kcore", dir+"/vmallocinfo"); err != nil {
		t.Fatal(err)
	}
	want := []string{"/proc/iomem", "/proc/kallsyms", "/proc/kcore"}
	if os.Getuid() != 0 {
		want = nil // their owner is not root
	}
	var got []string
	for f := range shutKernelFiles(dir, other, other) {
		got = append(got, f)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("shut: %q, want %q", got, want)
	}
	for _, uids := range [][]int{{0, other}, {other, 0}, {0, 0}} {
		if got := shutKernelFiles(dir, uids...); len(got) > 0 {
			t.Errorf("shut to uids %d: %v", uids, got)
		}
	}
	// The kernel's own: what a process of this uid opens is not shut.
	for f := range shutKernelFiles("/proc", os.Getuid(), os.Geteuid()) {
		if h, err := os.Open(f); err == nil || !os.IsPermission(err) {
			t.Errorf("%s is shut, and opens: %v %v", f, h, err)
		}
	}
}

// Only what is shut goes without a mount.
func TestPlanOfShutKernelFiles(t *testing.T) {
	targets := func(shut map[string]bool) (out []string) {
		cfg := ordinaryConfig(nil)
		h := ordinary().inspect(cfg)
		h.Shut = shut
		for _, m := range Plan(mustPolicy(t, cfg), h, Command{Args: []string{"true"}}).Mounts {
			if strings.HasPrefix(m.Target, "/proc/") {
				out = append(out, m.Target)
			}
		}
		return out
	}
	all, some := targets(nil), targets(map[string]bool{"/proc/kcore": true, "/proc/slabinfo": true})
	if want := slices.Concat(procReadOnly[:], policy.KernelFiles()); !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
	if want := slices.DeleteFunc(all, func(f string) bool { return f == "/proc/kcore" || f == "/proc/slabinfo" }); !slices.Equal(some, want) {
		t.Errorf("%q, want %q", some, want)
	}
}
