//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A65: a folder whose name only begins like the workspace's is another one.
func TestA65_PrefixWithoutSeparator(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		root := filepath.Dir(b.Workspace)
		for _, d := range []string{"ws-evil", "ws.evil", "added", "added-evil", "home/.cache", "home/.cache-evil", "home/.npm", "home/.npm2"} {
			mkdir(t, root+"/"+d)
		}
		Write(t, root+"/home/.ssh-twin/id", "TWIN")
		Write(t, root+"/home/.ssh/id", "SECRET")
		b.Flags = []string{"--add-dir", root + "/added"}
		p := probeIn(t, b)
		for _, d := range []string{"ws-evil", "ws.evil", "added-evil", "home/.cache-evil", "home/.npm2", "ws/../ws-evil", "."} {
			p.want("EROFS|EACCES", "creat", root+"/"+d+"/x")
		}
		for _, d := range []string{"ws", "added", "home/.cache", "home/.npm", "added/../ws/."} {
			p.want("ok", "creat", root+"/"+d+"/x"+filepath.Base(d))
		}
		p.want("ok", "read", root+"/home/.ssh-twin/id")
		p.want("EACCES", "read", root+"/home/.ssh/id")
		p.end()
	})
}

// A67: on a disk that ignores case .GIT is .git. Where the kernel has such
// disks, one is mounted; everywhere, names that differ in case are what the
// file system says: their own files, which the host's git never looks at.
func TestA67_CaseInsensitive(t *testing.T) {
	eachGuard(t, func(t *testing.T, l string, _ bool, flags []string, rofs, _ string) {
		b := New(t, l)
		b.Flags = flags
		if dir := casefoldDisk(t); dir != "" {
			b.Workspace = dir
		}
		git(t, b, "init", "-q", ".")
		Write(t, b.Workspace+"/.claude/settings.json", "{}")
		Write(t, b.Workspace+"/.git/hooks/pre-commit.sample", "x")
		p := probeIn(t, b)
		p.want(rofs, "creat", b.Workspace+"/.git/hooks/pre-commit")
		p.want(rofs, "write", b.Workspace+"/.git/config")
		p.want(rofs, "write", b.Workspace+"/.claude/settings.json")
		for _, upper := range []string{"/.GIT/hooks/pre-commit", "/.Git/Hooks/pre-commit", "/.CLAUDE/settings.json"} {
			p.do("mkdir", filepath.Dir(filepath.Dir(b.Workspace+upper)))
			p.do("mkdir", filepath.Dir(b.Workspace+upper))
			p.do("fill", b.Workspace+upper, "#!/bin/sh\necho RAN >"+b.Workspace+"/ran\n")
			p.do("chmod", b.Workspace+upper)
		}
		p.end()
		Write(t, b.Workspace+"/a", "x")
		git(t, b, "add", "a")
		git(t, b, "commit", "-q", "-m", "x")
		if exists(b.Workspace + "/ran") {
			t.Error("the host's git ran a hook from a name in other case")
		}
		if data, err := os.ReadFile(b.Workspace + "/.claude/settings.json"); err != nil || string(data) != "{}" {
			t.Errorf("settings: %q, %v", data, err)
		}
	})
}

// casefoldDisk mounts an ext4 folder without case, "" where the kernel or the
// user cannot.
func casefoldDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		return ""
	}
	if data, err := os.ReadFile("/sys/fs/ext4/features/casefold"); err != nil || !strings.Contains(string(data), "supported") {
		return ""
	}
	dir := Dir(t)
	mkdir(t, dir+"/mnt")
	for _, c := range [][]string{
		{"truncate", "-s", "8M", dir + "/img"}, {"mkfs.ext4", "-q", "-O", "casefold", dir + "/img"},
		{"mount", "-o", "loop", dir + "/img", dir + "/mnt"},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Logf("%q: %v %s", c, err, out)
			return ""
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir+"/mnt").CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	mkdir(t, dir+"/mnt/ws")
	if out, err := exec.Command("chattr", "+F", dir+"/mnt/ws").CombinedOutput(); err != nil {
		t.Fatalf("chattr: %s", out)
	}
	return dir + "/mnt/ws"
}

