//go:build linux

package sandboxtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// cacheBox is a home with warm caches, in a run that keeps them to itself.
func cacheBox(t *testing.T, l string) *Box {
	t.Helper()
	b := New(t, l)
	b.Env = []string{"BAWN_CACHES=private", "XDG_STATE_HOME="} // where it is by default
	for _, f := range []string{".cache/pip/warm", ".npm/warm", "go/pkg/mod/warm"} {
		Write(t, b.Home+"/"+f, "host\n")
	}
	t.Cleanup(func() { // the kernel's own folders have mode 0
		_ = exec.Command("chmod", "-R", "u+rwX", b.Home).Run()
	})
	return b
}

func (b *Box) layers() string { return b.Home + "/.local/state/bawn/caches" }

// outside lists the home but for what private caches keep.
func (b *Box) outside(t *testing.T) []string {
	t.Helper()
	var roots []string
	for _, name := range strings.Fields(dirNames(t, b.Home)) {
		if name != ".local" {
			roots = append(roots, b.Home+"/"+name)
		}
	}
	return listing(t, roots...)
}

const poison = `set -e; for d in ~/.cache/pip ~/.npm ~/go/pkg/mod; do mkdir -p $d; echo bad >$d/warm; echo bad >$d/new; done; mkdir -p ~/.cargo/registry/src; echo bad >~/.cargo/registry/src/new`

// F1, F11: what is written in a private cache the next run sees and the host
// does not; with shared ones the host sees it.
func TestF1_F11_PrivateCaches(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := cacheBox(t, l)
		before := b.outside(t)
		if l == "native" { // bwrap cannot show the host's content in a copy
			if got := b.Sh(t, "cat ~/.cache/pip/warm ~/.npm/warm ~/go/pkg/mod/warm").OK(t).Stdout; got != "host\nhost\nhost\n" {
				t.Errorf("the host's caches are not warm: %q", got)
			}
		}
		r := b.Sh(t, poison).OK(t)
		if n := strings.Count(r.Stderr, "private caches"); (n == 1) != (l == "bwrap") {
			t.Errorf("said %d times: %q", n, r.Stderr)
		}
		other := *b // another workspace of the same user
		other.Workspace = Dir(t)
		for _, next := range []*Box{b, &other} {
			next.Flags = []string{"-q"}
			r := next.Sh(t, "cat ~/.cache/pip/warm ~/.npm/new ~/go/pkg/mod/new ~/.cargo/registry/src/new").OK(t)
			if r.Stdout != "bad\nbad\nbad\nbad\n" || r.Stderr != "" {
				t.Errorf("the next run: %+v", r)
			}
		}
		sameListing(t, before, b.outside(t))
		// The folder of the layers is bawn's own: no name leads to it inside.
		wantRefused(t, "the layers by their path", b.Sh(t, "ls "+b.layers()))

		b.Env = nil // the twin
		b.Sh(t, `mkdir -p ~/.cargo/registry; `+strings.ReplaceAll(poison, "mkdir -p ~/.cargo/registry/src; echo bad >~/.cargo/registry/src/new", "true")).OK(t)
		for _, f := range []string{".cache/pip/warm", ".npm/new", "go/pkg/mod/new"} {
			if data, _ := os.ReadFile(b.Home + "/" + f); string(data) != "bad\n" {
				t.Errorf("shared: the host has %q in %s", data, f)
			}
		}
		// In airlock no cache is written, private or not.
		b.Env, b.Flags = []string{"BAWN_CACHES=private"}, []string{"-q", "--tier", "airlock"}
		wantRefused(t, "a cache in airlock", b.Sh(t, "echo x >~/.npm/airlock"))
	})
}

// F1: runs at the same time never write one layer: each sees the host's
// content, none sees the other's, and a run after them has the first one's.
func TestF1_PrivateCachesAtOnce(t *testing.T) {
	t.Parallel()
	b := cacheBox(t, "native")
	const runs = 9 // one more than there are layers
	var all []*prober
	for i := range runs {
		p := probeIn(t, b)
		p.want("ok", "creat", b.Home+"/.npm/"+strconv.Itoa(i))
		p.flush()
		all = append(all, p)
	}
	for i, p := range all {
		for j := range runs {
			want := "ENOENT"
			if i == j {
				want = "ok"
			}
			p.want(want, "stat", b.Home+"/.npm/"+strconv.Itoa(j))
		}
		want := "ok"
		if i == runs-1 {
			want = "ENOENT" // the plain folder, without the host's content
		}
		p.want(want, "read", b.Home+"/.npm/warm")
		p.flush()
	}
	if r := b.Sh(t, "ls ~/.npm").OK(t); r.Stdout != "8\n" || !strings.Contains(r.Stderr, ".npm begins without the host's content: as many runs at once") {
		t.Errorf("a tenth run: %+v", r)
	}
	for _, p := range all {
		p.end()
	}
	if r := b.Sh(t, "ls ~/.npm").OK(t); r.Stdout != "0\nwarm\n" || r.Stderr != "" {
		t.Errorf("after them: %+v", r)
	}
}

