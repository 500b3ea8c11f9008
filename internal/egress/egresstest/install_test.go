//go:build linux

package egresstest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// codeHosts are allowed without a rule, but not to a package install.
var codeHosts = []string{"github.com", "codeload.github.com", "raw.githubusercontent.com", "gitlab.com", "bitbucket.org", "huggingface.co"}

// packageOf is an npm package as its registry serves it.
func packageOf(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: "package/" + files[i], Mode: 0o755, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serve puts a package, dep@1.0.0, into the world's npm registry.
func (w *World) serve(t *testing.T, pack []byte) (registry string) {
	t.Helper()
	registry = "http://packages.npmjs.org:18080/files/"
	files := filepath.Join(w.Dir, "files")
	sum, short := sha512.Sum512(pack), sha1.Sum(pack)
	sandboxtest.Write(t, files+"/dep-1.0.0.tgz", string(pack))
	sandboxtest.Write(t, files+"/dep", fmt.Sprintf(`{"name":"dep","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"dep","version":"1.0.0","hasInstallScript":true,
"scripts":{"postinstall":"sh ./run.sh"},"dist":{"tarball":"%sdep-1.0.0.tgz","integrity":"sha512-%s","shasum":"%x"}}},"time":{"1.0.0":"2024-01-01T00:00:00.000Z"}}`,
		registry, base64.StdEncoding.EncodeToString(sum[:]), short))
	return registry
}

// F9: a package comes from its registry, and its script reaches the registry
// and nothing else: no code host, no host of a rule that was not typed for
// this run. In airlock it reaches nothing.
func TestF9_InstallHosts(t *testing.T) {
	w := NewWorld(t)
	script := "for h in packages.npmjs.org allowed.test " + strings.Join(codeHosts, " ") + "; do curl -s -m 20 -o /dev/null -f http://$h:18080/ && echo $h >>reached; done; true\n"
	pack := packageOf(t, "package.json", `{"name":"dep","version":"1.0.0","scripts":{"postinstall":"sh ./run.sh"}}`, "run.sh", script)
	registry := w.serve(t, pack)
	for _, launcher := range sandboxtest.Launchers {
		for _, c := range []struct {
			name  string
			flags []string
			hosts string
		}{
			{"profile", []string{"--profile", "install"}, "packages.npmjs.org"},
			{"profile and a host for this run", []string{"--profile", "install", "--allow-domain", "allowed.test"}, "packages.npmjs.org allowed.test"},
			{"without the profile", nil, "packages.npmjs.org " + strings.Join(codeHosts, " ")},
		} {
			if (launcher == "bwrap") != (os.Getuid() == 0) && c.name != "profile" {
				continue
			}
			t.Run(launcher+"/"+c.name, func(t *testing.T) {
				b := NewBox(t, w, launcher)
				b.Flags = c.flags
				b.Env = append(b.Env, "BAWN_INSTALL_PROFILE=off", "npm_config_registry="+registry, "npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false")
				sandboxtest.Write(t, b.Workspace+"/package.json", `{"name":"p","version":"1.0.0"}`)
				if err := os.Mkdir(b.Home+"/.npm", 0o755); err != nil {
					t.Fatal(err)
				}
				b.Run(t, "npm", "install", "dep").OK(t)
				reached, err := os.ReadFile(b.Workspace + "/node_modules/dep/reached")
				if got := strings.Join(strings.Fields(string(reached)), " "); err != nil || got != c.hosts {
					t.Errorf("the script reached %q, want %q (%v)", got, c.hosts, err)
				}
				if text, err := os.ReadFile(b.Workspace + "/package.json"); err != nil || !strings.Contains(string(text), `"dep"`) {
					t.Errorf("the manifest: %s, %v", text, err)
				}
			})
		}
	}
	t.Run("report", func(t *testing.T) {
		b := NewBox(t, w, "native")
		b.Flags = []string{"--profile", "install"}
		b.Env = append(b.Env, "BAWN_INSTALL_PROFILE=off", "PATH="+b.Home+":/usr/bin:/bin")
		sandboxtest.Write(t, b.Home+"/npm", "#!/bin/sh\nexec curl -sSf http://github.com:18080/\n")
		if err := os.Chmod(b.Home+"/npm", 0o755); err != nil {
			t.Fatal(err)
		}
		before := w.Hits(t, upstream+":18080")
		r := b.Run(t, "npm", "ci")
		if r.Code == 0 || !strings.Contains(r.Stderr, "github.com: a package install reaches only package registries; --allow-domain HOST lets this run reach it; leave --profile install out") {
			t.Errorf("exit %d: %s", r.Code, r.Stderr)
		}
		b.Flags = []string{"--tier", "airlock"}
		if r := b.Run(t, "npm", "ci"); r.Code == 0 || !strings.Contains(r.Stderr, "airlock has no network") {
			t.Errorf("airlock: exit %d: %s", r.Code, r.Stderr)
		}
		b.Flags = []string{"--profile", "scratch"}
		if r := b.Run(t, "npm", "ci"); r.Code == 0 || !strings.Contains(r.Stderr, "the scratch profile has no network; run it without --profile scratch") {
			t.Errorf("F10 scratch: exit %d: %s", r.Code, r.Stderr)
		}
		if got := w.Hits(t, upstream+":18080"); got != before {
			t.Errorf("%d connections arrived", got-before)
		}
		b.Flags = nil
		b.Run(t, "npm", "ci").OK(t)
	})
}

// tools installs pnpm, yarn and bun from the registry of this machine.
func tools(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "tools") // not below /tmp: see sandboxtest.Main
	bin := filepath.Join(dir, "node_modules/.bin")
	if _, err := os.Stat(bin + "/pnpm"); err == nil {
		return bin
	}
	// The package of bun's own name brings a program for every processor.
	bun := "@oven/bun-linux-x64-baseline"
	if runtime.GOARCH == "arm64" {
		bun = "@oven/bun-linux-aarch64"
	}
	sandboxtest.Write(t, dir+"/package.json", `{"name":"tools","version":"1.0.0","dependencies":{"pnpm":"9.15.9","yarn":"1.22.22","`+bun+`":"1.2.23"}}`)
	cmd := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--loglevel", "error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install of the tools: %v\n%s", err, out)
	}
	if err := os.Symlink("../"+bun+"/bin/bun", bin+"/bun"); err != nil {
		t.Fatal(err)
	}
	return bin
}

