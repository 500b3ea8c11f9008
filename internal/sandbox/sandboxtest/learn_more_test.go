//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What would be protected in another project's workspace is not proposed, nor
// what its git runs; what lies beside it is.
func TestLearn_OtherProjects(t *testing.T) {
	b := New(t, "native")
	other := filepath.Join(filepath.Dir(b.Home), "other")
	for _, dir := range []string{".claude/hooks", ".codex", ".bawn", ".vscode", "out"} {
		if err := os.MkdirAll(filepath.Join(other, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := exec.Command("git", "init", "-q", other).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for name, proposed := range map[string]bool{".git/hooks/x": false, ".claude/hooks/x": false, ".codex/x": false, ".bawn/x": false, ".vscode/x": true, "out/x": true} {
		l := b.learn(t, "echo x >"+other+"/"+name)
		switch {
		case proposed:
			if got := l.values(); !slices.Equal(got, []string{filepath.Dir(other + "/" + name)}) || (l.Proposals[0].Careful != "") != (name == ".vscode/x") {
				t.Errorf("%s: %+v", name, l.Proposals)
			}
		case len(l.Proposals) != 0 || len(l.NotProposed) != 1 || !strings.Contains(l.NotProposed[0].Why, "never proposed"):
			t.Errorf("%s: %+v, %+v", name, l.Proposals, l.NotProposed)
		}
	}
}
