//go:build linux

package sandboxtest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// zipped is an archive of files, given as name, content, name, content…
func zipped(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func tarred(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))})
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// F9: go writes what is its own, the manifest when it changes it, and no more.
func TestF9_InstallGo(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		if !heavyHere(l) {
			return
		}
		t.Parallel()
		b := New(t, l)
		root := filepath.Dir(b.Workspace)
		at := root + "/proxy/example.test/lib/@v/"
		Write(t, at+"list", "v1.0.0\n")
		Write(t, at+"v1.0.0.info", `{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}`)
		Write(t, at+"v1.0.0.mod", "module example.test/lib\n\ngo 1.21\n")
		Write(t, at+"v1.0.0.zip", zipped(t, "example.test/lib@v1.0.0/go.mod", "module example.test/lib\n\ngo 1.21\n", "example.test/lib@v1.0.0/lib.go", "package lib\n"))
		Write(t, b.Workspace+"/x.go", "package x\n\nimport _ \"example.test/lib\"\n")
		const bare = "module x\n\ngo 1.21\n"
		Write(t, b.Workspace+"/go.mod", bare)
		Host(t, b, "mkdir -p ~/go/pkg/mod ~/.cache/go-build").OK(t)
		b.Env = append(b.Env, "GOPROXY=file://"+root+"/proxy", "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local", "GOTELEMETRY=off")
		b.Flags = []string{"-q", "--profile", "install"}
		holds := func(file, want string, is bool) {
			t.Helper()
			data, err := os.ReadFile(b.Workspace + "/" + file)
			if got := err == nil && strings.Contains(string(data), want); got != is {
				t.Errorf("%s: %q, %v; %q in it: want %v", file, data, err, want, is)
			}
		}
		b.Run(t, "go", "get", "example.test/lib@v1.0.0").OK(t)
		holds("go.mod", "example.test/lib v1.0.0", true)
		holds("go.sum", "example.test/lib v1.0.0", true)
		b.Run(t, "go", "mod", "tidy").OK(t)
		holds("go.mod", "require example.test/lib v1.0.0\n", true)
		b.Run(t, "go", "mod", "vendor").OK(t)
		holds("vendor/example.test/lib/lib.go", "package lib", true)
		// Without a verb that changes it the manifest stays.
		Write(t, b.Workspace+"/go.mod", "module x\n\nrequire example.test/lib v1.0.0\n")
		b.Run(t, "go", "mod", "download")
		holds("go.mod", "\ngo 1.", false)
		b.Flags, b.Env = []string{"-q"}, append(b.Env, wide)
		b.Run(t, "go", "mod", "download").OK(t)
		b.Run(t, "go", "mod", "tidy").OK(t)
		holds("go.mod", "\ngo 1.", true)
	})
}

// F9: pip installs into the project's environment; a package's own set-up
// does not reach the sources.
func TestF9_InstallPip(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		if !heavyHere(l) {
			return
		}
		t.Parallel()
		b := New(t, l)
		root := filepath.Dir(b.Workspace)
		Write(t, root+"/wheels/good-1.0-py3-none-any.whl", zipped(t,
			"good.py", "x = 42\n", "good-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: good\nVersion: 1.0\n",
			"good-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
			"good-1.0.dist-info/RECORD", "good.py,,\ngood-1.0.dist-info/METADATA,,\ngood-1.0.dist-info/WHEEL,,\ngood-1.0.dist-info/RECORD,,\n"))
		Write(t, root+"/wheels/evil-1.0.tar.gz", tarred(t,
			"evil-1.0/PKG-INFO", "Metadata-Version: 1.0\nName: evil\nVersion: 1.0\n", "evil-1.0/evil.py", "",
			"evil-1.0/setup.py", `import os
from setuptools import setup
def put(path, text):
    try:
        with open(path, "a") as f: f.write(text)
    except OSError: pass
put(os.environ["WS"] + "/src/a.py", "evil")
put(os.environ["WS"] + "/conftest.py", "evil")
put(os.environ["WS"] + "/.venv/tried", "x")
setup(name="evil", version="1.0", py_modules=["evil"])
`))
		Write(t, b.Workspace+"/src/a.py", "")
		Write(t, b.Workspace+"/requirements.txt", "good\nevil\n")
		Host(t, b, "mkdir -p ~/.cache; python3 -m venv .venv").OK(t)
		b.Env = append(b.Env, "WS="+b.Workspace, "PATH="+b.Workspace+"/.venv/bin:/usr/bin:/bin", "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+root+"/wheels", "PIP_DISABLE_PIP_VERSION_CHECK=1", wide)
		for _, profile := range []bool{true, false} {
			b.Flags = []string{"-q"}
			if profile {
				b.Flags = append(b.Flags, "--profile", "install")
			}
			Host(t, b, "rm -f .venv/tried").OK(t)
			b.Run(t, "python3", "-m", "pip", "install", "-q", "--no-build-isolation", "--force-reinstall", "--no-cache-dir", "-r", "requirements.txt").OK(t)
			if got := Host(t, b, "python3 -c 'import good, evil; print(good.x)'").OK(t).Stdout; got != "42\n" || !exists(b.Workspace+"/.venv/tried") {
				t.Errorf("profile %v: %q was installed", profile, got)
			}
			if got := Host(t, b, "cat src/a.py; ls").OK(t).Stdout; strings.Contains(got, "evil") == profile || strings.Contains(got, "conftest") == profile {
				t.Errorf("profile %v: the sources: %s", profile, got)
			}
		}
	})
}
