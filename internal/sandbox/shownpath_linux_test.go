//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"bawn/internal/policy"
)

// Links are followed as commands would: those in hidden places, of processes and
// in the private temp are not looked at, and say nothing.
func TestShownPath(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, ws := root+"/home", root+"/ws"
	for _, dir := range []string{home + "/.ssh/keys", ws + "/sub"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		home + "/.ssh/link": root, ws + "/in": home + "/.ssh/keys", ws + "/through": home + "/.ssh/link", ws + "/round": "../home/.ssh/none/../../ws", ws + "/sub/up": "..", ws + "/proc": "/proc/self/cwd",
	} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	c := policy.Config{Tier: policy.Guarded, Workspace: ws, Homes: []string{home}, Hidden: policy.Credentials([]string{home}, noEnv)}
	if root[:5] == "/tmp/" { // which would be the command's own
		c.Temp = policy.HostTemp
	}
	p := mustPolicy(t, c)
	for in, want := range map[string]string{
		ws + "/sub/up/sub/..": ws, ws + "/none/../sub": ws + "/sub", home + "/x": home + "/x",
		home + "/.ssh": home + "/.ssh", home + "/.ssh/link": home + "/.ssh/link", home + "/.ssh/link/ws/../x": home + "/.ssh/link/ws",
		home + "/.ssh/../x": home + "/.ssh", ws + "/in": home + "/.ssh/keys", ws + "/in/../x": home + "/.ssh/keys", ws + "/through/ws": home + "/.ssh/link/ws", ws + "/round/sub": home + "/.ssh/none",
		"/proc/self/cwd": "/proc/self/cwd", "/proc/1/root/etc": "/proc/1/root/etc", "/proc/1/../.." + ws: ws, ws + "/proc/x": "/proc/self/cwd/x",
	} {
		if got, err := ShownPath(p, in); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", ws + "\x00", ws + "/loop"} {
		_ = os.Symlink("loop", ws+"/loop")
		if got, err := ShownPath(p, in); err == nil {
			t.Errorf("%q: %s", in, got)
		}
	}
	// In open commands see what their user sees.
	if got, err := ShownPath(mustPolicy(t, policy.Config{Tier: policy.Open, Workspace: ws}), home+"/.ssh/link"); err != nil || got != root {
		t.Errorf("open: %s, %v", got, err)
	}
}
