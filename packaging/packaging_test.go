//go:build linux

// Package packaging holds what a release is packed with, and the tests that
// install the packages.
package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const version = "9.8.7"

// run runs a command and returns all that it printed.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func release(t *testing.T, env ...string) (dist, checksums string) {
	t.Helper()
	dist = filepath.Join(t.TempDir(), "dist")
	checksums = run(t, "..", append([]string{"DIST=" + dist, "SOURCE_DATE_EPOCH=1700000000"}, env...), "scripts/release.sh", "v"+version, "linux/"+runtime.GOARCH)
	return dist, checksums
}

// The packages of one release, built twice, and each installed and used.
func TestRelease(t *testing.T) {
	dist, checksums := release(t)
	t.Run("reproducible", func(t *testing.T) {
		if _, again := release(t, "GOAMD64=v3", "GOARM64=v8.1", "GOFLAGS=-tags=other"); again != checksums {
			t.Errorf("the same sources made\n%sand then\n%s", checksums, again)
		}
	})
	t.Run("archive", func(t *testing.T) {
		dir := t.TempDir()
		name := fmt.Sprintf("bawn_%s_linux_%s", version, runtime.GOARCH)
		run(t, dir, nil, "tar", "-xzf", filepath.Join(dist, name+".tar.gz"))
		if out := run(t, dir, nil, filepath.Join(dir, name, "bawn"), "version"); out != "bawn "+version+"\n" {
			t.Errorf("version: %q", out)
		}
		for _, f := range []string{"README.md", "CHANGELOG.md", "man/bawn.1", "man/bawn-config.5", "completions/bawn.bash", "completions/bawn.zsh", "completions/bawn.fish", "apparmor-profile"} {
			if st, err := os.Stat(filepath.Join(dir, name, f)); err != nil || st.Size() == 0 {
				t.Errorf("%s: %v", f, err)
			}
		}
	})
	t.Run("deb", func(t *testing.T) {
		debInRoot(t, filepath.Join(dist, fmt.Sprintf("bawn_%s_%s.deb", version, runtime.GOARCH)))
	})
	t.Run("rpm", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(dist, "*.rpm"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		list := run(t, dist, nil, "rpm", "-qlpv", files[0])
		for _, f := range []string{"/usr/bin/bawn", "/etc/bawn/config.toml", "/usr/share/man/man1/bawn.1.gz", "/usr/share/man/man5/bawn-config.5.gz", "/usr/share/doc/bawn/changelog.gz", "/usr/share/zsh/site-functions/_bawn"} {
			if !strings.Contains(list, f+"\n") {
				t.Errorf("%s is missing:\n%s", f, list)
			}
		}
		if config := run(t, dist, nil, "rpm", "-qcp", files[0]); config != "/etc/bawn/config.toml\n" {
			t.Errorf("configuration files: %q", config)
		}
	})
	t.Run("npm", func(t *testing.T) { npmInstall(t, dist) })
	t.Run("install script", func(t *testing.T) { installScript(t, dist) })
}

// installScript is what the dev container feature and the action run: it takes
// an archive only if the checksum is right.
func installScript(t *testing.T, dist string) {
	script, err := filepath.Abs("devcontainer/bawn/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	prefix := t.TempDir()
	env := []string{"VERSION=" + version, "SOURCE=" + dist, "PREFIX=" + prefix}
	if out := run(t, "/", env, script); out != "bawn "+version+"\n" {
		t.Errorf("installed: %q", out)
	}
	forged := t.TempDir()
	run(t, forged, nil, "sh", "-c", `cp "$1"/checksums.txt "$1"/*.tar.gz . && echo more >> "$(ls *.tar.gz)"`, "sh", dist)
	for what, env := range map[string][]string{
		"an archive that was changed":  {"VERSION=" + version, "SOURCE=" + forged},
		"an archive that is not there": {"VERSION=1.0.0", "SOURCE=" + dist},
		"plain http":                   {"VERSION=" + version, "SOURCE=http://127.0.0.1:1"},
		"no version":                   {"VERSION=", "SOURCE=" + dist},
		"the latest":                   {"VERSION=latest", "SOURCE=" + dist},
	} {
		to := t.TempDir()
		cmd := exec.Command(script)
		cmd.Env = append(append(os.Environ(), env...), "PREFIX="+to)
		out, err := cmd.CombinedOutput()
		if list, _ := os.ReadDir(to); err == nil || len(list) > 0 {
			t.Errorf("%s was installed: %s", what, out)
		}
	}
}

// The formula has the address and digest of each archive, and does not come
// about without one.
func TestFormula(t *testing.T) {
	var sums strings.Builder
	for i, p := range []string{"darwin_arm64", "darwin_amd64", "linux_arm64", "linux_amd64"} {
		fmt.Fprintf(&sums, "%064d  bawn_1.2.3_%s.tar.gz\n", i, p)
	}
	formula := func(in string) (string, error) {
		cmd := exec.Command("homebrew/formula.sh", "1.2.3", "https://example.org/v1.2.3")
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		return string(out), err
	}
	out, err := formula(sums.String())
	for i, p := range []string{"darwin_arm64", "darwin_amd64", "linux_arm64", "linux_amd64"} {
		want := fmt.Sprintf("url \"https://example.org/v1.2.3/bawn_1.2.3_%s.tar.gz\"\n      sha256 \"%064d\"\n", p, i)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %s lacks\n%s", err, out, want)
		}
	}
	if _, err := formula(strings.ReplaceAll(sums.String(), "darwin_arm64", "plan9_arm64")); err == nil {
		t.Error("a formula came about without an archive for Apple's processors")
	}
}

