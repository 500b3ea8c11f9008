//go:build linux

package sandboxtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// buildSource makes, for Main, a copy of this repository with its dependencies in
// vendor/, so that it builds without a network and for every user.
func buildSource(dir string) error {
	module, err := filepath.Abs("../../..")
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "source")
	for _, part := range []string{"go.mod", "go.sum", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(module, part), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(module, path)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, rel)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, data, 0o644)
		})
		if err != nil {
			return err
		}
	}
	cmd := exec.Command("go", "mod", "vendor")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod vendor: %w\n%s", err, out)
	}
	return nil
}

// warm fills the caller's build cache with the standard library, so that the
// test itself compiles only what is here.
func warm(t *testing.T, dir string, env []string, packages string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `go build $(go list -deps -f '{{if .Standard}}{{.ImportPath}}{{end}}' `+packages+`)`)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A part of this repository, with a program to link, is built from vendored
// modules with the caller's own build cache.
func TestWork_GoBuildAndVet(t *testing.T) {
	dir := filepath.Join(filepath.Dir(Binary()), "source")
	env := []string{"GOCACHE=" + goEnv(t, "GOCACHE"), "GOFLAGS=-mod=vendor", "CGO_ENABLED=0", "GOTELEMETRY=off"}
	const part, listed = "./internal/sandbox/... ./internal/shell/...", "./internal/sandbox/linux/filter/gen ./internal/shell/plain"
	warm(t, dir, env, part)
	version, err := exec.Command("go", "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	EachLauncher(t, func(t *testing.T, l string) {
		if !heavyHere(l) {
			return
		}
		t.Parallel()
		b := New(t, l)
		b.Env, b.Flags = append(env, "TMPDIR="+shortDir(t)), []string{"-q"}
		Host(t, b, "cp -R "+dir+"/. .").OK(t)
		before := dirNames(t, b.Workspace)
		// Compiled here: no cache has packages of this folder.
		r := b.Run(t, bash("go build -x "+part+" 2>log; grep -c /compile log; rm log; go vet ./internal/policy; go list -export -f '{{if .Export}}built{{end}}' "+listed+"; go version")...)
		compiled, rest, _ := strings.Cut(r.Stdout, "\n")
		if n, err := strconv.Atoi(compiled); r.Code != 0 || err != nil || n < 20 || rest != "built\nbuilt\n"+string(version) || r.Stderr != "" {
			t.Errorf("%+v", r)
		}
		if after := dirNames(t, b.Workspace); after != before {
			t.Errorf("the workspace has %s, had %s", after, before)
		}
	})
}

const cProgram = `cat >main.c <<'E'
#include <stdio.h>
#include "add.h"
int main(void) { int s = add(40, 2); printf("sum %d\n", s); return s != 42; }
E
echo 'int add(int a, int b);' >add.h
echo '#include "add.h"
int add(int a, int b) { return a + b; }' >add.c
printf 'CFLAGS = -g -O0\nsum: main.o add.o\n\t$(CC) -o $@ $^\nmain.o add.o: add.h\ncheck: sum\n\t./sum\n' >Makefile
`

