//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// threat is a way by which a command makes the host's git run a program
// afterwards (docs/facts.md).
type threat struct {
	name  string
	setup string // on the host, before
	plant string // inside; each command may fail
	host  string // what the host does later
	// mounts hold it without the guard, since the name is there at the start.
	mounts bool
}

// threatTools make what threats plant. All of it runs the canary, which
// leaves RAN.
const threatTools = `
evil() { printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "touch %s/ws/RAN; false"\n' "$ROOT"; }
hook() { printf '#!/bin/sh\ntouch %s/ws/RAN\n' "$ROOT"; }
put() { mkdir -p "$(dirname "$1")"; cat >"$1"; chmod +x "$1"; }
linked() { # git directory, working folder
	mkdir -p "$1/worktrees/x"
	echo ref: refs/heads/main >"$1/worktrees/x/HEAD"; echo ../.. >"$1/worktrees/x/commondir"
	echo "$PWD/$2/.git" >"$1/worktrees/x/gitdir"; echo "gitdir: $PWD/$1/worktrees/x" >p; mv p "$2/.git"
}
layout() { mkdir -p "$1/objects" "$1/refs/heads"; echo ref: refs/heads/main >"$1/HEAD"; }
`

// evilCopy is another git directory with the canary, made before the run.
const evilCopy = `cp -r .git other; evil >>other/config
`

// stopped is a cherry-pick of two commits that waits for the user.
const stopped = `git checkout -q -b side; echo a >a; git add a; git commit -qm a; echo b >b; git add b; git commit -qm b
git checkout -q main; echo c >a; git add a; git commit -qm c; git cherry-pick side~1 side || true; echo d >a; git add a
`

const (
	checkout = "git checkout -q -b new"
	subSetup = `git init -q -b main ../lib; git -C ../lib commit -q --allow-empty -m x
git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub
`
)

