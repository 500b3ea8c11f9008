package sandbox

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// fakeFS is a machine written by hand: a path is a folder ("dir"), a file
// ("file"), a socket ("sock") or a link ("-> text"). Folders above are there.
type fakeFS map[string]string

func newFS(entries ...string) fakeFS {
	fs := fakeFS{}
	for _, e := range append([]string{"/tmp", "/var/tmp", "/run", "/etc/passwd=file"}, entries...) {
		p, what, ok := strings.Cut(e, "=")
		if !ok {
			what = "dir"
		}
		fs.add(p, what)
	}
	return fs
}

func (fs fakeFS) add(p, what string) {
	fs[p] = what
	for d := policy.Parent(p); fs[d] == ""; d = policy.Parent(d) {
		fs[d] = "dir"
	}
}

func (fs fakeFS) kind(p string) Kind {
	what := fs[p]
	switch {
	case what == "":
		return KindNone
	case what == "dir":
		return KindDir
	case what == "file":
		return KindFile
	case strings.HasPrefix(what, "-> "):
		return KindLink
	}
	return KindOther
}

func (fs fakeFS) list(dir string) []Entry {
	out := []Entry{}
	for _, p := range slices.Sorted(maps.Keys(fs)) {
		if p != "/" && policy.Parent(p) == dir {
			out = append(out, Entry{path.Base(p), fs.kind(p), strings.TrimPrefix(fs[p], "-> ")})
			if fs.kind(p) != KindLink {
				out[len(out)-1].Link = ""
			}
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// inspect gives the facts that Inspect would gather about this machine.
func (fs fakeFS) inspect(c policy.Config) Host {
	h := Host{Kinds: map[string]Kind{}, Dirs: map[string][]Entry{}, Modes: map[string]uint32{}, Links: map[string]string{}, Copies: map[string]string{}}
	look := func(p string) {
		for ; ; p = policy.Parent(p) {
			h.Kinds[p] = fs.kind(p)
			if p == "/" {
				return
			}
		}
	}
	for _, p := range slices.Concat([]string{c.Workspace, "/tmp", "/var/tmp", "/run"}, c.AddDirs, c.GitDirs, c.Homes) {
		look(p)
	}
	for _, r := range slices.Concat(c.Hidden, c.Caches, c.Protected) {
		look(r.Path)
	}
	for _, home := range c.Homes {
		h.Dirs[home], h.Modes[home] = fs.list(home), 0o755
		for _, r := range c.Hidden {
			for d := policy.Parent(r.Path); policy.Inside(d, home); d = policy.Parent(d) {
				if fs.kind(d) == KindDir {
					h.Dirs[d], h.Modes[d] = fs.list(d), 0o755
				}
			}
		}
	}
	if c.RunUser != "" {
		h.RunUser = c.RunUser
	}
	return h
}

func mustPolicy(t *testing.T, c policy.Config) policy.Policy {
	t.Helper()
	p, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// show writes one step the way the golden files have it.
func show(m Mount) string {
	name := [...]string{
		OpTmpfs: "tmpfs", OpSkeleton: "skeleton", OpBind: "bind", OpPin: "pin", OpDir: "dir", OpFile: "file",
		OpSymlink: "symlink", OpMask: "mask", OpSeal: "seal", OpProc: "proc", OpDev: "dev", OpReplace: "replace", OpLayer: "layer", OpStaged: "staged",
	}[m.Op]
	s := fmt.Sprintf("%-8s %s", name, m.Target)
	switch m.Op {
	case OpTmpfs, OpSkeleton, OpDir, OpFile, OpReplace:
		s += fmt.Sprintf(" %04o", m.Mode)
	case OpBind, OpLayer, OpStaged:
		if m.Source != m.Target {
			s += " from " + m.Source
		}
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{m.Write, "write"}, {m.Dir, "folder"}, {m.Try, "try"}, {m.Lost, "lost"}} {
		if f.on {
			s += " " + f.name
		}
	}
	if m.Data != "" {
		s += fmt.Sprintf(" %q", m.Data)
	}
	return s
}

// view is what a sandbox shows at a path after its steps.
type view uint8

const (
	viewNothing   view = iota // nothing of the host: a stub, or a place of the sandbox's own
	viewHostRead              // the host's content, read-only
	viewCopy                  // the host's content, and what is written stays here
	viewHostWrite             // the host's content, writable
)

func (v view) String() string {
	return [...]string{"nothing", "read-only", "private copy", "read-write"}[v]
}

// look finds what the steps show at path: the last one that covers it decides.
func look(mounts []Mount, p string) view {
	for i := len(mounts) - 1; i >= 0; i-- {
		m := mounts[i]
		if !policy.Inside(p, m.Target) {
			continue
		}
		switch m.Op {
		case OpSeal:
			continue
		case OpBind:
			if m.Write {
				return viewHostWrite
			}
			return viewHostRead
		case OpPin:
			under := look(mounts[:i], p)
			if under > viewHostRead && !m.Write {
				return viewHostRead
			}
			return under
		case OpLayer, OpStaged:
			return viewCopy
		}
		return viewNothing
	}
	return viewHostRead // the root is read-only
}
