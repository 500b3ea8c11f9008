package sandbox

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bawn/internal/policy"
)

// machine makes a small host and a policy for it, whose rules meet and nest.
type machine struct {
	r  *rand.Rand
	fs fakeFS
}

func (m machine) path(base string, depth int) string {
	names := []string{"a", "b", "a.b", "a-b", "c"}
	p := base
	for range 1 + m.r.IntN(depth) {
		p += "/" + names[m.r.IntN(len(names))]
	}
	return p
}

func (m machine) base() string {
	return []string{home, home, home, "/data"}[m.r.IntN(4)]
}

func (m machine) grow() {
	for range 5 + m.r.IntN(25) {
		p := m.path(m.base(), 4)
		blocked := m.fs[p] != ""
		for d := policy.Parent(p); d != "/"; d = policy.Parent(d) {
			blocked = blocked || (m.fs[d] != "" && m.fs[d] != "dir")
		}
		if !blocked {
			m.fs.add(p, []string{"dir", "dir", "dir", "file", "file", "sock", "-> x"}[m.r.IntN(7)])
		}
	}
}

func (m machine) config() policy.Config {
	c := policy.Config{
		Tier: policy.Tier(m.r.IntN(2)), Temp: policy.TempMode(m.r.IntN(2)), Homes: []string{home}, Workspace: m.path(m.base(), 3),
	}
	if m.r.IntN(5) == 0 {
		c.Mode = policy.ReadOnlyMode
	}
	for range m.r.IntN(6) {
		c.Hidden = append(c.Hidden, hide(m.path(m.base(), 4)))
	}
	caches := []policy.Access{policy.ReadWrite, policy.PrivateCopy}[m.r.IntN(2)]
	for range m.r.IntN(4) {
		dir := m.path(m.base(), 3)
		c.Caches = append(c.Caches, policy.FixedRule(dir, caches, "cache:x", "a cache"))
		if p := m.path(dir, 2); m.r.IntN(2) == 0 && m.fs[p] != "" { // what the settings protect may lie there
			c.Protected = append(c.Protected, policy.ProtectRule(p, "a test"))
			switch m.r.IntN(4) { // and in that again what is not
			case 0:
				c.Workspace = m.path(p, 1)
			case 1:
				q := m.path(p, 1)
				if m.fs[p] == "dir" && m.fs[q] == "" {
					m.fs.add(q, "dir")
				}
				c.Caches = append(c.Caches, policy.FixedRule(q, caches, "cache:x", "a cache"))
				if m.fs[q] == "dir" && m.fs[q+"/secret"] == "" {
					m.fs.add(q+"/secret", "file")
					c.Hidden = append(c.Hidden, hide(q+"/secret"))
				}
			}
		}
	}
	writable := []string{c.Workspace}
	if m.r.IntN(2) == 0 {
		c.AddDirs = []string{m.path(m.base(), 3)}
		writable = append(writable, c.AddDirs...)
	}
	if m.r.IntN(4) == 0 {
		c.GitDirs = []string{m.path(m.base(), 3)}
		writable = append(writable, c.GitDirs...)
	}
	for _, d := range writable {
		m.fs.add(d, "dir")
		for range m.r.IntN(3) {
			if p := m.path(d, 2); m.fs[p] != "" {
				c.Protected = append(c.Protected, policy.ProtectRule(p, "a test"))
			}
		}
	}
	return c
}

// valid reports whether no folder lies below something that is not one: the
// folders that config needs may have replaced a file.
func (m machine) valid() bool {
	for p := range m.fs {
		if p != "/" && m.fs[policy.Parent(p)] != "dir" {
			return false
		}
	}
	return true
}

