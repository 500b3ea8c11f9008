//go:build linux

package sandboxtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// module serves example.test/dep in two versions from files, and makes a
// program that needs one.
const module = `cd "$ROOT"; python3 - <<'E'
import os, zipfile
d = "proxy/example.test/dep/@v"
os.makedirs(d)
for v in ("v1.0.0", "v1.1.0"):
    mod = "module example.test/dep\n"
    open(f"{d}/{v}.mod", "w").write(mod)
    open(f"{d}/{v}.info", "w").write('{"Version":"%s"}' % v)
    with zipfile.ZipFile(f"{d}/{v}.zip", "w") as z:
        z.writestr(f"example.test/dep@{v}/go.mod", mod)
        z.writestr(f"example.test/dep@{v}/sub/sub.go", 'package sub\n\nconst V = "%s"\n' % v)
open(d + "/list", "w").write("v1.0.0\nv1.1.0\n")
E
cd ws; printf 'module p\n\ngo 1.24\n' >go.mod
printf 'package main\n\nimport "example.test/dep/sub"\n\nfunc main() { print(sub.V, "\\n") }\n' >main.go
`

// B52: with the host's caches warm, go builds and compiles nothing anew; what
// it fetches and builds in a private cache is there the next time and not on
// the host. Modules are read-only files in read-only folders.
func TestB52_PrivateGoCaches(t *testing.T) {
	t.Parallel()
	b := cacheBox(t, "native")
	b.Env = append(b.Env, "ROOT="+filepath.Dir(b.Workspace), "GOCACHE="+goEnv(t, "GOCACHE"), "GOSUMDB=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "GOTELEMETRY=off", "GOTOOLCHAIN=local")
	b.Flags = []string{"-q"}
	const files, offline = `export GOPROXY=file://$ROOT/proxy; `, `export GOPROXY=off; `
	Host(t, b, module+files+`go get example.test/dep@v1.0.0 && go build -o app . && ./app`).OK(t)
	compiles := func(r Result) bool { return strings.Contains(r.OK(t).Stderr, "/compile ") }

	r := b.Sh(t, offline+`go build -x -o app . && ./app 2>&1; cd ~/go/pkg/mod/example.test/dep@v1.0.0; stat -c %a sub sub/sub.go`)
	if compiles(r) || r.Stdout != "v1.0.0\n555\n444\n" {
		t.Errorf("with warm caches: %+v", r)
	}
	wantRefused(t, "another file in a module", b.Sh(t, "echo x >~/go/pkg/mod/example.test/dep@v1.0.0/sub/new.go"))
	install := *b
	install.Env = append(install.Env, "GOPROXY=file://"+filepath.Dir(b.Workspace)+"/proxy")
	install.Flags = []string{"-q", "--profile", "install"}
	install.Run(t, "go", "get", "example.test/dep@v1.1.0").OK(t)
	b.Sh(t, offline+`go build -o app . && ./app`).OK(t)
	r = b.Sh(t, offline+`go build -x -o app . && ./app 2>&1`)
	if compiles(r) || r.Stdout != "v1.1.0\n" {
		t.Errorf("the next run: %+v", r)
	}
	wantRefused(t, "the new module on the host", Host(t, b, offline+`go build -o app .`))
	if r := Host(t, b, files+`go build -x -o app .`); !compiles(r) {
		t.Errorf("the host takes over what was built inside: %+v", r)
	}
	// One who changes a module in the copy changes it there alone.
	b.Sh(t, `cd ~/go/pkg/mod/example.test/dep@v1.0.0 && chmod u+w sub/sub.go && echo 'const Bad = 1' >>sub/sub.go &&
		chmod u+w sub && echo x >sub/x && mv sub/x sub/y && rm sub/y && chmod u+w . && rm -r sub`).OK(t)
	if r := b.Sh(t, `ls -A ~/go/pkg/mod/example.test/dep@v1.0.0`).OK(t); r.Stdout != "go.mod\n" {
		t.Errorf("removed: %q", r.Stdout)
	}
	if r := Host(t, b, `cat ~/go/pkg/mod/example.test/dep@v1.0.0/sub/sub.go; go mod verify`).OK(t); !strings.HasSuffix(r.Stdout, "const V = \"v1.0.0\"\nall modules verified\n") {
		t.Errorf("the host's module: %q", r.Stdout)
	}
}

// B52, B53: npm and pip read the host's caches in a private one, and change
// it for later runs alone.
func TestB52_B53_PrivateNpmAndPip(t *testing.T) {
	t.Parallel()
	b := cacheBox(t, "native")
	b.Env = append(b.Env, "npm_config_update_notifier=false")
	b.Flags = []string{"-q"}
	const wheel = "-1.0-py3-none-any.whl\n"
	Host(t, b, `for n in warm new; do mkdir $n; echo '{"name":"'$n'","version":"1.0.0"}' >$n/package.json; npm pack -s ./$n; done; npm cache add ./warm-1.0.0.tgz
		mkdir -p ~/.cache/pip/wheels/aa/bb/cc; cd ~/.cache/pip/wheels/aa/bb/cc; python3 -c 'import zipfile; zipfile.ZipFile("warm-1.0-py3-none-any.whl", "w").writestr("warm.py", "x = 1\n")'`).OK(t)
	const list = `npm cache ls | grep -o '[a-z]*-1.0.0.tgz' | sort -u; python3 -m pip cache list --format=abspath | sed 's/.*\///' | sort`
	const warm = "warm-1.0.0.tgz\nwarm" + wheel
	for i, step := range []struct{ text, inside string }{
		{"true", warm},
		{"npm cache add ./new-1.0.0.tgz && cd ~/.cache/pip/wheels/aa/bb/cc && cp warm-*.whl new-1.0-py3-none-any.whl", "new-1.0.0.tgz\nwarm-1.0.0.tgz\nnew" + wheel + "warm" + wheel},
		{"npm cache clean --force && python3 -m pip cache purge", ""},
		{"npm cache add ./new-1.0.0.tgz", "new-1.0.0.tgz\n"},
	} {
		b.Sh(t, step.text).OK(t)
		if got := b.Sh(t, list).Stdout; got != step.inside {
			t.Errorf("step %d, the next run: %q", i, got)
		}
		if got := Host(t, b, list).Stdout; got != warm {
			t.Errorf("step %d, the host: %q", i, got)
		}
	}
}
