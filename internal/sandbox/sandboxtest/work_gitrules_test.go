//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// protectedGit tries to change what git runs or reads config from, and
// mountedGit what the guard lets git itself do in a harmless way.
const protectedGit = `r=0; for f in hooks/post-merge hooks/pre-commit.sample config; do
  if echo x >>$G/$f; then echo "written: $f"; r=1; fi; done 2>/dev/null
if git config core.fsmonitor ./evil 2>/dev/null; then echo 'written by git: config'; r=1; fi
if mv $G/hooks $G/h2 2>/dev/null; then echo moved: hooks; r=1; fi
if mv $G $G.old 2>/dev/null; then echo moved: $G; r=1; fi
test $r = 0
`

const mountedGit = `if git config user.name evil 2>/dev/null; then echo 'written by git: config'; r=1; fi
if rm -rf $G/config 2>/dev/null; then echo removed: config; r=1; fi
exit $r`

// gitBox is a box whose environment makes git work the same everywhere.
func gitBox(t *testing.T, launcher, setup string) *Box {
	b := New(t, launcher)
	b.Env = append([]string{"ROOT=" + filepath.Dir(b.Workspace)}, gitEnv...)
	Host(t, b, setup).OK(t)
	return b
}

const smallRepo = `git init -q -b main; echo one >README; git add README; git commit -qm one
`

// The control files stay as they are while ordinary git passes.
func TestB11_ControlFilesHold(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, smallRepo+`git switch -q -c side; git switch -q main`)
		before := Host(t, b, `cat .git/config; ls -lR .git/hooks`).OK(t)
		b.Run(t, bash(`git commit -q --allow-empty -m two; git branch -D side; git switch -c new`)...).OK(t)
		b.Run(t, bash("G=.git\n"+protectedGit)...).OK(t)
		b.Flags = byMounts
		b.Run(t, bash("G=.git\n"+protectedGit+mountedGit)...).OK(t)
		if after := Host(t, b, `cat .git/config; ls -lR .git/hooks`).OK(t); after != before {
			t.Errorf("control files changed: %+v", after)
		}
		if got := Host(t, b, `git log --format=%s; git branch --format='%(refname:short)'`).OK(t).Stdout; got != "two\none\nmain\nnew\n" {
			t.Errorf("ordinary git did not arrive: %q", got)
		}
	})
}

// A linked worktree grants its git directory, never the main checkout.
func TestA146_WorktreeGrantsNotTheCheckout(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, `mkdir ../m; cd ../m; `+smallRepo+`git worktree add -q -b wt ../wt`)
		root := filepath.Dir(b.Workspace)
		b.Workspace = root + "/wt"
		const seen = `cat ../m/README ../m/.git/config ../m/.git/worktrees/wt/commondir .git; ls -lR ../m/.git/hooks; ls -A ../m`
		before := Host(t, b, seen).OK(t)
		b.Run(t, bash(`echo x >x; git add x; git commit -qm two`)...).OK(t)
		for _, target := range []string{"README", "new", ".git/hooks/post-merge", ".git/config"} {
			wantRefused(t, "a write to ../m/"+target, b.Sh(t, "echo x >../m/"+target))
		}
		// The guard writes the right pointer, whatever is written.
		b.Sh(t, "echo gitdir: /x >.git; echo /x >../m/.git/worktrees/wt/commondir").OK(t)
		b.Run(t, bash("G=../m/.git\n"+protectedGit)...).OK(t)
		b.Flags = byMounts
		for _, target := range []string{".git/hooks/post-merge", ".git/config", ".git/worktrees/wt/commondir", ".git/worktrees/wt/gitdir"} {
			wantRefused(t, "a write to ../m/"+target, b.Sh(t, "echo x >../m/"+target))
		}
		wantRefused(t, "a new pointer", b.Sh(t, "echo gitdir: /x >.git"))
		b.Run(t, bash("G=../m/.git\n"+protectedGit+mountedGit)...).OK(t)
		if after := Host(t, b, seen).OK(t); after != before {
			t.Errorf("changed: %+v\nwas: %+v", after, before)
		}
		if got := Host(t, b, `git log --format=%s`).OK(t).Stdout; got != "two\none\n" {
			t.Errorf("commit did not arrive: %q", got)
		}
		// The main checkout is as unreachable from an airlock, commit included.
		b.Flags = []string{"--tier", "airlock"}
		b.Sh(t, "git log").OK(t)
		wantRefused(t, "a commit in another folder's git directory, in airlock", b.Sh(t, "git commit -q --allow-empty -m no"))
	})
}

