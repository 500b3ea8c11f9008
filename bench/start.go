//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// secrets are made in the bench's home: some 40, as a used home has.
var secretDirs = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".terraform.d", ".password-store", ".pki", ".mozilla",
	".config/gh", ".config/gcloud", ".config/google-chrome", ".config/chromium", ".config/op", ".config/sops",
	".config/rclone", ".config/containers", ".config/helm", ".config/Signal", ".local/share/keyrings",
	".local/share/gopass", ".local/share/atuin", ".config/github-copilot",
}
var secretFiles = []string{
	".netrc", ".pypirc", ".git-credentials", ".vault-token", ".pgpass", ".my.cnf", ".s3cfg", ".bash_history",
	".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".cargo/credentials.toml",
	".gem/credentials", ".claude.json", ".codex/auth.json",
}

// home makes a home with ordinary folders, 40 secrets, and a workspace.
func (b *bench) home() (home, ws string, err error) {
	home = filepath.Join(b.dir, "home")
	ws = filepath.Join(home, "src", "project")
	dirs := []string{"src/project", "Documents", "Downloads", ".cache/go-build", "go/pkg/mod", ".npm", "bin", ".vim", ".config/nvim"}
	for _, d := range append(dirs, secretDirs...) {
		if err := os.MkdirAll(filepath.Join(home, d), 0o755); err != nil {
			return "", "", err
		}
	}
	for _, f := range append([]string{".bashrc", ".profile", ".gitconfig"}, secretFiles...) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, f)), 0o755); err != nil {
			return "", "", err
		}
		if err := os.WriteFile(filepath.Join(home, f), []byte("x\n"), 0o600); err != nil {
			return "", "", err
		}
	}
	return home, ws, nil
}

func environ(home, ws string) []string {
	return []string{"HOME=" + home, "PATH=/usr/local/go/bin:/usr/bin:/bin", "PWD=" + ws, "LANG=C.UTF-8"}
}

// bwrapBase is bubblewrap with all namespaces and seven mounts.
func bwrapBase(ws string) []string {
	return []string{
		"bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
		"--tmpfs", "/var/tmp", "--bind", ws, ws,
	}
}

func (b *bench) start(runs int) error {
	home, ws, err := b.home()
	if err != nil {
		return err
	}
	env := environ(home, ws)
	masks := bwrapBase(ws)
	for _, d := range secretDirs {
		masks = append(masks, "--tmpfs", filepath.Join(home, d))
	}
	for _, f := range secretFiles {
		masks = append(masks, "--ro-bind", "/dev/null", filepath.Join(home, f))
	}
	mk := func(name string, args ...string) *row { return &row{name: name, args: args, dir: ws, env: env} }
	none := mk("true", "/bin/true")
	native := mk("bawn run (native)", b.bawn, "run", "--launcher", "native", "--", "/bin/true")
	bw := mk("bawn run (bwrap)", b.bawn, "run", "--launcher", "bwrap", "--", "/bin/true")
	unguarded := mk("bawn run --guard off", b.bawn, "run", "--launcher", "native", "--guard", "off", "--", "/bin/true")
	unrecorded := mk("bawn run, BAWN_LOG=off", b.bawn, "run", "--launcher", "native", "--", "/bin/true")
	unrecorded.env = append(slices.Clone(env), "BAWN_LOG=off")
	airlock := mk("bawn run --tier airlock", b.bawn, "run", "--launcher", "native", "--tier", "airlock", "--", "/bin/true")
	raw8 := mk("bwrap, 7 mounts", append(bwrapBase(ws), "/bin/true")...)
	raw40 := mk("bwrap, the same 40 masks", append(masks, "/bin/true")...)
	all, err := b.ownMounts(ws, env)
	if err != nil {
		return err
	}
	rawAll := mk("bwrap, all of bawn's mounts", append(all, "/bin/true")...)
	s, err := newSession(env, ws)
	if err != nil {
		return err
	}
	defer s.keeper.Close()
	warm := &row{name: "a command in a warm session", call: func() error { return s.run("/bin/true") }}
	rows := []*row{none, raw8, raw40, rawAll, airlock, unrecorded, native, unguarded, warm, bw}
	if err := measure(rows, runs); err != nil {
		return err
	}
	table("Start-up of `true`, guarded", rows, map[string]*row{native.name: raw40, bw.name: raw40, warm.name: native})
	ratio("native / bwrap with the same masks", native, raw40, 1.0)
	ratio("native / bwrap with 7 mounts", native, raw8, 1.3)
	ratio("native with the name guard / without", native, unguarded, 1.05)
	added := native.median() - unrecorded.median()
	verdict(fmt.Sprintf("the log adds %s ms to a run", ms(added)), added <= 200*time.Microsecond, "at most 0.20 ms")
	many := []string{b.bawn, "run", "--launcher", "native", "--", "/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"}
	recorded, plain := mk("recorded", many...), mk("not recorded", many...)
	plain.env = unrecorded.env
	if err := measure([]*row{plain, recorded}, max(runs/5, 1)); err != nil {
		return err
	}
	ratio("a run of 200 short commands, recorded / not", recorded, plain, 1.03)
	fmt.Printf("         guarded (proxy, resolver, transparent mode) costs %s ms more than airlock (a listener that refuses)\n",
		ms(native.median()-airlock.median()))
	ratio("a command in a warm session / bawn run", warm, native, 0.8)
	ratio("bwrap launcher / bwrap with the same masks", bw, raw40, 2.0)
	ratio("native / bwrap with all of bawn's mounts", native, rawAll, 1.0)
	ratio("bwrap launcher / bwrap with all of bawn's mounts", bw, rawAll, 2.0)
	return nil
}

