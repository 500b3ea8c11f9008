package gitdir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sure lists keys that must never pass with a value that the command chooses:
// git runs it, reads config from it, or follows it.
var sure = []string{
	"core.fsmonitor", "core.hookspath", "core.sshcommand", "core.gitproxy", "core.askpass", "core.pager", "core.editor",
	"core.alternaterefscommand", "core.attributesfile", "core.excludesfile", "core.protecthfs", "core.protectntfs",
	"include.path", "includeif.gitdir:/.path", "includeif.onbranch:*.path", "init.templatedir", "sequence.editor", "pager.log", "alias.st", "alias.x.command",
	"diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.smudge", "filter.x.process", "merge.x.driver",
	"difftool.x.cmd", "mergetool.x.cmd", "difftool.x.path", "browser.x.cmd", "man.x.cmd", "interactive.difffilter", "credential.helper", "credential.https://x.helper",
	"gpg.program", "gpg.ssh.program", "gpg.ssh.defaultkeycommand", "trailer.x.command", "trailer.x.cmd", "remote.o.uploadpack", "remote.o.receivepack", "remote.o.vcs", "remote.o.proxy",
	"uploadpack.packobjectshook", "hook.x.command", "tar.x.command", "imap.tunnel", "sendemail.smtpserver", "sendemail.tocmd", "lfs.customtransfer.x.path",
	"url.ext::x.insteadof", "url.x.pushinsteadof", "protocol.allow", "protocol.ext.allow", "http.proxy", "http.sslverify", "safe.directory", "branch.main.mergeoptions",
	"branch.main.merge.x", "commit.template", "mailmap.file", "blame.ignorerevsfile", "user.x.name", "core.x.bare", "remote.url", "branch.remote", "submodule.update",
	"core.worktree", "extensions.x.objectformat", "guitool.x.cmd", "instaweb.browser", "web.browser", "help.browser", "color.pager", "ssh.variant", "maintenance.repo",
}

func TestVetConfigKeys(t *testing.T) {
	values := []string{"./x", "!x", "true; x", "ext::sh -c x", "-x", "/ws/x", "sh -c x"}
	for _, name := range sure {
		first, last := strings.IndexByte(name, '.'), strings.LastIndexByte(name, '.')
		head := "[" + name[:first] + "]"
		if first != last {
			head = "[" + name[:first] + " \"" + name[first+1:last] + "\"]"
		}
		for _, value := range values {
			text := head + "\n\t" + name[last+1:] + " = \"" + value + "\"\n"
			err := VetConfig([]byte(text), Vetting{})
			var keys *KeysError
			if !errors.As(err, &keys) || len(keys.Keys) != 1 || keys.More != 0 {
				t.Errorf("%q: %v", text, err)
				continue
			}
			key := keys.Keys[0]
			if key.Line != 2 || key.Name != name || key.Key != name[:first]+name[last:] || key.Why == "" {
				t.Errorf("%q: %v", text, err)
				continue
			}
			old, _ := parseConfig([]byte("[x]\ny\n" + text))
			if err := VetConfig([]byte(text), Vetting{Old: old}); err != nil {
				t.Errorf("%q, there before: %v", text, err)
			}
			if err := VetConfig([]byte(text), Vetting{Lifted: func(k string) bool { return k == key.Key }}); err != nil {
				t.Errorf("%q, lifted: %v", text, err)
			}
			other := strings.Replace(text, value, value+"x", 1)
			if err := VetConfig([]byte(other), Vetting{Old: old}); err == nil {
				t.Errorf("%q passes because of %q", other, text)
			}
		}
	}
}

