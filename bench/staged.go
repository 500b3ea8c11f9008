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

	"bawn/internal/tools/tempdir"
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

// stagedStart times runs of `date` that stage nothing, in pairs with ones without
// a layer: until the command runs, which it tells itself, and to the end of the
// run, when the layer was looked at and left for the next. Making a layer makes
// names on the state folder's disk, so this comes before anything that makes and
// removes thousands of them (an ext4 without journal passes over each inode that
// was removed within a minute), and once more with that folder in memory.
func (b *bench) stagedStart(home, ws string, runs int) error {
	memory, remove, err := tempdir.Folder("/dev/shm")
	if err != nil {
		return err
	}
	defer remove()
	for _, on := range []struct{ name, state string }{{"state in memory", memory}, {"state on disk", filepath.Join(home, "state")}} {
		env := append(environ(home, ws), "XDG_STATE_HOME="+on.state)
		var started, ended []time.Duration // staged, and direct taken off
		var cpu time.Duration
		for i := range runs + 3 {
			direct, err := b.dated(ws, env)
			if err != nil {
				return err
			}
			staged, err := b.dated(ws, env, "--stage")
			if err != nil {
				return err
			}
			if i >= 3 { // the first rounds warm the caches
				started = append(started, staged.started-direct.started)
				ended = append(ended, staged.ended-direct.ended)
				cpu += staged.cpu - direct.cpu
			}
		}
		slices.Sort(started)
		slices.Sort(ended)
		add := started[runs/2]
		verdict(fmt.Sprintf("start, %-15s %s ms more until the command runs, %s to the end, %s of processor time", on.name, ms(add), ms(ended[runs/2]), ms(cpu/time.Duration(runs))),
			add <= time.Millisecond, "at most 1 ms more until it runs")
	}
	return nil
}

// dated is what a run of `date` took.
type dated struct{ started, ended, cpu time.Duration }

func (b *bench) dated(ws string, env []string, flags ...string) (dated, error) {
	cmd := exec.Command(b.bawn, slices.Concat([]string{"run", "-q"}, flags, []string{"--", "/bin/date", "+%s%N"})...)
	cmd.Dir, cmd.Env = ws, env
	begin := time.Now()
	out, err := cmd.Output()
	took := time.Since(begin)
	if err != nil {
		return dated{}, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	at, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return dated{}, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return dated{time.Duration(at - begin.UnixNano()), took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}