// A run that is killed leaves no lock or mount point in the git directory.
func TestB05_KilledRunLeavesNoLock(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, `mkdir ../m; cd ../m; `+smallRepo+`git worktree add -q -b wt ../wt`)
		b.Workspace = filepath.Dir(b.Workspace) + "/wt"
		const list = `find .. -not -path '*/home/*' -not -path '../state*' | sort`
		before := Host(t, b, list).OK(t)
		b.Run(t, "true").OK(t)
		run := b.startWork(t, "sh", "-c", "echo up; exec sleep 600")
		if line := run.line(t); line != "up" {
			t.Fatalf("the command did not start: %q", line)
		}
		if during := Host(t, b, list).OK(t); during != before {
			t.Errorf("during a run: %+v\nwas: %+v", during, before)
		}
		run.kill(t)
		if after := Host(t, b, list).OK(t); after != before {
			t.Errorf("after a killed run: %+v\nwas: %+v", after, before)
		}
		Host(t, b, `git config x.y z; git branch -m tmp; git commit -q --allow-empty -m x; ! find .. -not -path '../state/*' -name '*.lock' | grep .`).OK(t)
	})
}

// A working folder that holds repositories, and cannot be written itself.
func TestB15_FolderOfRepositories(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, `git init -q a; chmod 555 .`)
		t.Cleanup(func() { _ = os.Chmod(b.Workspace, 0o755) })
		b.Flags = []string{"--add-dir", "a"}
		b.Run(t, "touch", "a/x").OK(t)
		if got := dirNames(t, b.Workspace); got != "a" {
			t.Errorf("in the folder: %q", got)
		}
		if got := dirNames(t, b.Workspace+"/a"); got != ".git x" {
			t.Errorf("in the repository: %q", got)
		}
		wantRefused(t, "a write outside", b.Sh(t, "echo x >../y"))
	})
}

// An empty folder stays empty, and git can be started in it afterwards.
func TestB16_EmptyFolderStaysEmpty(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, `true`)
		home := dirNames(t, b.Home)
		b.Run(t, "true").OK(t)
		b.Sh(t, "ls -A | wc -l").OK(t)
		if got := dirNames(t, b.Workspace); got != "" {
			t.Errorf("left in the workspace: %q", got)
		}
		if got := dirNames(t, b.Home); got != home {
			t.Errorf("left in the home: %q", got)
		}
		Host(t, b, `git init -q; git commit -q --allow-empty -m x`).OK(t)
	})
}