var threats = []threat{
	{"config", "", `evil >>.git/config`, "git status", true},
	{"config replaced", "", `evil >c; mv -f c .git/config`, "git status", true},
	{"config exchanged", "", `evil >c; mv --exchange c .git/config; rm -f .git/config; cp c .git/config; ln c .git/config`, "git status", true},
	{"config by git", "", `git config core.fsmonitor "touch $ROOT/ws/RAN; false"; git config include.path ../x; evil >x`, "git status", true},
	{"config by its lock", "", `{ cat .git/config; evil; } >.git/config.lock; mv -f .git/config.lock .git/config`, "rm -f .git/config.lock; git status", true},
	{"config that the host locks", "", `evil >c; mv c .git/config.lock; ln c .git/config.lock; ln -s ../c .git/config.lock`, "mv .git/config.lock .git/config; git status", false},
	{"config lock of the host replaced", "echo x >.git/config.lock", `rm -f .git/config.lock; evil >.git/config.lock; exec 3>.git/config.lock; evil >&3; evil >>.git/config.lock`, "mv -f .git/config.lock .git/config; git status", false},
	{"config lock of the host changed", "echo x >.git/config.lock; cp .git/config x; evil >>x", `truncate -s0 .git/config.lock; ln x .git/config.lock; evil >.git/config.lock; exec 3<.git/config.lock; evil >>/proc/self/fd/3`, "test -s .git/config.lock && mv -f .git/config.lock .git/config; git status", false},
	{"config.worktree lock of the host replaced", "git config extensions.worktreeConfig true", `evil >.git/config.worktree.lock`, "mv -f .git/config.worktree.lock .git/config.worktree; git status", false},
	{"config by a second name", "", `ln .git/config l; evil >>l`, "git status", true},
	{"config by a second name made before", "ln .git/config l", `evil >>l`, "git status", false},
	{"config.worktree", "git config extensions.worktreeConfig true", `evil >.git/config.worktree`, "git status", false},
	{"include of an absent file", "git config include.path ../inc", `evil >inc`, "git status", false},
	{"filter that is absent", "git config filter.f.clean ./f.sh; echo '* filter=f' >.gitattributes", `hook | put f.sh`, "echo x >n; git add n", false},
	{"hook", "", `hook | put .git/hooks/post-checkout`, checkout, true},
	{"hooks folder that is absent", "rm -r .git/hooks", `hook | put .git/hooks/post-checkout`, checkout, false},
	{"hooks folder renamed", "rm -r .git/hooks", `hook | put h/post-checkout; mv h .git/hooks`, checkout, false},
	{"hooks folder linked", "rm -r .git/hooks", `hook | put h/post-checkout; ln -s ../h .git/hooks`, checkout, false},
	{"A57 core.hooksPath that is absent", "git config core.hooksPath .githooks", `hook | put .githooks/post-checkout; hook | put h/post-checkout; mv h .githooks`, checkout, false},
	{"A57 core.hooksPath of the user, absent", "git config --global core.hooksPath my", `hook | put my/post-checkout; hook | put h/post-checkout; mv h my`, checkout, false},
	{"commondir", evilCopy, `echo ../other >.git/commondir`, "git status", false},
	{"commondir renamed", evilCopy, `echo ../other >c; mv c .git/commondir; ln c .git/commondir; ln -s ../c .git/commondir`, "git status", false},
	{"commondir of a worktree", "git worktree add -q wt\n" + evilCopy, `echo ../../../other >.git/worktrees/wt/commondir`, "git -C wt status", true},
	{"commondir of a new worktree", evilCopy, `git worktree add -q wt; echo ../../../other >.git/worktrees/wt/commondir`, "git -C wt status", false},
	{"pointer of a worktree", "git worktree add -q wt\n" + evilCopy, `echo "gitdir: $ROOT/ws/other" >wt/.git; rm -f wt/.git; echo "gitdir: $ROOT/ws/other" >wt/.git`, "git -C wt status", true},
	{"config of a submodule", subSetup, `evil >>.git/modules/sub/config; evil >c; mv -f c .git/modules/sub/config`, "git status", true},
	{"A53 nested repository", "", `git init -q n; evil >>n/.git/config; evil >n/.git/config`, "git -C n status", false},
	{"nested repository by hand", "", `layout n/.git; evil >n/.git/config`, "git -C n status", false},
	{"nested repository added", "", `git init -q n; git -C n commit -q --allow-empty -m x; evil >>n/.git/config; git add n`, "git status", false},
	{"hook of a nested repository", "", `git init -q n; hook | put n/.git/hooks/post-checkout`, "git -C n commit -q --allow-empty -m x; git -C n " + checkout[4:], false},
	{"hooks of a nested repository renamed", "", `git init -q n; rm -rf n/.git/hooks; hook | put h/post-checkout; mv h n/.git/hooks`, "git -C n commit -q --allow-empty -m x; git -C n " + checkout[4:], false},
	{"template with a hook", "", `hook | put t/hooks/post-checkout; git init -q --template=$PWD/t n`, "git -C n commit -q --allow-empty -m x; git -C n " + checkout[4:], false},
	{"nested repository renamed", "", `layout q; evil >q/config; mkdir n; mv q n/.git`, "git -C n status", false},
	{"nested repository moved from temp", "", `layout /tmp/q; evil >/tmp/q/config; mkdir n; mv /tmp/q n/.git; cp -r /tmp/q n/.git`, "git -C n status", false},
	{"nested repository linked", "", `layout q; evil >q/config; mkdir n; ln -s ../q n/.git`, "git -C n status", false},
	{"parent of a nested repository renamed", "", `layout q/git; evil >q/git/config; mv q/git q/.git; mv q n`, "git -C n status", false},
	{"clone with a setting", "", `git clone -q -c core.fsmonitor="touch $ROOT/ws/RAN; false" . n`, "git -C n status", false},
	{".git file", evilCopy + "mkdir d", `echo gitdir: ../other >d/.git; echo gitdir: ../other >p; mv p d/.git; ln -s ../p d/.git`, "git -C d status", false},
	{"bare layout", "", `layout b; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >b/config`, "git -C b status", false},
	{"bare layout, config first", "", `mkdir b; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >b/config; layout b`, "git -C b status", false},
	{"bare layout, completed by rename", "", `layout q; mkdir b; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >b/config; mv q/objects q/refs q/HEAD b`, "git -C b status", false},
	{"bare repository", "", `git init -q --bare b; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >>b/config`, "git -C b status", false},
	{"HEAD broken and a bare layout in the root", "", `echo x >.git/HEAD; { evil; printf '\tworktree = %s\n' "$PWD"; } >config; layout .`, "git status", false},
	{"directory of a worktree made a repository", "git worktree add -q wt", `rm -f .git/worktrees/wt/commondir; layout .git/worktrees/wt; evil >.git/worktrees/wt/config`, "git -C wt status", true},
	{"submodule's pointer replaced by a repository", subSetup, `rm -f sub/.git; layout sub/.git; evil >sub/.git/config`, "git -C sub status", true},
	{"branch of a submodule made its repository", subSetup, `g=.git/modules/sub; { evil; printf '\tworktree = %s\n' "$PWD/d"; } >$g/refs/heads/config; rm $g/HEAD; mkdir d
layout $g/refs/heads; echo "gitdir: $PWD/$g/refs/heads" >p; mv p d/.git; echo "gitdir: $PWD/$g/refs/heads" >d/.git`, "git -C d status", false},
	{"log of a submodule made its repository", subSetup, `g=.git/modules/sub; mkdir $g/logs/x; { evil; printf '\tworktree = %s\n' "$PWD/d"; } >$g/logs/x/config; rm $g/HEAD; mkdir d
layout $g/logs/x; echo "gitdir: $PWD/$g/logs/x" >p; mv p d/.git`, "git -C d status", false},
	{"pointer to any module", subSetup + evilCopy + "mv other .git/modules/evil", `mkdir d; echo "gitdir: ../.git/modules/evil" >d/.git; echo "gitdir: ../.git/modules/evil" >p; mv p d/.git`, "git -C d status", false},
	{"pointer of --separate-git-dir", evilCopy, `mkdir d; git init -q --separate-git-dir "$PWD/other" d; echo "gitdir: $PWD/other" >d/.git`, "git -C d status", false},
	{"absorbed with a setting", "git init -q n; git -C n commit -q --allow-empty -m x; git -C n config include.path ../inc", `git submodule --quiet add ./n n; git submodule absorbgitdirs; mkdir -p .git/modules; mv n/.git .git/modules/n; evil >.git/modules/inc; git --git-dir .git/modules/n config core.worktree ../../../n; echo "gitdir: ../.git/modules/n" >n/.git`, "git -C n status", false},
	{"absorbed with a hidden repository", "", `git init -q n; git -C n commit -q --allow-empty -m x; mkdir n/.git/foo d; { evil; printf '\tworktree = %s\n' "$PWD/d"; } >n/.git/foo/config; mkdir -p .git/modules; mv -T n/.git .git/modules/n
layout .git/modules/n/foo; echo "gitdir: $PWD/.git/modules/n/foo" >p; mv p d/.git`, "git -C d status", false},
	{"sample hook renamed", "", `git init -q n; hook | put n/.git/hooks/x.sample; mv n/.git/hooks/x.sample n/.git/hooks/post-checkout; ln n/.git/hooks/x.sample n/.git/hooks/post-checkout`, "git -C n commit -q --allow-empty -m x; git -C n " + checkout[4:], false},
	{"config through a kept descriptor", "", `git init -q n; exec 3>x; cat n/.git/config >&3; mv -f x n/.git/config; evil >&3`, "git -C n status", false},
	{"config reopened", "", `exec 3<.git/config; evil >>/proc/self/fd/3; exec 4>>.git/config; evil >&4`, "git status", true},
	{"config by /proc", "", `git init -q n; cd n/.git; evil >>/proc/self/cwd/config; evil >>/proc/$$/cwd/config`, "git -C n status", false},
	{"nested repository, config first", "", `mkdir -p n/.git; evil >n/.git/config; layout n/.git`, "git -C n status", false},
	{"bare layout of links", "", `mkdir b; ln -s ../.git/objects ../.git/refs b; ln -s refs/heads/main b/HEAD; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >b/config`, "git -C b status", false},
	{"bare layout, config linked", "", `layout b; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >x; ln -s ../x b/config; ln x b/config`, "git -C b status", false},
	{"bare layout by one rename of each", "", `mkdir b q; layout q/a; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >q/a/c; mv q/a/* b; mv b/c b/config`, "git -C b status", false},
	{".git replaced", "", `mv .git x; cp -r x .git; evil >>.git/config`, "echo y >README; git status", true},
	{".git replaced in a nested repository", "", `git init -q n; mv n/.git n/x; cp -r n/x n/.git; evil >>n/.git/config; rm -rf n/.git; layout n/x; evil >n/x/config; mv n/x n/.git`, "git -C n status", false},
	{"config reopened in a closed folder", "", `exec 3<.git/config; chmod 0 .git; evil >>/proc/self/fd/3; chmod 755 .git`, "git status", true},
	{"config of a nested repository reopened in a closed folder", "", `git init -q n; exec 3<n/.git/config; chmod 0 n; evil >>/proc/self/fd/3; chmod 755 n`, "git -C n status", false},
	{"config linked from a closed folder", "", `git init -q n; exec 3<n/.git/config; chmod 0 n; ln -L /proc/self/fd/3 l; chmod 755 n; evil >>l`, "git -C n status", false},
	{"config reopened below PATH_MAX", "", `git init -q n; evil >e; python3 -c '
import os
def chain(top, length):
    os.mkdir(top)
    fd, n = os.open(top, os.O_RDONLY), len(os.getcwd()) + 1 + len(top)
    while n + 201 < length:
        os.mkdir("a" * 200, dir_fd=fd)
        fd, n = os.open("a" * 200, os.O_RDONLY, dir_fd=fd), n + 201
    return fd
a, b = chain("a", 4080), chain("b", 2000)
os.rename("n", "n", dst_dir_fd=b)
os.rename("b", "b", dst_dir_fd=a)
config = os.open(".git/config", os.O_RDONLY, dir_fd=os.open("n", os.O_RDONLY, dir_fd=b))
try:
    os.write(os.open("/proc/self/fd/%d" % config, os.O_WRONLY | os.O_APPEND), open("e", "rb").read())
except OSError as e:
    print(e)
os.rename("b", "b", src_dir_fd=a)
os.rename("n", "n", src_dir_fd=b)
'`, "git -C n status", false},
	{"config by a second name made before and removed", "ln .git/config l", `exec 3<l; rm l; evil >>/proc/self/fd/3`, "git status", false},
	{"bare layout, HEAD in a socket's place", "", `layout b; rm b/HEAD; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >b/config
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("b/HEAD")'; echo ref: refs/heads/main >h; mv h b/HEAD`, "git -C b status", false},
	{"bare layout in .git", "", `mkdir b .git/foo; { evil; printf '\tworktree = %s\n' "$PWD/b"; } >.git/foo/config; layout .git/foo`, "git -C .git/foo status", false},
	{"common directory that cannot be looked at", "", `mkdir -p b/objects b/refs b/worktrees/x d; evil >b/config; w=$PWD; cd b/worktrees/x; echo ref: refs/heads/main >HEAD
chmod 0 "$w/b"; echo ../.. >commondir; echo "$w/d/.git" >gitdir; chmod 755 "$w/b"; cd "$w"; echo "gitdir: $w/b/worktrees/x" >p; mv p d/.git`, "git -C d status", false},
	{"folder that cannot be asked about its spelling", "", `git init -q n; x=$PWD/n/.git/modules/s/REFS/x; mkdir -p $x d; echo ref: refs/heads/main >n/.git/modules/s/HEAD
chmod 0311 $x; { evil; printf '\tworktree = %s\n' "$PWD/d"; } >$x/config; chmod 755 $x; layout $x; echo "gitdir: $x" >p; mv p d/.git`, "git -C d status", false},
	{"branch made a repository, its config judged in vain", subSetup, `mkdir d; b=$PWD/.git/modules/sub/refs/heads; { evil; printf '\tworktree = %s\n' "$PWD/d"; } >$b/config; rm .git/modules/sub/HEAD
echo "[core]" >l; chmod 555 $b; mv l $b/config; chmod 755 $b; layout $b; echo "gitdir: $b" >p; mv p d/.git`, "git -C d status", false},
	{"branch made a repository, its config judged by what it was", subSetup, `mkdir d; b=$PWD/.git/modules/sub/refs/heads; { evil; printf '\tworktree = %s\n' "$PWD/d"; } >$b/config; rm .git/modules/sub/HEAD
cp $b/config $b/l; mv $b/l $b/config; layout $b; echo "gitdir: $b" >p; mv p d/.git`, "git -C d status", false},
	{"log made a repository elsewhere, its config kept open", "", `mkdir -p x/logs/d; echo ref: refs/heads/main >x/HEAD; exec 3>x/logs/d/config; echo "[core]" >&3; echo ref: refs/heads/main >x/logs/d/HEAD
mv x/logs/d y; mkdir y/objects y/refs; { evil; printf '\tworktree = %s\n' "$PWD/y"; } >&3`, "git -C y status", false},
	{"config by a second name made before, in a closed folder", "ln .git/config l", `chmod 0 .git; evil >>l; chmod 755 .git`, "git status", false},
	{"hook by a second name made before, in a closed folder", "hook | put .git/hooks/post-checkout; echo true >.git/hooks/post-checkout; ln .git/hooks/post-checkout l", `chmod 0 .git; hook >l; chmod 755 .git`, checkout, false},
	{"linked worktree of a folder around a folder HEAD", "", `mkdir -p b/objects b/refs b/HEAD d; evil >b/config; linked b d`, "git -C d status", false},
	{"linked worktree of a folder around a socket HEAD", "", `mkdir -p b/objects b/refs d; evil >b/config
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("b/HEAD")'; linked b d`, "git -C d status", false},
	{"linked worktree of what was a submodule's branch", subSetup, `mkdir d; b=.git/modules/sub/refs/heads; evil >$b/config; mkdir -p $b/objects $b/refs $b/worktrees/x
echo ref: refs/heads/main >$b/worktrees/x/HEAD; rm .git/modules/sub/HEAD; linked $b d`, "git -C d status", false},
	{"linked worktree moved", "", `mkdir -p b/refs d e/worktrees; echo ref: refs/heads/main >b/HEAD; linked b d; mkdir e/objects e/refs; evil >e/config
mv b/worktrees/x e/worktrees/x; echo "gitdir: $PWD/e/worktrees/x" >p; mv -f p d/.git`, "git -C d status", false},
	{"branch with a commondir", "", `mkdir -p b/objects b/refs; printf '[remote "o"]\n\turl = .\n\tuploadpack = touch %s/ws/RAN; git-upload-pack\n' "$ROOT" >b/config
echo ref: refs/heads/main >HEAD; mkdir -p logs/x m; echo ref: refs/heads/main >logs/x/HEAD; echo ../../b >logs/x/commondir; rm HEAD; mv logs/x m/x`, "git -C m/x fetch o", false},
	{"strategy of a cherry-pick", stopped, `hook | put git-merge-s/x; o=.git/sequencer/opts; printf '[options]\n\tstrategy = s/x\n' >$o; printf '[options]\n\tstrategy = s/x\n' >o; cp o $o.lock; mv $o.lock $o
mv o $o; cp $o o; ln -f o $o; mkdir q; cp o q/opts; rm -r .git/sequencer/opts; mv q/opts .git/sequencer/opts; ln -s ../../o $o`, "git cherry-pick --continue", false},
	{"strategy of a cherry-pick of the host", stopped + "printf '[options]\n\tsignoff = true\n' >.git/sequencer/opts.lock", `hook | put git-merge-s/x; o=.git/sequencer/opts.lock; printf '[options]\n\tstrategy = s/x\n' >>$o; rm $o
printf '[options]\n\tstrategy = s/x\n' >$o; printf '[options]\n\tstrategy = s/x\n' >o; mv o $o`, "mv .git/sequencer/opts.lock .git/sequencer/opts; git cherry-pick --continue", false},
	{".git removed and made again", "", `rm -rf .git; layout .git; evil >.git/config`, "git status", true},
}

