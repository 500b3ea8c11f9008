//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"
)

// repoCopy copies a repository with two commits into the current folder.
const repoCopy = `cp -R "$REPO/." .
`

// gitState shows what git work may have changed: the hashes of refs cover all
// content, since names and dates are fixed.
const gitState = `git fsck --strict 2>&1; git status --porcelain --branch; git for-each-ref; ls -A . "$(git rev-parse --git-common-dir)"; cat "$(git rev-parse --git-common-dir)/config"
`

func gitJobs(t *testing.T, jobs []job) {
	b := New(t, "")
	b.Env = gitEnv
	Host(t, b, `git init -q -b main; echo one >f; git add f; git commit -qm one; echo two >>f; git commit -qam two`).OK(t)
	testJobs(t, append([]string{"REPO=" + b.Workspace}, gitEnv...), jobs)
}

func TestB11_Git(t *testing.T) {
	gitJobs(t, []job{
		{
			name: "Everyday",
			run: `git init -q -b main; echo x >f; git add f; git commit -m first; echo y >>f; git diff --stat; git commit -qam second; git tag t; git tag -a v1 -m v1; git tag -d t; git describe
echo dirty >>f; echo new >n; git stash push -q -u -m w; git status --porcelain; git stash pop; git stash -q; git stash apply -q; git stash drop; cat f n
git add n; git commit -q --amend -m amended; git branch keep; git reset -q --hard HEAD~1; echo o >o; git add o; git commit -qm o; git cherry-pick keep
git revert --no-edit HEAD; git reset --soft HEAD~1; git restore --staged n; git checkout -- .; mkdir d; git mv f d/g; git commit -qm moved
echo junk >junk; git clean -fdx; git rm -q o; git commit -qm removed; git blame d/g; git log --format=%s; git show --stat; git notes add -m note`,
			want: "amended", after: gitState,
		},
		{
			name: "MergeAndRebase", heavy: true, setup: repoCopy,
			run: `git switch -q -c side; echo s >s; git add s; git commit -qm s; git switch main; echo m >m; git add m; git commit -qm m; git merge -m merged side; git branch --merged
git switch -q -c left; echo l >f; git commit -qam left; git switch -q main; echo r >f; git commit -qam right
if git merge left; then exit 9; fi; git status --porcelain; cat f; git merge --abort; git status --porcelain
if git merge -q left; then exit 9; fi; echo both >f; git add f; git commit -m resolved
git switch -q -c topic HEAD~1; echo t >t; git add t; git commit -qm t1; echo t >>t; git commit -qam t2; git rebase -q main
GIT_SEQUENCE_EDITOR='sed -i 2s/pick/squash/' git rebase -q -i main; git switch -q -c clash HEAD~2; echo c >f; git commit -qam clash
if git rebase -q main 2>/dev/null; then exit 9; fi; echo c >f; git add f; git rebase --continue; git log --graph --format=%s`,
			want: "resolved", after: gitState,
		},
		{
			name: "GcAndBisect", heavy: true, setup: repoCopy + `for i in 1 2 3 4; do echo $i >n; git add n; git commit -qm $i; done`,
			run: `git bisect start HEAD HEAD~4; git bisect run sh -c 'test $(cat n 2>/dev/null || echo 0) -lt 3' | grep 'first bad'; git bisect reset 2>&1
git reset -q --hard HEAD~1; git pack-refs --all; git reflog expire --expire=now --all; git gc -q --prune=now; git prune; git repack -adq; git count-objects -v; git maintenance run --quiet`,
			want: "packs: 1", after: gitState,
		},
		{
			name: "Remotes", heavy: true, setup: `mkdir $ROOT/up; cd $ROOT/up; ` + repoCopy + `
cd $ROOT; git clone -q ./up ws; git -C ws config remote.origin.url ../up; git -C up tag t; git -C up commit -q --allow-empty -m up`,
			run: `git fetch 2>&1 | grep main; git stash -q; git merge -q --ff-only origin/main; git pull -q; git status -sb; git ls-remote origin
git clone -q ../up y; git -C y status -sb; git clone -q --no-local --bare ../up z.git; git clone -q z.git c; cd c; git switch -q -c b; git commit -q --allow-empty -m b
git push -q origin HEAD:b; git -C ../z.git log --format=%s b`,
			want: "b\nup\n", after: `git fsck; git status -sb; git for-each-ref; ls -A . .git y; git -C z.git rev-parse b`,
		},
		{
			name: "WorktreeInside", heavy: true, setup: repoCopy,
			run:  `git worktree add -q -b wt wt; cd wt; echo w >w; git add w; git commit -qm w; git log --format=%s; cd ..; git worktree list | wc -l; git worktree add -q --detach other; git worktree remove other; git worktree prune`,
			want: "w\n", after: gitState + `git -C wt status -sb`,
		},
		{
			name: "SubmoduleCommit",
			setup: `mkdir $ROOT/lib; cd $ROOT/lib; ` + repoCopy + `cd $ROOT/ws; ` + repoCopy + `
git -c protocol.file.allow=always submodule --quiet add ../lib sub; git -C sub config remote.origin.url ../../lib; git -C . config submodule.sub.url ../lib; git commit -qm sub`,
			run:  `cd sub; echo x >x; git add x; git commit -qm inner; git log --format=%s; cd ..; git add sub; git commit -qm outer; git submodule status; git submodule foreach git status -sb`,
			want: "inner", after: gitState + `git -C sub rev-parse HEAD; cat .gitmodules .git/modules/sub/config`,
		},
		{
			name: "WorkspaceIsSubmodule", dir: "ws/sub",
			setup: `mkdir $ROOT/lib; cd $ROOT/lib; ` + repoCopy + `cd $ROOT/ws; ` + repoCopy + `
git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub`,
			run: `echo x >x; git add x; git commit -qm inner; git gc -q; git log --format=%s`, want: "inner", after: `git fsck; git rev-parse HEAD; git -C .. status --porcelain`,
		},
		{
			name: "WorkspaceBelowRepository", setup: repoCopy + `mkdir -p a/b; echo x >a/b/x; git add a; git commit -qm a`, dir: "ws/a/b",
			run: `git status --porcelain; git log --format=%s -- .; git diff; git grep x; echo y >x`, want: "a\n", after: `git status --porcelain`,
		},
	})
}

