package policy

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// installNames are those of several tools, with the manifests if adds.
func installNames(adds bool) WriteNames {
	w := WriteNames{
		On: true, Folders: []string{"node_modules", "target", ".venv", "venv", "vendor", ".yarn/cache", ".yarn/unplugged"},
		Files: []string{"package-lock.json", "Cargo.lock", "uv.lock", "pnpm-lock.yaml", "go.sum", "bun.lock", "bun.lockb", "yarn.lock", ".yarn/install-state.gz"},
		Rule:  Rule{ID: "install:write", Text: "a package install writes only some names"},
	}
	if adds {
		w.Files = append(w.Files, "package.json", "go.mod")
	}
	return w
}

func TestPlace(t *testing.T) {
	w := installNames(false)
	for rel, want := range map[string]Place{
		"": Elsewhere, "src": Elsewhere, "node_modules": ListedFolder, "node_modules/a/b": Below, "a/b/node_modules/c": Below,
		"a/target": ListedFolder, "targets": Elsewhere, "xnode_modules/a": Elsewhere, "Target": Elsewhere,
		"package-lock.json": ListedFile, "a/Cargo.lock": ListedFile, "cargo.lock": Elsewhere, "package-lock.json/x": Elsewhere, "package.json": Elsewhere,
		".yarn": Way, "a/.yarn": Way, ".yarn/cache": ListedFolder, ".yarn/cache/x": Below, ".yarn/releases": Elsewhere, ".yarn/install-state.gz": ListedFile,
		"package-lock.json.123": Temporary, ".package-lock.json.tmp": Temporary, "package-lock.json.12-3.tmp": Temporary, "package-lock.json-x": Temporary, "package-lock.json~": Temporary,
		"go.sum.ab12cd34": Temporary, "go.sum_x": Temporary,
		// Left behind, these would be read for what their ends say.
		"go.sum.go": Elsewhere, "go.sum_test.go": Elsewhere, ".github/workflows/go.sum.yml": Elsewhere, "src/bin/.Cargo.lock.rs": Elsewhere, "a/package-lock.json-x.test.js": Elsewhere,
		"a/package-lock.json~.js": Elsewhere, "go.sum.1.go": Elsewhere, "go.sum.go.1": Temporary, "go.sum.tmp.go": Elsewhere, "go.sum.a1b2c3.sh": Elsewhere, "go.sum.x": Elsewhere, "go.sum.": Elsewhere,
		"atomic-write-a.test.js": Elsewhere, ".atomic-writeabc.yml": Elsewhere, "atomic-write-ab_123": Temporary, ".atomic-write1a2b3c4d": Temporary, "Cargo.lockAbC123": Temporary, "Cargo.lockAbC12": Elsewhere,
		"Cargo.locksmith.rs": Elsewhere, ".tmpAbC123": Temporary, ".tmp": Elsewhere, ".tmpabc.sh": Elsewhere, "a/.tmpAbC123": Temporary,
		"targetAbC123": TemporaryFolder, "a/targetAbC123": TemporaryFolder, "targetAbC12": Elsewhere, "targetAbC123/x/y": BelowTemporary, "targets/x": Elsewhere,
		"targetAbC123/node_modules/x": Below, "targetAbC12.": Elsewhere,
		".lock-0123456789abcdef.tmp": Temporary, ".lockb-0123456789abcdef.tmp": Temporary, ".lock-0123456789abcdef": Elsewhere,
		"_tmp_12_0123456789abcdef0123456789abcdef": Temporary, "_tmp_12_0123456789abcdef": Elsewhere, "_tmp_0123456789abcdef0123456789abcdef": Elsewhere, "_tmp_12_0123456789abcdef0123456789abcde.": Elsewhere,
		".git": Elsewhere, ".git/refs/heads/target": Elsewhere, "a/.GIT/node_modules/x": Elsewhere, ".git/go.sum": Elsewhere, "node_modules/a/.git/x": Below, ".gitx/target": ListedFolder,
		".yarn/install-state.gz.1": Temporary, "install-state.gz.1": Elsewhere, "package-lock.json." + strings.Repeat("a", 64): Elsewhere,
	} {
		if got := w.Place(rel); got != want {
			t.Errorf("%q: %d, want %d", rel, got, want)
		}
	}
	for _, n := range append(append([]string(nil), installNames(true).Files...), w.Folders...) {
		if !IsClean("/" + n) {
			t.Errorf("name %q", n)
		}
	}
}

// What is allowed has a listed name in it, or is a new file named after one.
func TestPlaceHasAReason(t *testing.T) {
	w := WriteNames{On: true, Folders: []string{"d", "x/y"}, Files: []string{"f.lock", "x/g"}}
	rapid.Check(t, func(t *rapid.T) {
		elems := rapid.SliceOfN(rapid.SampledFrom([]string{"d", "x", "y", "f.lock", "g", "a", "dd", "f.lock.1", "D"}), 1, 5).Draw(t, "path")
		rel := strings.Join(elems, "/")
		slashed := "/" + rel + "/"
		listed := strings.Contains(slashed, "/d/") || strings.Contains(slashed, "/x/y/")
		last := elems[len(elems)-1]
		file := last == "f.lock" || strings.HasSuffix(rel, "x/g")
		switch got := w.Place(rel); got {
		case Below, ListedFolder:
			if !listed {
				t.Fatalf("%q is %d", rel, got)
			}
		case ListedFile:
			if !file {
				t.Fatalf("%q is a listed file", rel)
			}
		case Way:
			if last != "x" {
				t.Fatalf("%q is on the way", rel)
			}
		case TemporaryFolder, BelowTemporary:
			t.Fatalf("%q is a temporary folder's", rel)
		case Temporary:
			if last != "f.lock.1" {
				t.Fatalf("%q is temporary", rel)
			}
		case Elsewhere:
			if listed || last == "f.lock" {
				t.Fatalf("%q is not listed", rel)
			}
		}
	})
}

func TestWritesNarrowThePolicy(t *testing.T) {
	c := Config{Tier: Guarded, Workspace: "/home/u/ws", Homes: []string{"/home/u"}, Guard: true, Writes: installNames(false)}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Verdict{
		"/home/u/ws/node_modules/a": Allow, "/home/u/ws/go.sum": Allow, "/home/u/ws/main.go": Deny, "/home/u/ws": Deny, "/tmp/x": Allow,
		"/home/u/ws/go.sum.1": Deny, // only as a file of the run's own
	} {
		d := p.Decide(Write{path})
		if d.Verdict != want || want == Deny && d.Rule != c.Writes.Rule {
			t.Errorf("%s: %+v", path, d)
		}
		if p.Decide(Read{path}).Verdict != Allow {
			t.Errorf("%s cannot be read", path)
		}
	}
	for name, change := range map[string]func(*Config){
		"no guard":   func(c *Config) { c.Guard = false },
		"open":       func(c *Config) { c.Tier = Open },
		"no reason":  func(c *Config) { c.Writes.Rule = Rule{} },
		"dirty name": func(c *Config) { c.Writes.Files = []string{"../x"} },
		"empty name": func(c *Config) { c.Writes.Folders = []string{""} },
	} {
		bad := c
		change(&bad)
		var refused *RefusedError
		if _, err := New(bad); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