// F2: what the host's git runs later cannot be planted, whether the name is
// there at the start or not. Every threat is real: without bawn the canary
// runs, and where mounts do not hold it runs with the guard off.
func TestF2_A53_HostGitRunsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range threats {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.mounts && !c.runs(t, "", nil) {
				t.Error("without bawn nothing runs: this is no threat")
			}
			EachGuarded(t, func(t *testing.T, l string) {
				if l == Weaker {
					if !strings.Contains(c.plant, "/tmp/") && !c.runs(t, l, byMounts) {
						t.Error("guard off: nothing runs, though there are no mounts")
					}
				} else if (l == "native") == (os.Getuid() == 0) { // one of them proves it
					if got := c.runs(t, l, byMounts); got == c.mounts {
						t.Errorf("guard off: the canary ran: %v, mounts hold: %v", got, c.mounts)
					}
				}
				if c.runs(t, l, nil) {
					t.Error("the host's git ran what the command planted")
				}
			})
		})
	}
}

// runs plays a threat through: without bawn for launcher "".
func (c threat) runs(t *testing.T, launcher string, flags []string) bool {
	t.Helper()
	b := gitBox(t, launcher, threatTools+smallRepo+c.setup)
	b.Flags = append([]string{"-q"}, flags...)
	plant := threatTools + c.plant + "\ntrue\n"
	if launcher == "" {
		Host(t, b, "set +e\n"+plant).OK(t)
	} else {
		b.Run(t, "bash", "--noprofile", "--norc", "-c", plant).OK(t)
	}
	// What git started in the sandbox does not count.
	Host(t, b, "rm -f RAN; set +e; "+c.host+"; true").OK(t)
	return exists(b.Workspace + "/RAN")
}

