//go:build linux

package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/tools/tempdir"
)

// A80, F4: bawn's own files can be neither read nor changed from inside,
// wherever variables and links put them; the workspace's own can be read.
func TestA80_SettingsFromInside(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		root := filepath.Dir(b.Home)
		text := "[sandbox]\nallowed_domains = ['a.example']\n"
		// The user's file is a link, as tools that manage settings make it.
		Write(t, b.Home+"/dotfiles/bawn/config.toml", text)
		mkdir(t, b.Home+"/.config/bawn")
		symlink(t, b.Home+"/dotfiles/bawn/config.toml", b.Home+"/.config/bawn/config.toml")
		Write(t, b.Home+"/.config/bawn/allowed.toml", text)
		b.project(t, "[sandbox]\ndefault_tier = 'guarded'\n")
		b.trust(t)
		for _, m := range sandboxed {
			b.Flags = m.flags
			p := probeIn(t, b)
			for _, file := range []string{b.Home + "/dotfiles/bawn/config.toml", b.Home + "/.config/bawn/config.toml", b.Home + "/.config/bawn/allowed.toml", b.State + "/bawn/trust"} {
				p.want("EACCES", "read", file)
				p.want("EACCES|EROFS", "write", file)
				p.want(denied, "unlink", file)
				p.want(denied, "rename", file, b.Workspace+"/got")
				p.want(denied, "link", file, b.Workspace+"/got")
			}
			p.want("ok", "read", b.Workspace+"/.bawn/config.toml")
			p.want("EACCES|EROFS", "write", b.Workspace+"/.bawn/config.toml")
			p.want("EACCES|EROFS", "creat", b.Workspace+"/.bawn/new")
			p.want(denied, "unlink", b.Workspace+"/.bawn/config.toml")
			p.want(denied, "rename", b.Workspace+"/.bawn", b.Workspace+"/.bawn2")
			p.end()
		}
		b.Flags = nil
		if r := b.Bawn(t, "check", "connect", "a.example"); r.Code != 0 {
			t.Errorf("the linked file is not read: %s%s", r.Stdout, r.Stderr)
		}
		// Moved by variables, into a folder that is writable.
		os.RemoveAll(b.Home + "/.config")
		b.Env = []string{"XDG_CONFIG_HOME=" + root + "/moved"}
		Write(t, root+"/moved/bawn/config.toml", text)
		p := probeIn(t, b)
		p.want("EACCES", "read", root+"/moved/bawn/config.toml")
		p.end()
	})
}

