//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An install script's attempts on the workspace W, from its own folder in
// node_modules. Each is a function, of which the last command fails if it did
// not get what it wants.
var attempts = []struct {
	name, text string
	// held: without the profile guarded holds it too.
	held bool
}{
	{"change a source", `echo x >>$W/src/a.js`, false},
	{"make a source", `echo x >$W/src/new.js`, false},
	{"remove a source", `rm $W/src/b.js`, false},
	{"remove a folder", `rm -r $W/lib && test ! -e $W/lib`, false},
	{"rename a source", `mv $W/src/c.js $W/src/cc.js`, false},
	{"move a source here", `mv $W/src/d.js . && test ! -e $W/src/d.js`, false},
	{"move its own file among the sources", `echo x >e.js && mv e.js $W/src/e.js`, false},
	{"move its own folder over another name", `mkdir k && mv k $W/k`, false},
	{"make a build file", `echo x >$W/Makefile`, false},
	{"make another tool's folder", `mkdir $W/target`, false},
	{"change a manifest", `sed 's/1.0.0/6.6.6/' $W/sub/package.json >m && cat m >$W/sub/package.json`, false},
	{"replace a manifest", `cp $W/sub/package.json p && mv -f p $W/sub/package.json && test ! -e p`, false},
	{"write through a hard link", `ln $W/src/a.js l && echo hard >>l`, false},
	{"write through a link", `ln -s $W/src s && echo x >s/f.js`, false},
	{"write through a link among the programs", `ln -s ../../src/a.js $W/node_modules/.bin/x && echo bin >>$W/node_modules/.bin/x`, false},
	{"write through an open file", `exec 3<$W/src/a.js && echo proc >>/proc/self/fd/3`, false},
	{"a link for a lock file", `ln -s src/a.js $W/npm-shrinkwrap.json`, false},
	{"a link for a dependency folder", `ln -s ../src $W/sub/node_modules`, false},
	{"a link moved to the place of one", `ln -s ../src n && mv n $W/other/node_modules`, false},
	{"a lock's temporary file for a source", `echo x >$W/package-lock.json.1 && mv $W/package-lock.json.1 $W/src/g.js`, false},
	{"somebody's file named as a temporary one", `echo x >>$W/package-lock.json.bak`, false},
	{"cut a source", `truncate -s 1 $W/src/h.js`, false},
	{"a source as a pipe", `mkfifo $W/src/pipe`, false},
	{"a commit", `git -C $W -c user.name=x -c user.email=x@x commit -q --allow-empty -m evil`, false},
	{"a branch", `cp $W/.git/refs/heads/main $W/.git/refs/heads/evil`, false},
	{"a branch named as a dependency folder", `mkdir $W/.git/refs/heads/node_modules && cp $W/.git/refs/heads/main $W/.git/refs/heads/node_modules/x`, false},
	{"the repository moved", `mv $W/.git $W/node_modules/.g && mv $W/node_modules/.g $W/.git`, true},
	{"a hook", `echo x >$W/.git/hooks/pre-commit`, true},
	{"git's config", `git -C $W config core.fsmonitor evil`, true},
	{"a start-up file", `echo x >$W/.bashrc`, true},
	{"the agents' settings", `mkdir -p $W/.claude && echo x >$W/.claude/settings.json`, true},
	{"another user's home", `echo x >$HOME/.profile`, true},
}

