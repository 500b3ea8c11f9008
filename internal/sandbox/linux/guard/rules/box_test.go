//go:build linux

package rules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/gitdir"
	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
	"bawn/internal/sandbox/linux/guard/rules"
)

// A sandbox for tests: this binary again as pid 1 of its own user, mount and
// PID namespaces, with the guard, these rules, and a command.
const envBox = "BAWN_RULES_TEST_BOX"

type boxConfig struct {
	Rules rules.Config
	Only  policy.WriteNames
}

func TestMain(m *testing.M) {
	if text := os.Getenv(envBox); text != "" {
		runtime.LockOSThread()
		os.Unsetenv(envBox)
		if err := stage(text); err != nil {
			fmt.Fprintln(os.Stderr, "stage:", err)
			os.Exit(99)
		}
	}
	os.Exit(m.Run())
}

func stage(text string) error {
	var c boxConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fd, err := guard.Install(c.Only.On)
	if err != nil {
		return err
	}
	r := rules.New(c.Rules)
	if c.Only.On {
		r = rules.Only(r, c.Rules.Roots, c.Rules.Exempt, c.Only)
	}
	events := os.NewFile(3, "events")
	unix.CloseOnExec(3)
	var mu sync.Mutex
	go func() {
		err := guard.Serve(fd, -1, guard.Streams(), r, func(e guard.Event) {
			if e.Seen {
				return // no test is about who makes names
			}
			line, _ := json.Marshal(e)
			mu.Lock()
			defer mu.Unlock()
			_, _ = events.Write(append(line, '\n'))
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(98)
		}
	}()
	path, err := exec.LookPath(os.Args[1])
	if err != nil {
		return err
	}
	pid, err := syscall.ForkExec(path, os.Args[1:], &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return err
	}
	for {
		var st unix.WaitStatus
		p, err := unix.Wait4(-1, &st, 0, nil)
		if err == unix.EINTR || p != pid && err == nil {
			continue
		}
		if err != nil {
			return err
		}
		if st.Signaled() {
			os.Exit(128 + int(st.Signal()))
		}
		os.Exit(st.ExitStatus())
	}
}

// inside runs a script in dir under the guard and returns what it printed,
// what was refused and what was watched.
func (w *world) inside(dir, script string, only ...policy.WriteNames) (out string, denied, watched []guard.Event, err error) {
	w.t.Helper()
	repo, err := gitdir.Discover(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(boxConfig{
		Rules: rules.Config{
			Roots: append([]string{w.ws}, repo.Writable...), Exempt: []string{filepath.Dir(w.ws) + "/cache"}, Home: w.home,
			Paths: append(repo.ReadOnly, repo.Names...), Lifted: w.lifted,
		}, Only: append(only, policy.WriteNames{})[0],
	})
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := w.command(dir, "/proc/self/exe", "bash", "-ec", script)
	cmd.Env = append(cmd.Env, envBox+"="+string(text))
	r, events, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{events}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   unix.SIGKILL,
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_SETPCAP},
	}
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	events.Close()
	for dec := json.NewDecoder(r); ; {
		var e guard.Event
		if dec.Decode(&e) != nil {
			break
		}
		if e.Allowed {
			watched = append(watched, e)
		} else {
			denied = append(denied, e)
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == 98 || exit.ExitCode() == 99) {
		w.t.Fatalf("%v\n%s", err, b.String())
	}
	return b.String(), denied, watched, err
}

// everyday is git as people and agents use it. Each runs in a new world whose
// workspace is a repository with a remote, a submodule's source beside it.
var everyday = []struct{ name, script string }{
	{"init", `git init -q n; cd n; git commit -q --allow-empty -m x; git init -q; git config user.name x; git config --unset user.name; git remote add o https://example.invalid/x.git`},
	{"init as libgit2 does it", `mkdir -p n/.git/objects n/.git/refs/heads; : >n/.git/config; git config -f n/.git/config core.bare false; git config -f n/.git/config core.filemode true; echo ref: refs/heads/main >n/.git/HEAD.lock; ln n/.git/HEAD.lock n/.git/HEAD; rm n/.git/HEAD.lock; git -C n status; git -C n commit -q --allow-empty -m x`},
	{"init bare", `git init -q --bare b.git; git remote add b "$PWD/b.git"; git push -q b main; git -C b.git log --oneline -1 main`},
	{"clone", `git clone -q "$UP" c; git clone -q --bare "$UP" c.git; git clone -q --mirror "$UP" m.git; git clone -q --depth 1 "file://$UP" d; git clone -q --no-checkout "$UP" e; git -C c status`},
	{"A clone of a clone", `git clone -q . "$PWD/c"; git -C c pull -q; git clone -q c c2; git -C c2 fetch -q --all`},
	{"clone by http", `git clone -q "$HTTP" h; git -C h fetch -q; git -C h status`},
	{"partial clone", `git clone -q --filter=blob:none "file://$UP" p; git -C p log -p -1`},
	{"commit", `echo a >a; git add a; git commit -qm a; git commit -q --amend -m b; git tag v; git tag -a -m v v2; git reset -q --hard HEAD~1; git reflog`},
	{"branch", `git checkout -qb t; git commit -q --allow-empty -m t; git branch -m t t2; git branch -c t2 t3; git checkout -q main; git merge -q --no-ff -m m t2; git branch -d t2; git branch -D t3; git branch config; git branch hooks/x; git checkout -q config; git branch objects/a; git branch -m config HEAD2`},
	{"branches named like control files", `for b in config hooks/pre-commit gitdir modules/m remotes/r; do git branch $b; git update-ref refs/remotes/origin/$b HEAD; done; git branch commondir; git commit -q --allow-empty -m x; git branch -f commondir; git push -q . HEAD:commondir; git pack-refs --all; git for-each-ref | wc -l; git checkout -q config; git commit -q --allow-empty -m x`},
	{"branches like control files, begun outside", `git checkout -q fix/config; git commit -q --allow-empty -m x; git commit -q --allow-empty -m y; git checkout -q hooks/pre-push; git commit -q --allow-empty -m x; git checkout -q main; git branch -m fix/config fix/c; git branch -m fix/c fix/config; test "$(git log --format=%s -1 fix/config)" = y; git branch -qD hooks/pre-push; git reflog expire --expire=now fix/config; git reflog expire --all; git gc -q; git branch -D fix/config`},
	{"branches of a remote whose HEAD is known", `git remote set-head origin main; for b in hooks/use-x hooks/pre-x config branches/1.0 remotes/r gitdir modules/m; do git push -q origin HEAD:refs/heads/$b; done; git fetch -q; git remote set-head origin hooks/use-x; git pack-refs --all; git remote set-head origin main; git push -q origin --delete hooks/use-x hooks/pre-x; git push -q origin HEAD:refs/heads/hooks; git fetch -q --prune; test "$(git rev-parse origin/config origin/hooks)" = "$(git rev-parse HEAD HEAD)"`},
	{"upstream", `git fetch -q origin; git branch --set-upstream-to=origin/main; git checkout -qb f; git push -q -u origin f; git branch --unset-upstream; git push -q origin --delete f; git remote set-url origin "$UP"; git remote rename origin o2; git remote remove o2`},
	{"stash, rebase, cherry-pick", `echo 1 >>f; git stash -q; git stash pop -q; git add .; git commit -qm 1; git checkout -qb r HEAD~1; echo 2 >g; git add g; git commit -qm 2; git rebase -q main; git rebase -q -i --exec true HEAD~1; git cherry-pick main~0 --allow-empty || git cherry-pick --skip; git revert --no-edit HEAD`},
	{"bisect, notes, am", `git notes add -m n; git format-patch -q -1 --stdout >p; git checkout -q HEAD~1 2>/dev/null || true; git checkout -q main; git bisect start; git bisect reset; git apply --check p || true`},
	{"gc", `git gc -q; git repack -adq; git prune; git maintenance run; git fsck; git commit-graph write; git pack-refs --all`},
	{"submodule", `git submodule --quiet add "$UP" s; git commit -qm s; git submodule --quiet update --init --recursive; git -C s checkout -qb x; git submodule --quiet deinit -f s; git submodule --quiet update --init; git submodule --quiet sync; git submodule --quiet foreach 'git status'; git submodule set-branch -b main s; git submodule set-url s "$UP"; git commit -qam set; git rm -qf s; git commit -qm rm`},
	{"submodule in a folder", `git submodule --quiet add "$UP" deps/s; git commit -qm s; git -C deps/s status; git clone -q --recurse-submodules . c; git -C c/deps/s log -1 --oneline; git -C c/deps/s remote -v`},
	{"submodule by name", `git submodule --quiet add --name lib "$UP" s; git commit -qm s; test "$(cat s/.git)" = "gitdir: ../.git/modules/lib"; test "$(git -C .git/modules/lib config core.worktree)" = ../../../s; git -C s status; git submodule --quiet add --name a/b "$UP" deps/t; git -C deps/t log -1 --oneline; git submodule --quiet update --init; git submodule status; git submodule --quiet deinit -f s; git submodule --quiet update --init`},
	{"worktree", `git worktree add -q wt; git worktree add -q -b b2 d/wt2; cd wt; echo a >a; git add a; git commit -qm a; git stash -q -u || true; git fetch -q; git status; cd ..; git worktree lock wt; git worktree unlock wt; git worktree list; git worktree move d/wt2 d/wt3; git -C d/wt3 commit -q --allow-empty -m x; git worktree remove d/wt3; git worktree remove wt; git worktree prune; git gc -q`},
	{"worktree of a bare repository", `git clone -q --bare "$UP" r.git; cd r.git; git worktree add -q ../w main; git worktree add -q in; cd in; ln -s f l; mkdir d; mv d d2; git add l; git commit -qm l; cd ../../w; git commit -q --allow-empty -m x; git rebase -q HEAD`},
	{"sparse checkout", `mkdir -p a b; touch a/x b/y; git add .; git commit -qm x; git sparse-checkout set a; git sparse-checkout add b; git sparse-checkout disable`},
	{"settings", `git config pull.rebase true; git config core.autocrlf input; git config merge.conflictStyle diff3; git config --unset pull.rebase; git config branch.main.description 'a
b'; git config --rename-section branch.main branch.x; git config --list --show-origin >/dev/null; git config rerere.enabled true; git config advice.detachedHead false`},
	{"other git programs", `: >.git/config.lock; { cat .git/config; printf '[user]\n\tname = j\n'; } >>.git/config.lock; mv .git/config.lock .git/config; test "$(git config user.name)" = j; exec 3>.git/config.lock; chmod 600 .git/config.lock; cat .git/config >&3; mv .git/config.lock .git/config; test "$(stat -c %a .git/config)" = 600; git config user.name k; echo x >.git/config.lock; ! git config user.name l 2>/dev/null; rm .git/config.lock; git config user.name m`},
	{"rm and clone again", `git clone -q "$UP" c; rm -rf c; git clone -q "$UP" c; mv c d; git -C d status; rm -rf d/.git; git init -q d`},
	{"files named like control files", `mkdir -p config hooks objects refs src/hooks src/refs src/objects; touch src/config src/hooks/useX.ts src/refs/a hooks/pre-commit config/HEAD objects/config refs/HEAD; echo x >>src/config; mv src/config src/config2; ln -s config2 src/config; mkdir -p api; touch api/HEAD api/GET; echo x >api/HEAD; mv hooks hooks2; git add -A; git commit -qm x; git clone -q . c; rm -r src; git checkout -q src; git stash -q -u`},
	{"archive unpacked", `git archive -o t.tar HEAD; mkdir t; tar -xf t.tar -C t; cp -r .git/../f t/; cp -a t t2; rsync -a t2/ t3/ 2>/dev/null || true`},
}

// Everyday git works under the guard, and nothing of it is refused.
func TestEverydayGit(t *testing.T) {
	for _, e := range everyday {
		t.Run(strings.ReplaceAll(e.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, false)
			up := filepath.Dir(w.ws) + "/up"
			w.git(filepath.Dir(w.ws), "init", "-q", up)
			must(t, os.WriteFile(up+"/f", []byte("f\n"), 0o644))
			w.git(up, "add", "f")
			w.git(up, "commit", "-qm", "up")
			w.git(up, "checkout", "-q", "--detach")
			w.git(up, "update-server-info")
			server := httptest.NewServer(http.FileServer(http.Dir(up)))
			defer server.Close()
			must(t, os.Remove(w.ws))
			w.git(filepath.Dir(w.ws), "clone", "-q", "-b", "main", up, "ws")
			if strings.HasSuffix(e.name, "begun outside") {
				w.git(w.ws, "branch", "fix/config")
				w.git(w.ws, "branch", "hooks/pre-push")
			}
			out, denied, _, err := w.inside(w.ws, "export UP="+up+" HTTP="+server.URL+"/.git; set -x; "+e.script)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for _, d := range denied {
				t.Errorf("%s %q by %s: %s: %s", d.Op, d.Path, d.Command, d.Rule.ID, d.Reason)
			}
			if out, err := w.tryGit(w.ws, "fsck"); err != nil {
				t.Errorf("fsck: %v\n%s", err, out)
			}
		})
	}
}

// What is written to the empty config that a repository may begin with fails,
// and does not get there.
func TestEmptyConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	out, denied, _, _ := w.inside(w.ws, `mkdir .git; : >.git/config && stat -c %a-%s .git/config; rm .git/config; echo evil >.git/config && echo written; (: >>.git/config) && echo again`)
	if !strings.Contains(out, "644-0\n") || strings.Contains(out, "written\n") || strings.Contains(out, "again\n") || len(denied) != 1 {
		t.Errorf("%d refused: %s", len(denied), out)
	}
	if text, err := os.ReadFile(w.ws + "/.git/config"); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
}
