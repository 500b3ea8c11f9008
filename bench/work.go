//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// repo is a copy of this repository with its dependencies in it, in the home
// of the bench.
func (b *bench) repo() (home, ws string, err error) {
	home = filepath.Join(b.dir, "home")
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", "", err
	}
	ws = filepath.Join(home, "src", "repo")
	if _, err := os.Stat(ws); err == nil {
		return home, ws, nil
	}
	src := string(root[:len(root)-1])
	if err := os.MkdirAll(filepath.Dir(ws), 0o755); err != nil {
		return "", "", err
	}
	if out, err := exec.Command("cp", "-r", src, ws).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("copy: %w: %s", err, out)
	}
	// Of a linked worktree .git is a file that names the original.
	if err := os.RemoveAll(filepath.Join(ws, ".git")); err != nil {
		return "", "", err
	}
	vendor := exec.Command("go", "mod", "vendor")
	vendor.Dir = ws
	if out, err := vendor.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("vendor: %w: %s", err, out)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"-c", "user.name=b", "-c", "user.email=b@b", "add", "-A"},
		{"-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "x"},
	} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = ws, environ(home, ws)
		if out, err := git.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("git %v: %w: %s", args, err, out)
		}
	}
	return home, ws, nil
}

// work compares runs of several seconds inside and outside, start-up taken
// off: what the boundary costs while a command works.
func (b *bench) work() error {
	home, ws, err := b.repo()
	if err != nil {
		return err
	}
	env := append(environ(home, ws), "GOFLAGS=-mod=vendor -buildvcs=false", "GOTOOLCHAIN=local")
	jobs := []struct{ name, text string }{
		{"go build, cold", "rm -rf .gocache && GOCACHE=$PWD/.gocache CGO_ENABLED=0 go build -o /dev/null ./cmd/bawn"},
		{"find", "for i in 1 2 3 4 5 6 7 8; do find /usr -type f -size +0 -newer /etc/hostname >/dev/null; done"},
		{"git status, 400 times", "i=0; while [ $i -lt 400 ]; do git status --short >/dev/null; i=$((i+1)); done"},
	}
	start := &row{name: "start", args: []string{b.bawn, "run", "--launcher", "native", "--", "/bin/true"}, dir: ws, env: env}
	if err := measure([]*row{start}, 20); err != nil {
		return err
	}
	fmt.Printf("\nLong runs, inside against outside, start-up (%s ms) taken off\n", ms(start.median()))
	for _, j := range jobs {
		outside := &row{name: "outside", args: []string{"/bin/sh", "-c", j.text}, dir: ws, env: env}
		inside := &row{name: "inside", args: []string{b.bawn, "run", "--launcher", "native", "--", "/bin/sh", "-c", j.text}, dir: ws, env: env}
		if err := rounds([]*row{outside, inside}, 3); err != nil {
			return err
		}
		net := inside.min() - start.median()
		r := float64(net) / float64(outside.min())
		verdict(fmt.Sprintf("%-22s %6.2f s outside, %6.2f s inside: %.3f", j.name, outside.min().Seconds(), net.Seconds(), r), r <= 1.05, "at most 1.05")
	}
	return nil
}

// rounds is measure without warm-up rounds, for rows of several seconds; the
// first round of each is dropped.
func rounds(rows []*row, n int) error {
	for i := range n + 1 {
		for _, r := range rows {
			cmd := exec.Command(r.args[0], r.args[1:]...)
			cmd.Dir, cmd.Env = r.dir, r.env
			begin := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w\n%s", r.name, err, out)
			}
			if i > 0 {
				r.got = append(r.got, time.Since(begin))
			}
		}
	}
	return nil
}
