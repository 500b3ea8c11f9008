//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// staged compares staged runs with the same runs that write the workspace
// itself, and times the keep. What was staged is removed outside the timing.
func (b *bench) staged(runs, pairs int) error {
	home, project, err := b.home()
	if err != nil {
		return err
	}
	fmt.Printf("\nStaged runs: staged / direct, interleaved pairs\n")
	if err := b.stagedStart(home, project, runs); err != nil {
		return err
	}
	ws := filepath.Join(home, "src", "names")
	env := environ(home, ws)
	if err := nameTree(ws, env); err != nil {
		return err
	}
	bawn := func(args ...string) (time.Duration, error) {
		cmd := exec.Command(b.bawn, args...)
		cmd.Dir, cmd.Env = ws, env
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("bawn %v: %w\n%s", args, err, out)
		}
		return time.Since(begin), err
	}
	for _, j := range []struct{ name, text, made string }{
		{"npm ci, 60 packages", "cd app && npm ci --offline --no-audit --no-fund --ignore-scripts >/dev/null", "app/node_modules"},
		{"tar x, 4,000 files", "mkdir t && tar xf src.tar -C t", "t"},
		{"git clone, 4,000 files", "git clone -q --no-hardlinks src c", "c"},
	} {
		var ratios []float64
		d, s, k := &row{}, &row{}, &row{}
		for i := range pairs + 1 { // the first warms the caches
			if err := os.RemoveAll(filepath.Join(ws, j.made)); err != nil {
				return err
			}
			one, err := bawn("run", "-q", "--", "/bin/sh", "-c", j.text)
			if err != nil {
				return err
			}
			if err := os.RemoveAll(filepath.Join(ws, j.made)); err != nil {
				return err
			}
			two, err := bawn("run", "--stage", "-q", "--", "/bin/sh", "-c", j.text)
			if err != nil {
				return err
			}
			three, err := bawn("keep")
			if err != nil {
				return err
			}
			if i > 0 {
				d.got, s.got, k.got = append(d.got, one), append(s.got, two), append(k.got, three)
				ratios = append(ratios, float64(two)/float64(one))
			}
		}
		slices.Sort(ratios)
		r := ratios[len(ratios)/2]
		verdict(fmt.Sprintf("%-22s %5.2f s direct, %5.2f s staged: %.2f; keep %5.2f s", j.name, d.median().Seconds(), s.median().Seconds(), r, k.median().Seconds()), r <= 1.15, "at most 1.15")
	}
	return nil
}

// stagedStart times whole runs of `true` that stage nothing: to make the layer,
// to look at it, and to leave it for the next run are in it. That is names of
// the state folder's disk, so it comes before anything that makes and removes
// thousands of them (an ext4 without journal passes over each inode that was removed
// within a minute), and once more with that folder in memory, without a disk.
func (b *bench) stagedStart(home, ws string, runs int) error {
	memory, err := os.MkdirTemp("/dev/shm", "bawn-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(memory)
	for _, on := range []struct{ name, state string }{{"start, state in memory", memory}, {"start, state on disk", filepath.Join(home, "state")}} {
		env := append(environ(home, ws), "XDG_STATE_HOME="+on.state)
		direct := &row{args: []string{b.bawn, "run", "-q", "--", "/bin/true"}, dir: ws, env: env}
		staged := &row{args: []string{b.bawn, "run", "--stage", "-q", "--", "/bin/true"}, dir: ws, env: env}
		if err := measure([]*row{direct, staged}, runs); err != nil {
			return err
		}
		more := make([]time.Duration, len(direct.got))
		for i := range more {
			more[i] = staged.got[i] - direct.got[i]
		}
		slices.Sort(more)
		add := more[len(more)/2]
		verdict(fmt.Sprintf("%-22s %s ms direct, %s ms staged: %s ms more; processor time %s ms more", on.name, ms(direct.median()), ms(staged.median()), ms(add),
			ms((staged.cpu-direct.cpu)/time.Duration(runs))), add <= time.Millisecond, "at most 1 ms more")
	}
	return nil
}