func TestVetConfigValues(t *testing.T) {
	v := Vetting{
		Local: func(p string) bool {
			return strings.HasPrefix(p, "/ok/") || p == "origin" || p == "./origin" || p == "name"
		},
		Worktree: func(p string) bool { return p == "../../../s" },
	}
	for text, ok := range map[string]bool{
		"": true, "# x\n": true, "[core]": true, "[x]\n": true, "[core]\nbare\n": true, "[core]\nbare = nonsense\n": false,
		"[core]\nrepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n": true,
		"[CORE]\n\tFileMode = TRUE\n": true, "[core]\nfsmonitor = false\n": true, "[core]\nfsmonitor = true\n": false, "[core]\nfsmonitor\n": false, "[core]\nfsmonitor = \"\"\n": false,
		"[core]\nfsmonitor = fal\\\nse\n": true, "[Core]fsmonitor=0#000000": true, "[core]\nfsmonitor = 00\n": false, "[core]\nfsmonitor = fal\\\nsex\n": false,
		"[core]\nworktree = ../../../s\n": true, "[core]\nworktree = /home/u\n": false,
		"[user]\nname = x y\nemail = x@y\n": true, "[user]\nname\n": false, "[user \"x\"]\nname = x\n": false, "[user \"\"]\nname = x\n": false,
		"[remote \"o\"]\nurl = https://h/p\nfetch = +refs/heads/*:refs/remotes/o/*\n": true,
		"[remote \"o\"]\nurl = git@h:p\n":                                             true, "[remote \"o\"]\nurl = ssh://h/p\n": true, "[remote \"o\"]\nurl = ssh://git@h:22/p\n": true, "[remote \"o\"]\nurl = [::1]:p\n": true,
		"[remote \"o\"]\nurl = https://[::1]/p\n": true, "[remote \"o\"]\nurl = /ok/p\n": true, "[remote \"o\"]\nurl = file:///ok/p\n": true, "[remote \"o\"]\nurl = file:///bad/p\n": false, "[remote \"o\"]\nurl = /bad\n": false,
		"[remote \"o\"]\nurl = file://ok/p\n": true, "[remote \"o\"]\nurl = file:///%6fk/p\n": false,
		"[remote \"o\"]\nurl = ext::sh -c x\n": false, "[remote \"o\"]\nurl = EXT::sh\n": false, "[remote \"o\"]\nurl = fd::3\n": false, "[remote \"o\"]\nurl = x+y-z.w::q\n": false,
		"[remote \"o\"]\nurl = HTTPS://h/p\n": false, "[remote \"o\"]\nurl = foo://h/p\n": false, "[remote \"o\"]\nurl = -oProxyCommand=x:p\n": false, "[remote \"o\"]\nurl = ssh://-oProxyCommand=x/p\n": false,
		"[remote \"o\"]\nurl = ssh://u@-oProxyCommand=x/p\n": false, "[remote \"o\"]\nurl = ssh://%2doProxyCommand=x/p\n": false, "[remote \"o\"]\nurl = h:-x\n": false, "[remote \"o\"]\nurl = ssh://h/-x\n": false,
		"[remote \"o\"]\nurl = ssh://`touch x`@h/p\n": false, "[remote \"o\"]\nurl = \"ssh://a;touch x/p\"\n": false, "[remote \"o\"]\nurl = ssh://%60touch%20x%60h/p\n": false, "[remote \"o\"]\nurl = $(x):p\n": false,
		"[remote \"o\"]\nurl = ssh://a|b@h/p\n": false, "[remote \"o\"]\nurl = ssh://u@a\\\\b/p\n": false, "[remote \"o\"]\nurl = ssh://u%40-oProxyCommand=x/p\n": false, "[remote \"o\"]\nurl = ssh://u@%0ah/p\n": false,
		"[remote \"o\"]\nurl = ssh://DOMAIN\\\\u@h/p\n": true, "[remote \"o\"]\nurl = ssh://u%40corp@h_1-2.example:22/p\n": true, "[remote \"o\"]\nurl = u+x@h:a b/$c\n": true, "[remote \"o\"]\nurl = ssh://[fe80::1%25eth0]/p\n": true,
		"[remote \"o\"]\nurl = \"ht\\ntp://h\"\n": false, "[remote \"o\"]\nurl = \"\"\n": false, "[remote.o]\nurl = https://h\n": true, "[remote.o]\nurl = ext::x\n": false, "[remote \"a\\\"b]\"]\nurl = https://h\n": true,
		// A word is a remote's name if the text gives that an address, else a path.
		"[branch \"m\"]\nremote = name\n": false, "[remote \"name\"]\nurl = https://x/y\n[branch \"m\"]\nremote = name\n": true, "[remote \"name\"]\nurl = name\n": false,
		"[remote]\npushDefault = name\n": false, "[remote \"name\"]\nurl = https://x/y\n[remote]\npushDefault = name\n": true,
		"[branch \"m\"]\nremote = origin\nmerge = refs/heads/m\nrebase = interactive\n": true, "[branch \"m\"]\nremote = .\n": true, "[branch \"m\"]\nremote = ext::x\n": false, "[branch \"m\"]\nremote = /bad\n": false,
		"[submodule \"s\"]\nurl = ../x\nactive = true\nupdate = rebase\n": true, "[submodule \"s\"]\nupdate = !x\n": false, "[submodule \"s\"]\nurl = ext::x\n": false, "[submodule]\nactive = .\n": true,
		"[extensions]\nworktreeConfig = true\nobjectFormat = sha256\n": true, "[extensions]\nrefStorage = x://y\n": false, "[extensions]\nunknown = true\n": false,
		"[diff]\nrenames = copies\n": true, "[advice]\nanything = false\n": true, "[advice]\nanything = x\n": false, "[gc]\nauto = 0\n": true, "[gc]\nauto = 1k\n": true, "[gc]\nauto = --x\n": false,
		"[core]\nbare = false\n[core]\nhooksPath = x\n": false, "[core]bare=false[alias]x=!y\n": false, "\xef\xbb\xbf[alias]x=!y\n": false, "[alias]\r\nx=!y\r\n": false,
		"[core]\nbare = \"false\n": false, "[core\n": false, "[core]\nbare = x\x00\n": false, "bare = true\n": false,
		"[color]\nui = auto # [alias]\n": true, "[user]\nname = \"a\\n[alias]\\nx = !y\"\n": true, "[user]\nname = a \\\n[alias]\nx = !y\n": false,
	} {
		if err := VetConfig([]byte(text), v); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := VetConfig(make([]byte, maxConfig+1), v); !errors.Is(err, ErrLimit) {
		t.Errorf("too large: %v", err)
	}
}

// A log that lies where git expects commondir must lead nowhere else.
func TestVetConfigPathsUpwards(t *testing.T) {
	for text, ok := range map[string]bool{
		"[user]\n\tname = a/../b\n": false, "[author]\n\temail = \"x/../\"\n": false, "[committer]\n\tname = /../\n": false,
		"[user]\n\tname = a/b..c ../d\n": true, "[user]\n\tname = A & B (C/D)\n": true,
		"[remote \"x/../y\"]\n\turl = https://example.com/\n": false, "[remote \"x/y\"]\n\turl = https://example.com/a/../b\n": true,
		"[branch \"x\"]\n\tdescription = a/../b\n": true,
	} {
		if err := VetConfig([]byte(text), Vetting{}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestVetRef(t *testing.T) {
	hash := strings.Repeat("0123456789", 4)
	for text, ok := range map[string]bool{
		hash: true, hash + "\n": true, strings.Repeat("a", 64) + "\n": true, "": false, "\n": false, hash + "\n\n": false, hash + "\n[core]": false,
		"ref: refs/heads/x\n": false, strings.ToUpper(strings.Repeat("a", 40)): false, "#!/bin/sh" + hash[9:]: false, hash[1:]: false, "\n" + hash[1:]: false,
	} {
		if err := VetRef([]byte(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// passes is an own, coarse reading of the list: what git sees must be in it.
func passes(name, value string, hasValue bool) bool {
	e := Entry{Value: value, NoValue: !hasValue}
	first, last := strings.IndexByte(name, '.'), strings.LastIndexByte(name, '.')
	if first < 0 {
		return false
	}
	e.Section, e.Key = name[:first], name[last+1:]
	if first != last {
		e.Sub, e.Subsection = true, name[first+1:last]
	}
	return new(Vetting).refuse(&e) == ""
}

// vetLikeGit: of a text that passes, the real git reads nothing that is not
// in the list.
func vetLikeGit(t fataler, dir string, data []byte) {
	err := VetConfig(data, Vetting{})
	list, gitErr := gitList(t, dir, data)
	if err != nil {
		return
	}
	if gitErr != nil {
		t.Fatalf("%q passes, but git does not read it: %v", data, gitErr)
	}
	for item := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "\n")
		if !passes(name, value, ok) || slices.Contains(sure, name) && !slices.Contains([]string{"false", "no", "off", "0"}, value) {
			t.Fatalf("%q passes, but git reads %q = %q", data, name, value)
		}
	}
}

// vetPieces are what an attacker would build from.
var vetPieces = []string{
	"[core]", "[CORE]", "[core \"x\"]", "[core.x]", "[core \"\"]", "[alias]", "[include]", "[remote \"o\"]", "[remote.o]", "[user]", "[filter \"x\"]",
	"\n", "\n", "\r\n", "\t", " ", "#", ";", "\\\n", "\\", "\"", "=", " = ",
	"bare", "fsmonitor", "FSMonitor", "hooksPath", "path", "url", "name", "x", "process", "true", "false", "./x", "!x", "ext::x", "https://h/p",
	"fsmonitor = ./x", "bare = true", "name = a", "url = https://h", "path = ../x", "\xef\xbb\xbf", "]", "[", "é",
}

func TestVetConfigLikeGitProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(vetPieces), 0, 12).Draw(t, "pieces"), "")
		if rapid.Bool().Draw(t, "begun") {
			text = rapid.SampledFrom([]string{"[user]\nname = ", "[core]\n", "[core]\nbare = ", "[remote \"o\"]\nurl = "}).Draw(t, "start") + text
		}
		vetLikeGit(t, dir, []byte(text))
	})
}

func FuzzVetConfig(f *testing.F) {
	for _, s := range configTable {
		f.Add([]byte(s))
	}
	for _, name := range sure {
		f.Add([]byte("[" + name[:strings.IndexByte(name, '.')] + "]\n" + name[strings.LastIndexByte(name, '.')+1:] + " = ./x\n"))
	}
	f.Add([]byte("[core]\nbare = false\n[user]\nname = a \\\n[alias]\nx = !y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := VetConfig(data, Vetting{})
		entries, parseErr := parseConfig(data)
		if parseErr != nil {
			if err == nil {
				t.Fatalf("%q passes without being read", data)
			}
			return
		}
		good := true
		for _, e := range entries {
			for _, bad := range sure {
				if e.Section+"."+e.Key == bad && bad != "core.fsmonitor" && bad != "core.worktree" && err == nil && !e.Sub {
					t.Fatalf("%q passes with %s", data, bad)
				}
			}
			good = good && new(Vetting).refuse(&e) == ""
		}
		if (err == nil) != good {
			t.Fatalf("%q: %v, want pass %v", data, err, good)
		}
		if err := VetConfig(data, Vetting{Old: entries}); err != nil {
			t.Fatalf("%q, unchanged: %v", data, err)
		}
	})
}

// FuzzVetConfigLikeGit compares with the installed git; slow, run by hand.
func FuzzVetConfigLikeGit(f *testing.F) {
	for _, s := range vetPieces {
		f.Add([]byte("[core]\n" + s + "\n[user]\nname = " + s + "\n"))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.IndexByte(string(data), 0) >= 0 {
			return
		}
		at, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(at)
		vetLikeGit(t, at, data)
	})
}