// F1, F11: kill -9 of bawn frees the layer, with what is in it.
func TestF1_F11_PrivateCachesAfterKill(t *testing.T) {
	t.Parallel()
	b := cacheBox(t, "native")
	before := b.outside(t)
	for i := range 3 {
		name := "killed" + strconv.Itoa(i)
		p := startProbe(t, b, []string{Binary(), "run", "-q", "--launcher", "native", "--", tool(t, "probe")})
		if i > 0 {
			p.want("ok", "stat", b.Home+"/.npm/killed"+strconv.Itoa(i-1))
		}
		p.want("ok", "creat", b.Home+"/.npm/"+name)
		p.flush()
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for p.out.Scan() { // its output ends when all in the sandbox is dead
		}
	}
	if got := b.Sh(t, "ls ~/.npm").OK(t).Stdout; got != "killed0\nkilled1\nkilled2\nwarm\n" {
		t.Errorf("after the kills: %q", got)
	}
	sameListing(t, before, b.outside(t))
	found, err := filepath.Glob(b.layers() + "/.npm-*/*")
	if err != nil || len(found) != 2 { // the layer and the plain folder
		t.Errorf("%q, %v", found, err)
	}
}

// F1, A60: a link of the user's that leads the copies to where commands write
// would let one put anything below the next one's caches.
func TestA60_PrivateCachesLinkedElsewhere(t *testing.T) {
	t.Parallel()
	b := cacheBox(t, "native")
	Write(t, b.layers()[:len(b.layers())-len("caches")]+"told", "")
	kept := b.Home + "/kept"
	Write(t, kept+"/x", "")
	if err := os.Symlink(b.Workspace, b.layers()); err != nil {
		t.Fatal(err)
	}
	if r := b.Sh(t, "true"); r.Code != 125 || !strings.Contains(r.Stderr, "a sandboxed command could") {
		t.Errorf("copies in the workspace: %+v", r)
	}
	if err := os.Remove(b.layers()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, b.layers()); err != nil {
		t.Fatal(err)
	}
	b.Sh(t, "echo x >~/.npm/new").OK(t)
	b.Sh(t, "cat ~/.npm/new").OK(t)
}

// F4: a credential in a private cache stays hidden, whatever earlier runs have
// put on the way to it; and nothing that they put there stops the next run.
func TestF4_PrivateCaches(t *testing.T) {
	t.Parallel()
	const look = `cd ~/.cache; cat huggingface/token; grep -rs hf_ . ; mv huggingface x; cat x/token; ln huggingface/token t; cat t; cp -r huggingface y; cat y/token; true`
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		for _, plant := range []string{
			"true", "rm -rf ~/.cache/huggingface", "rm -rf ~/.cache/huggingface; echo f >~/.cache/huggingface",
			"rm -rf ~/.cache/huggingface; mkdir -p ~/.cache/huggingface/token/d", "rm -rf ~/.cache/huggingface; ln -s ../.config ~/.cache/huggingface",
			"rm -rf ~/.cache/huggingface; ln -s $PWD ~/.cache/huggingface; echo mine >token", "mv ~/.cache/huggingface ~/.cache/moved; true",
			"rm -f ~/.cache/huggingface/token; mkfifo ~/.cache/huggingface/token; true",
		} {
			b := cacheBox(t, l)
			b.Flags = []string{"-q"}
			Write(t, b.Home+"/.cache/huggingface/hub/model", "weights\n")
			b.Sh(t, plant).OK(t) // while there is no token
			Write(t, b.Home+"/.cache/huggingface/token", "hf_secret\n")
			r := b.Sh(t, look).OK(t)
			if strings.Contains(r.Stdout, "hf_secret") {
				t.Errorf("after %q: %q", plant, r.Stdout)
			}
			b.Sh(t, "rm -rf ~/.cache/huggingface; true").OK(t) // while there is one
			if r := b.Sh(t, look+"; echo x >~/.cache/n && cat ~/.cache/n").OK(t); strings.Contains(r.Stdout, "hf_secret") || !strings.HasSuffix(r.Stdout, "x\n") {
				t.Errorf("after %q and again: %+v", plant, r)
			}
			if data, err := os.ReadFile(b.Home + "/.cache/huggingface/token"); err != nil || string(data) != "hf_secret\n" {
				t.Errorf("the host's token is %q, %v", data, err)
			}
		}
		// The twin: what is no credential is read under the same conditions.
		b := cacheBox(t, l)
		Write(t, b.Home+"/.cache/huggingface/token", "hf_secret\n")
		Write(t, b.Home+"/.cache/huggingface/hub/model", "weights\n")
		if r := b.Sh(t, "cat ~/.cache/huggingface/hub/model"); l == "native" && r.OK(t).Stdout != "weights\n" {
			t.Errorf("the model: %+v", r)
		}
	})
}