// F2: start-up files and agents' settings that do not exist yet.
func TestF2_SettingsMadeDuringTheRun(t *testing.T) {
	t.Parallel()
	var names []string
	for _, n := range policy.ProtectedNames() {
		if n.Path != ".config/git" && n.Path != ".gitconfig" {
			names = append(names, n.Path)
		}
	}
	const plant = `for n in $NAMES; do mkdir -p "$(dirname "$n")"; %s; done; echo x >ordinary`
	EachGuarded(t, func(t *testing.T, l string) {
		for _, how := range []string{`echo x >"$n"`, `echo x >p; mv p "$n"`, `echo x >p; ln p "$n"`, `ln -s ordinary "$n"`, `mkdir "$n"`} {
			for _, guard := range []bool{false, true} {
				b := New(t, l)
				b.Env = []string{"NAMES=" + strings.Join(names, " ")}
				b.Flags = []string{"-q"}
				if !guard {
					b.Flags = append(b.Flags, byMounts...)
				}
				b.Sh(t, strings.ReplaceAll(plant, "%s", how)).OK(t)
				for _, n := range names {
					if got := exists(b.Workspace + "/" + n); got == guard {
						t.Errorf("%s, guard %v: %s made: %v", how, guard, n, got)
					}
				}
				if !exists(b.Workspace + "/ordinary") {
					t.Error("an ordinary file was not made")
				}
			}
		}
	})
}

