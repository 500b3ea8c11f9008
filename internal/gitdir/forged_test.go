//go:build unix

package gitdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// scene is a victim repository m with a genuine worktree wt and submodule,
// and a folder f that an earlier command could write at will.
type scene struct{ base, m, wt, g, sub, sg, f string }

func sceneAt(base string) scene {
	m := base + "/super"
	return scene{base: base, m: m, wt: base + "/wt", g: m + "/.git/worktrees/wt",
		sub: m + "/deps/s", sg: m + "/.git/modules/deps/s", f: base + "/f"}
}

func newScene(t *testing.T) scene {
	s := sceneAt(tempDir(t))
	submodule(t, s.base)
	git(t, s.m, "worktree", "add", "-q", s.wt)
	mkdir(t, s.f)
	return s
}

// copy is what `git worktree repair` would make of a copied scene.
func (s scene) copy(t *testing.T) scene {
	to := sceneAt(tempDir(t))
	if err := os.CopyFS(to.base, os.DirFS(s.base)); err != nil {
		t.Fatal(err)
	}
	write(t, to.wt+"/.git", "gitdir: "+to.g+"\n")
	write(t, to.g+"/gitdir", to.wt+"/.git\n")
	return to
}

// A59: each forgery starts from a genuine pointer that is believed, changes
// one thing, and must lose the grant.
func TestForgedPointer(t *testing.T) {
	tests := []struct {
		name  string
		sub   bool // start from the submodule, not from the worktree
		forge func(t *testing.T, s *scene)
		warn  string
	}{
		{"foreign folder", false, func(t *testing.T, s *scene) {
			mkdir(t, s.base+"/home/.ssh")
			write(t, s.wt+"/.git", "gitdir: "+s.base+"/home/.ssh\n")
		}, "no HEAD"},
		{"the main repository", false, func(t *testing.T, s *scene) {
			write(t, s.wt+"/.git", "gitdir: "+s.m+"/.git\n")
		}, "neither in worktrees/ nor in modules/"},
		{"another worktree's pointer", false, func(t *testing.T, s *scene) {
			write(t, s.f+"/.git", readFile(t, s.wt+"/.git"))
			s.wt = s.f
		}, "its gitdir names"},
		{"hard link of another worktree's pointer", false, func(t *testing.T, s *scene) {
			if err := os.Link(s.wt+"/.git", s.f+"/.git"); err != nil {
				t.Fatal(err)
			}
			s.wt = s.f
		}, "its gitdir names"},
		{"by a link in the folder", false, func(t *testing.T, s *scene) {
			symlink(t, s.g, s.f+"/link")
			write(t, s.f+"/.git", "gitdir: link\n")
			s.wt = s.f
		}, "its gitdir names"},
		{"commondir elsewhere", false, func(t *testing.T, s *scene) {
			write(t, s.g+"/commondir", "../../..\n")
		}, "its commondir names"},
		{"commondir of another repository", false, func(t *testing.T, s *scene) {
			write(t, s.g+"/commondir", repository(t, s.base+"/n")+"/.git\n")
		}, "its commondir names"},
		{"commondir a link", false, func(t *testing.T, s *scene) {
			rename(t, s.g+"/commondir", s.g+"/c")
			symlink(t, "c", s.g+"/commondir")
		}, "its commondir: not a regular file"},
		{"gitdir a link", false, func(t *testing.T, s *scene) {
			rename(t, s.g+"/gitdir", s.g+"/c")
			symlink(t, "c", s.g+"/gitdir")
		}, "its gitdir: not a regular file"},
		{"gitdir missing", false, func(t *testing.T, s *scene) { remove(t, s.g+"/gitdir") }, "its gitdir"},
		{"gitdir names the folder only", false, func(t *testing.T, s *scene) {
			write(t, s.g+"/gitdir", s.wt+"\n")
		}, "its gitdir names"},
		{"gitdir names another file", false, func(t *testing.T, s *scene) {
			write(t, s.g+"/gitdir", s.wt+"/x.git\n")
		}, "its gitdir names"},
		{"gitdir names a neighbour", false, func(t *testing.T, s *scene) {
			write(t, s.g+"/gitdir", s.wt+".git\n")
		}, "its gitdir names"},
		{"commondir with NUL", false, func(t *testing.T, s *scene) {
			write(t, s.g+"/commondir", "../..\x00x\n")
		}, "does not hold a path"},
		{"gitdir names a folder below", false, func(t *testing.T, s *scene) {
			mkdir(t, s.wt+"/x")
			write(t, s.g+"/gitdir", s.wt+"/x/.git\n")
		}, "its gitdir names"},
		{"folder moved", false, func(t *testing.T, s *scene) {
			rename(t, s.wt, s.wt+"2")
			s.wt += "2"
		}, "git worktree repair"},
		{"not below worktrees", false, func(t *testing.T, s *scene) {
			rename(t, s.m+"/.git/worktrees", s.m+"/.git/trees")
			write(t, s.wt+"/.git", "gitdir: "+s.m+"/.git/trees/wt\n")
		}, "is in worktrees/"},
		{"one level deeper", false, func(t *testing.T, s *scene) {
			mkdir(t, s.m+"/.git/worktrees/x")
			rename(t, s.g, s.m+"/.git/worktrees/x/wt")
			write(t, s.m+"/.git/worktrees/x/wt/commondir", "../../..\n")
			write(t, s.wt+"/.git", "gitdir: "+s.m+"/.git/worktrees/x/wt\n")
		}, "is in worktrees/"},
		{"common without objects", false, func(t *testing.T, s *scene) {
			rename(t, s.m+"/.git/objects", s.m+"/.git/o")
		}, "no git directory"},
		{"common without refs", false, func(t *testing.T, s *scene) {
			rename(t, s.m+"/.git/refs", s.m+"/.git/r")
		}, "no git directory"},
		{"common's objects a link", false, func(t *testing.T, s *scene) {
			rename(t, s.m+"/.git/objects", s.m+"/.git/o")
			symlink(t, "o", s.m+"/.git/objects")
		}, "no git directory"},
		{"common without HEAD", false, func(t *testing.T, s *scene) { remove(t, s.m+"/.git/HEAD") }, "no git directory"},
		{"worktree without HEAD", false, func(t *testing.T, s *scene) { remove(t, s.g+"/HEAD") }, "no HEAD"},
		{"no pointer", false, func(t *testing.T, s *scene) { write(t, s.wt+"/.git", s.g) }, `does not hold "gitdir: "`},
		{"empty", false, func(t *testing.T, s *scene) { write(t, s.wt+"/.git", "gitdir: \n") }, `does not hold "gitdir: "`},
		{"NUL", false, func(t *testing.T, s *scene) {
			write(t, s.wt+"/.git", "gitdir: "+s.g+"\x00x\n")
		}, `does not hold "gitdir: "`},
		{"to nothing", false, func(t *testing.T, s *scene) {
			write(t, s.wt+"/.git", "gitdir: "+s.g+"x\n")
		}, "no folder"},
		{"made inside the folder", false, func(t *testing.T, s *scene) {
			write(t, s.f+"/.git", "gitdir: e/worktrees/x\n")
			for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n",
				"commondir": s.m + "/.git\n", "gitdir": s.f + "/.git\n"} {
				write(t, s.f+"/e/worktrees/x/"+name, text)
			}
			s.wt = s.f
		}, "outside the folder"},

		{"another submodule's pointer", true, func(t *testing.T, s *scene) {
			write(t, s.f+"/.git", "gitdir: "+s.sg+"\n")
			s.sub = s.f
		}, "its core.worktree names"},
		{"core.worktree elsewhere", true, func(t *testing.T, s *scene) {
			git(t, s.base, "config", "-f", s.sg+"/config", "core.worktree", s.m)
		}, "its core.worktree names"},
		{"no core.worktree", true, func(t *testing.T, s *scene) {
			git(t, s.base, "config", "-f", s.sg+"/config", "--unset", "core.worktree")
		}, "no core.worktree"},
		{"core.worktree not in force", true, func(t *testing.T, s *scene) {
			git(t, s.base, "config", "-f", s.sg+"/config", "--unset", "core.worktree")
			write(t, s.sg+"/config.worktree", "[core]\n\tworktree = "+s.sub+"\n")
		}, "no core.worktree"},
		{"not below modules", true, func(t *testing.T, s *scene) {
			rename(t, s.sg, s.base+"/sep")
			write(t, s.sub+"/.git", "gitdir: "+s.base+"/sep\n")
			git(t, s.base, "config", "-f", s.base+"/sep/config", "core.worktree", s.sub)
		}, "neither in worktrees/ nor in modules/"},
		{"modules of no repository", true, func(t *testing.T, s *scene) {
			mkdir(t, s.base+"/x/modules")
			rename(t, s.sg, s.base+"/x/modules/s")
			write(t, s.sub+"/.git", "gitdir: "+s.base+"/x/modules/s\n")
			git(t, s.base, "config", "-f", s.base+"/x/modules/s/config", "core.worktree", s.sub)
		}, "neither in worktrees/ nor in modules/"},
		{"module without refs", true, func(t *testing.T, s *scene) { remove(t, s.sg+"/refs") }, "no git directory"},
		{"module's config a link", true, func(t *testing.T, s *scene) {
			rename(t, s.sg+"/config", s.sg+"/c")
			symlink(t, "c", s.sg+"/config")
		}, "no core.worktree"},
	}
	original := newScene(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := original.copy(t)
			dir, grant := &s.wt, s.m+"/.git"
			if tt.sub {
				dir, grant = &s.sub, s.sg
			}
			genuine := discover(t, *dir)
			want(t, "Writable of the genuine pointer", genuine.Writable, grant)
			warned(t, genuine)

			tt.forge(t, &s)
			r := discover(t, *dir)
			want(t, "Writable", r.Writable)
			warned(t, r, tt.warn)
			if len(r.Warnings) != 1 {
				t.Errorf("want one warning: %q", r.Warnings)
			}
			for _, w := range r.Warnings {
				if strings.Contains(w, "--add-dir") && strings.Contains(w, "/.ssh") {
					t.Errorf("advice to open a foreign folder: %s", w)
				}
			}
			// The pointer stays protected, believed or not.
			if info, err := os.Lstat(*dir + "/.git"); err == nil && info.Mode().IsRegular() {
				has(t, "ReadOnly", r.ReadOnly, *dir+"/.git")
			}
		})
	}
}

