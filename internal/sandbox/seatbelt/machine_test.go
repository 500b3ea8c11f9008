package seatbelt

import (
	"slices"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

const (
	home = "/Users/dev"
	ws   = home + "/proj"
	temp = "/private/var/folders/ab/xyz/T"
	own  = temp + "/bawn-run-1"
)

// machine is a Mac written by hand, with a repository that has a submodule and
// a linked working tree.
type machine struct {
	config policy.Config
	host   sandbox.Host
}

func newMachine(tier policy.Tier) *machine {
	noEnv := func(string) string { return "" }
	m := &machine{config: policy.Config{
		Tier: tier, Workspace: ws, Homes: []string{home}, Guard: true,
		MacOS:  &policy.MacOS{Temp: temp, Cache: "/private/var/folders/ab/xyz/C"},
		Hidden: append(policy.Credentials([]string{home}, noEnv), policy.MacCredentials([]string{home})...),
		Caches: append(policy.Caches(home, noEnv, policy.SharedCaches), policy.MacCaches(home)...),
	}}
	m.protect(ws)
	for _, path := range []string{
		ws + "/.git/config", ws + "/.git/hooks", ws + "/.git/modules/sub/config", ws + "/.git/modules/sub/hooks",
		ws + "/.git/worktrees/wt/commondir", ws + "/.git/worktrees/wt/gitdir",
	} {
		m.config.Protected = append(m.config.Protected, policy.ProtectRule(path, "git control file"))
		m.host.Control = append(m.host.Control, path)
	}
	m.host.Pins = []string{ws + "/.git", ws + "/.git/modules", ws + "/.git/modules/sub", ws + "/.git/worktrees", ws + "/.git/worktrees/wt"}
	return m
}

func (m *machine) protect(dir string) {
	for i, n := range policy.ProtectedNames() {
		if !slices.Contains(m.config.Lifted, n.Lift) {
			m.config.Protected = append(m.config.Protected, policy.Protected(dir)[i])
		}
	}
}

func (m *machine) text(t testing.TB) string {
	t.Helper()
	p, err := policy.New(m.config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Profile(p, m.host, Run{Temp: []string{own}, Hide: temp + "/bawn-profile-1", TTY: "/dev/ttys007"})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// box is a profile to which things are tried.
type box struct {
	t testing.TB
	p profile
}

func (m *machine) box(t testing.TB) box {
	t.Helper()
	p, err := parseProfile(m.text(t))
	if err != nil {
		t.Fatal(err)
	}
	return box{t, p}
}

func (b box) may(s subject) bool {
	b.t.Helper()
	ok, err := b.p.allows(s)
	if err != nil {
		b.t.Error(err)
	}
	return ok
}

func (b box) file(op, path, kind string) bool {
	b.t.Helper()
	return b.may(subject{operation: op, path: path, kind: kind})
}

const (
	file   = "REGULAR-FILE"
	folder = "DIRECTORY"
	link   = "SYMLINK"
)

func (b box) read(path string) bool   { return b.file("file-read-data", path, file) }
func (b box) stat(path string) bool   { return b.file("file-read-metadata", path, file) }
func (b box) change(path string) bool { return b.file("file-write-data", path, file) }
func (b box) remove(path string) bool { return b.file("file-write-unlink", path, file) }
func (b box) mkdir(path string) bool  { return b.file("file-write-create", path, folder) }
func (b box) write(path string) bool {
	return b.file("file-write-create", path, file) && b.change(path)
}
func (b box) symlink(path string) bool { return b.file("file-write-create", path, link) }
func (b box) move(from, to, kind string) bool {
	return b.file("file-write-unlink", from, kind) && b.file("file-write-create", to, kind)
}
func (b box) link(from, to string) bool {
	return b.file("file-link", from, file) && b.file("file-write-create", to, file)
}

// pair is one thing that is refused and its twin that is not.
type pair struct {
	what string
	got  bool
	want bool
}

func check(t *testing.T, pairs []pair) {
	t.Helper()
	for _, p := range pairs {
		if p.got != p.want {
			t.Errorf("%s: allowed is %v, want %v", p.what, p.got, p.want)
		}
	}
}
