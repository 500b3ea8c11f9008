//go:build linux

package sandboxtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// F6: --add-dir and -C are refused, with the reason, where they are, hold or
// lie in a credential place or hold a home; nothing runs then.
func TestF6_RefusedFolders(t *testing.T) {
	b := New(t, "native")
	root := filepath.Dir(b.Home)
	Write(t, b.Home+"/.ssh/keys/id", "x")
	mkdir(t, b.Home+"/.config/gh")
	mkdir(t, b.Home+"/.cache/huggingface")
	mkdir(t, b.Home+"/.mozilla/firefox")
	mkdir(t, b.Home+"/.local/state/bawn")
	mkdir(t, b.Home+"/.local/share") // holds places that do not exist
	Write(t, b.Home+"/dot/aws/x", "x")
	symlink(t, "dot/aws", b.Home+"/.aws")
	symlink(t, b.Home+"/.ssh", root+"/link")
	symlink(t, "/", root+"/slash")
	Write(t, root+"/file", "x")
	for _, c := range []struct{ dir, why string }{
		{b.Home, "home folder"},
		{root, "holds the home folder"},
		{"/", "holds the home folder"},
		{root + "/slash", "holds the home folder"},
		{b.Home + "/../home/.", "home folder"},
		{b.Home + "/.ssh", "SSH keys"},
		{b.Home + "/.ssh/keys", "SSH keys"},
		{root + "/link", "SSH keys"},
		{root + "/link/keys", "SSH keys"},
		{b.Home + "/.config", "contains"},
		{b.Home + "/.config/gh", "GitHub"},
		{b.Home + "/.mozilla/firefox", "browser"},
		{b.Home + "/.local", "contains"},
		{b.Home + "/.local/share", "contains"},
		{b.Home + "/.local/state/bawn", "bawn's state"},
		{b.Home + "/.aws", "AWS"},
		{b.Home + "/dot/aws", "AWS"},
		{b.Home + "/dot", "contains"},
		{"/etc", "whole system"},
		{"/etc/ssl", "contains"},
		{"/var/lib", "contains"},
		{"/proc", "system"},
		{"/sys/fs", "system"},
		{"/dev", "system"},
		{"/run", "system"},
		{"/tmp", "whole system"},
		{root + "/absent", "no such folder"},
		{root + "/file", "not a folder"},
	} {
		for _, flag := range []string{"--add-dir", "-C"} {
			b.Flags = []string{flag, c.dir}
			r := b.Sh(t, "echo RAN")
			if r.Code != 125 || strings.Contains(r.Stdout, "RAN") {
				t.Errorf("%s %s: exit %d, %q", flag, c.dir, r.Code, r.Stdout)
			}
			if !strings.Contains(r.Stderr, c.why) {
				t.Errorf("%s %s: the reason is %q, want one with %q", flag, c.dir, r.Stderr, c.why)
			}
		}
	}
	// Near misses are no reason to refuse.
	for _, dir := range []string{b.Home + "/.cache", b.Home + "/.cache/huggingface", b.Home + "/src", b.Home + "/.sshx", root + "/other"} {
		mkdir(t, dir)
		for _, flag := range []string{"--add-dir", "-C"} {
			b.Flags = []string{flag, dir}
			b.Sh(t, "true").OK(t)
		}
	}
}

// F6: an added folder is writable in guarded and workspace-write, and ignored
// with a warning in airlock and read-only.
func TestF6_AddDirByTier(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, m := range sandboxed {
			b := New(t, l)
			added, other := filepath.Dir(b.Home)+"/added", b.Home+"/src/deep"
			mkdir(t, added)
			mkdir(t, other)
			b.Flags = append([]string{"--add-dir", "../added", "--add-dir", other}, m.flags...)
			r := b.Sh(t, "echo x >"+added+"/x; echo x >"+other+"/x; true").OK(t)
			want := m.name == "guarded" || m.name == "workspace-write"
			if exists(added+"/x") != want || exists(other+"/x") != want {
				t.Errorf("%s: arrived %v %v, want %v", m.name, exists(added+"/x"), exists(other+"/x"), want)
			}
			if warned := strings.Contains(r.Stderr, "added folders are not writable"); warned == want {
				t.Errorf("%s: warning %q", m.name, r.Stderr)
			}
			if exists(b.Home + "/src/x") {
				t.Error("the folder above is writable")
			}
		}
	})
}