// debInRoot installs the package in a root file system of its own, a copy of
// this one whose changes are kept in memory, and uses it there.
func debInRoot(t *testing.T, deb string) {
	if os.Getuid() != 0 {
		t.Fatal("packages are installed by root")
	}
	const script = `
set -eu
deb=$1
mount -t tmpfs none /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
cd /mnt/root
cp "$deb" bawn.deb
mount --rbind /proc proc
mount --rbind /dev dev
mount --rbind /sys sys
mount -t tmpfs none tmp
mkdir tmp/old
pivot_root . tmp/old
cd /
umount -l /tmp/old
export HOME=/root/fresh PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset XDG_CONFIG_HOME XDG_STATE_HOME BAWN_SANDBOXED
mkdir -p /root/fresh/.ssh /work
echo key > /root/fresh/.ssh/id_test
dpkg -i /bawn.deb >/dev/null
bawn version
for page in man1/bawn.1 man5/bawn-config.5; do
	zcat /usr/share/man/$page.gz | groff -ww -man -Tascii | grep -q BAWN && echo "page $page"
done
bawn doctor >/dev/null && echo fit
cd /work
bawn run -q -- sh -c 'echo in > file; echo out 2>/dev/null > /root/fresh/file || echo held; cat /root/fresh/.ssh/id_test 2>/dev/null || echo hidden'
cat file
bash -c 'source /usr/share/bash-completion/completions/bawn; complete -p bawn'
test -s /etc/apparmor.d/bawn
bawn config path | grep -c /etc/bawn/config.toml
echo '[sandbox]
default_tier = "airlock"' >> /etc/bawn/config.toml
bawn policy | head -1
dpkg -i /bawn.deb >/dev/null # an upgrade keeps what was written there
grep -c airlock /etc/bawn/config.toml
dpkg -r bawn >/dev/null
test ! -e /usr/bin/bawn && test -e /etc/bawn/config.toml && echo removed
dpkg -P bawn >/dev/null
test ! -e /etc/bawn && test ! -e /etc/apparmor.d/bawn && echo purged
`
	out := run(t, t.TempDir(), nil, "unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", deb)
	for _, want := range []string{"bawn " + version + "\n", "page man1/bawn.1\n", "page man5/bawn-config.5\n", "fit\n", "held\n", "hidden\n", "in\n", "complete -o filenames -F _bawn bawn\n", "airlock", "removed\n", "purged\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// npmInstall installs both packages from their files, without a registry, and
// then the one without the other.
func npmInstall(t *testing.T, dist string) {
	install := func(files ...string) string {
		dir := t.TempDir()
		args := []string{"install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--cache", t.TempDir()}
		for _, f := range files {
			args = append(args, filepath.Join(dist, f))
		}
		run(t, dir, nil, "npm", args...)
		return filepath.Join(dir, "node_modules/.bin/bawn")
	}
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	main, native := fmt.Sprintf("bawn-sandbox-%s.tgz", version), fmt.Sprintf("bawn-sandbox-linux-%s-%s.tgz", cpu, version)
	bawn := install(native, main)
	if out := run(t, "/", nil, bawn, "version"); out != "bawn "+version+"\n" {
		t.Errorf("version: %q", out)
	}
	if out, err := exec.Command(bawn, "run", "--tier", "open", "--", "sh", "-c", "echo out; kill -TERM $$").Output(); string(out) != "out\n" || err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("a command that ends by a signal: %q, %v", out, err)
	}
	alone := install(main)
	out, err := exec.Command(alone, "version").CombinedOutput()
	if code := err.(*exec.ExitError).ExitCode(); code != 125 || !strings.Contains(string(out), "bawn-sandbox-linux-"+cpu+" is not installed") {
		t.Errorf("without the program: exit %d, %s", code, out)
	}
}