// F4: attributes by which overlays redirect, left in a cache while it was
// shared, lead nowhere; nor can a command set them in its copy.
func TestF4_PrivateCachesFollowNoRedirect(t *testing.T) {
	t.Parallel()
	b := cacheBox(t, "native")
	Write(t, b.Home+"/.ssh/id", "secret\n")
	Write(t, b.Home+"/.cache/real/id", "real\n")
	mkdir(t, b.Home+"/.cache/dir")
	Write(t, b.Home+"/.cache/file", "")
	for path, attr := range map[string]string{"dir": "redirect=/../.ssh", "file": "redirect=/real/id"} {
		name, value, _ := strings.Cut(attr, "=")
		for name, value := range map[string]string{"user.overlay." + name: value, "user.overlay.metacopy": ""} {
			if err := unix.Setxattr(b.Home+"/.cache/"+path, name, []byte(value), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := b.Sh(t, `cat ~/.cache/dir/id ~/.cache/file; mkdir ~/.cache/own; python3 -c '
import os
for n in ("redirect", "opaque", "metacopy"):
    try: os.setxattr(os.path.expanduser("~/.cache/own"), "user.overlay." + n, b"/../.ssh")
    except OSError: pass
os.setxattr(os.path.expanduser("~/.cache/own"), "user.plain", b"x")
'; cat ~/.cache/real/id`)
	if r.OK(t).Stdout != "real\n" {
		t.Errorf("%+v", r)
	}
	if r := b.Sh(t, "ls ~/.cache/own; cat ~/.cache/own/id; true").OK(t); r.Stdout != "" {
		t.Errorf("the next run: %q", r.Stdout)
	}
}

// Where the kernel's overlay cannot serve there is a plain folder, which is
// said once; what the host has there stays as it is.
func TestF1_PrivateCachesWithoutOverlay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, word string }{
		{"no attributes", `mount -t ramfs none ~/.local/state/bawn`, "user attributes"},
		{"an overlay below", `mkdir ~/o ~/o/u ~/o/w ~/o/l && mount -t overlay none -o userxattr,lowerdir=$HOME/o/l,upperdir=$HOME/o/u,workdir=$HOME/o/w ~/.local/state/bawn`, "upperdir: invalid argument"},
		{"a mount in it", `mkdir -p ~/.npm/sub && mount -t tmpfs none ~/.npm/sub`, "overlay: invalid argument"},
	} {
		b := cacheBox(t, "native")
		mkdir(t, b.Home+"/.local/state/bawn")
		m := setupMachine{name: c.name, prefix: []string{"unshare", "-Urm", "sh", "-c", c.script + ` && cat ~/.npm/warm && "$@"; cat ~/.npm/warm`, "sh"}}
		r := m.bawn(t, b, "run", "--launcher", "native", "--", "sh", "-c", `ls -A ~/.npm; echo bad >~/.npm/warm && cat ~/.npm/warm`).OK(t)
		if r.Stdout != "host\nbad\nhost\n" {
			t.Errorf("%s: %+v", c.name, r)
		}
		if n := strings.Count(r.Stderr, ".npm begins without the host's content"); n != 1 || !strings.Contains(r.Stderr, c.word) {
			t.Errorf("%s: said %d times: %q", c.name, n, r.Stderr)
		}
	}
	// Layers that lie in a cache themselves are as hidden as elsewhere.
	b := cacheBox(t, "native")
	b.Env = append(b.Env, "XDG_STATE_HOME="+b.Home+"/.npm/state")
	mkdir(t, b.Home+"/.npm/state/bawn")
	for range 2 {
		r := b.Sh(t, `echo x >~/.npm/new; cat ~/.npm/warm; ls -A ~/.npm/state/bawn; rm -rf ~/.npm/state/bawn; mv ~/.npm/state ~/.npm/moved; find ~/.npm -name upper; true`).OK(t)
		if r.Stdout != "host\n" || !exists(b.Home+"/.npm/state/bawn/caches") {
			t.Errorf("layers in a cache: %+v", r)
		}
	}
	// Nowhere to keep them: refused, and a twin that is shared runs.
	b = cacheBox(t, "native")
	m := setupMachine{name: "read-only", prefix: []string{"unshare", "-Urm", "sh", "-c", `mount -o remount,bind,ro / && exec "$@"`, "sh"}}
	b.Env = append(b.Env, "BAWN_LOG=off")
	m.bawn(t, b, "run", "--", "echo", "RAN").refused(t, "private caches", "read-only file system", `caches = "shared"`)
	b.Env = []string{"BAWN_LOG=off"}
	m.bawn(t, b, "run", "--", "true").OK(t)
}

// What is said is what is done: check, policy and doctor know private caches.
func TestF1_PrivateCachesAreTold(t *testing.T) {
	t.Parallel()
	b := cacheBox(t, "native")
	for path, want := range map[string]string{
		b.Home + "/.npm/x":    "guarded writes a private copy of the npm cache; the host's stays as it is",
		b.Home + "/.cache/y":  "guarded writes a private copy of the XDG cache; the host's stays as it is",
		b.Workspace + "/made": "the workspace",
	} {
		if r := b.Bawn(t, "check", "write", path).OK(t); !strings.Contains(r.Stdout, want) {
			t.Errorf("%s: %q", path, r.Stdout)
		}
	}
	if r := b.Bawn(t, "policy").OK(t); !strings.Contains(r.Stdout, "\n  tool caches, each a private copy:\n") {
		t.Errorf("policy: %s", r.Stdout)
	}
	if r := b.Bawn(t, "policy", "--all").OK(t); !strings.Contains(r.Stdout, "\n  private copy  "+b.Home+"/.npm  (") || strings.Contains(r.Stdout, "read-write    "+b.Home) {
		t.Errorf("policy: %s", r.Stdout)
	}
	b.Env = append(b.Env, "GOCACHE="+b.Workspace+"/gocache") // part of the workspace, made or not
	for range 2 {
		if r := b.Bawn(t, "check", "write", b.Workspace+"/gocache/x").OK(t); !strings.Contains(r.Stdout, "why    the workspace") {
			t.Errorf("a cache in the workspace: %q", r.Stdout)
		}
		b.Sh(t, `mkdir -p "$GOCACHE"; echo x >"$GOCACHE/x"`).OK(t)
		if !exists(b.Workspace + "/gocache/x") {
			t.Error("a cache in the workspace is not the workspace's")
		}
	}
	_, detail, _ := doctorRow(t, b, "private caches")
	if !strings.Contains(detail, "MiB in "+b.layers()) {
		t.Errorf("doctor: %q", detail)
	}
	_, command, _ := strings.Cut(detail, "while no command runs: ")
	Host(t, b, command).OK(t)
	if _, detail, _ := doctorRow(t, b, "private caches"); detail != "none kept" || exists(b.layers()) {
		t.Errorf("doctor after %q: %q", command, detail)
	}
}

func doctorRow(t *testing.T, b *Box, name string) (result, detail, fix string) {
	t.Helper()
	var r setupReport
	if err := json.Unmarshal([]byte(b.Bawn(t, "doctor", "--json").Stdout), &r); err != nil {
		t.Fatal(err)
	}
	return r.row(t, name)
}

// The weaker mode cannot make a copy: it leaves the host's caches as they are.
func TestF1_PrivateCachesInWeakerMode(t *testing.T) {
	t.Parallel()
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := cacheBox(t, "auto")
		r := m.weaker(t, b, "sh", "-c", "cat ~/.npm/warm; echo bad >~/.npm/warm || echo bad >~/.npm/new || echo x >made")
		if r.OK(t).Stdout != "host\n" || !strings.Contains(r.Stderr, "private caches are read-only") || exists(b.Home+"/.npm/new") || !exists(b.Workspace+"/made") {
			t.Errorf("%+v", r)
		}
		b.Env = nil // the twin
		m.weaker(t, b, "sh", "-c", "echo x >~/.npm/new").OK(t)
	})
}
