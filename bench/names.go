//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

const (
	nameFiles    = 4000 // of the tree that is cloned and unpacked
	namePackages = 60   // of the project that is installed
	packageFiles = 40
)

// names compares runs with the name guard against runs without: what it costs
// where much is written, with a spinning process on each CPU and without.
func (b *bench) names(pairs int) error {
	home, repo, err := b.repo()
	if err != nil {
		return err
	}
	ws := filepath.Join(home, "src", "names")
	if err := nameTree(ws, environ(home, ws)); err != nil {
		return err
	}
	goEnv := append(environ(home, repo), "GOFLAGS=-mod=vendor -buildvcs=false", "GOTOOLCHAIN=local")
	jobs := []struct {
		name, dir, text, made string
		env                   []string
		reads                 bool
	}{
		{"start", ws, "true", "", environ(home, ws), true},
		{"find and stat", ws, "for i in 1 2 3; do find /usr/lib /usr/share -type f -size +0 -newer /etc/hostname >/dev/null 2>&1; done; true", "", environ(home, ws), true},
		{"git clone, 4,000 files", ws, "git clone -q src c", "c", environ(home, ws), false},
		{"tar x, 4,000 files", ws, "mkdir t && tar xf src.tar -C t", "t", environ(home, ws), false},
		{"npm ci, 60 packages", ws, "cd app && npm ci --offline --no-audit --no-fund --ignore-scripts >/dev/null", "app/node_modules", environ(home, ws), false},
		{"go build, cold", repo, "GOCACHE=$PWD/.gocache CGO_ENABLED=0 go build -o /dev/null ./cmd/bawn", ".gocache", goEnv, false},
	}
	fmt.Printf("\nThe name guard: with it / without, median of %d interleaved pairs\n", pairs)
	for _, busy := range []bool{false, true} {
		stop, err := spin(busy)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			var ratios, cpu []float64
			off, on := &row{}, &row{}
			for i := range pairs + 1 {
				var used [2]time.Duration // processor time of all that a run started
				for k, r := range []*row{off, on} {
					if j.made != "" {
						if err := os.RemoveAll(filepath.Join(j.dir, j.made)); err != nil {
							stop()
							return err
						}
					}
					cmd := exec.Command(b.bawn, "run", "-q", "--launcher", "native", "--guard", [2]string{"off", "on"}[k], "--", "/bin/sh", "-c", j.text)
					cmd.Dir, cmd.Env = j.dir, j.env
					begin := time.Now()
					if out, err := cmd.CombinedOutput(); err != nil {
						stop()
						return fmt.Errorf("%s: %w\n%s", j.name, err, out)
					}
					r.got = append(r.got, time.Since(begin))
					used[k] = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				}
				if i == 0 { // warms the caches
					off.got, on.got = nil, nil
					continue
				}
				ratios = append(ratios, float64(on.got[i-1])/float64(off.got[i-1]))
				cpu = append(cpu, float64(used[1])/float64(used[0]))
			}
			slices.Sort(ratios)
			slices.Sort(cpu)
			r, limit, when := ratios[len(ratios)/2], 1.8, "idle"
			if busy {
				limit, when = 1.25, "busy"
			}
			if j.reads {
				limit = 1.05
			}
			verdict(fmt.Sprintf("%s, %-23s %7.3f s without, %7.3f s with: %.2f, processor time %.2f", when, j.name, off.median().Seconds(), on.median().Seconds(), r, cpu[len(cpu)/2]),
				r <= limit, fmt.Sprintf("at most %.2f", limit))
		}
		stop()
	}
	return nil
}

// spin keeps every CPU busy until stop is called.
func spin(busy bool) (stop func(), err error) {
	var all []*exec.Cmd
	stop = func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	for range runtime.NumCPU() {
		if !busy {
			break
		}
		c := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			stop()
			return nil, err
		}
		all = append(all, c)
	}
	return stop, nil
}

// nameTree makes what the rows work on: a repository, an archive of it, and a
// project whose packages are local archives.
func nameTree(ws string, env []string) error {
	src := filepath.Join(ws, "src")
	for i := range nameFiles {
		dir := filepath.Join(src, fmt.Sprintf("d%d", i/400), fmt.Sprintf("e%d", i/40%10))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), bytes.Repeat([]byte("line of a file\n"), i%60), 0o644); err != nil {
			return err
		}
	}
	deps := map[string]string{}
	for i := range namePackages {
		name := fmt.Sprintf("p%d", i)
		deps[name] = "file:../packages/" + name + ".tgz"
		if err := packageArchive(filepath.Join(ws, "packages", name+".tgz"), name); err != nil {
			return err
		}
	}
	manifest, err := json.Marshal(map[string]any{"name": "app", "version": "1.0.0", "dependencies": deps})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(ws, "app"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(ws, "app", "package.json"), manifest, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-ec", `cd src
git init -q; git add -A; git -c user.name=b -c user.email=b@b commit -qm x; git gc -q
cd ..; tar cf src.tar --exclude .git -C src .
cd app; npm install --offline --no-audit --no-fund --ignore-scripts`)
	cmd.Dir, cmd.Env = ws, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make what is installed: %w\n%s", err, out)
	}
	return nil
}

func packageArchive(path, name string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	add := func(file, text string) error {
		if err := t.WriteHeader(&tar.Header{Name: "package/" + file, Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(1e9, 0)}); err != nil {
			return err
		}
		_, err := t.Write([]byte(text))
		return err
	}
	if err := add("package.json", fmt.Sprintf(`{"name":%q,"version":"1.0.0"}`, name)); err != nil {
		return err
	}
	for i := range packageFiles {
		if err := add(fmt.Sprintf("lib/%d/index%d.js", i/8, i), fmt.Sprintf("module.exports = %d;\n", i)); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
