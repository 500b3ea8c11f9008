//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// managed runs bawn where /etc/bawn holds these files: in a mount namespace of
// its own, in which an overlay lies over /etc. The host's /etc stays as it is.
func (b *Box) managed(t *testing.T, files map[string]string, args ...string) Result {
	t.Helper()
	dir := Dir(t)
	for name, text := range files {
		Write(t, dir+"/up/bawn/"+name, text)
	}
	mkdir(t, dir+"/work")
	unshare := []string{"--mount", "--propagation", "private"}
	if os.Getuid() != 0 {
		unshare = append(unshare, "--user", "--map-root-user")
	}
	script := `mount -t overlay -o lowerdir=/etc,upperdir="$1/up",workdir="$1/work" overlay /etc && shift && exec "$@"`
	cmd := exec.CommandContext(t.Context(), "unshare", append(append(unshare, "sh", "-c", script, "sh", dir, Binary()), args...)...)
	var out, errs strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.Workspace, b.Environ(), &out, &errs
	_ = cmd.Run()
	return Result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// C7: what the machine's owner requires holds against every layer, the command
// line's among them, and against the object that a folder's name leads to.
func TestC7_RequirementsClampFlags(t *testing.T) {
	b := New(t, "native")
	root := filepath.Dir(b.Home)
	for _, d := range []string{"/allowed/sub", "/other"} {
		mkdir(t, root+d)
	}
	symlink(t, root+"/other", root+"/allowed/link")
	symlink(t, root+"/allowed", root+"/alias")
	files := map[string]string{"requirements.toml": "[sandbox]\ndefault_tier = 'guarded'\nallowed_paths = ['" + root + "/alias']\nallowed_domains = ['a.example', 'npmjs.org']\ndenied_domains = ['b.a.example']\nexclude = []\nguard = 'on'\n"}
	sh := func(text string, flags ...string) Result {
		t.Helper()
		return b.managed(t, files, append(append([]string{"run"}, flags...), "--", "sh", "-c", text)...)
	}
	// The tier, in each of its forms.
	if r := sh("echo $BAWN_TIER", "--tier", "open").OK(t); r.Stdout != "guarded\n" || !strings.Contains(r.Stderr, "/etc/bawn/requirements.toml:2") {
		t.Errorf("--tier open: %q %q", r.Stdout, r.Stderr)
	}
	sh("echo RAN", "--sandbox", "danger-full-access").refused(t, "requirements")
	if r := sh("echo $BAWN_TIER", "--tier", "airlock").OK(t); r.Stdout != "airlock\n" {
		t.Errorf("a stricter one: %q", r.Stdout)
	}
	// Folders, by where they lead.
	for _, c := range []struct {
		dir string
		ok  bool
	}{{"/alias/sub", true}, {"/alias/link", false}, {"/other", false}} {
		r := sh("echo x >"+root+c.dir+"/f", "--add-dir", root+c.dir)
		if wrote := exists(root + c.dir + "/f"); wrote != c.ok {
			t.Errorf("%s: exit %d %s", c.dir, r.Code, r.Stderr)
		}
		os.Remove(root + c.dir + "/f")
	}
	// Hosts, the built-in ones and the typed ones.
	for host, want := range map[string]int{"npmjs.org": 0, "a.example": 0, "github.com": 2, "other.example": 2, "b.a.example": 1} {
		if r := b.managed(t, files, "check", "--allow-domain", "*", "--allow-domain", "a.example", "connect", host); r.Code != want {
			t.Errorf("%s: exit %d, want %d\n%s%s", host, r.Code, want, r.Stdout, r.Stderr)
		}
	}
	// The guard stays on.
	if r := sh("(echo x >.bashrc) 2>/dev/null && echo OFF; true", "--guard", "off").OK(t); r.Stdout != "" {
		t.Errorf("--guard off: %q", r.Stdout)
	}
	b.Launcher = "native"
	// Without requirements all of it holds.
	files = map[string]string{"config.toml": "[sandbox]\ndefault_tier = 'airlock'\nallowed_domains = ['a.example']\n"}
	if r := sh("echo x >"+root+"/other/f; echo $BAWN_TIER", "--tier", "open", "--add-dir", root+"/other").OK(t); r.Stdout != "\n" || !exists(root+"/other/f") {
		t.Errorf("%q %q", r.Stdout, r.Stderr)
	}
	// Managed settings are the weakest defaults, and out of sight inside.
	if r := sh("echo $BAWN_TIER; cat /etc/bawn/config.toml").Stdout; r != "airlock\n" {
		t.Errorf("managed default: %q", r)
	}
	b.settings(t, "[sandbox]\ndefault_tier = 'guarded'\n")
	if r := sh("echo $BAWN_TIER").OK(t); r.Stdout != "guarded\n" {
		t.Errorf("the user's: %q", r.Stdout)
	}
	files["config.toml"] = "[sandbox]\nfoo = 1\n"
	sh("echo RAN").refused(t, "/etc/bawn/config.toml:2:1")
}