// A75, A80: a place where a command could make the settings of the next run
// refuses this one; one that exists is out of its reach.
func TestA75_SettingsInWritablePlaces(t *testing.T) {
	b := New(t, "native")
	mkdir(t, b.Home+"/.cache/cfg")
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		b.Env = []string{name + "=" + b.Home + "/.cache/cfg", "BAWN_LOG=off"} // a log makes the folder
		os.RemoveAll(b.Home + "/.cache/cfg/bawn")
		b.Sh(t, "echo RAN").refused(t, b.Home+"/.cache/cfg/bawn", "make the folder now")
		mkdir(t, b.Home+"/.cache/cfg/bawn")
		r := b.Sh(t, "echo x >~/.cache/cfg/bawn/config.toml; mv ~/.cache/cfg ~/.cache/other; rm -rf ~/.cache/cfg/bawn; true").OK(t)
		if exists(b.Home+"/.cache/cfg/bawn/config.toml") || !exists(b.Home+"/.cache/cfg/bawn") {
			t.Errorf("%s: %s", name, r.Stderr)
		}
		// Airlock writes no cache.
		os.RemoveAll(b.Home + "/.cache/cfg/bawn")
		b.Flags = []string{"--tier", "airlock"}
		b.Sh(t, "true").OK(t)
		b.Flags = nil
	}
	// The workspace is no place for them, and its .env moves nothing.
	b.Env = []string{"XDG_CONFIG_HOME=" + b.Workspace + "/cfg"}
	Write(t, b.Workspace+"/cfg/bawn/config.toml", "[sandbox]\nallowed_domains = ['*']\n")
	b.Sh(t, "echo RAN").refused(t, "lie in the workspace")
	b.Env = nil
	Write(t, b.Workspace+"/.env", "XDG_CONFIG_HOME=./cfg\nBAWN_ALLOW_DOMAINS=*\nHOME="+b.Workspace+"\n")
	if r := b.Bawn(t, "check", "connect", "any.example"); r.Code != 2 {
		t.Errorf("exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := b.Sh(t, "getent hosts any.example; exit 3"); r.Code != 3 || !strings.Contains(r.Stderr, "denied any.example") {
		t.Errorf("a run: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	// The twin: the same file where the user's settings are.
	Write(t, b.Home+"/.config/bawn/config.toml", "[sandbox]\nallowed_domains = ['*']\n")
	if r := b.Bawn(t, "check", "connect", "any.example"); r.Code != 0 {
		t.Errorf("the user's own file: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// C7: settings that somebody else could have written are refused, and so are
// those that cannot be read; nothing runs then, in no tier.
func TestC7_UnreadableSettings(t *testing.T) {
	const text = "[sandbox]\nallowed_domains = ['*']\n"
	chmod := func(path string, mode os.FileMode) {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(b *Box, dir string){
		"file for all": func(_ *Box, dir string) { chmod(dir+"/config.toml", 0o666) },
		"group's file": func(_ *Box, dir string) { chmod(dir+"/config.toml", 0o660) },
		"group's dir":  func(_ *Box, dir string) { chmod(dir, 0o770) },
		"dir for all":  func(_ *Box, dir string) { chmod(dir, 0o777) },
		"fifo":         func(_ *Box, dir string) { remake(t, dir+"/config.toml", "mkfifo") },
		"dir as file":  func(_ *Box, dir string) { remake(t, dir+"/config.toml", "mkdir") },
		"file as dir":  func(_ *Box, dir string) { os.RemoveAll(dir); Write(t, dir, "") },
		"into the repo": func(b *Box, dir string) {
			os.Rename(dir+"/config.toml", b.Workspace+"/c")
			symlink(t, b.Workspace+"/c", dir+"/config.toml")
		},
		"link to none": func(b *Box, dir string) {
			os.Remove(dir + "/config.toml")
			symlink(t, b.Home+"/none", dir+"/config.toml")
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			b := New(t, "native")
			b.settings(t, text)
			dir := b.Home + "/.config/bawn"
			chmod(dir, 0o755)
			if r := b.Bawn(t, "check", "connect", "any.example"); r.Code != 0 {
				t.Fatalf("before: %s%s", r.Stdout, r.Stderr)
			}
			spoil(b, dir)
			for _, flags := range [][]string{nil, {"--tier", "open"}} {
				b.Flags = flags
				b.Sh(t, "echo RAN").refused(t, dir)
			}
		})
	}
	if os.Getuid() == 0 { // somebody else's file, which only root can make
		u, err := EnsureUser()
		if err != nil {
			t.Fatal(err)
		}
		b := New(t, "native")
		file := b.settings(t, text)
		for _, path := range []string{file, filepath.Dir(file)} {
			if out, err := exec.Command("chown", u.Uid, path).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			b.Sh(t, "echo RAN").refused(t, filepath.Dir(file))
			if out, err := exec.Command("chown", "0", path).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			b.Sh(t, "true").OK(t)
		}
	}
}

func remake(t *testing.T, path, how string) {
	t.Helper()
	os.Remove(path)
	if out, err := exec.Command(how, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// C7: without a home there are no settings of the user's, which is said.
func TestC7_NoHome(t *testing.T) {
	b := New(t, "native")
	b.settings(t, "[sandbox]\ndefault_tier = 'airlock'\n")
	run := func(env ...string) Result {
		cmd := exec.Command(Binary(), "run", "--", "sh", "-c", "echo $BAWN_TIER")
		cmd.Dir, cmd.Env = b.Workspace, append(env, "PATH=/usr/bin:/bin")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		return Result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
	if r := run("HOME=" + b.Home).OK(t); r.Stdout != "airlock\n" {
		t.Errorf("with a home: %q", r.Stdout)
	}
	for _, env := range []string{"A=b", "HOME=", "HOME=relative"} {
		run(env).refused(t, "cannot be recorded", "XDG_STATE_HOME", "BAWN_LOG=off")
		if r := run(env, "BAWN_LOG=off").OK(t); r.Stdout != "guarded\n" || !strings.Contains(r.Stderr, "no settings of yours were read") {
			t.Errorf("%s: %q %q", env, r.Stdout, r.Stderr)
		}
	}
	if r := run("XDG_CONFIG_HOME="+b.Home+"/.config", "XDG_STATE_HOME="+b.State).OK(t); r.Stdout != "airlock\n" {
		t.Errorf("XDG_CONFIG_HOME: %q %q", r.Stdout, r.Stderr)
	}
}

// A75: where bawn's state has no place, a folder of the workspace is not taken for
// it: a command could have written a log there.
func TestA75_NoStateInTheWorkspace(t *testing.T) {
	b := New(t, "native")
	b.Sh(t, "true").OK(t)
	if out, err := exec.Command("cp", "-r", b.State+"/bawn/log", b.Workspace+"/log").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, words := range []string{"log", "log runs", "log show", "log verify", "log export csv", "keep --list", "keep", "discard"} {
		cmd := exec.Command(Binary(), strings.Fields(words)...)
		cmd.Dir, cmd.Env = b.Workspace, []string{"PATH=/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 125 || !strings.HasPrefix(string(out), "bawn: no folder of bawn's state is known") || !strings.Contains(string(out), "XDG_STATE_HOME") {
			t.Errorf("%s: exit %d: %s", words, code, out)
		}
	}
	if r := b.Bawn(t, "log", "verify").OK(t); !strings.Contains(r.Stdout, b.State) {
		t.Errorf("the twin: %+v", r)
	}
}

// F11: a home that does not exist is not made, by a run or a session, whatever is
// to be kept.
func TestF11_HomeIsNotMade(t *testing.T) {
	b := New(t, "native")
	Write(t, b.Workspace+"/.bawn/config.toml", "[sandbox]\nallowed_domains = ['example.org']\n") // which is told once
	home := filepath.Dir(b.Home) + "/none"
	for words, code := range map[string]int{
		"run -- true": 0, "wrap -- true": 0, "run --stage -- true": 125, "run -- touch " + b.Home + "/.npm/x": 1, "mcp": 0,
	} {
		for _, state := range []string{"", "XDG_STATE_HOME=" + b.State} {
			if code == 125 && state != "" {
				continue // its layer has a place then
			}
			cmd := exec.Command(Binary(), strings.Fields(words)...)
			cmd.Dir, cmd.Env = b.Workspace, []string{"PATH=/usr/bin:/bin", "BAWN_LOG=off", "HOME=" + home, state}
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != code || exists(home) {
				t.Fatalf("%s with %q: exit %d, the home is made: %v\n%s", words, state, got, exists(home), out)
			}
		}
	}
}

// F6: of the folders that files name, those that may not be added are left
// out with a warning, and the run goes on; a flag that names one is refused.
func TestF6_ConfiguredFolders(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		root := filepath.Dir(b.Home)
		mkdir(t, b.Home+"/.ssh")
		mkdir(t, root+"/good")
		symlink(t, b.Home+"/.ssh", root+"/link")
		// A link in the workspace: a command could have made it.
		mkdir(t, root+"/planted")
		symlink(t, root+"/planted", b.Workspace+"/out")
		file := b.settings(t, "[sandbox]\nallowed_paths = [\n'~/.ssh',\n'~',\n'/',\n'"+root+"/link',\n'"+root+"/none',\n'"+b.Workspace+"/out',\n'"+root+"/good',\n]\n")
		r := b.Sh(t, "for d in ~/.ssh ~ "+root+"/planted "+root+"/good; do (echo x >$d/x) 2>/dev/null; done; true").OK(t)
		for _, line := range []string{":3", ":4", ":5", ":6", ":7", ":8"} {
			if !strings.Contains(r.Stderr, "allowed_paths ("+file+line+") is left out") {
				t.Errorf("line %s: %s", line, r.Stderr)
			}
		}
		if !exists(root+"/good/x") || exists(b.Home+"/x") || exists(b.Home+"/.ssh/x") || exists(root+"/planted/x") {
			t.Error("the wrong folders are writable")
		}
		b.Flags = []string{"--add-dir", root + "/link"}
		b.Sh(t, "echo RAN").refused(t, root)
		// Airlock has none, whoever names it.
		os.Remove(root + "/good/x")
		b.Flags = []string{"--tier", "airlock"}
		b.Sh(t, "echo x >"+root+"/good/x; true").OK(t)
		if exists(root + "/good/x") {
			t.Error("airlock writes an added folder")
		}
	})
}

// F2, F6: a folder inside a protected place does not open it, not even from a
// trusted project, with the guard and without.
func TestF2_AddedFolderInAProtectedPlace(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, d := range []string{"/.codex/sub", "/deploy/sub", "/plain/sub"} {
			mkdir(t, b.Workspace+d)
		}
		b.settings(t, "[sandbox]\nprotect = ['deploy', 'plain']\n")
		b.project(t, "[sandbox]\nallowed_paths = ['.codex/sub', 'deploy/sub']\n")
		b.trust(t)
		for _, guard := range []string{"on", "off"} {
			b.Flags = []string{"--guard", guard, "--add-dir", "plain/sub"}
			r := b.Sh(t, "for d in .codex deploy plain; do (echo x >$d/sub/f) 2>/dev/null && echo $d; done; true").OK(t)
			if r.Stdout != "" || strings.Count(r.Stderr, "stays read-only") != 3 {
				t.Errorf("guard %s: %q %q", guard, r.Stdout, r.Stderr)
			}
		}
	})
}

// T1: no setting widens airlock.
func TestT1_AirlockIsNotWidened(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		mark := tempdir.ForTest(t, "/var/tmp")
		b.settings(t, "[sandbox]\ntmp = 'host'\nallowed_domains = ['*']\n")
		b.Flags = []string{"--tier", "airlock"}
		if r := b.Sh(t, "[ -e "+mark+" ] && echo HOST; getent hosts github.com && echo NET; true").OK(t); r.Stdout != "" {
			t.Errorf("%q", r.Stdout)
		}
		b.Flags = nil
		if r := b.Sh(t, "[ -e "+mark+" ] && echo HOST; true").OK(t); r.Stdout != "HOST\n" {
			t.Errorf("guarded: %q %q", r.Stdout, r.Stderr)
		}
	})
}

// A149: what is hidden stays hidden under another name, with its folder, by
// its link and by a second name; what lies beside it is free.
func TestA149_HiddenIsNotMoved(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Workspace+"/sub/deep/.env", "SECRET")
		Write(t, b.Workspace+"/sub/free", "x")
		symlink(t, "sub/deep/.env", b.Workspace+"/env-link")
		b.settings(t, "[sandbox]\nhidden = ['sub/deep/.env', 'env-link']\n")
		r := b.Sh(t, `mv sub/deep/.env x; mv sub/deep d; mv sub s; ln sub/deep/.env h; cp sub/deep/.env c; cat env-link x d/.env s/deep/.env h c sub/deep/.env
rm -f sub/deep/.env; mv sub/free free && echo FREE`).OK(t)
		if strings.Contains(r.Stdout, "SECRET") || r.Stdout != "FREE\n" || !exists(b.Workspace+"/sub/deep/.env") {
			t.Errorf("%q", r.Stdout)
		}
		b.Home = filepath.Dir(b.Home) + "/other"
		mkdir(t, b.Home)
		if r := b.Sh(t, "cat env-link").OK(t); r.Stdout != "SECRET" {
			t.Errorf("without the setting: %q", r.Stdout)
		}
		// A link out of the workspace could be anybody's.
		os.Remove(b.Workspace + "/env-link")
		symlink(t, "/usr/bin", b.Workspace+"/env-link")
		b.settings(t, "[sandbox]\nhidden = ['env-link']\n")
		b.Sh(t, "echo RAN").refused(t, "leads to /usr/bin")
	})
}