// What everyday commands of the real git write passes.
func TestVetConfigOfGit(t *testing.T) {
	base := tempDir(t)
	repository(t, base+"/up")
	m := repository(t, base+"/m")
	git(t, m, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", base+"/up", "s")
	git(t, m, "remote", "add", "o", "git@example.invalid:x/y.git")
	git(t, m, "config", "user.name", "x \" # ; \\ y")
	git(t, m, "branch", "t")
	git(t, m, "config", "branch.t.remote", "o")
	git(t, m, "config", "branch.t.merge", "refs/heads/t")
	git(t, m, "sparse-checkout", "set", "a")
	git(t, m, "clone", "-q", "--bare", "--filter=blob:none", "file://"+base+"/up", base+"/p")
	for _, path := range []string{m + "/.git/config", m + "/.git/config.worktree", m + "/.git/modules/s/config", base + "/p/config"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(path)
		v := Vetting{
			Local:    func(p string) bool { return !strings.Contains(p, "/") || filepath.Dir(p) == base },
			Worktree: func(p string) bool { return VetWorktree(dir, p, func(string) bool { return true }) },
		}
		if err := VetConfig(data, v); err != nil {
			t.Errorf("%s: %v\n%s", path, err, data)
		}
	}
}

// A59: a pointer is right only if what it names points back, without links,
// in a guarded place.
func TestA59_VetPointer(t *testing.T) {
	base := tempDir(t)
	repository(t, base+"/up")
	m := repository(t, base+"/ws/m")
	git(t, m, "worktree", "add", "-q", "../wt")
	git(t, m, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", base+"/up", "s")
	mkdir(t, base+"/ws/other")
	repository(t, base+"/out")
	git(t, base+"/out", "worktree", "add", "-q", base+"/ws/outside")
	if err := os.Symlink("m", base+"/ws/l"); err != nil {
		t.Fatal(err)
	}
	within := func(p string) bool { return inside(p, base+"/ws") }
	for _, c := range []struct {
		dir, to string
		ok      bool
	}{
		{"wt", base + "/ws/m/.git/worktrees/wt", true},
		{"wt", "../m/.git/worktrees/wt", true},
		{"wt", "../l/.git/worktrees/wt", false},
		{"wt", "../m/.git", false},
		{"wt", "../m/.git/worktrees", false},
		{"wt", base + "/up/.git", false},
		{"other", base + "/ws/m/.git/worktrees/wt", false},
		{"m/s", "../.git/modules/s", true},
		{"m/s", "../.git/modules/../modules/s", true},
		{"m/s", "../.git", false},
		{"other", "../m/.git/modules/s", false},
		{"outside", base + "/out/.git/worktrees/outside", false},
		{"other", "/", false}, {"other", "..", false}, {"other", "nothing", false}, {"other", "\x00", false},
	} {
		err := VetPointer(base+"/ws/"+c.dir, []byte("gitdir: "+c.to+"\n"), within)
		if (err == nil) != c.ok {
			t.Errorf("%s → %q: %v", c.dir, c.to, err)
		}
	}
	for _, text := range []string{"", "gitdir:", "gitdir: ", "gitdir: \n", "x"} {
		if VetPointer(base+"/ws/wt", []byte(text), within) == nil {
			t.Errorf("%q passes", text)
		}
	}
	// core.worktree both ways.
	g := m + "/.git/modules/s"
	for value, ok := range map[string]bool{"../../../s": true, m + "/s": true, "../../..": false, "../../../../other": false, "/": false, "": false, "../../../../l/s": false} {
		if VetWorktree(g, value, within) != ok {
			t.Errorf("core.worktree = %q", value)
		}
	}
}

func TestPointerFor(t *testing.T) {
	base := tempDir(t)
	m := repository(t, base+"/ws/m")
	within := func(p string) bool { return inside(p, base+"/ws") }
	mkdir(t, m+"/.git/worktrees/w")
	write(t, m+"/.git/worktrees/w/gitdir", base+"/ws/w/.git\n")
	write(t, m+"/.gitmodules", "[submodule \"name\"]\n\tpath = a/b\n[submodule \"../../x\"]\n\tpath = bad\n")
	mkdir(t, base+"/ws/w")
	mkdir(t, m+"/a/b")
	mkdir(t, m+"/bad")
	if _, ok := PointerFor(m+"/a/b", nil, within); ok {
		t.Error("a pointer where no submodule is being made")
	}
	mkdir(t, m+"/.git/modules")
	mkdir(t, base+"/lone/x")
	linked := []string{m + "/.git/worktrees/w"}
	for dir, want := range map[string]string{
		base + "/ws/w": "gitdir: " + m + "/.git/worktrees/w\n", m + "/a/b": "gitdir: ../../.git/modules/name\n", m + "/s": "gitdir: ../.git/modules/s\n",
		m + "/bad": "", base + "/lone/x": "", base + "/ws/other": "",
	} {
		got, ok := PointerFor(dir, linked, within)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", dir, got, ok)
		}
	}
	if _, ok := PointerFor(base+"/ws/w", linked, func(string) bool { return false }); ok {
		t.Error("an unguarded git directory is named")
	}
}

// All that is refused is named, as far as a line has room.
func TestVetConfigNamesAll(t *testing.T) {
	err := VetConfig([]byte("[core]\n\tfsmonitor = x\n\tbare = false\n\tsshCommand = y\n"), Vetting{})
	want := `git config line 2: "core.fsmonitor" may not be set to this value by a sandboxed command; line 4: "core.sshcommand" may not be set by a sandboxed command`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	text := "[x \"" + strings.Repeat("\x1b\u00e9", 1000) + "\"]\n" + strings.Repeat("\ty = z\n", 1000)
	err = VetConfig([]byte(text), Vetting{})
	if err == nil || !strings.HasSuffix(err.Error(), "; and 995 more") || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%v", err)
	}
}

func TestVetSequencer(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "[options]\n\trecord-origin = true\n\tmainline = 1\n": true, "[options]\n\tstrategy = ort\n\tstrategy-option = ours\n": true,
		"[options]\n\tstrategy = x\n": false, "[options]\n\tstrategy = ort/../x\n": false, "[options]\n\tSTRATEGY=./x\n": false, "[options]\n\tstrategy\n": false,
		"[include]\n\tpath = x\n": false, "[options \"a\"]\n\tx = y\n": false, "[options\n": false,
	} {
		if err := VetSequencer([]byte(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
