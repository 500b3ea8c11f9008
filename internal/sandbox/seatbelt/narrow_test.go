package seatbelt

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/policy"
)

func installing() *machine {
	m := newMachine(policy.Guarded)
	m.config.Profile = policy.InstallProfile
	m.config.Install = policy.Install{Folders: []string{"node_modules", "a/b"}, Files: []string{"package-lock.json", ".yarn/state"}}
	return m
}

// F9: a package install writes what it must and nothing else.
func TestF9_Install(t *testing.T) {
	b := installing().box(t)
	check(t, []pair{
		{"dependencies", b.write(ws + "/node_modules/x/index.js"), true},
		{"the folder", b.mkdir(ws + "/packages/a/node_modules"), true},
		{"a link in its place", b.symlink(ws + "/node_modules"), false},
		{"a link in it", b.symlink(ws + "/node_modules/.bin/x"), true},
		{"lock file", b.write(ws + "/package-lock.json"), true},
		{"by rename", b.move(ws+"/.package-lock.json.12345678", ws+"/package-lock.json", file), true},
		{"its temporary", b.write(ws + "/package-lock.json.tmp"), true},
		{"one with a meaning", b.write(ws + "/package-lock.json.js"), false},
		{"source", b.write(ws + "/src/index.js"), false},
		{"source removed", b.remove(ws + "/src/index.js"), false},
		{"manifest", b.write(ws + "/package.json"), false},
		{"git", b.write(ws + "/.git/index"), false},
		{"git, dependencies", b.write(ws + "/.git/node_modules/x"), false},
		{"git of a nested repository", b.write(ws + "/sub/.git/node_modules/x"), false},
		{"hooks of a dependency", b.write(ws + "/node_modules/x/.git/hooks/y"), false},
		{"on the way", b.mkdir(ws + "/a"), true},
		{"the listed one", b.write(ws + "/a/b/x"), true},
		{"beside it", b.write(ws + "/a/c"), false},
		{"another case", b.write(ws + "/NODE_MODULES/x"), false},
		{"cache", b.write(home + "/.npm/x"), true},
		{"temp", b.write(own + "/x"), true},
	})
}

// What the install profile writes on Linux it writes here, and hardly more:
// only temporary names, and what they stand for.
func TestF9_SameAsPlace(t *testing.T) {
	m := installing()
	p, err := policy.New(m.config)
	if err != nil {
		t.Fatal(err)
	}
	b, names := m.box(t), p.Writes()
	element := rapid.SampledFrom([]string{
		"node_modules", "node_modulesAb12Cd", "a", "b", "package-lock.json", "package-lock.json.1234567", ".package-lock.json-x", "package-lock.json~",
		"package-lock.jsonAb12Cd", ".tmpAbCdEf", "src", "x.js", ".yarn", "state", "state.tmp", ".git", ".lock-0123456789abcdef.tmp", "_tmp_1_0123456789abcdef0123456789abcdef",
		"package-lock.json.go", "package-lock.jsonx", ".atomic-write123456", "Node_modules",
	})
	rapid.Check(t, func(t *rapid.T) {
		rel := ""
		for _, e := range rapid.SliceOfN(element, 1, 4).Draw(t, "elements") {
			rel += "/" + e
		}
		place := names.Place(rel[1:])
		bb := box{b.t, b.p}
		write, mkdir := bb.write(ws+rel), bb.mkdir(ws+rel)
		switch git := bb.file("file-write-data", ws+rel, file); place {
		case policy.Elsewhere:
			if write || mkdir || git {
				t.Fatalf("%s may be written", rel)
			}
		case policy.Way:
			if write && !strings.Contains(rel, "node_modulesAb12Cd/") || !mkdir {
				t.Fatalf("%s: write %v, mkdir %v", rel, write, mkdir)
			}
		case policy.ListedFile, policy.Temporary:
			if !write {
				t.Fatalf("%s may not be written", rel)
			}
		case policy.Below, policy.BelowTemporary:
			if !write && !strings.Contains(rel+"/", "/.git/") {
				t.Fatalf("%s may not be written", rel)
			}
		}
	})
}