// installBox has a project whose one dependency, a package in a file, tries all
// attempts when it is installed.
func installBox(t *testing.T, launcher string) *Box {
	t.Helper()
	b := gitBox(t, launcher, "")
	script := "W=$INIT_CWD\n"
	for _, a := range attempts {
		script += "( " + a.text + "\n) 2>/dev/null && echo \"" + a.name + "\" >>done\n"
	}
	root := filepath.Dir(b.Workspace)
	Write(t, root+"/package/evil.sh", script+"true\n")
	Write(t, root+"/package/package.json", `{"name":"dep","version":"1.0.0","bin":{"dep":"b.js"},"scripts":{"postinstall":"bash ./evil.sh"}}`)
	Write(t, root+"/package/b.js", "#!/usr/bin/env node\n")
	ws := b.Workspace
	for _, f := range strings.Fields("src/a.js src/b.js src/c.js src/d.js src/h.js lib/x other/x package-lock.json.bak .npmrc") {
		Write(t, ws+"/"+f, "")
	}
	Write(t, ws+"/src/h.js", "a source\n")
	Write(t, ws+"/sub/package.json", `{"name":"sub","version":"1.0.0"}`)
	Write(t, ws+"/package.json", `{"name":"p","version":"1.0.0","dependencies":{"dep":"file:vendored/dep.tgz"}}`)
	Host(t, b, `mkdir vendored; tar czf vendored/dep.tgz -C .. package; rm -r ../package
mkdir ~/.npm ~/.cache; git init -q -b main; printf 'node_modules\n' >.gitignore; git add -A; git commit -qm one`).OK(t)
	b.Env = append(b.Env, "npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false", "npm_config_offline=true")
	b.Flags = []string{"-q"}
	return b
}

// got is what an install script managed to do.
func (b *Box) got(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(b.Workspace + "/node_modules/dep/done")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		out[strings.TrimSpace(line)] = true
	}
	return out
}

// wide keeps installs in guarded as they are.
const wide = "BAWN_INSTALL_PROFILE=off"

// heavyHere says whether slow work runs under this launcher: the default one as
// the user, bubblewrap as root.
func heavyHere(launcher string) bool { return (launcher == "bwrap") == (os.Getuid() == 0) }

// F9: the script of a malicious package touches neither sources nor the
// repository, while the install itself works. Without the profile it does all
// that guarded leaves to a command, and outside everything.
func TestF9_InstallScripts(t *testing.T) {
	t.Parallel()
	const repository = `git log --format=%s; git rev-parse HEAD; find .git -type f ! -name index | sort | xargs cksum`
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		check := func(t *testing.T, b *Box, before Result) {
			t.Helper()
			for name := range b.got(t) {
				t.Errorf("the script got: %s", name)
			}
			if !exists(b.Workspace+"/node_modules/dep/b.js") || !exists(b.Workspace+"/node_modules/.bin/dep") || !exists(b.Workspace+"/package-lock.json") {
				t.Error("nothing was installed")
			}
			if after := Host(t, b, repository).OK(t); after != before {
				t.Errorf("the repository changed\n%s--- before\n%s", after.Stdout, before.Stdout)
			}
			if got := Host(t, b, `git status --porcelain | grep -vE "package-lock.json(.1)?$" || true`).OK(t).Stdout; got != "" {
				t.Errorf("the workspace changed: %s", got)
			}
		}
		t.Run("guarded", func(t *testing.T) {
			t.Parallel()
			b := installBox(t, l)
			before := Host(t, b, repository).OK(t)
			b.Flags = append(b.Flags, "--profile", "install")
			b.Run(t, "npm", "install").OK(t)
			check(t, b, before)
			// A manifest is written by a command that changes it.
			b.Run(t, "npm", "uninstall", "dep").OK(t)
			if got := Host(t, b, "cat package.json package-lock.json; git diff --name-only").OK(t).Stdout; strings.Contains(got, "dep") || !strings.HasSuffix(got, "package.json\n") {
				t.Errorf("npm uninstall: %s", got)
			}
		})
		if !heavyHere(l) {
			return
		}
		t.Run("airlock", func(t *testing.T) { // there every install is narrowed
			t.Parallel()
			b := installBox(t, l)
			Host(t, b, `npm install --ignore-scripts >/dev/null; rm -r node_modules; git add -A; git commit -qm lock`).OK(t)
			before := Host(t, b, repository).OK(t)
			b.Flags = append(b.Flags, "--tier", "airlock")
			b.Run(t, "npm", "ci").OK(t)
			check(t, b, before)
		})
		t.Run("without the profile", func(t *testing.T) { // the attempts are real
			t.Parallel()
			b := installBox(t, l)
			b.Env = append(b.Env, wide)
			b.Run(t, "npm", "install").OK(t)
			got := b.got(t)
			for _, a := range attempts {
				if got[a.name] == a.held {
					t.Errorf("%s: done %v", a.name, got[a.name])
				}
			}
		})
		t.Run("without bawn", func(t *testing.T) {
			t.Parallel()
			b := installBox(t, l)
			Host(t, b, "npm install").OK(t)
			got := b.got(t)
			for _, a := range attempts {
				if !got[a.name] {
					t.Errorf("%s failed", a.name)
				}
			}
		})
	})
}

