//go:build linux

package rules_test

import (
	"os"
	"testing"

	"bawn/internal/policy"
)

// installNames are those of several tools.
func installNames(adds bool) policy.WriteNames {
	w := policy.WriteNames{
		On: true, Folders: []string{"node_modules", "target", ".venv", "venv", ".yarn/cache"},
		Files: []string{"package-lock.json", "Cargo.lock", "uv.lock", "pnpm-lock.yaml", "go.sum", "bun.lock", "yarn.lock", ".yarn/install-state.gz"},
		Rule:  policy.Rule{ID: "install:write", Text: "a package install writes only some names"},
	}
	if adds {
		w.Files = append(w.Files, "package.json", "go.mod")
	}
	return w
}

// F9: a package install writes its folders, lock files and nothing else.
func TestOnly(t *testing.T) {
	w := newWorld(t, false)
	tree := func() {
		t.Helper()
		must(t, os.MkdirAll(w.ws+"/src", 0o755))
		must(t, os.MkdirAll(w.ws+"/sub/target", 0o755))
		must(t, os.MkdirAll(w.ws+"/targetOld123", 0o755))
		for _, f := range []string{"old", "package.json", "src/a.js", "package-lock.json.bak", ".tmpAbC123", "targetOld123/x"} {
			must(t, os.WriteFile(w.ws+"/"+f, []byte("kept\n"), 0o644))
		}
	}
	for _, ok := range []string{
		`mkdir node_modules node_modules/a; echo x >node_modules/a/b; ln -s ../src node_modules/c; mv node_modules/a node_modules/d; ln node_modules/d/b node_modules/e; rm -r node_modules`,
		`echo x >package-lock.json.1234567; mv package-lock.json.1234567 package-lock.json; echo y >>package-lock.json; rm package-lock.json`,
		`echo x >.package-lock.json-9; mv .package-lock.json-9 package-lock.json`,
		`mkdir -p target/debug .venv/bin; echo x >Cargo.lock; echo y >Cargo.lockAb12Cd; mv Cargo.lockAb12Cd Cargo.lock; mv target .venv/x; rm -r .venv`,
		`echo x >.tmpAb12Cd; echo y >>.tmpAb12Cd; mv .tmpAb12Cd uv.lock; echo x >.tmpxyz789; rm .tmpxyz789`,
		`echo x >pnpm-lock.yaml; echo x >go.sum; echo x >.lock-0123456789abcdef.tmp; mv .lock-0123456789abcdef.tmp bun.lock`,
		`mkdir sub/node_modules; echo x >sub/node_modules/a; echo x >sub/yarn.lock; rm -r sub/target sub/node_modules`,
		`mkdir -p .yarn/cache; echo x >.yarn/cache/a.zip; echo x >.yarn/install-state.gz`,
		`echo x >"$CACHE"/any; mkdir "$CACHE"/d node_modules; ln "$CACHE"/any node_modules/any; mv "$CACHE"/any node_modules/any2; rmdir "$CACHE"/d; rm -r node_modules`,
	} {
		tree()
		script := "export CACHE=" + w.ws + "/../cache; mkdir -p $CACHE; " + ok
		if out, denied, _, err := w.inside(w.ws, script, installNames(false)); err != nil || len(denied) > 0 {
			t.Errorf("%s: %v, denied %+v\n%s", ok, err, denied, out)
		}
	}
	tree()
	must(t, os.MkdirAll(w.ws+"/node_modules/d", 0o755))
	must(t, os.WriteFile(w.ws+"/package-lock.json", []byte("kept\n"), 0o644))
	for _, bad := range []string{
		`echo x >src.js`, `mkdir d`, `ln -s x l`, `mv node_modules/d d`, `mv package-lock.json x`, `ln package-lock.json x`, `ln old node_modules/old`, `echo x >>old`, `echo x >package.json`,
		`echo x >targets`, `echo x >.tmpAb12Cd; mv .tmpAb12Cd index.js`, `mkdir -p node_modules/a/.git/hooks; echo x >node_modules/a/.git/hooks/pre-commit`, `truncate -s0 old`,
		`rm old`, `rm -r src`, `rmdir sub`, `mv src node_modules/src`, `rm package.json`, `mv old package-lock.json`,
		// What is left behind must not be code, a workflow or a test.
		`echo x >go.sum.go`, `echo x >sub/go.sum_test.go`, `echo x >src/.package-lock.json.yml`, `echo x >atomic-write-a.test.js`, `echo x >yarn.lock.1; mv yarn.lock.1 yarn.lock.js`,
		// Nobody's temporary file but one that was there before.
		`echo x >>package-lock.json.bak`, `rm package-lock.json.bak`, `mv package-lock.json.bak package-lock.json`, `echo x >>.tmpAbC123`, `ln .tmpAbC123 node_modules/t`,
		// Links through which a program outside would write elsewhere.
		`ln -s src node_modules2`, `ln -s src .venv`, `ln -s src/a.js yarn.lock`, `ln -s src node_modules/s; mv node_modules/s venv`, `ln -s src/a.js node_modules/l; mv node_modules/l yarn.lock`,
		`ln -s ../src node_modules/s2; echo x >node_modules/s2/a.js`, `ln -s ../../src node_modules/d/s; rm node_modules/d/s/a.js`,
		`mkfifo yarn.lock`, `echo x >targetOld123/a`, `mv targetOld123 target`, `mkdir targetOld123/b`, `rm -r targetOld123`, `mkdir targetAbC12`, `mkdir targetAbC123; mv targetAbC123 src2`, `ln -s src targetAbC124`, `mkdir venvAbC123; ln old venvAbC123/x`,
		`mkdir yarn.lock`, `echo x >node_modules2`, `echo x >venv`, `mv package-lock.json package-lock.json.1`, `echo x >PACKAGE-LOCK.JSON`, `echo x >sub/.yarn`, `mkdir -p .yarn/releases`,
		`exec 3<old; echo x >/proc/self/fd/3`, `exec 3<old; ln -L /proc/self/fd/3 node_modules/o`,
		`ln old ../cache/o`, `mv old ../cache/o`,
	} {
		if out, denied, _, err := w.inside(w.ws, bad, installNames(false)); err == nil || len(denied) == 0 {
			t.Errorf("%s: %v, denied %+v\n%s", bad, err, denied, out)
		}
		for _, f := range []string{"old", "package.json", "src/a.js", "package-lock.json.bak", ".tmpAbC123", "package-lock.json", "targetOld123/x"} {
			if b, err := os.ReadFile(w.ws + "/" + f); err != nil || string(b) != "kept\n" {
				t.Fatalf("%s: %s is %q, %v", bad, f, b, err)
			}
		}
	}
	if out, _, _, err := w.inside(w.ws, `echo x >package.json; echo x >go.mod`, installNames(true)); err != nil {
		t.Errorf("a manifest: %v\n%s", err, out)
	}
	// Without names nothing is written.
	none := installNames(false)
	none.Folders, none.Files = nil, nil
	if _, denied, _, err := w.inside(w.ws, `mkdir node_modules/x`, none); err == nil || len(denied) == 0 {
		t.Errorf("an empty list: %v, denied %+v", err, denied)
	}
}