// Work in a linked worktree whose repository lies outside the workspace.
func TestGitWorktree(t *testing.T) {
	const work = `git status --porcelain --branch; echo w >w; git add w; git commit -m w; git tag t; git log --format=%s`
	const left = `git status -sb; git for-each-ref; ls -A . "$(git rev-parse --git-common-dir)"`
	gitJobs(t, []job{
		{
			name:  "B01_Linked",
			setup: `mkdir $ROOT/m; cd $ROOT/m; ` + repoCopy + `git worktree add -q -b wt ../wt`, dir: "wt",
			run: work, want: "w\n", after: left,
		},
		{
			name:  "B03_BareRelative",
			setup: `cd $ROOT; git clone -q --bare $REPO r.git; git -C r.git worktree add -q ../main main; echo 'gitdir: ../r.git/worktrees/main' >main/.git`, dir: "main",
			run: work, want: "w\n", after: left,
		},
		{
			name:  "B03_BareBesideItsCheckouts",
			setup: `cd $ROOT; git clone -q --bare $REPO p/.bare; cd p; echo 'gitdir: ./.bare' >.git; git worktree add -q main main`, dir: "p/main",
			run: work, want: "w\n", after: left,
		},
		{
			name:  "B03_CheckoutInsideBare",
			setup: `cd $ROOT; git clone -q --bare $REPO r.git; cd r.git; git worktree add -q main main; git worktree add -q -b other other`, dir: "r.git/main",
			run: work, want: "w\n", after: left,
		},
		{
			name: "B04_WorktreeConfig", setup: repoCopy + `git config extensions.worktreeConfig true; git config --worktree a.b c`,
			run: `git status; git config a.b; git commit -q --allow-empty -m x; git log --format=%s`, want: "\nc\n", after: gitState,
		},
		{
			name:  "B04_WorktreeConfigOfLinked",
			setup: `mkdir $ROOT/m; cd $ROOT/m; ` + repoCopy + `git config extensions.worktreeConfig true; git worktree add -q -b wt ../wt; cd ../wt; git config --worktree a.b c`, dir: "wt",
			run: `git config a.b; git commit -q --allow-empty -m x; git log --format=%s`, want: "c\n", after: left,
		},
	})
}

// C5: in a subfolder of a repository git cannot write; the denial names the flag
// by which it can, and that does. A repository that begins in the home is no
// workspace, and is not named.
func TestC5_SubfolderOfARepository(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = gitEnv
		Host(t, b, `git init -q; mkdir -p sub; git -C ~ init -q; mkdir -p ~/plain`).OK(t)
		top, plain := b.Workspace, b.Home+"/plain"
		for _, d := range []string{top + "/sub", plain} {
			if err := os.WriteFile(d+"/f", []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b.Workspace = top + "/sub"
		r := b.Run(t, "git", "add", "f")
		if flag := `--workspace "` + top + `" makes all of the repository writable`; r.Code != 128 || !strings.Contains(r.Stderr, "/.git/index.lock") || strings.Count(r.Stderr, flag) != 1 {
			t.Errorf("%+v", r)
		}
		b.Flags = []string{"--workspace", top}
		if r := b.Sh(t, "git add f && git diff --cached --name-only && pwd").OK(t); r.Stdout != "sub/f\n"+top+"/sub\n" {
			t.Errorf("%+v", r)
		}
		b.Workspace, b.Flags = plain, nil
		if r := b.Sh(t, "echo x >../x"); r.Code == 0 || strings.Contains(r.Stderr, "--workspace") || !strings.Contains(r.Stderr, "--add-dir") {
			t.Errorf("%+v", r)
		}
	})
}