// For every policy and host: what the steps show is never more than what the
// table says, what is writable is there, and no step covers an earlier one.
func TestPlanShowsWhatThePolicySays(t *testing.T) {
	planned, kept := 0, 0
	for seed := range uint64(9000) {
		m := machine{rand.New(rand.NewPCG(seed, 7)), newFS(home, "/data")}
		m.grow()
		cfg := m.config()
		if !m.valid() {
			continue
		}
		p, err := policy.New(cfg)
		if err != nil {
			continue // a refused folder
		}
		planned++
		h := m.fs.inspect(cfg)
		for q := range m.fs {
			if m.fs.kind(q) == KindOther && m.r.IntN(2) == 0 {
				h.Sockets, h.Kinds[q] = append(h.Sockets, q), KindOther
			}
		}
		slices.Sort(h.Sockets)
		for _, pr := range cfg.Protected {
			for d := policy.Parent(pr.Path); d != cfg.Workspace && policy.Inside(d, cfg.Workspace); d = policy.Parent(d) {
				h.Pins = append(h.Pins, d)
			}
		}
		for _, c := range cfg.Caches {
			for _, r := range cfg.Hidden {
				for d := policy.Parent(r.Path); d != c.Path && policy.Inside(d, c.Path); d = policy.Parent(d) {
					h.Pins = append(h.Pins, d)
				}
			}
		}
		mounts := Plan(p, h, Command{}).Mounts
		if bad := misplaced(mounts); bad != "" {
			t.Fatalf("seed %d: %s\n%s", seed, bad, describe(cfg, m.fs, mounts))
		}
		staged := Plan(p, h, Command{Staged: Staged{Dir: "/state", Since: 1}}).Mounts
		if bad := misplaced(staged); bad != "" {
			t.Fatalf("seed %d: staged: %s\n%s", seed, bad, describe(cfg, m.fs, staged))
		}
		for q := range m.fs {
			// A staged run writes no folder of the host's but caches and temp, and shows no other.
			rule, direct, got := p.Files().Lookup(q), look(mounts, q), look(staged, q)
			switch {
			case direct != viewHostWrite && got == direct:
			case direct == viewHostWrite && (got == viewCopy || got == viewHostWrite && (rule.IsCache() || rule.Path == "/tmp" || rule.Path == "/var/tmp")):
				if got == viewCopy {
					kept++
				}
			default:
				t.Fatalf("seed %d: staged: %s is %v by %q, without --stage %v\n%s", seed, q, got, rule.Path, direct, describe(cfg, m.fs, staged))
			}
		}
		for q := range m.fs {
			rule, got := p.Files().Lookup(q), look(mounts, q)
			kind := m.fs.kind(q)
			bad := ""
			switch {
			case rule.Access == policy.Hidden && got != viewNothing && kind != KindLink:
				bad = "is hidden"
			case rule.Access == policy.ReadOnly && got > viewHostRead && kind != KindLink:
				bad = "is read-only"
			case rule.Access == policy.Private && got != viewNothing:
				bad = "is private"
			case rule.Access == policy.ReadWrite && kind == KindDir && got != viewHostWrite && m.fs.kind(rule.Path) == KindDir:
				bad = "is writable"
			case rule.Access == policy.PrivateCopy && (got == viewHostWrite || kind == KindDir && got != viewCopy && m.fs.kind(rule.Path) == KindDir):
				bad = "is a private copy"
			case rule.Access == policy.ReadOnly && (kind == KindDir || kind == KindFile) && got == viewNothing && q != "/run" && !m.shownAsSkeleton(mounts, q):
				bad = "is readable"
			case slices.Contains(h.Sockets, q) && got != viewNothing:
				bad = "is a socket of the host"
			}
			if bad != "" {
				t.Fatalf("seed %d: %s %s by %q, but the sandbox shows %v\n%s", seed, q, bad, rule.Path, got, describe(cfg, m.fs, mounts))
			}
		}
	}
	if planned < 1000 || kept < 1000 {
		t.Errorf("only %d policies were planned, with %d staged places", planned, kept)
	}
}

func (m machine) shownAsSkeleton(mounts []Mount, p string) bool {
	return slices.ContainsFunc(mounts, func(x Mount) bool { return x.Op == OpSkeleton && x.Target == p })
}

// misplaced finds a step that would cover an earlier one below it, or makes a
// name where only the host can.
func misplaced(mounts []Mount) string {
	for j, m := range mounts {
		if m.Op == OpSeal || m.Op == OpPin {
			continue // a pin shows what is below it
		}
		for _, earlier := range mounts[:j] {
			if earlier.Target == m.Target && (earlier.Op == OpSeal || m.Op == OpMask) {
				continue
			}
			if policy.Inside(earlier.Target, m.Target) {
				return show(m) + " covers " + show(earlier)
			}
		}
	}
	for j, m := range mounts {
		if m.Op != OpDir && m.Op != OpFile && m.Op != OpSymlink {
			continue
		}
		if look(mounts[:j], m.Target) != viewNothing {
			return show(m) + " would be made on the host"
		}
	}
	return ""
}

func describe(c policy.Config, fs fakeFS, mounts []Mount) string {
	s := "workspace " + c.Workspace + "\n"
	for _, r := range slices.Concat(c.Hidden, c.Caches, c.Protected) {
		s += "rule " + r.Access.String() + " " + r.Path + "\n"
	}
	for _, d := range c.AddDirs {
		s += "add-dir " + d + "\n"
	}
	for p, k := range fs {
		s += "host " + p + " " + k + "\n"
	}
	for _, m := range mounts {
		s += show(m) + "\n"
	}
	return s
}