// F9: why a write was refused, what lifts the profile, and when there is none.
func TestF9_InstallSaysWhy(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, `git init -q; mkdir ../bin; printf '#!/bin/sh\necho x >gen.js\n' >../bin/npm; chmod +x ../bin/npm`)
		b.Env = append(b.Env, wide, "PATH="+filepath.Dir(b.Workspace)+"/bin:/usr/bin:/bin")
		for _, c := range []struct {
			flags []string
			lift  string // "" is not narrowed
		}{
			{[]string{"--profile", "install"}, "leave --profile install out"},
			{[]string{"--tier", "airlock"}, `--tier guarded with install_profile = "off"`},
			{nil, ""},
		} {
			b.Flags = c.flags
			r := b.Run(t, "npm", "install")
			if c.lift == "" {
				r.OK(t)
				continue
			}
			if r.Code == 0 || !strings.Contains(r.Stderr, `denied "`+b.Workspace+`/gen.js"`) || !strings.Contains(r.Stderr, "a package install writes only") || !strings.Contains(r.Stderr, c.lift) {
				t.Errorf("%q: exit %d, %s", c.flags, r.Code, r.Stderr)
			}
		}
		for _, c := range []struct {
			flags, args []string
			want        string
		}{
			{[]string{"--profile", "install"}, []string{"npm", "test"}, "not a package install"},
			{[]string{"--profile", "install"}, []string{"npm", "ci", "--prefix", "x"}, "not a package install"},
			{[]string{"--profile", "install"}, []string{"sh", "-c", "npm ci"}, "not a package install"},
			{[]string{"--profile", "install", "--guard", "off"}, []string{"npm", "ci"}, "only the name guard can hold it"},
			{[]string{"--profile", "install", "--tier", "open"}, []string{"npm", "ci"}, "the open tier has no sandbox"},
			{[]string{"--profile", "instal"}, []string{"npm", "ci"}, "unknown profile"},
		} {
			b.Flags = c.flags
			if r := b.Run(t, c.args...); r.Code != 125 || !strings.Contains(r.Stderr, c.want) {
				t.Errorf("%q %q: exit %d, %s", c.flags, c.args, r.Code, r.Stderr)
			}
		}
		// Shell text is recognised too, and only whole.
		for text, code := range map[string]int{"npm ls": 125, "npm install && echo x": 125, "npm install && npm dedupe": 2} {
			if r := b.Bawn(t, "run", "--launcher", l, "--profile", "install", "-c", text); (r.Code == 125) != (code == 125) || r.Code == 0 {
				t.Errorf("-c %q: exit %d, %s", text, r.Code, r.Stderr)
			}
		}
		// In airlock what is more than an install is not narrowed.
		b.Bawn(t, "run", "--launcher", l, "--tier", "airlock", "-c", "npm install && echo x").OK(t)
		if r := b.Bawn(t, "check", "--profile", "install", "write", "x"); r.Code != 125 || !strings.Contains(r.Stderr, "only run knows it") {
			t.Errorf("check: exit %d, %s", r.Code, r.Stderr)
		}
	})
}

