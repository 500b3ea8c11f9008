//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"
)

// Everyday git, with what changes its config: the same inside as outside.
func TestF2_B11_GitUnderTheGuard(t *testing.T) {
	const state = gitState + "git config -l --local; git remote -v; git branch -avv\n"
	// $ROOT/up to clone from; what stands in a config is relative, so that
	// the twins' hashes agree.
	const up = `mkdir $ROOT/up; cd $ROOT/up; ` + repoCopy + `git branch side; cd $ROOT/ws
`
	gitJobs(t, []job{
		{
			name: "InitAndConfig", each: EachGuarded,
			run: `git init -b main .; git config user.name N; git config user.email n@example.com; git config --unset user.name; git config pull.rebase true
git config --rename-section user author; git remote add origin ../up; git remote add other https://example.com/x.git; git remote rename other o2; git remote set-url o2 ssh://git@example.com/x
git remote remove o2; git remote -v; echo x >f; git add f; git commit -m x; git init -q n; git -C n config user.name N; git init -q --bare b.git; git -C b.git config user.name B`,
			want: "origin\t../up", after: state + `cat n/.git/config b.git/config; ls -A n/.git b.git`,
		},
		{
			name: "Clone", each: EachGuarded, setup: up,
			run: `git clone -q ../up a; git clone -q file://$ROOT/up b; git clone -q --bare ../up c.git; git clone -q --depth 1 -b side file://$ROOT/up d; git clone -q -o upstream --no-checkout ../up e
for r in a b d e; do git -C $r status -sb; git -C $r config -l --local; done; git -C c.git log --format=%s`,
			want: "main...origin/main", after: `for r in a b d e; do git -C $r fsck; git -C $r status -sb; git -C $r config -l --local; ls -A $r $r/.git; done; git -C c.git config -l --local`,
		},
		{
			name: "Branch", each: EachGuarded, setup: up + `git clone -q ../up .; git clone -q --bare ../up up.git; git config remote.origin.url ./up.git`,
			run: `git branch t; git branch -u origin/side t; git branch -m t u; git branch -vv; git switch -q -c v origin/side; git branch --unset-upstream; git switch -q u; git branch -d v
git switch -q -c w; git push -q -u origin w; git branch --edit-description; git config branch.w.description d; git branch -c w x; git branch -D x; git status -sb; git pull -q`,
			want: "[origin/side] two", after: state,
		},
		{
			name: "Submodule", each: EachGuarded, heavy: true, setup: up + repoCopy,
			run: `git -c protocol.file.allow=always submodule --quiet add ../up sub; git commit -qm sub; git submodule status; git submodule deinit -f sub; git -c protocol.file.allow=always submodule update --init 2>&1
git submodule sync; git submodule absorbgitdirs; git -c protocol.file.allow=always submodule --quiet add --name lib ../up deps/l; git -C deps/l log -1 --format=%s; cat deps/l/.git; git submodule status deps/l; git -C sub status -sb; git submodule foreach -q git log -1 --format=%s`,
			want: "two", after: state + `cat sub/.git deps/l/.git .gitmodules; git -C sub config -l --local; git -C deps/l config -l --local; git -C sub status -sb; git -C deps/l status -sb`,
		},
		{
			name: "Worktree", each: EachGuarded, setup: repoCopy,
			run: `git worktree add -q -b wt wt; git -C wt status; echo w >wt/w; git -C wt add w; git -C wt commit -qm w; cat .git/worktrees/wt/commondir; git worktree lock wt; git worktree unlock wt
git worktree add -q --detach d/e; git worktree remove d/e; git worktree prune; git worktree list --porcelain; git branch -D nothing 2>/dev/null || git -C wt switch -q -c more`,
			want: "../..", after: state + `git -C wt status -sb; cat .git/worktrees/wt/commondir; git worktree list`,
		},
		{
			name: "PickAndRevert", each: EachGuarded, setup: repoCopy,
			run: `git switch -q -c side; for n in p q; do echo 1 >$n; git add $n; git commit -qm $n; done; git switch -q main; echo 0 >p; git add p; git commit -qm 0
git cherry-pick -x -X patience --strategy=ort side~1 side || { cat .git/sequencer/opts; echo r >p; git add p; GIT_EDITOR=true git cherry-pick --continue; }; git revert --no-edit HEAD
git rebase -q -s ours side; git log --format=%B`,
			want: "record-origin = true", after: state,
		},
		{
			name: "StashRebaseGc", each: EachGuarded, setup: repoCopy,
			run: `git switch -q -c side; echo s >s; git add s; git commit -qm s; git switch -q main; echo m >m; git add m; git commit -qm m; echo dirty >>f; git stash push -q; git rebase -q side; git stash pop
git stash -q; git gc -q --prune=now; git config gc.auto 0; git maintenance run --quiet; git log --format=%s`,
			want: "m\ns\ntwo", after: state,
		},
	})
}

