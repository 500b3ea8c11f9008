//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Any name that the kernel takes can be a workspace's.
func TestB47_WorkspaceNames(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		for _, c := range []struct{ what, name string }{
			{"spaces and CJK", "プロ ジェクト é"},
			{"quotes", `a'b"c$d` + "`e`" + `\f;g|h&i*?[j]`},
			{"newline", "a\nb\n"},
			{"bytes", "caf\xe9 \xff\x01\x1b[31m"},
			{"longest", strings.Repeat("n", 250)},
			{"leading dashes", "--ro-bind"},
			{"colon and equals", "a:b=c,d"},
			{"dots", "..."},
		} {
			t.Run(c.what, func(t *testing.T) {
				t.Parallel()
				root := New(t, l)
				b := *root
				b.Workspace = filepath.Join(root.Workspace, c.name)
				if err := os.MkdirAll(b.Workspace+"/"+c.name, 0o755); err != nil {
					t.Fatal(err)
				}
				r := b.Sh(t, `touch "a b" && pwd && ls -A`).OK(t)
				entries := []string{c.name, "a b"}
				if "a b" < c.name {
					entries = []string{"a b", c.name}
				}
				if want := b.Workspace + "\n" + strings.Join(entries, "\n") + "\n"; r.Stdout != want && c.name[0] != '.' {
					t.Errorf("pwd and ls: %q, want %q", r.Stdout, want)
				}
				if got := dirNames(t, b.Workspace); !strings.Contains(got, "a b") {
					t.Errorf("the write did not arrive: %q", got)
				}
				wantRefused(t, "a write above", b.Sh(t, "echo x >../out"))

				// The same name relative, as -C and as an added folder.
				b.Workspace = root.Workspace
				b.Flags = []string{"-C", c.name, "--add-dir", c.name + "/" + c.name}
				if r := b.Run(t, "sh", "-c", `echo x >f && pwd`).OK(t); r.Stdout != b.Workspace+"/"+c.name+"\n" {
					t.Errorf("-C: pwd prints %q", r.Stdout)
				}
			})
		}
	})
}

// The command runs where it was asked to, or not at all.
func TestB36_NeverAnotherFolder(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		root := filepath.Dir(b.Workspace)
		for _, d := range []string{"home/.config/x/proj", "home/.ssh/proj", "home/.cache/proj", "closed/proj"} {
			if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(root+"/home/.config/x/proj", root+"/link"); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(root+"/closed", 0o311); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(root+"/closed", 0o755) })
		for _, dir := range []string{"home/.config/x/proj", "home/.cache/proj", "closed/proj", "ws"} {
			b.Workspace = filepath.Join(root, dir)
			if r := b.Sh(t, "echo x >f && pwd -P && cat f").OK(t); r.Stdout != b.Workspace+"\nx\n" {
				t.Errorf("in %s: %q", dir, r.Stdout)
			}
		}
		b.Workspace = root + "/link"
		if r := b.Sh(t, "echo x >g && pwd && pwd -P && cat g").OK(t); r.Stdout != root+"/link\n"+root+"/home/.config/x/proj\nx\n" {
			t.Errorf("through a link: %q", r.Stdout)
		}
		b.Workspace = root + "/home/.ssh/proj"
		if r := b.Run(t, "pwd"); r.Code != 125 || r.Stdout != "" {
			t.Errorf("in a hidden folder: %+v", r)
		}
	})
}

// A granted folder may be a link to another place.
func TestB38_GrantedLink(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		root := filepath.Dir(b.Workspace)
		if err := os.MkdirAll(root+"/other/.tool", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../other", b.Home+"/disk"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(b.Home+"/disk/.tool", b.Home+"/.tool"); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, "a write without the grant", b.Sh(t, "touch ~/.tool/x"))
		b.Flags = []string{"--add-dir", b.Home + "/.tool"}
		b.Sh(t, "touch ~/.tool/x && echo y >~/.tool/y && mv ~/.tool/y ~/.tool/z").OK(t)
		if got := dirNames(t, root+"/other/.tool"); got != "x z" {
			t.Errorf("arrived: %q", got)
		}
		wantRefused(t, "a write beside the grant", b.Sh(t, "echo x >~/disk/out"))
		wantRefused(t, "a change of the link", b.Sh(t, "rm ~/.tool"))

		// A cache that lies on another disk is writable the same way.
		if err := os.Symlink(root+"/other", b.Home+"/.cache"); err != nil {
			t.Fatal(err)
		}
		b.Flags = nil
		b.Sh(t, "echo c >~/.cache/c && cat ~/.cache/c").OK(t)
	})
}

