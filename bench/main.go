//go:build linux

// Command bench compares bawn with raw bubblewrap, side by side: all rows of
// a section run interleaved in one process table, so that a noisy machine
// disturbs them alike. It prints medians and the ratios that bawn promises.
package main

import (
	"flag"
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

func main() {
	if v, ok := os.LookupEnv(envClient); ok {
		what, mode, _ := strings.Cut(v, ",")
		if err := clientMain(what, mode); err != nil {
			fmt.Fprintln(os.Stderr, "bench client:", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(envInside) != "" && len(os.Args) == 4 {
		rounds, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = insideNetwork(os.Args[1], rounds, os.Args[3])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench network:", err)
			os.Exit(1)
		}
		return
	}
	runs := flag.Int("runs", 200, "interleaved rounds of the start-up rows")
	srt := flag.String("srt", "", "path of sandbox-runtime's srt, which is to be compared")
	codex := flag.String("codex", "", "path of the codex program, whose sandbox is to be compared")
	long := flag.Bool("long", true, "also the rows of several seconds each")
	only := flag.String("only", "", "one section: start, paths, memory, init, network, names, staged, work, screen, mcp, hook or peers")
	picture := flag.String("chart", "", "file for a picture of the start of each of the peers (SVG)")
	pairs := flag.Int("pairs", 7, "interleaved pairs of each row of the name guard")
	flag.Parse()
	if err := run(*runs, *pairs, *long, *srt, *codex, *picture, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(runs, pairs int, long bool, srt, codex, picture, only string) error {
	base := ""
	if os.Getuid() == 0 {
		base = "/opt" // not below /tmp, which is private in the sandbox
	}
	dir, remove, err := tempdir.Folder(base)
	if err != nil {
		return err
	}
	defer remove()
	b := bench{dir: dir, bawn: filepath.Join(dir, "bawn")}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.bawn, "bawn/cmd/bawn")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	if err := rewrite(b.bawn); err != nil {
		return err
	}
	if _, _, err := b.home(); err != nil {
		return err
	}
	facts()
	found := false
	for _, s := range []struct {
		name string
		long bool
		run  func() error
	}{
		{"start", false, func() error { return b.start(runs) }},
		{"paths", false, func() error { return b.paths(runs / 2) }},
		{"memory", false, b.memory},
		{"init", false, b.packageInit},
		{"network", false, func() error { return b.network(5, srt) }},
		{"names", true, func() error { return b.names(pairs) }},
		{"staged", true, func() error { return b.staged(runs/2, pairs) }},
		{"work", true, b.work},
		{"screen", false, screenRows},
		{"mcp", false, func() error { return b.mcp(runs / 2) }},
		{"hook", false, func() error { return b.hook(runs / 2) }},
		{"peers", true, func() error { return b.peers(runs/4, srt, codex, picture) }},
	} {
		if only != "" && only != s.name || only == "" && s.long && !long {
			continue
		}
		found = true
		if err := s.run(); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("no section %q", only)
	}
	return nil
}

// rewrite writes a program anew, as a package does that installs it. What the
// linker has written through a mapping lies in the page cache in single pages,
// and each start of it takes a millisecond more.
func rewrite(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o755)
}

type bench struct{ dir, bawn string }

// row is one command to time.
type row struct {
	name string
	args []string
	dir  string
	env  []string
	call func() error // in the place of args
	got  []time.Duration
}

func (r *row) run() error {
	if r.call != nil {
		return r.call()
	}
	cmd := exec.Command(r.args[0], r.args[1:]...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// measure runs all rows in turn, so that each sees the same noise.
func measure(rows []*row, rounds int) error {
	for i := range rounds + 3 {
		for _, r := range rows {
			begin := time.Now()
			err := r.run()
			took := time.Since(begin)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if i >= 3 { // the first rounds warm the caches
				r.got = append(r.got, took)
			}
		}
	}
	return nil
}

func (r *row) median() time.Duration {
	s := slices.Sorted(slices.Values(r.got))
	return s[len(s)/2]
}

func (r *row) min() time.Duration { return slices.Min(r.got) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }

func table(title string, rows []*row, base map[string]*row) {
	fmt.Printf("\n%s\n", title)
	w := 0
	for _, r := range rows {
		w = max(w, len(r.name))
	}
	fmt.Printf("  %-*s  %8s  %8s\n", w, "", "median", "min")
	for _, r := range rows {
		fmt.Printf("  %-*s  %5s ms  %5s ms", w, r.name, ms(r.median()), ms(r.min()))
		if b := base[r.name]; b != nil {
			fmt.Printf("  %.2f x %s", float64(r.median())/float64(b.median()), b.name)
		}
		fmt.Println()
	}
}

// facts prints what the figures depend on.
func facts() {
	read := func(f string) string { b, _ := os.ReadFile(f); return strings.TrimSpace(string(b)) }
	cpu := ""
	for line := range strings.Lines(read("/proc/cpuinfo")) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			cpu = strings.TrimSpace(v)
			break
		}
	}
	bw, _ := exec.Command("bwrap", "--version").Output()
	fmt.Printf("kernel %s, %s, %s, uid %d, load %s\n", read("/proc/sys/kernel/osrelease"), cpu,
		strings.TrimSpace(string(bw)), os.Getuid(), read("/proc/loadavg"))
}