// F3: names that run code outside later are ordinary work: written, and told
// when the run fails.
func TestF3_WatchedNamesAreTold(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		const write = `echo x >.envrc; echo '{}' >package.json; mkdir -p d; echo y >d/Makefile; echo z >plain; cat .envrc package.json d/Makefile; exit `
		const told = "bawn: wrote 3 names that run code outside later: .envrc, package.json, d/Makefile\n"
		r := b.Sh(t, write+"3")
		if r.Code != 3 || r.Stdout != "x\n{}\ny\n" || !strings.Contains(r.Stderr, told) {
			t.Errorf("a failed run: %+v", r)
		}
		if data, err := os.ReadFile(b.Workspace + "/.envrc"); err != nil || string(data) != "x\n" {
			t.Errorf(".envrc: %q, %v", data, err)
		}
		if r := b.Sh(t, write+"0").OK(t); strings.Contains(r.Stderr, "wrote") {
			t.Errorf("a run that is well: %+v", r)
		}
		if r := b.Sh(t, "for i in $(seq 300); do ln -s x n$i/.git 2>/dev/null || { mkdir n$i; ln -s x n$i/.git; }; done 2>/dev/null; "+write+"3"); !strings.Contains(r.Stderr, told) {
			t.Errorf("after many names that were refused: %+v", r)
		}
		b.Flags = []string{"-q"}
		if r := b.Sh(t, write+"3"); strings.Contains(r.Stderr, "wrote") {
			t.Errorf("-q: %+v", r)
		}
		b.Flags = byMounts
		if r := b.Sh(t, write+"3"); strings.Contains(r.Stderr, "wrote") {
			t.Errorf("without the guard: %+v", r)
		}
	})
}

// F11: kill -9 of bawn while the guard carries out calls leaves no process,
// and no name but what git itself leaves.
func TestF11_KilledGuard(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, smallRepo)
		const list = `find .. -not -path '*/.git/config.lock' -not -path '../state*' | sort; cat .git/HEAD`
		before := Host(t, b, list).OK(t)
		for round := range rounds(6) {
			run := b.startWork(t, "sh", "-c", `i=0; while git config user.name n$i && mkdir -p n/d && echo x >n/d/f && mv n/d n/e && rm -r n; do i=$((i+1)); echo $i; done`)
			for range round%6 + 1 {
				run.line(t)
			}
			run.kill(t)
			Host(t, b, `rm -rf n; git config user.name || exit 1; git status --porcelain`).OK(t)
			if after := Host(t, b, list).OK(t); after != before {
				t.Errorf("after a killed run: %+v\nwas: %+v", after, before)
			}
			Host(t, b, `rm -f .git/config.lock`).OK(t)
		}
		b.Run(t, "git", "config", "user.name", "end").OK(t)
	})
}

// What the command was refused last, or wrote last, is told although it ends
// at once.
func TestF2_LastNameIsTold(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		for range 15 {
			r := b.Run(t, "touch", ".envrc", ".codex")
			if !strings.Contains(r.Stderr, `bawn: denied "`+b.Workspace+`/.codex" to touch: agent settings`) || !strings.Contains(r.Stderr, "bawn: wrote 1 name that runs code outside later: .envrc\n") {
				t.Fatalf("%+v", r)
			}
			if err := os.Remove(b.Workspace + "/.envrc"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// F2: two forms of git stay refused (decision 0005), with the reason, and the
// way out works.
func TestF2_RefusedFormsOfGit(t *testing.T) {
	t.Parallel()
	EachGuarded(t, func(t *testing.T, l string) {
		b := gitBox(t, l, smallRepo+"git init -q s; git -C s commit -q --allow-empty -m s; git add s 2>/dev/null; git config -f .gitmodules submodule.s.path s; git config -f .gitmodules submodule.s.url ./s")
		for _, refused := range []struct{ run, told, left string }{
			{`git init -q --separate-git-dir "$PWD/sep" w`, "git pointer file", "w/.git"},
			{`git submodule absorbgitdirs`, "", ".git/modules/s/HEAD"},
			{`cp -a s t`, "copy a repository with git clone", "t/.git/config"},
			{`tar cf s.tar s; mkdir u; tar xf s.tar -C u`, "copy a repository with git clone", "u/s/.git/config"},
		} {
			r := b.Sh(t, refused.run)
			if r.Code == 0 || !strings.Contains(r.Stderr, refused.told) || exists(b.Workspace+"/"+refused.left) {
				t.Errorf("%s: exit %d, left %v\n%s", refused.run, r.Code, exists(b.Workspace+"/"+refused.left), r.Stderr)
			}
		}
		b.Sh(t, `git -C s log -1 --format=%s && git clone -q --bare . sep.git && git -C sep.git worktree add -q "$PWD/w2" && git -C w2 status; git clone -q s v && git -C v log -1 --format=%s`).OK(t)
		Host(t, b, "git -C s status; git -C w2 status").OK(t)
	})
}