// A rename over a mount point on the host drops the mount in the sandbox: git
// does it to its config. The guard holds the file nevertheless.
func TestF2_HostChangesDuringTheRun(t *testing.T) {
	t.Parallel()
	EachGuarded(t, func(t *testing.T, l string) {
		for _, guard := range []bool{false, true} {
			if l == Weaker && !guard {
				continue // nothing holds there
			}
			b := gitBox(t, l, smallRepo+"git config core.hooksPath hk; mkdir hk")
			after := "EACCES"
			if !guard {
				b.Flags, after = byMounts, "ok"
			}
			config, hooks := b.Workspace+"/.git/config", b.Workspace+"/hk"
			p := probeIn(t, b)
			p.want("EROFS|EACCES", "write", config)
			p.want("EROFS|EACCES", "creat", hooks+"/pre-commit")
			p.flush()
			Host(t, b, "git config user.name host; rmdir hk; mkdir hk")
			p.want(after, "write", config)
			p.want("ok", "fill", b.Workspace+"/.git/evil", "[core] fsmonitor = ./evil")
			p.want(after, "rename", b.Workspace+"/.git/evil", config)
			p.want(after, "creat", hooks+"/pre-commit")
			p.end()
			data, err := os.ReadFile(config)
			if err != nil || strings.Contains(string(data), "evil") == guard {
				t.Errorf("guard %v: config: %q, %v", guard, data, err)
			}
		}
	})
}

// --guard off and --sandbox read-only run without the filter of the guard,
// which is one more than the others.
func TestF2_GuardOff(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		filters := func(flags ...string) string {
			b.Flags = append([]string{"-q"}, flags...)
			return b.Sh(t, "grep Seccomp_filters /proc/self/status; test ! -w . || { mkdir .codex && rmdir .codex || echo held; }").OK(t).Stdout
		}
		on, off := filters(), filters("--guard", "off")
		if on == off || !strings.Contains(on, "held") || strings.Contains(off, "held") {
			t.Errorf("with the guard: %q, without: %q", on, off)
		}
		if again := filters("--guard", "on"); again != on {
			t.Errorf("--guard on: %q, by default %q", again, on)
		}
		ro := filters("--sandbox", "read-only")
		if l == Weaker { // access(2) tells nothing of Landlock
			ro = strings.TrimSuffix(ro, "held\n")
		}
		if ro != off {
			t.Errorf("read-only: %q, guard off: %q", ro, off)
		}
		if ww := filters("--sandbox", "workspace-write"); ww != on {
			t.Errorf("workspace-write: %q, guarded: %q", ww, on)
		}
	})
}