// Settings that are links stop no command, and what they lead to is held.
func TestB137_LinkedSettings(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = []string{"ROOT=" + filepath.Dir(b.Workspace)}
		Host(t, b, `mkdir ~/cfg .bawn .claude dotfiles; echo '{}' >~/cfg/settings.json; echo '{}' >dotfiles/claude.json
ln -s ~/cfg/settings.json .bawn/settings.json; ln -s /nonexist .bawn/hooks; ln -s ../dotfiles/claude.json .claude/settings.json; ln -s /nonexist .mcp.json; ln -s loop .codex; ln -s .codex loop`).OK(t)
		b.Run(t, "true").OK(t)
		for _, f := range []string{".bawn/settings.json", ".bawn/hooks", ".bawn/new", "dotfiles/claude.json", ".claude/settings.json", "~/cfg/settings.json"} {
			wantRefused(t, "a write to "+f, b.Sh(t, "echo x >"+f))
		}
		b.Sh(t, "cat .bawn/settings.json .claude/settings.json && echo x >dotfiles/other && echo x >.claude/notes.md").OK(t)
		if got := Host(t, b, `cat ~/cfg/settings.json dotfiles/claude.json; cat dotfiles/other .claude/notes.md`).OK(t).Stdout; got != "{}\n{}\nx\nx\n" {
			t.Errorf("on the host: %q", got)
		}
	})
}

// A folder on PATH that is hidden does not stop the search.
func TestB49_HiddenFolderOnPath(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Home+"/.ssh/bin/true", "#!/bin/sh\nexit 9\n")
		Write(t, b.Home+"/.ssh/bin/only", "#!/bin/sh\nexit 9\n")
		if err := os.Chmod(b.Home+"/.ssh/bin/true", 0o755); err != nil {
			t.Fatal(err)
		}
		path := "PATH=" + b.Home + "/.ssh/bin:/nonexist:" + b.Workspace + "/bin:/usr/local/bin:/usr/bin:/bin"
		b.Env = []string{path}
		b.Run(t, "true").OK(t)
		b.Run(t, "node", "-e", `require('child_process').execFileSync('true')`).OK(t)
		b.Run(t, "python3", "-c", `import subprocess; subprocess.run(['true'], check=True)`).OK(t)
		if r := b.Run(t, "only"); r.Code != 127 && r.Code != 126 {
			t.Errorf("a program of a hidden folder: %+v", r)
		}
		Write(t, b.Workspace+"/bin/only", "#!/bin/sh\necho mine\n")
		if err := os.Chmod(b.Workspace+"/bin/only", 0o755); err != nil {
			t.Fatal(err)
		}
		if r := b.Run(t, "only").OK(t); r.Stdout != "mine\n" {
			t.Errorf("a program of the workspace: %+v", r)
		}
	})
}

