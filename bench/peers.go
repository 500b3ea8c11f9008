//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// peer is a way to run a command with writes in the workspace alone and no
// network; prefix is nil where the tool is not installed.
type peer struct {
	name   string
	prefix []string
	cells  [4]time.Duration // medians: true, execs, files, find; the last three without the start
	pss    float64          // MB, of the whole tree
}

// jobs are what each peer runs, beside `true`.
var jobs = []struct{ name, text string }{
	{"300 execs", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"},
	{"2,000 files", "tar xf ../files.tar && mv files moved && rm -r moved"},
	{"find /usr", "find /usr -type f -size +0 -newer /etc/hostname >/dev/null 2>&1; true"},
}

// peerTools are bawn in its forms, raw bubblewrap, and other sandboxes where
// they are installed, each with the narrowest set-up that its own command line
// offers for the same purpose; srt and codex are paths of programs, or empty.
func (b *bench) peerTools(home, ws, srt, codex string) ([]*peer, error) {
	run := func(flags ...string) []string {
		return slices.Concat([]string{b.bawn, "run", "--tier", "airlock"}, flags, []string{"--"})
	}
	masks := bwrapBase(ws)
	for _, d := range secretDirs {
		masks = append(masks, "--tmpfs", filepath.Join(home, d))
	}
	for _, f := range secretFiles {
		masks = append(masks, "--ro-bind", "/dev/null", filepath.Join(home, f))
	}
	out := []*peer{
		{name: "no sandbox", prefix: []string{}},
		{name: "bawn", prefix: run()},
		{name: "bawn --guard off", prefix: run("--guard", "off")},
		{name: "bwrap, 7 mounts", prefix: bwrapBase(ws)},
		{name: "bwrap, 40 masks more", prefix: masks},
	}
	if path, err := exec.LookPath("firejail"); err == nil {
		out = append(out, &peer{name: "firejail", prefix: []string{
			path, "--quiet", "--noprofile", "--net=none", "--private-dev", "--private-tmp", "--read-only=/", "--read-write=" + ws,
		}})
	}
	if srt != "" {
		settings := filepath.Join(b.dir, "peers.json")
		text := `{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":["~/.ssh"],"allowWrite":["."],"denyWrite":[]}}`
		if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
			return nil, err
		}
		out = append(out, &peer{name: "srt", prefix: []string{srt, "--settings", settings, "--"}})
	}
	if codex != "" {
		out = append(out, &peer{name: "codex sandbox", prefix: []string{codex, "sandbox", "-c", `sandbox_mode="workspace-write"`, "--"}})
	}
	return out, nil
}

// peers prints one table of bawn and what else is installed, and, if it has a
// path, draws how long each takes to start.
func (b *bench) peers(runs int, srt, codex, picture string) error {
	home, ws, err := b.home()
	if err != nil {
		return err
	}
	env := environ(home, ws)
	if err := filesTar(filepath.Dir(ws)); err != nil {
		return err
	}
	all, err := b.peerTools(home, ws, srt, codex)
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := p.confines(home, ws, env); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if p.pss, err = waitingPSS(p.prefix, ws, env); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	rows := make([]*row, len(all))
	for i, p := range all {
		rows[i] = &row{name: p.name, args: append(slices.Clone(p.prefix), "/bin/true"), dir: ws, env: env}
	}
	if err := measure(rows, runs); err != nil {
		return err
	}
	for i, p := range all {
		p.cells[0] = rows[i].median()
	}
	for n, j := range jobs {
		for i, p := range all {
			rows[i] = &row{name: p.name, args: append(slices.Clone(p.prefix), "/bin/sh", "-c", j.text), dir: ws, env: env}
		}
		if err := rounds(rows, 5); err != nil {
			return err
		}
		for i, p := range all {
			p.cells[n+1] = rows[i].median() - p.cells[0]
		}
	}
	fmt.Printf("\nOther sandboxes: writes in the workspace alone, no network; medians, the jobs without the start\n")
	fmt.Printf("  %-22s %12s %9s", "", "start", "memory")
	for _, j := range jobs {
		fmt.Printf(" %12s", j.name)
	}
	fmt.Println()
	for _, p := range all {
		fmt.Printf("  %-22s %9s ms %6.1f MB", p.name, ms(p.cells[0]), p.pss)
		for _, c := range p.cells[1:] {
			fmt.Printf(" %9.0f ms", float64(c)/1e6)
		}
		fmt.Println()
	}
	if picture == "" {
		return nil
	}
	var bars []bar
	for _, p := range all {
		bars = append(bars, bar{p.name, float64(p.cells[0]) / 1e6, len(p.prefix) > 0 && p.prefix[0] == b.bawn})
	}
	return chart(picture, "From the call to the end of `true`, median", "ms", bars)
}

// confines fails unless the peer lets the workspace be written, and, but for
// none, nothing beside it: a row of a sandbox that holds nothing would say
// nothing.
func (p *peer) confines(home, ws string, env []string) error {
	beside := filepath.Join(home, "beside")
	cmd := exec.Command("/bin/sh", "-c", "echo x >inside; echo x >"+beside+"; true")
	if len(p.prefix) > 0 {
		cmd = exec.Command(p.prefix[0], append(slices.Clone(p.prefix[1:]), cmd.Args...)...)
	}
	cmd.Dir, cmd.Env = ws, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(ws, "inside")); err != nil {
		return fmt.Errorf("the workspace was not written: %w", err)
	}
	switch err := os.Remove(beside); {
	case len(p.prefix) == 0:
		return err
	case err == nil:
		return errors.New("a file beside the workspace was written")
	}
	return nil
}

// waitingPSS is the proportional set size, in MB, of what runs while the
// command waits for a line. Processes that left the tree are not counted.
func waitingPSS(prefix []string, ws string, env []string) (float64, error) {
	args := append(slices.Clone(prefix), "/bin/sh", "-c", "echo ready; read x")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = ws, env
	in, out, err := startPiped(cmd)
	if err != nil {
		return 0, err
	}
	defer cmd.Wait()
	defer in.Close()
	text, buf := "", make([]byte, 256)
	for !strings.Contains(text, "ready") {
		n, err := out.Read(buf)
		if err != nil {
			return 0, fmt.Errorf("the command did not start: %w", err)
		}
		text += string(buf[:n])
	}
	total := 0.0
	for _, pid := range tree(cmd.Process.Pid) {
		kb, err := pss(pid)
		if err != nil {
			return 0, err
		}
		total += kb / 1024
	}
	return total, nil
}

// filesTar writes files.tar with 2,000 small files in dir.
func filesTar(dir string) error {
	files := filepath.Join(dir, "files")
	for i := range 40 {
		d := filepath.Join(files, fmt.Sprintf("d%d", i))
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		for j := range 50 {
			if err := os.WriteFile(filepath.Join(d, fmt.Sprintf("f%d", j)), []byte("text\n"), 0o644); err != nil {
				return err
			}
		}
	}
	cmd := exec.Command("tar", "cf", "files.tar", "files")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return os.RemoveAll(files)
}