// F9: the ways in which package tools replace their lock files.
func TestF9_LockFiles(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := New(t, l)
		Host(t, b, `mkdir ../bin; for t in npm cargo uv bun poetry pnpm; do printf '#!/bin/bash\nset -e\neval "$DO"\n' >../bin/$t; chmod +x ../bin/$t; done`).OK(t)
		env := append(b.Env, "PATH="+filepath.Dir(b.Workspace)+"/bin:/usr/bin:/bin")
		b.Flags = []string{"-q", "--profile", "install"}
		for _, c := range []struct{ tool, verb, lock, do string }{
			{"npm", "ci", "package-lock.json", `echo new >package-lock.json.1234567; mv package-lock.json.1234567 package-lock.json`},
			{"cargo", "update", "Cargo.lock", `echo new >Cargo.lockaB3xY9; mv Cargo.lockaB3xY9 Cargo.lock`},
			{"uv", "lock", "uv.lock", `echo new >.tmpaB3xY9; mv .tmpaB3xY9 uv.lock`},
			{"bun", "install", "bun.lock", `echo new >.lock-0123456789abcdef.tmp; mv .lock-0123456789abcdef.tmp bun.lock`},
			{"poetry", "lock", "poetry.lock", `echo new >poetry.lock`},
			{"pnpm", "install", "pnpm-lock.yaml", `P=_tmp_7_0123456789abcdef0123456789abcdef; echo >$P; rm $P; echo new >pnpm-lock.yaml.88; mv pnpm-lock.yaml.88 pnpm-lock.yaml`},
		} {
			for _, old := range []string{"", "old"} { // made, and replaced
				b.Env = append(env, "DO="+c.do)
				_ = os.Remove(b.Workspace + "/" + c.lock)
				if old != "" {
					Write(t, b.Workspace+"/"+c.lock, old)
				}
				b.Run(t, c.tool, c.verb).OK(t)
				if data, err := os.ReadFile(b.Workspace + "/" + c.lock); err != nil || string(data) != "new\n" {
					t.Errorf("%s: %q, %v", c.lock, data, err)
				}
			}
			// Another tool's lock is not its own.
			b.Env = append(env, "DO="+c.do)
			other := "poetry"
			if c.tool == "poetry" {
				other = "npm"
			}
			if r := b.Run(t, other, "install"); r.Code == 0 {
				t.Errorf("%s wrote %s", other, c.lock)
			}
		}
	})
}

// F9, the other side of docs/installs.md: modes and times are not held, and a
// socket takes a free name; no content changes by that, and what has a name
// keeps it. The repository's files keep their modes too.
func TestF9_WhatInstallsLeaveOpen(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := gitBox(t, l, `git init -q; mkdir ../bin; printf '#!/bin/bash\neval "$DO"\n' >../bin/npm; chmod +x ../bin/npm; echo code >a.js; chmod 644 a.js; chmod 644 .git/HEAD`)
		b.Env = append(b.Env, "PATH="+filepath.Dir(b.Workspace)+"/bin:/usr/bin:/bin")
		b.Flags = []string{"-q", "--profile", "install"}
		const bind = `python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' `
		for _, c := range []struct {
			do   string
			open bool
		}{
			{`chmod 755 a.js`, true},
			{`python3 -c 'import os; os.fchmod(os.open("a.js", os.O_RDONLY), 0o744)'`, true},
			{`touch -d 2001-01-01 a.js`, true},
			{bind + `s.js`, true},
			{bind + `a.js`, false},
			{bind + `.git/s`, false},
			{`chmod 755 .git/HEAD`, false},
			{`echo x >>a.js`, false},
			{`rm s.js`, false},
			{`mv s.js package-lock.json`, false},
			{`mv s.js t.js`, false},
		} {
			b.Env = append(b.Env, "DO="+c.do)
			if r := b.Run(t, "npm", "ci"); (r.Code == 0) != c.open {
				t.Errorf("%s: exit %d, %s", c.do, r.Code, r.Stderr)
			}
		}
		if data, err := os.ReadFile(b.Workspace + "/a.js"); string(data) != "code\n" {
			t.Errorf("a.js is %q, %v", data, err)
		}
		if st, err := os.Lstat(b.Workspace + "/s.js"); err != nil || st.Mode().Type() != os.ModeSocket {
			t.Errorf("s.js: %v, %v", st, err)
		}
	})
}