// ownMounts is bubblewrap with the arguments that bawn gives it for the same
// run: the masks in the home are half of them, the others are those of the
// system. Files made from bawn's descriptors are left out.
func (b *bench) ownMounts(ws string, env []string) ([]string, error) {
	cmd := exec.Command(b.bawn, "policy", "--bwrap-args")
	cmd.Dir, cmd.Env = ws, env
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("bawn policy --bwrap-args: %w", err)
	}
	args := []string{"bwrap"}
	for f := strings.Fields(string(out)); len(f) > 0; {
		switch {
		case f[0] == "--file" || f[0] == "--ro-bind-data":
			f = f[3:]
		case f[0] == "--perms" && len(f) > 2 && (f[2] == "--file" || f[2] == "--ro-bind-data"):
			f = f[5:]
		default:
			args, f = append(args, f[0]), f[1:]
		}
	}
	return args, nil
}

func ratio(what string, a, b *row, limit float64) {
	r := float64(a.median()) / float64(b.median())
	verdict(fmt.Sprintf("%s: %.2f", what, r), r <= limit, fmt.Sprintf("at most %.2f", limit))
}

func verdict(what string, ok bool, limit string) {
	word := "holds"
	if !ok {
		word = "MISSED"
	}
	fmt.Printf("  %-6s %s (%s)\n", word, what, limit)
}

// paths measures what one more protected path costs, and that the size of
// the workspace costs nothing.
func (b *bench) paths(runs int) error {
	home := filepath.Join(b.dir, "home")
	var rows []*row
	for _, modules := range []int{0, 50, 100} {
		ws := filepath.Join(home, "src", "modules"+strconv.Itoa(modules))
		if err := gitDir(filepath.Join(ws, ".git")); err != nil {
			return err
		}
		for i := range modules {
			if err := gitDir(filepath.Join(ws, ".git", "modules", "m"+strconv.Itoa(i))); err != nil {
				return err
			}
		}
		rows = append(rows, &row{
			name: fmt.Sprintf("%d modules, %d protected paths", modules, 3*modules),
			args: []string{b.bawn, "run", "--launcher", "native", "--", "/bin/true"}, dir: ws, env: environ(home, ws),
		})
	}
	big := filepath.Join(home, "src", "big")
	for i := range 200 {
		d := filepath.Join(big, "d"+strconv.Itoa(i))
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		for j := range 100 {
			if err := os.WriteFile(filepath.Join(d, "f"+strconv.Itoa(j)), nil, 0o644); err != nil {
				return err
			}
		}
	}
	empty := &row{name: "empty workspace", args: rows[0].args, dir: filepath.Join(home, "src", "project"), env: rows[0].env}
	full := &row{name: "workspace of 20,000 files", args: rows[0].args, dir: big, env: rows[0].env}
	rows = append(rows, empty, full)
	if err := measure(rows, runs); err != nil {
		return err
	}
	table("Protected paths and size of the workspace (native)", rows, map[string]*row{full.name: empty})
	per := float64(rows[2].median()-rows[0].median()) / 300 / 1e3
	verdict(fmt.Sprintf("each further protected path: %.1f µs", per), per <= 15, "at most 15")
	r := float64(full.median()) / float64(empty.median())
	verdict(fmt.Sprintf("20,000 files / empty: %.2f", r), r <= 1.1, "no growth: within 10 % noise")
	return nil
}

// gitDir makes the least that counts as a git directory, with the control
// files that get a mount each.
func gitDir(dir string) error {
	for _, d := range []string{"objects", "refs", "hooks"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config"), []byte("[core]\n\tbare = false\n"), 0o644)
}

// packageInit reads what Go itself reports of initialisation.
func (b *bench) packageInit() error {
	fmt.Printf("\nPackage initialisation\n")
	total, n, err := initTime(b.bawn, "version")
	if err != nil {
		return err
	}
	verdict(fmt.Sprintf("run path: %.2f ms in %d packages", total, n), total <= 1, "at most 1 ms")
	total, n, err = b.stageInit()
	if err != nil {
		return err
	}
	verdict(fmt.Sprintf("stage: %.2f ms in %d packages", total, n), total <= 0.3, "at most 0.3 ms")
	return nil
}

func sumInit(text string) (total float64, n int) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // init NAME @0.1 ms, 0.02 ms clock, …
		if len(f) >= 5 && f[0] == "init" {
			if v, err := strconv.ParseFloat(f[4], 64); err == nil {
				total += v
				n++
			}
		}
	}
	return total, n
}