// Harmless variables stay; what goes is listed, without its value.
func TestB117_HarmlessVariables(t *testing.T) {
	t.Parallel()
	keep := []string{
		"COLORTERM=truecolor", "LC_ALL=C.UTF-8", "TERM=xterm-256color", "MY_API_BASE=x", "EDITOR=vi", "TZ=UTC", "MAKEFLAGS=-j2", "NODE_OPTIONS=--no-warnings",
		"JAVA_HOME=/usr", "GOFLAGS=-mod=mod", "PYTHONUNBUFFERED=1", "CI=true", "LS_COLORS=di=01", "EMPTY=", "MULTI=a\nb", "KEYBOARD=x", "TOKENIZERS_PARALLELISM=false",
	}
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = append([]string{"MY_API_KEY=s3cr3t-value", "DEPLOY_TOKEN=s3cr3t-value"}, keep...)
		r := b.Run(t, "env", "-0").OK(t)
		got := map[string]bool{}
		for _, e := range strings.Split(r.Stdout, "\x00") {
			got[e] = true
		}
		for _, e := range append(keep, "HOME="+b.Home, "LANG=C.UTF-8", "BAWN_SANDBOXED=1", "BAWN_TIER=guarded") {
			if !got[e] {
				t.Errorf("not inside: %q", e)
			}
		}
		list := b.Bawn(t, "env").OK(t)
		for _, name := range []string{"MY_API_KEY", "DEPLOY_TOKEN"} {
			if strings.Contains(r.Stdout, name) {
				t.Errorf("inside: %s", name)
			}
			if !strings.Contains(list.Stdout, name) {
				t.Errorf("bawn env does not list %s: %q", name, list.Stdout)
			}
		}
		if strings.Contains(list.Stdout+list.Stderr, "s3cr3t") || strings.Contains(list.Stdout, "COLORTERM") {
			t.Errorf("bawn env: %q", list.Stdout)
		}
	})
}

// The tools' caches are writable, those that are not there yet too; in
// airlock they are not the host's.
func TestB52_Caches(t *testing.T) {
	t.Parallel()
	caches := []string{".cache/x", ".npm", ".cargo/registry", ".cargo/git", "go/pkg/mod", ".local/share/pnpm/store", ".cache/pip", ".cache/uv", ".bun/install/cache"}
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = append(b.Env, "XDG_STATE_HOME="+Dir(t)) // what bawn says once is kept there
		const write = `set -e; for d in %; do mkdir -p ~/$d; echo x >~/$d/f; mkdir ~/$d/n; mv ~/$d/f ~/$d/n/f; test -s ~/$d/n/f; done`
		all := strings.ReplaceAll(write, "%", strings.Join(caches[1:], " "))
		b.Sh(t, strings.ReplaceAll(all, "mkdir -p ~/$d;", "mkdir -p ~/$d 2>/dev/null || true;")).OK(t)
		if got := dirNames(t, b.Home); got != "" {
			t.Errorf("an absent cache left a folder: %q", got)
		}
		// The folders above exist, as they do where a tool is new or something
		// else lies beside its cache.
		absent := []string{".npm", ".cargo/registry", ".cargo/git", "go/pkg/mod", "go/pkg/sumdb", ".local/share/pnpm/store", ".bun/install/cache", ".yarn/berry"}
		for _, c := range absent {
			if err := os.MkdirAll(filepath.Join(b.Home, c, ".."), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		Write(t, filepath.Join(b.Home, "go/bin/tool"), "kept")
		some := strings.ReplaceAll(write, "%", strings.Join(absent, " "))
		b.Sh(t, strings.ReplaceAll(some, "mkdir -p ~/$d;", "mkdir -p ~/$d 2>/dev/null || true;")+"; cat ~/go/bin/tool").OK(t)
		wantRefused(t, "a write beside an absent cache", b.Sh(t, "echo x >~/go/f"))
		wantRefused(t, "a write beside an absent cache", b.Sh(t, "echo x >~/go/bin/tool"))
		for _, c := range caches {
			if err := os.MkdirAll(filepath.Join(b.Home, c), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		b.Sh(t, strings.ReplaceAll(write, "%", strings.Join(caches, " "))).OK(t)
		for _, c := range caches {
			if _, err := os.Stat(filepath.Join(b.Home, c, "n/f")); err != nil {
				t.Errorf("did not arrive: %v", err)
			}
		}
		wantRefused(t, "a write beside the caches", b.Sh(t, "echo x >~/.cargo/config.toml"))
		wantRefused(t, "a write beside the caches", b.Sh(t, "echo x >~/go/f"))
		b.Flags = []string{"--tier", "airlock"}
		wantRefused(t, "a cache in airlock", b.Sh(t, "echo x >~/.npm/g"))
		b.Sh(t, "cat ~/.npm/n/f && echo x >f").OK(t)
	})
}
