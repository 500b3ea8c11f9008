//go:build unix

package sandbox

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"bawn/internal/policy"
)

// Who only asks is told the same as who starts a command, about every path and
// whatever links lie on the way, though less is looked at; who asks about reads
// alone, about reads.
func TestDecisionsAreTheSame(t *testing.T) {
	settledOnce := 0
	for seed := range uint64(16) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		home, ws := dir+"/home", dir+"/home/src/ws"
		var places []string
		for _, p := range []string{
			".ssh/config", ".aws/credentials", ".config/gh/hosts.yml", ".config/git/credentials", ".cargo/credentials.toml", ".netrc", ".local/share/keyrings/x",
			".local/share/opencode/auth.json", ".cache/huggingface/token", ".cache/pip/x", "go/pkg/mod/x", "dot/a/b", "dot/c", ".bashrc", ".npmrc",
		} {
			places = append(places, home+"/"+p)
		}
		for _, p := range []string{
			"a.go", "sub/b.go", ".git/config", ".git/HEAD", ".git/hooks/x", ".mcp.json", ".claude/settings.json", ".agents/plugins/x", ".bashrc", ".config/fish/x", ".github/hooks/x", ".bawn/config.toml",
		} {
			places = append(places, ws+"/"+p)
		}
		places = append(places, dir+"/out/x", dir+"/out/y/z")
		if err := os.MkdirAll(ws, 0o755); err != nil {
			t.Fatal(err)
		}
		// What exists, and what is a link to where; a place that cannot be made
		// (below a file, through a link to nothing) is not there.
		for _, p := range places {
			name := p
			if rnd.IntN(2) == 0 {
				name = filepath.Dir(p)
			}
			if name == ws || name == home {
				continue
			}
			switch rnd.IntN(4) {
			case 1, 2:
				_ = os.MkdirAll(filepath.Dir(p), 0o755)
				_ = os.WriteFile(p, []byte("x"), 0o600)
			case 3:
				_ = os.MkdirAll(filepath.Dir(name), 0o755)
				_ = os.Symlink(places[rnd.IntN(len(places))], name)
			}
		}
		if seed == 3 {
			for i := range 400 {
				_ = os.WriteFile(ws+"/a-file-with-a-long-name-"+string(rune('a'+i/20))+string(rune('a'+i%20)), nil, 0o600)
			}
		}
		r := Request{
			Tier: policy.Guarded, Workspace: ws, Caches: policy.SharedCaches, Guard: rnd.IntN(2) == 0, Environ: []string{"HOME=" + home},
			Own: []string{home + "/.config/bawn"},
		}
		whole, wholeErr := settled(r)
		r.Decisions = true
		brief, briefErr := settled(r)
		r.Reads = true
		reads, readsErr := settled(r)
		if text(wholeErr) != text(briefErr) || text(wholeErr) != text(readsErr) {
			t.Fatalf("seed %d: errors %v, %v, %v", seed, wholeErr, briefErr, readsErr)
		}
		if wholeErr != nil {
			continue
		}
		settledOnce++
		for _, p := range append(places, home, dir, ws, "/etc/shadow", "/root/.ssh/id", "/tmp/x") {
			real, err := RealPath(p)
			if err != nil {
				continue
			}
			read, write := policy.Read{Path: real}, policy.Write{Path: real}
			if a, b, c := whole.Decide(read), brief.Decide(read), reads.Decide(read); a != b || a.Verdict != c.Verdict || a.Verdict == policy.Deny && a != c {
				t.Fatalf("seed %d: read %q: %+v, %+v, %+v", seed, real, a, b, c)
			}
			if a, b := whole.Decide(write), brief.Decide(write); a != b {
				t.Fatalf("seed %d: write %q: %+v, %+v", seed, real, a, b)
			}
			if a, b, c := hiddenBelow(whole, real), hiddenBelow(brief, real), hiddenBelow(reads, real); a != b || a != c {
				t.Fatalf("seed %d: below %q: %s, %s, %s", seed, real, a, b, c)
			}
		}
	}
	if settledOnce == 0 {
		t.Error("no policy was ever made")
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func settled(r Request) (policy.Policy, error) {
	c, _, err := Inspect(r)
	if err != nil {
		return policy.Policy{}, err
	}
	return policy.New(c)
}

func hiddenBelow(p policy.Policy, dir string) (out string) {
	for _, r := range p.Files().Below(dir) {
		if r.Access == policy.Hidden {
			out += r.Path + "\n"
		}
	}
	return out
}