// A149: the folder above a protected place cannot take it out of its name,
// with the name guard and without.
func TestA149_ProtectedIsNotMoved(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, guard := range []string{"on", "off"} {
			b := New(t, l)
			Write(t, b.Workspace+"/a/b/deploy/run.sh", "old")
			b.settings(t, "[sandbox]\nprotect = ['a/b/deploy']\n")
			b.Flags = []string{"--guard", guard}
			b.Sh(t, "mv a/b c; mkdir -p a/b/deploy; echo new >a/b/deploy/run.sh; mv a d; mkdir -p a/b/deploy; echo new >a/b/deploy/run.sh; echo x >a/b/free; true").OK(t)
			if text, err := os.ReadFile(b.Workspace + "/a/b/deploy/run.sh"); err != nil || string(text) != "old" || !exists(b.Workspace+"/a/b/free") {
				t.Errorf("guard %s: %q, %v", guard, text, err)
			}
		}
	})
}

// B49: a hidden folder early on the PATH does not keep programs from being
// found.
func TestB49_HiddenFolderOnThePath(t *testing.T) {
	b := New(t, "native")
	mkdir(t, b.Home+"/.denied/bin")
	b.settings(t, "[sandbox]\nhidden = ['~/.denied']\n")
	b.Env = []string{"PATH=" + b.Home + "/.denied/bin:/usr/local/bin:/usr/bin:/bin"}
	b.Run(t, "python3", "-c", "import subprocess; subprocess.run(['true'], check=True)").OK(t)
	if r := b.Sh(t, "ls ~/.denied"); r.Code == 0 {
		t.Error("the folder is not hidden")
	}
}

// T1, N11: where a tier or mode has no network, what a file allows for every run
// is passed over without a word; what was typed for this run is told.
func TestT1_N11_HostsWithoutANetwork(t *testing.T) {
	b := New(t, "native")
	b.settings(t, "[sandbox]\nallowed_domains = ['one.example']\nallowed_local_ports = [5432]\nallow_private = ['two.example']\n")
	const told = "has no network: the hosts that were allowed are left out"
	for _, mode := range [][]string{{"--tier", "airlock"}, {"--sandbox", "read-only"}} {
		b.Flags = mode
		if r := b.Run(t, "true").OK(t); r.Stderr != "" {
			t.Errorf("%v: %q", mode, r.Stderr)
		}
		for _, typed := range [][]string{{"--allow-domain", "three.example"}, {"--allow-local-port", "80"}, {"--allow-private", "three.example"}} {
			b.Flags = append(mode[:2:2], typed...)
			if r := b.Run(t, "true").OK(t); !strings.Contains(r.Stderr, told) {
				t.Errorf("%v: %q", b.Flags, r.Stderr)
			}
		}
	}
}
