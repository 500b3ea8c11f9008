//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reads is a file of the workspace; "" if there is none.
func (b *Box) reads(name string) string {
	data, _ := os.ReadFile(b.Workspace + "/" + name)
	return string(data)
}

// F9: cargo resolves, adds and fetches under the profile and replaces its lock
// file, also in a workspace of packages; what it may not write stays.
func TestF9_InstallCargo(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		if !heavyHere(l) {
			return
		}
		t.Parallel()
		b := New(t, l)
		crates := filepath.Dir(b.Workspace) + "/crates"
		Write(t, crates+"/dep/Cargo.toml", "[package]\nname = \"dep\"\nversion = \"1.0.0\"\n")
		Write(t, crates+"/dep/src/lib.rs", "")
		Write(t, crates+"/dep/.cargo-checksum.json", `{"files":{},"package":null}`)
		Write(t, b.Home+"/.cargo/config.toml", "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\ndirectory = \""+crates+"\"\n")
		Write(t, b.Workspace+"/Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\n")
		for _, name := range []string{"a", "b"} {
			Write(t, b.Workspace+"/"+name+"/Cargo.toml", "[package]\nname = \""+name+"\"\nversion = \"0.1.0\"\n")
			Write(t, b.Workspace+"/"+name+"/src/lib.rs", "")
		}
		Host(t, b, "mkdir -p ~/.cargo/registry ~/.cargo/git; git init -q -b main").OK(t)
		b.Env = append(b.Env, "CARGO_NET_OFFLINE=true", "PATH=/usr/bin:/bin", wide)
		b.Flags = []string{"-q", "--profile", "install"}
		b.Run(t, "cargo", "generate-lockfile").OK(t)
		if got := b.reads("Cargo.lock"); !strings.Contains(got, "name = \"a\"") || strings.Contains(got, "dep") {
			t.Errorf("Cargo.lock: %s", got)
		}
		b.Run(t, "cargo", "add", "-p", "a", "dep").OK(t)
		b.Run(t, "cargo", "fetch").OK(t)
		if got := b.reads("a/Cargo.toml"); !strings.Contains(got, "dep = \"1.0.0\"") {
			t.Errorf("a/Cargo.toml: %s", got)
		}
		if got := b.reads("Cargo.lock"); !strings.Contains(got, "name = \"dep\"") {
			t.Errorf("Cargo.lock was not replaced: %s", got)
		}
		b.Run(t, "cargo", "update").OK(t)
		// A verb that adds nothing has no business in the manifest.
		before := b.reads("b/Cargo.toml")
		r := b.Run(t, "cargo", "fetch", "--config", "x=1")
		if r.Code != 125 || !strings.Contains(r.Stderr, "not a package install") {
			t.Errorf("another source: exit %d: %s", r.Code, r.Stderr)
		}
		// A program of cargo's name that is not it gets no more than it.
		Write(t, b.Home+"/bin/cargo", "#!/bin/sh\nfor f in b/Cargo.toml b/src/lib.rs .git/description rust-toolchain.toml .cargo/config.toml; do mkdir -p .cargo; echo x >>$f; done\necho x >>target/tried || mkdir target && echo x >>target/tried\n")
		Host(t, b, "chmod +x ~/bin/cargo").OK(t)
		b.Env = append(b.Env, "PATH="+b.Home+"/bin:/usr/bin:/bin")
		for _, profile := range []bool{true, false} {
			b.Flags = []string{"-q"}
			if profile {
				b.Flags = append(b.Flags, "--profile", "install")
			}
			b.Run(t, "cargo", "fetch")
			changed := b.reads("b/Cargo.toml") != before
			if changed == profile || (b.reads("b/src/lib.rs") != "") == profile || exists(b.Workspace+"/rust-toolchain.toml") == profile || b.reads("target/tried") == "" {
				t.Errorf("profile %v: manifest changed %v, %q", profile, changed, Host(t, b, "ls -A . b b/src target").Stdout)
			}
		}
	})
}

