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
	for seed := range uint64(20) {
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
		out := dir + "/out"
		places = append(places, out+"/x", out+"/y/z", out+"/git/HEAD")
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
		switch rnd.IntN(3) { // git's own folder elsewhere; a folder to write; both
		case 0:
			r.Folders = []Folder{{Path: out}}
		case 1:
			r.Folders = []Folder{{Path: out + "/y"}}
			fallthrough
		case 2:
			_ = os.MkdirAll(out+"/git/objects", 0o755)
			_ = os.MkdirAll(out+"/git/refs", 0o755)
			_ = os.WriteFile(out+"/git/HEAD", []byte("ref: refs/heads/main\n"), 0o600)
			_ = os.RemoveAll(ws + "/.git")
			_ = os.WriteFile(ws+"/.git", []byte("gitdir: "+out+"/git\n"), 0o600)
		}
		whole, wholeErr := settled(r)
		if wholeErr == nil {
			settledOnce++
		}
		for _, p := range append(places, home, dir, ws, home+"/.config", home+"/.nothing/x", out, "/", "/etc/shadow", "/root/.ssh/id", "/tmp/x") {
			real, err := RealPath(p)
			if err != nil {
				continue
			}
			r.Decisions, r.Reads, r.About = true, false, []string{real}
			brief, briefErr := settled(r)
			r.Reads = true
			reads, readsErr := settled(r)
			if text(wholeErr) != text(briefErr) || text(wholeErr) != text(readsErr) {
				t.Fatalf("seed %d: about %q: errors %v, %v, %v", seed, real, wholeErr, briefErr, readsErr)
			}
			if wholeErr != nil {
				continue
			}
			for _, other := range []string{real + "/x", policy.Parent(real) + "/other"} {
				for _, p := range []policy.Policy{brief, reads} {
					if d := p.Decide(policy.Read{Path: other}); d.Verdict != policy.Deny {
						t.Fatalf("seed %d: about %q: read %q: %+v", seed, real, other, d)
					}
				}
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
	if settledOnce < 10 {
		t.Errorf("%d policies were made", settledOnce)
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

// What is left out because it is not there would still have decided.
func TestDecisionsAboutAbsentPlaces(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, ws, tree, out := dir+"/home", dir+"/home/ws", dir+"/home/tree", dir+"/out"
	for _, d := range []string{ws, tree, out + "/share"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(out, home+"/.local"); err != nil {
		t.Fatal(err)
	}
	// Two working trees: one of a repository in the folder of the settings.
	repository := func(git, tree string) {
		for file, text := range map[string]string{
			tree + "/.git": "gitdir: " + git + "/worktrees/x\n", git + "/worktrees/x/gitdir": tree + "/.git\n", git + "/worktrees/x/commondir": "../..\n",
			git + "/worktrees/x/HEAD": "ref: refs/heads/x\n", git + "/HEAD": "ref: refs/heads/main\n", git + "/config": "", git + "/objects/x": "", git + "/refs/x": "",
		} {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	repository(home+"/.config", ws)
	repository(home+"/git", tree)
	if err := os.WriteFile(home+"/.config/hub", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	type kind struct{ read, write bool }
	for _, tt := range []struct {
		ws, path string
		want     kind
	}{
		{ws, out + "/share/keyrings/x", kind{}}, // through a link above
		{ws, out + "/share/other", kind{true, true}},
		{ws, home + "/.config/index", kind{true, false}}, // git's folder, which holds credentials
		{ws, home + "/.config/hub", kind{}},
		{tree, home + "/git/index", kind{true, true}},
		{tree, home + "/git/config", kind{true, false}},
	} {
		r := Request{Tier: policy.Guarded, Workspace: tt.ws, Caches: policy.SharedCaches, Guard: true, Environ: []string{"HOME=" + home}}
		for _, about := range [][]string{nil, {tt.path}} {
			r.Decisions, r.About = about != nil, about
			p, err := settled(r)
			if err != nil {
				t.Fatal(err)
			}
			read, write := p.Decide(policy.Read{Path: tt.path}), p.Decide(policy.Write{Path: tt.path})
			if got := (kind{read.Verdict == policy.Allow, write.Verdict == policy.Allow}); got != tt.want {
				t.Errorf("%s, about %q: %+v, %+v, want %v", tt.path, about, read, write, tt.want)
			}
		}
	}
}