// git runs git on the host, with no settings but the repository's.
func git(t *testing.T, b *Box, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.Workspace
	cmd.Env = append(b.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// A69: the same file by other names.
func TestA69_OtherNamesForASecret(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Home+"/.ssh/id", "SECRET")
		Write(t, b.Home+"/plain/id", "TWIN")
		alias := filepath.Dir(b.Home) + "/alias"
		symlink(t, b.Home, alias)
		b.Env = []string{"ALIAS=" + alias}
		p := probeIn(t, b)
		up := strings.Repeat("../", 40)
		for _, name := range []string{
			"/proc/self/root" + b.Home + "/%s/id", "/proc/thread-self/root" + b.Home + "/%s/id",
			"/proc/self/cwd/../home/%s/id", "/proc/self/cwd/" + up + b.Home + "/%s/id", "../home/%s/id",
			b.Home + "//./%s/../%s/id", "//" + b.Home + "/%s//id", alias + "/%s/id", up + b.Home + "/%s/id",
			"/proc/self/task/../root" + b.Home + "/%s/id",
		} {
			p.want("EACCES", "read", strings.ReplaceAll(name, "%s", ".ssh"))
			p.want("ok", "read", strings.ReplaceAll(name, "%s", "plain"))
		}
		// Pid 1 gives nothing of its own; the descriptors lead nowhere.
		for _, name := range []string{"/proc/1/root", "/proc/1/cwd", "/proc/1/exe"} {
			p.want("EACCES", "readlink", name)
			p.want("EACCES", "read", name+b.Home+"/.ssh/id")
		}
		for fd := range 8 { // root sees the numbers, nobody what they are
			p.want("EACCES|ENOENT", "readlink", fmt.Sprintf("/proc/1/fd/%d", fd))
			p.want("EACCES|ENOENT", "read", fmt.Sprintf("/proc/1/fd/%d", fd))
		}
		p.want("EACCES", "read", "/proc/1/mem")
		p.want("EACCES", "read", "/proc/1/environ")
		p.want("ENOTDIR|EACCES|ENOENT", "read", "/dev/fd/0/../.."+b.Home+"/.ssh/id")
		p.want("ok", "list", "/proc/self/fd")
		p.want("ok", "read", "/proc/self/environ")
		p.end()
	})
}

// A80: bawn's own state, by the default places and where variables move it.
func TestA80_OwnState(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, m := range sandboxed {
			t.Run(m.name, func(t *testing.T) {
				b := New(t, l)
				b.Flags = m.flags
				root := filepath.Dir(b.Home)
				b.Env = []string{
					"XDG_CONFIG_HOME=" + root + "/cfg", "XDG_STATE_HOME=" + b.Home + "/state", "XDG_RUNTIME_DIR=" + root + "/rt",
				}
				dirs := []string{
					b.Home + "/.config/bawn", b.Home + "/.local/state/bawn", root + "/cfg/bawn", b.Home + "/state/bawn", root + "/rt/bawn",
				}
				for _, d := range dirs {
					Write(t, d+"/trust", "OWN")
					Write(t, filepath.Dir(d)+"/plain", "TWIN")
				}
				before := listing(t, b.Home, root+"/cfg", root+"/rt")
				p := probeIn(t, b)
				for _, d := range dirs {
					p.want("EACCES", "list", d)
					p.want("EACCES", "read", d+"/trust")
					p.want("EACCES", "truncate", d+"/trust")
					p.want("EACCES", "creat", d+"/new")
					p.want(denied, "rename", d, d+"2")
					p.want("ok", "read", filepath.Dir(d)+"/plain")
				}
				for _, name := range []string{"log", "log/head", "log/000001.jsonl", "guard.lock"} { // of this very run
					p.want("EACCES", "read", b.Home+"/state/bawn/"+name)
					p.want("EACCES", "write", b.Home+"/state/bawn/"+name)
				}
				// Nothing of it among the descriptors either.
				for fd := range 3 {
					if to := p.text("readlink", "/proc/self/fd/"+string(rune('0'+fd))); strings.Contains(to, "bawn-") && strings.HasPrefix(to, "/") {
						t.Errorf("descriptor %d leads to %s", fd, to)
					}
				}
				p.end()
				sameListing(t, before, listing(t, b.Home, root+"/cfg", root+"/rt"))
			})
		}
	})
}
