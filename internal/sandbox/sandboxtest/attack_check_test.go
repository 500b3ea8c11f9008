//go:build linux

package sandboxtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bawn/internal/policy"
)

// What `bawn check` says of a path must be what the sandbox does with it. The
// tree and the questions are random; the seed is printed with a failure.
func TestCheckAgreesWithTheSandbox(t *testing.T) {
	// Guarded, and one of the others: with two users and every run of the
	// suite, all come up often.
	for _, m := range []mode{sandboxed[0], sandboxed[1+rand.IntN(len(sandboxed)-1)]} {
		t.Run(m.name, func(t *testing.T) {
			seed := rand.Uint64()
			rnd := rand.New(rand.NewPCG(seed, 1))
			b := New(t, "native")
			root := filepath.Dir(b.Home)
			mkdir(t, root+"/added")
			b.Flags = append([]string{"--add-dir", root + "/added"}, m.flags...)
			paths := randomTree(t, rnd, b)
			slices.Sort(paths)
			paths = slices.Compact(paths)
			rnd.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
			paths = paths[:min(len(paths), 70)]
			checks := checkAll(t, b, paths)
			for _, l := range Launchers {
				b.Launcher = l
				p := probeIn(t, b)
				for i, path := range paths {
					compare(t, l, p, path, checks[i])
				}
				p.end()
			}
			if t.Failed() {
				t.Logf("seed %#x", seed)
			}
		})
	}
}

// randomTree makes files, folders and links in workspace, home and beside
// them, and returns paths that exist and paths that do not.
func randomTree(t *testing.T, rnd *rand.Rand, b *Box) []string {
	t.Helper()
	names := []string{"a", "b", "src", ".x", "Z z", ".cache", ".config", ".local", "share", "keep", ".ssh", ".aws", ".netrc", ".npm", "gh", "git"}
	root := filepath.Dir(b.Home)
	dirs := []string{b.Workspace, b.Home, root + "/added", root + "/ws2"}
	mkdir(t, root+"/ws2")
	// Some that the policy has an opinion about.
	places := secretPlaces(b.Home)
	var files []string
	for range 25 {
		r := places[rnd.IntN(len(places))]
		switch {
		case exists(r.Path):
		case rnd.IntN(3) == 0 && !r.File:
			to := fmt.Sprintf("%s/dot%d", b.Home, rnd.IntN(1000))
			mkdir(t, to)
			Write(t, to+"/key", "x")
			symlink(t, to, r.Path)
			files = append(files, to+"/key")
		default:
			plant(t, r.Path, r.File)
		}
		files = append(files, r.Path)
		if !r.File {
			files = append(files, r.Path+"/key", r.Path+"/new")
		}
	}
	for _, d := range []string{".cache", ".cargo/registry", "go/pkg/mod", ".local/share/pnpm"} {
		if rnd.IntN(2) == 0 && !exists(b.Home+"/"+strings.Split(d, "/")[0]) {
			mkdir(t, b.Home+"/"+d)
		}
		dirs = append(dirs, b.Home+"/"+d)
	}
	files = append(files, dirs...)
	for range 60 {
		parent := dirs[rnd.IntN(len(dirs))]
		path := parent + "/" + names[rnd.IntN(len(names))]
		// A parent may have become a file by now.
		if st, err := os.Stat(parent); exists(path) || err != nil || !st.IsDir() {
			files = append(files, path)
			continue
		}
		switch rnd.IntN(6) {
		case 0, 1:
			mkdir(t, path)
			dirs = append(dirs, path)
		case 2, 3:
			Write(t, path, "x")
		case 4:
			to := files[rnd.IntN(len(files))]
			// A credential's link to a writable folder or the home refuses the
			// run, and one in a cache is not followed: other tests' subjects.
			if exists(to) && to != b.Home && !policy.Inside(parent, b.Home+"/.cache") && (!policy.Inside(path, b.Home) || policy.Inside(to, b.Home)) {
				symlink(t, to, path)
			}
		}
		files = append(files, path, path+"/deeper")
	}
	for _, f := range []string{".bashrc", ".mcp.json", ".claude/settings.json", ".codex/x", ".gitconfig"} {
		if rnd.IntN(2) == 0 {
			Write(t, b.Workspace+"/"+f, "{}")
			files = append(files, b.Workspace+"/"+f)
		}
	}
	return append(files, "/etc/passwd", "/etc/shadow", "/usr/bin/env", "/usr/x", "/dev/null", "/dev/full", "/dev/vda",
		"/proc/sys/kernel/core_pattern", "/sys/kernel", "/tmp/new", "/var/tmp/new", "/run/new", "/dev/shm/new", "/", root)
}

type verdicts struct{ read, write bool }

func checkAll(t *testing.T, b *Box, paths []string) []verdicts {
	t.Helper()
	out := make([]verdicts, len(paths))
	one := func(action, path string) bool {
		r := b.Bawn(t, append(append([]string{"check"}, b.Flags...), action, "--json", path)...)
		var v struct{ Verdict string }
		if err := json.Unmarshal([]byte(r.Stdout), &v); err != nil {
			t.Errorf("check %s %s: %v: %+v", action, path, err, r)
			return false
		}
		if allow := v.Verdict == "allow"; allow != (r.Code == 0) || !allow && (v.Verdict != "deny" || r.Code != 1) {
			t.Errorf("check %s %s: %s with exit code %d", action, path, v.Verdict, r.Code)
		}
		return v.Verdict == "allow"
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range next {
				out[i] = verdicts{one("read", paths[i]), one("write", paths[i])}
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// compare tries a path inside. Nothing is changed on the host by it: a write
// is an open without writing, or a file that is made and removed.
func compare(t *testing.T, launcher string, p *prober, path string, v verdicts) {
	t.Helper()
	got, _, _ := strings.Cut(p.do("read", path), "\t")
	real, _ := filepath.EvalSymlinks(path)
	copied := real == p.box.Home+"/.npmrc" || real == p.box.Home+"/.pypirc"
	switch {
	case copied: // the file itself is hidden, a copy without the login is there
	case v.read && got != "ok" && got != "ENOENT" && got != "ENOTDIR" && got != "ENXIO" && got != "ELOOP":
		t.Errorf("%s: check allows to read %s, the sandbox says %s", launcher, path, got)
	case v.read && got == "ENOENT" && exists(path) && !strings.HasPrefix(path, "/dev/"):
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: check allows to read %s, which exists, and the sandbox hides it", launcher, path)
		}
	case !v.read && got != "EACCES" && got != "ENOENT" && got != "ENOTDIR" && got != "EPERM":
		t.Errorf("%s: check forbids to read %s, the sandbox says %s", launcher, path, got)
	}
	write := p.do("write", path)
	if write == "EISDIR" { // a folder: is a new name in it allowed?
		write = p.do("creat", path+"/.probe")
		if write == "ok" {
			p.want("ok", "unlink", path+"/.probe")
		}
	} else if write == "ENOENT" {
		if write = p.do("creat", path); write == "ok" {
			p.want("ok", "unlink", path)
		}
	}
	ok := write == "ok"
	absent := write == "ENOENT" || write == "ENOTDIR" || write == "ELOOP" || write == "EEXIST"
	if ok != v.write && !(v.write && absent) {
		t.Errorf("%s: check write %s is %v, the sandbox says %s", launcher, path, v.write, write)
	}
}