// A tree that holds agent and editor settings is cloned whole; where a
// protected file would have to change, git says so and fails.
func TestB19_TreesWithSettings(t *testing.T) {
	const tracked = `git init -q -b main $ROOT/x.git; cd $ROOT/x.git; mkdir .vscode .claude
echo '{}' >.vscode/settings.json; touch .gitmodules; echo '{}' >.mcp.json; echo '{}' >.claude/settings.json; echo one >f
git add -A; git commit -qm one; git switch -q -c change; echo two >f; echo '{"a":1}' >.mcp.json; echo '{"a":1}' >.vscode/settings.json; git commit -qam two; git switch -q main
`
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, tracked)
		r := b.Run(t, bash(`git clone -q ../x.git y && git -C y status --porcelain; cat y/.mcp.json`)...).OK(t)
		if r.Stdout != "{}\n" {
			t.Errorf("the clone is not clean: %q", r.Stdout)
		}
		Host(t, b, `git clone -q ../x.git root; test -z "$(git -C root status --porcelain)"`).OK(t)
		b.Workspace += "/root"
		r = b.Sh(t, "git merge origin/change")
		wantRefused(t, "a merge that changes .mcp.json", r)
		if !strings.Contains(r.Stderr, ".mcp.json") {
			t.Errorf("the message does not name the file: %q", r.Stderr)
		}
		if data, err := os.ReadFile(b.Workspace + "/.mcp.json"); err != nil || string(data) != "{}\n" {
			t.Errorf(".mcp.json: %q, %v", data, err)
		}
		if got := Host(t, b, `git log --format=%s`).OK(t).Stdout; got != "one\n" {
			t.Errorf("the branch moved: %q", got)
		}
		Host(t, b, `git reset -q --hard; git merge -q origin/change; test "$(cat f)" = two`).OK(t)
		// Its twin: what is ordinary work may change.
		b.Run(t, bash(`echo three >f; echo '{"b":1}' >.vscode/settings.json; git commit -qam three; git switch -q -c other HEAD~1; git switch -q -`)...).OK(t)
	})
}

// A commit that is to be signed is signed, or there is none: its key is
// hidden in the home, or held by an agent of the host.
func TestB21B22_NeverUnsigned(t *testing.T) {
	t.Parallel()
	const keys = smallRepo + `mkdir -m 700 ~/.ssh; ssh-keygen -q -t ed25519 -N "$PHRASE" -C t -f ~/.ssh/id; cp ~/.ssh/id.pub ~/seen.pub
git config --global gpg.format ssh; git config --global user.signingkey ~/.ssh/id.pub
printf '#!/bin/sh\necho phrase\n' >$ROOT/ask; chmod +x $ROOT/ask
`
	const command = "git commit -q --allow-empty -S -m signed"
	EachLauncher(t, func(t *testing.T, l string) {
		for _, c := range []struct {
			name, phrase, setup, command string
		}{
			{"B22_HiddenKey", "", "", command},
			{"B22_ByConfig", "", "git config --global commit.gpgsign true", "git commit -q --allow-empty -m signed"},
			{"B21_AgentKey", "phrase", "git config --global user.signingkey ~/seen.pub", command},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				b := New(t, l)
				root := filepath.Dir(b.Workspace)
				b.Env = append([]string{"ROOT=" + root, "PHRASE=" + c.phrase, "SSH_ASKPASS_REQUIRE=force", "SSH_ASKPASS=" + root + "/ask"}, gitEnv...)
				Host(t, b, keys+c.setup).OK(t)
				if c.phrase != "" {
					b.Env = append(b.Env, "SSH_AUTH_SOCK="+sshAgent(t, b))
					Host(t, b, "ssh-add -q ~/.ssh/id").OK(t)
				}
				r := b.Sh(t, c.command)
				wantRefused(t, "signing without its key", r)
				if strings.TrimSpace(r.Stderr) == "" {
					t.Error("no reason was given")
				}
				if got := Host(t, b, "git log --format=%s").OK(t).Stdout; got != "one\n" {
					t.Errorf("something was made: %q", got)
				}
				// Outside the key is there, and inside an unsigned commit may be asked for.
				Host(t, b, c.command+"; git cat-file commit HEAD | grep -q 'SSH SIGNATURE'").OK(t)
				b.Sh(t, "git commit -q --no-gpg-sign --allow-empty -m plain").OK(t)
			})
		}
	})
}

// sshAgent starts an agent of the host for the test and gives its socket.
func sshAgent(t *testing.T, b *Box) string {
	t.Helper()
	sock := filepath.Join(shortDir(t), "agent")
	r := Host(t, b, "ssh-agent -a "+sock).OK(t)
	pid, _, _ := strings.Cut(strings.TrimPrefix(lineWith(r.Stdout, "SSH_AGENT_PID="), "SSH_AGENT_PID="), ";")
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatalf("ssh-agent: %+v", r)
	}
	t.Cleanup(func() { _ = syscall.Kill(n, syscall.SIGTERM) })
	return sock
}