// F9: poetry locks, installs and removes under the profile; what builds a
// malicious package reaches neither sources nor the repository.
func TestF9_InstallPoetry(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		if !heavyHere(l) {
			return
		}
		t.Parallel()
		b := New(t, l)
		Write(t, b.Workspace+"/wheels/good-1.0-py3-none-any.whl", zipped(t,
			"good.py", "x = 42\n", "good-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: good\nVersion: 1.0\n",
			"good-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
			"good-1.0.dist-info/RECORD", "good.py,,\ngood-1.0.dist-info/METADATA,,\ngood-1.0.dist-info/WHEEL,,\ngood-1.0.dist-info/RECORD,,\n"))
		Write(t, b.Workspace+"/wheels/evil-1.0.tar.gz", tarred(t,
			"evil-1.0/PKG-INFO", "Metadata-Version: 1.2\nName: evil\nVersion: 1.0\nRequires-Python: >=3.6\n",
			"evil-1.0/pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = \"b\"\nbackend-path = [\".\"]\n",
			"evil-1.0/b.py", `import os, zipfile
def put(path, text):
    try:
        with open(os.environ["WS"] + path, "a") as f: f.write(text)
    except OSError: pass
def build_wheel(folder, *rest, **more):
    put("/src.py", "evil")
    put("/conftest.py", "evil")
    put("/.git/description", "evil")
    put("/.venv/tried", "x")
    info = "evil-1.0.dist-info/"
    with zipfile.ZipFile(folder + "/evil-1.0-py3-none-any.whl", "w") as z:
        z.writestr("evil.py", "")
        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(info + "RECORD", "")
    return "evil-1.0-py3-none-any.whl"
`))
		Write(t, b.Workspace+"/src.py", "")
		Write(t, b.Workspace+"/pyproject.toml", "[tool.poetry]\nname = \"p\"\nversion = \"0.1.0\"\ndescription = \"\"\nauthors = []\n\n[tool.poetry.dependencies]\npython = \"^3.9\"\n"+
			"good = {path = \"wheels/good-1.0-py3-none-any.whl\"}\nevil = {path = \"wheels/evil-1.0.tar.gz\"}\n")
		Host(t, b, "mkdir -p ~/.cache; git init -q -b main; python3 -m venv .venv").OK(t)
		b.Env = append(b.Env, "WS="+b.Workspace, "PATH=/usr/bin:/bin", "POETRY_VIRTUALENVS_IN_PROJECT=true", "PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring", wide)
		b.Flags = []string{"-q", "--profile", "install"}
		b.Run(t, "poetry", "lock", "-n").OK(t)
		if got := b.reads("poetry.lock"); !strings.Contains(got, "name = \"good\"") {
			t.Errorf("poetry.lock: %s", got)
		}
		description := b.reads(".git/description")
		for _, profile := range []bool{true, false} {
			if !profile {
				b.Flags = []string{"-q"}
				Host(t, b, "rm -r .venv/tried .venv/lib/python3*/site-packages/evil*").OK(t)
			}
			b.Run(t, "poetry", "install", "-n", "--no-root").OK(t)
			if got := Host(t, b, ".venv/bin/python -c 'import good, evil; print(good.x)'").OK(t).Stdout; got != "42\n" || !exists(b.Workspace+"/.venv/tried") {
				t.Errorf("profile %v: %q was installed", profile, got)
			}
			if (b.reads("src.py") != "") == profile || exists(b.Workspace+"/conftest.py") == profile || (b.reads(".git/description") != description) == profile {
				t.Errorf("profile %v: it got\n%s", profile, Host(t, b, "cat src.py .git/description; ls -A").Stdout)
			}
		}
		b.Flags = []string{"-q", "--profile", "install"}
		b.Run(t, "poetry", "remove", "-n", "good", "evil").OK(t)
		if lock, text := b.reads("poetry.lock"), b.reads("pyproject.toml"); strings.Contains(lock, "good") || strings.Contains(text, "good") {
			t.Errorf("after remove: %s%s", lock, text)
		}
	})
}