func TestWork_Tools(t *testing.T) {
	testJobs(t, []string{"npm_config_update_notifier=false"}, []job{
		{name: "Make", heavy: true, setup: cProgram, run: `make -j2 check | sort; touch add.h; make check | tail -1; make -n`, want: "sum 42", after: `ls`},
		{
			name: "Gdb", setup: cProgram + `make -s sum`,
			run:  `gdb -nx -batch -ex 'break add' -ex run -ex bt -ex 'print a + b' -ex continue ./sum 2>/dev/null | sed 's/process [0-9]*/process N/; s/0x[0-9a-f]*/ADDR/g'`,
			want: "= 42",
		},
		{name: "Strace", run: `strace -f -o log -e trace=execve,exit_group sh -c 'true; /bin/true'; sed -E 's/^[0-9]+ *//; s/0x[0-9a-f]+.*vars/ENV/' log | grep -v SIGCHLD`, want: "exited with 0", after: `ls`},
		{
			name: "Java",
			setup: `mkdir -p src; cat >src/Hello.java <<'E'
import java.nio.file.*;
class Hello { public static void main(String[] a) throws Exception {
  Path p = Files.createTempFile("x", "y"); Files.writeString(p, "java"); Files.move(p, Path.of("out"), StandardCopyOption.REPLACE_EXISTING);
  int[] n = {0}; Thread t = new Thread(() -> n[0] = 42); t.start(); t.join(); System.out.println(Files.readString(Path.of("out")) + n[0]); } }
E`,
			run: `javac -J-XX:TieredStopAtLevel=1 -d classes src/Hello.java; java -XX:TieredStopAtLevel=1 -cp classes Hello`, want: "java42", heavy: true, after: `ls . classes`,
		},
		{
			name: "NpmTest",
			setup: `mkdir -p node_modules/dep test; echo '{"name":"dep","version":"1.0.0","main":"i.js"}' >node_modules/dep/package.json; echo 'module.exports = () => 42' >node_modules/dep/i.js
echo '{"name":"p","version":"1.0.0","scripts":{"pretest":"node -p 1+1","test":"node --test test/"},"dependencies":{"dep":"1.0.0"}}' >package.json
cat >test/a.test.js <<'E'
const test = require('node:test'), assert = require('node:assert'), fs = require('node:fs');
test('dep', () => assert.equal(require('dep')(), 42));
test('worker', () => new Promise((ok, no) => { const w = new (require('node:worker_threads').Worker)('require("fs").writeFileSync("w", "x")', {eval: true}); w.on('exit', ok); w.on('error', no) }));
test('file', () => { fs.mkdirSync('out'); fs.writeFileSync('out/a', 'x'); fs.renameSync('out/a', 'b') });
E`,
			run: `npm test 2>&1 | grep -v duration_ms | sed -E 's/ \([0-9.]+ms\)//'; npm ls`, want: "pass 3", heavy: true, after: `ls -A . out`,
		},
		{
			// Twin of an install from the registry: cache and project are written.
			name: "B52_NpmInstallOffline",
			setup: `mkdir -p ~/.npm dep $ROOT/tools/node_modules/.bin; echo '{"name":"dep","version":"1.0.0","bin":{"dep":"b.js"},"scripts":{"install":"echo ran >installed"}}' >dep/package.json
printf '#!/usr/bin/env node\nconsole.log("dep runs")\n' >dep/b.js; chmod +x dep/b.js; cp dep/b.js $ROOT/tools/node_modules/.bin/other; echo '{"name":"p","version":"1.0.0"}' >package.json`,
			run:  `npm install --offline --no-audit --no-fund --install-links ./dep | sed -E 's/in [0-9.]+m?s//'; node_modules/.bin/dep; PATH=$ROOT/tools/node_modules/.bin:$PATH other; cat node_modules/dep/installed; cat package.json`,
			want: "dep runs", heavy: true, after: `ls -A . node_modules node_modules/.bin ~/.npm; find ~/.npm/_cacache -type f | sed "s/.*_cacache//" | sort | head -3 | cut -d/ -f2`,
		},
		{
			name: "PythonUnittest", heavy: true,
			setup: `mkdir pkg tests; echo 'def f(): return 42' >pkg/__init__.py; cat >tests/test_pkg.py <<'E'
import os, shelve, sqlite3, subprocess, tempfile, unittest
import pkg
class T(unittest.TestCase):
    def test_value(self): self.assertEqual(pkg.f(), 42)
    def test_temp(self):
        with tempfile.TemporaryDirectory() as d:
            with open(os.path.join(d, 'x'), 'w') as f: f.write('x')
    def test_db(self):
        c = sqlite3.connect('t.db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(x)'); c.execute('insert into t values (1)'); c.commit(); c.close()
    def test_child(self): self.assertEqual(subprocess.run(['sh', '-c', 'echo $((6*7))'], capture_output=True, text=True).stdout, '42\n')
E
touch tests/__init__.py`,
			run: `python3 -m unittest -v 2>&1 | sed -E 's/in [0-9.]+s/in N/'; sqlite3 -version >/dev/null 2>&1 || true`, want: "Ran 4 tests", after: `ls -A . pkg`,
		},
		{
			name:  "B53_VenvAndPip",
			setup: `mkdir localpkg ~/.cache; printf 'from setuptools import setup\nsetup(name="localpkg", version="1.0", py_modules=["local_mod"])\n' >localpkg/setup.py; echo 'x = 42' >localpkg/local_mod.py`,
			run:   `python3 -m venv .venv; .venv/bin/pip --disable-pip-version-check install -q --no-index --no-build-isolation ./localpkg 2>&1 | grep -v DEPRECATION || true; .venv/bin/python -c 'import local_mod, sys; print(local_mod.x, sys.prefix)'`,
			want:  "42 ROOT/ws/.venv", heavy: true, after: `ls -A . .venv/bin; ls .venv/lib/python3*/site-packages | grep local`,
		},
	})
}
