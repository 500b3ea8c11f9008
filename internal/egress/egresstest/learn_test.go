//go:build linux

package egresstest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// learnOnScreen runs bawn learn in the world on a terminal of its own.
func (b *Box) learnOnScreen(t *testing.T, args ...string) sandboxtest.Screen {
	t.Helper()
	argv := b.w.inside(b.Workspace, append([]string{sandboxtest.Binary(), "learn", "--launcher", b.Launcher, "--"}, args...)...)
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	s := sandboxtest.OpenScreen(t)
	s.Start(t, cmd)
	return s
}

// A script that needs a host and a folder: what a person allows while it is
// tried, and accepts afterwards, lets it pass with nobody to ask; what they do
// not accept stays denied, and the rest of the file stays theirs.
func TestLearn_HostAndFolder(t *testing.T) {
	const mine = "# mine\n[sandbox]\nallowed_domains = [\n  'allowed.test', # why\n]\n"
	const accept = "Answer and Enter [y/s/N]: "
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		for _, c := range []struct {
			name, answers string
			passes        bool
			want          []string
		}{
			{"all", "y", true, []string{"# mine\n", "  'allowed.test', # why\n  \"other.test:18080\",\n]\n", "out\"]"}},
			{"the folder alone", "s y n", false, []string{"'allowed.test', # why\n]\n", "out\"]"}},
			{"nothing", "n", false, nil},
		} {
			t.Run(l+" "+c.name, func(t *testing.T) {
				b := NewBox(t, w, l)
				b.settings(t, mine)
				out := filepath.Join(filepath.Dir(b.Home), "out")
				if err := os.Mkdir(out, 0o755); err != nil {
					t.Fatal(err)
				}
				script := []string{"bash", "--norc", "-c", curl + "get --fail http://other.test:18080/x > " + out + "/page"}
				if r := b.Run(t, script...); r.Code == 0 {
					t.Fatalf("it passes before: %+v", r)
				}
				write := []string{"bash", "--norc", "-c", curl + "get --fail http://other.test:18080/x; echo > " + out + "/page"}
				s := b.learnOnScreen(t, write...)
				s.Wait(t, hostChoices)
				s.Send(t, "y\r")
				for i, a := range strings.Fields(c.answers) {
					choices := accept
					if i > 0 {
						choices = "Answer and Enter [y/N]: "
					}
					s.Wait(t, choices)
					s.Send(t, a+"\r")
				}
				if code := s.Code(t); code == 0 {
					t.Errorf("exit %d:\n%s", code, s.Text())
				}
				data, err := os.ReadFile(b.Home + "/.config/bawn/config.toml")
				if err != nil {
					t.Fatal(err)
				}
				if c.want == nil && string(data) != mine {
					t.Errorf("the file became\n%s", data)
				}
				for _, want := range c.want {
					if !strings.Contains(string(data), want) {
						t.Errorf("the file has no %q:\n%s\n%s", want, data, s.Text())
					}
				}
				if r := b.Run(t, script...); (r.Code == 0) != c.passes {
					t.Errorf("the next run: %+v", r)
				}
			})
		}
	}
}

// With nobody to ask a host that no rule allows stays closed while bawn
// learns: it is proposed, and one that leads inside is marked.
func TestLearn_NobodyIsAsked(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	before := w.Hits(t, "11.0.0.11:18080") + w.Hits(t, "10.1.2.3:18080")
	b.settings(t, "[sandbox]\nallowed_domains = ['intra.test']\ndenied_domains = ['evil.test']\n")
	argv := w.inside(b.Workspace, sandboxtest.Binary(), "learn", "--json", "-c",
		curl+"for h in other.test intra.test evil.test; do get http://$h:18080/; done; get --noproxy '*' http://sub.other.test/; false")
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`{"key":"sandbox.allowed_domains","value":"other.test:18080","for":["other.test:18080"]}`,
		`{"key":"sandbox.allowed_domains","value":"sub.other.test",`,
		`{"key":"sandbox.allow_private","value":"intra.test","for":["intra.test:18080"],"careful":"intra.test leads to 10.1.2.3`,
		`{"what":"evil.test:18080","why":"a rule denies the host (` + b.Home,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if n := w.Hits(t, "11.0.0.11:18080") + w.Hits(t, "10.1.2.3:18080"); n != before {
		t.Error("it was connected to")
	}
}