// F9: pnpm, yarn and bun install, add and remove in a monorepo under the
// profile, and replace their lock files; the script of a malicious package
// reaches no source, no repository and no code host.
func TestF9_InstallPnpmYarnBun(t *testing.T) {
	bin := tools(t)
	w := NewWorld(t)
	registry := w.serve(t, packageOf(t, "package.json", `{"name":"dep","version":"1.0.0","scripts":{"postinstall":"sh ./run.sh"}}`,
		"run.sh", `for up in . ../.. ../../.. ../../../../..; do echo x >>$up/src.js; echo x >>$up/.git/description; done 2>/dev/null
for d in $INIT_CWD $PWD; do echo x >>$d/src.js; done 2>/dev/null
curl -s -f -m 20 -o /dev/null http://github.com:18080/ && echo reached >host
echo x >ran
`))
	for _, c := range []struct {
		tool, lock    string
		add, removing []string
	}{
		{"pnpm", "pnpm-lock.yaml", []string{"add", "-w", "dep"}, []string{"remove", "-w", "dep"}},
		{"yarn", "yarn.lock", []string{"add", "-W", "dep"}, []string{"remove", "-W", "dep"}},
		{"bun", "bun.lock", []string{"add", "dep"}, []string{"remove", "dep"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			launcher := "native"
			if os.Getuid() == 0 {
				launcher = "bwrap"
			}
			b := NewBox(t, w, launcher)
			b.Flags = []string{"-q", "--profile", "install"}
			b.Env = append(b.Env, "PATH="+bin+":/usr/bin:/bin", "npm_config_registry="+registry, "YARN_REGISTRY="+registry, "npm_config_update_notifier=false", "npm_config_side_effects_cache=false", "COREPACK_ENABLE_STRICT=0")
			for _, d := range []string{"/.cache", "/.local/share/pnpm/store", "/.local/state/pnpm"} {
				if err := os.MkdirAll(b.Home+d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			ws := b.Workspace
			sandboxtest.Write(t, ws+"/package.json", `{"name":"p","private":true,"version":"1.0.0","workspaces":["packages/*"],"trustedDependencies":["dep"]}`)
			sandboxtest.Write(t, ws+"/pnpm-workspace.yaml", "packages:\n  - packages/*\n")
			sandboxtest.Write(t, ws+"/packages/a/package.json", `{"name":"a","version":"1.0.0","dependencies":{"dep":"1.0.0"}}`)
			sandboxtest.Write(t, ws+"/src.js", "source\n")
			read := func(name string) string {
				data, err := os.ReadFile(ws + "/" + name)
				if err != nil {
					t.Error(err)
				}
				return string(data)
			}
			if out, err := exec.Command("git", "init", "-q", ws).CombinedOutput(); err != nil {
				t.Fatalf("git init: %v: %s", err, out)
			}
			sandboxtest.Write(t, ws+"/.git/description", "a repository\n")
			b.Run(t, c.tool, "install").OK(t)
			if got := read(c.lock); !strings.Contains(got, "dep@1.0.0") {
				t.Errorf("%s: %s", c.lock, got)
			}
			b.Run(t, append([]string{c.tool}, c.add...)...).OK(t)
			if got := strings.ReplaceAll(read("package.json"), " ", ""); !strings.Contains(got, `"dep":"`) {
				t.Errorf("after add: %s", got)
			}
			if _, err := os.Stat(ws + "/node_modules/dep/ran"); err != nil {
				t.Errorf("the script did not run: %v", err)
			}
			if _, err := os.Stat(ws + "/node_modules/dep/host"); err == nil {
				t.Error("the script reached a code host")
			}
			b.Run(t, append([]string{c.tool}, c.removing...)...).OK(t)
			if got := strings.ReplaceAll(read("package.json"), " ", ""); strings.Contains(got, `"dep":`) {
				t.Errorf("after remove: %s", got)
			}
			if got := read(".git/description"); got != "a repository\n" {
				t.Errorf("the repository: %s", got)
			}
			if got := read("src.js"); got != "source\n" {
				t.Errorf("a source: %s", got)
			}
			// The twin: without the profile the script gets all of it.
			b.Flags, b.Env = []string{"-q"}, append(b.Env, "BAWN_INSTALL_PROFILE=off")
			b.Run(t, "rm", "-rf", "node_modules", "packages/a/node_modules").OK(t)
			b.Run(t, c.tool, "install").OK(t)
			if got := read("src.js"); got == "source\n" || read(".git/description") == "a repository\n" {
				t.Errorf("without the profile: %s", got)
			}
			if hosts, err := filepath.Glob(ws + "/node_modules/*/host"); err != nil || len(hosts) == 0 {
				if hosts, err = filepath.Glob(ws + "/node_modules/.pnpm/*/node_modules/dep/host"); err != nil || len(hosts) == 0 {
					t.Errorf("without the profile the script reached no code host: %v", err)
				}
			}
			if left, err := filepath.Glob(ws + "/_tmp_*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}
