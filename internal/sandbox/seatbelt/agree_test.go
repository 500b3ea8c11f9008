package seatbelt

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/policy"
)

// What `bawn check` says of a path is what the profile does with it, in every tier
// and mode: the twin of TestCheckAgreesWithTheSandbox on Linux. The profile may
// refuse more only where it says so: names of git, and what a table cannot say.
func TestProfileAgreesWithPolicy(t *testing.T) {
	added := "/Users/dev/shared"
	for _, c := range []struct {
		tier policy.Tier
		mode policy.Mode
	}{
		{policy.Guarded, policy.NoMode}, {policy.Airlock, policy.NoMode}, {policy.Guarded, policy.ReadOnlyMode}, {policy.Guarded, policy.WorkspaceWrite},
	} {
		t.Run(fmt.Sprint(c.tier, c.mode), func(t *testing.T) {
			m := newMachine(c.tier)
			m.config.Mode, m.config.AddDirs = c.mode, []string{added}
			m.config.Hidden = append(m.config.Hidden, policy.SettingRule(ws+"/secrets", policy.Hidden, policy.Origin{}), policy.SettingRule(added+"/keys", policy.Hidden, policy.Origin{}))
			m.config.Protected = append(m.config.Protected, policy.SettingRule(ws+"/deploy", policy.ReadOnly, policy.Origin{}))
			m.protect(added)
			p, err := policy.New(m.config)
			if err != nil {
				t.Fatal(err)
			}
			b := m.box(t)
			reads, writes := map[bool]int{}, map[bool]int{}
			var starts []string
			for _, r := range p.Files().Rules() {
				starts = append(starts, r.Path)
			}
			starts = append(starts, "/", home, home+"/other", "/usr/local", added+"2", ws+"x", "/private/etc", home+"/Library")
			rapid.Check(t, func(t *rapid.T) {
				path := strings.TrimSuffix(rapid.OneOf(rapid.SampledFrom(starts), rapid.SampledFrom([]string{ws, added, home + "/.npm", home + "/Library/Caches"})).Draw(t, "start"), "/")
				for _, e := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b.go", "deploy", "secrets", "keys", "sub", "x y"}), 0, 3).Draw(t, "elements") {
					path += "/" + e
				}
				if path == "" || strings.HasPrefix(path, "/dev") || strings.HasPrefix(path, temp+"/") {
					return // devices and the run's own folders have rules of their own
				}
				b := box{b.t, b.p}
				read, write := p.Decide(policy.Read{Path: path}).Verdict == policy.Allow, p.Decide(policy.Write{Path: path}).Verdict == policy.Allow
				reads[read]++
				writes[write]++
				if got := b.read(path); got != read {
					t.Fatalf("read %s: the profile %v, the policy %v", path, got, read)
				}
				if got := b.change(path); got != write && !strings.Contains(path, "/.git") {
					t.Fatalf("write %s: the profile %v, the policy %v", path, got, write)
				}
				if got := b.change(path); got && !write {
					t.Fatalf("write %s passes", path)
				}
			})
			if reads[true] == 0 || reads[false] == 0 || writes[false] == 0 || writes[true] == 0 && c.mode != policy.ReadOnlyMode {
				t.Errorf("one side only: %v, %v", reads, writes)
			}
		})
	}
}

// F6: an added folder is written where the tier has it, and what is protected at
// a workspace's root is protected at its own, in any case.
func TestF6_AddedFolder(t *testing.T) {
	const added = "/Users/dev/shared"
	for tier, want := range map[policy.Tier]bool{policy.Guarded: true, policy.Airlock: false} {
		m := newMachine(tier)
		m.config.AddDirs = []string{added}
		m.protect(added)
		b := m.box(t)
		check(t, []pair{
			{"a file", b.write(added + "/a/b"), want},
			{"a folder", b.mkdir(added + "/a"), want},
			{"moved there", b.move(ws+"/x", added+"/x", file), want},
			{"its neighbour", b.write(added + "2/x"), false},
			{"the folder itself, moved", b.move(added, ws+"/s", folder), false},
			{"the one above", b.move(home, ws+"/h", folder), false},
			{"git's hooks", b.write(added + "/.git/hooks/pre-commit"), false},
			{"in another case", b.write(added + "/.GIT/Hooks/pre-commit"), false},
			{"start-up files", b.write(added + "/.bashrc"), false},
			{"in another case", b.write(added + "/.BASHRC"), false},
			{"settings of agents", b.write(added + "/.MCP.json"), false},
			{"a second name for one", b.link(ws+"/x", added+"/.zshrc"), false},
		})
	}
}
