//go:build linux

package agenttest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/frontend/hook"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/sandboxtest"
)

// A hook says of a file what `bawn check` says, wherever links lead; of writes
// it allows those in the workspace alone. Where no policy can be made both say
// so.
func TestHookAgreesWithCheck(t *testing.T) {
	agreed := map[string]int{}
	for seed := range uint64(6) {
		d := newDesk(t)
		d.setUp(t, "claude")
		rnd := rand.New(rand.NewPCG(seed, 11))
		var places []string
		for _, p := range []string{".aws/credentials", ".config/gh/hosts.yml", ".cargo/credentials.toml", ".netrc", ".bashrc", ".config/nvim/init.lua", "dot/a", ".cache/pip/x"} {
			places = append(places, filepath.Join(d.Home, p))
		}
		for _, p := range []string{"a.go", "sub/b.go", ".git/hooks/pre-commit", ".mcp.json", ".bashrc"} {
			places = append(places, filepath.Join(d.Workspace, p))
		}
		for _, p := range places {
			switch rnd.IntN(3) {
			case 1:
				_ = os.MkdirAll(filepath.Dir(p), 0o755)
				_ = os.WriteFile(p, []byte("x"), 0o600)
			case 2:
				name := p
				if up := filepath.Dir(p); rnd.IntN(2) == 0 && up != d.Home && up != d.Workspace {
					name = up
				}
				_ = os.MkdirAll(filepath.Dir(name), 0o755)
				to := places[rnd.IntN(len(places))]
				if seed < 4 { // else a credential may lead into the workspace, where nothing runs then
					to = places[rnd.IntN(len(places)-5)]
				}
				_ = os.Symlink(to, name)
			}
		}
		for _, path := range places {
			for _, c := range []struct {
				action string
				kind   hook.Kind
			}{{"read", hook.Read}, {"write", hook.Write}} {
				check := d.call(t, d.Workspace, nil, "", sandboxtest.Binary(), "check", c.action, path)
				got := d.hook(t, "claude", c.kind, path)
				said := "none" // no policy
				switch {
				case got.Code == 0 && got.Stdout == "":
					said = "allow"
				case got.Code == 0 && strings.Contains(got.Stdout, `"deny"`):
					said = "deny"
				}
				want, ok := map[int]string{0: "allow", 1: "deny", 125: "none"}[check.Code]
				real, err := sandbox.RealPath(path)
				switch {
				case err != nil && want == "none" && said == "deny":
					said = want // a loop of links
				case c.kind == hook.Write && want == "allow" && said == "deny" && !policy.Inside(real, d.Workspace):
					said = want // caches, the private temp
				}
				if !ok || said != want {
					t.Errorf("seed %d: %s %s: hook %s (%d %q %q), check %+v", seed, c.action, path, said, got.Code, got.Stdout, got.Stderr, check)
				}
				agreed[said]++
			}
		}
	}
	if agreed["allow"] == 0 || agreed["deny"] == 0 {
		t.Errorf("of each kind: %v", agreed)
	}
	t.Log(agreed)
}