// Owners count for a caller who is not root.
func TestForgedOwner(t *testing.T) {
	if dir := os.Getenv("GITDIR_TEST_OWNER"); dir != "" {
		r := discover(t, dir)
		t.Logf("WRITABLE=%q WARNINGS=%q READONLY=%q", r.Writable, r.Warnings, r.ReadOnly)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("needs root to make files of another user")
	}
	const nobody = 65534
	s := newScene(t)
	for dir := s.base; dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil && dir == s.base {
			t.Fatal(err)
		}
		if dir == os.TempDir() || filepath.Dir(dir) == "/" {
			break
		}
	}
	if err := os.Chmod(os.TempDir(), os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	all := func(uid int) {
		err := filepath.WalkDir(s.base, func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(path, uid, uid)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	exe := s.base + "/test"
	bin, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, bin, 0o755); err != nil {
		t.Fatal(err)
	}
	as := func(dir string) string {
		cmd := exec.Command(exe, "-test.run=^TestForgedOwner$", "-test.v")
		cmd.Dir = s.base
		cmd.Env = append(os.Environ(), "GITDIR_TEST_OWNER="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	all(nobody)
	for _, dir := range []string{s.wt, s.sub} {
		if out := as(dir); strings.Contains(out, "WRITABLE=[]") || !strings.Contains(out, "WARNINGS=[]") {
			t.Errorf("own %s is not believed: %s", dir, out)
		}
	}
	for path, dir := range map[string]string{
		s.wt + "/.git": s.wt, s.g: s.wt, s.m + "/.git": s.wt, s.g + "/commondir": s.wt, s.g + "/gitdir": s.wt,
		s.sub + "/.git": s.sub, s.sg: s.sub, s.sg + "/config": s.sub,
	} {
		if err := os.Lchown(path, 1, 1); err != nil {
			t.Fatal(err)
		}
		if out := as(dir); !strings.Contains(out, "WRITABLE=[]") || !strings.Contains(out, "another user") {
			t.Errorf("%s of another user is believed: %s", path, out)
		}
		all(nobody)
	}

	// Another user's .git above the folder is not used (safe.directory) and
	// must not decide what is read-only below it.
	git(t, s.base, "config", "-f", s.m+"/.git/config", "core.hooksPath", "in")
	mkdir(t, s.m+"/in")
	all(nobody)
	if out := as(s.m + "/in"); !strings.Contains(out, "READONLY=[\""+s.m+"/in\"]") {
		t.Errorf("hooks folder of the own repository above: %s", out)
	}
	if err := os.Lchown(s.m+"/.git", 1, 1); err != nil {
		t.Fatal(err)
	}
	if out := as(s.m + "/in"); !strings.Contains(out, "READONLY=[]") {
		t.Errorf("hooks folder of another user's repository above: %s", out)
	}
}
