package gitdir

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Each row is one config of an otherwise plain repository. The files hook,
// tools/x.sh and the folders hooks.d and .husky/_ exist.
func TestTargets(t *testing.T) {
	tests := []struct {
		name, config string
		ro, names    []string
	}{
		{"nothing", "[user]\n\tname = hook\n[branch \"tools\"]\n\tmerge = tools/x.sh\n", nil, nil},
		{"hooksPath", "[core]\n\thooksPath = hooks.d\n", []string{"hooks.d"}, nil},
		{"hooksPath below", "[core]\n\thooksPath = tools/../hooks.d/\n", []string{"hooks.d"}, nil},
		{"hooksPath absolute", "[core]\n\thooksPath = $W/hooks.d\n", []string{"hooks.d"}, nil},
		{"hooksPath home", "[core]\n\thooksPath = ~/w/hooks.d\n", []string{"hooks.d"}, nil},
		{"hooksPath upper case", "[CORE]\n\tHOOKSPATH = hooks.d\n", []string{"hooks.d"}, nil},
		{"hooksPath of another section", "[core \"\"]\n\thooksPathX = hooks.d\n", nil, nil},
		{"hooksPath absent", "[core]\n\thooksPath = .githooks\n", nil, []string{".githooks"}},
		{"hooksPath deep absent", "[core]\n\thooksPath = tools/a/b\n", nil, []string{"tools/a/b"}},
		{"hooksPath by an absent folder", "[core]\n\thooksPath = absent/../hooks.d\n", nil, nil},
		{"hooksPath of a push into it", "[core]\n\thooksPath = info\n", []string{".git/info"}, []string{"info"}},
		{"hooksPath outside", "[core]\n\thooksPath = /dev/null\n", nil, nil},
		{"hooksPath by a link", "[core]\n\thooksPath = link\n", []string{"hooks.d"}, []string{"link"}},
		{"hooksPath in git", "[core]\n\thooksPath = .git/info\n", []string{".git/info"}, nil},
		{"hooksPath husky", "[core]\n\thooksPath = .husky/_\n", []string{".husky"}, nil},
		{"both hooksPaths", "[core]\n\thooksPath = hooks.d\n\thooksPath = tools\n", []string{"hooks.d", "tools"}, nil},
		{"include", "[include]\n\tpath = ../hook\n", []string{"hook"}, nil},
		{"include absent", "[include]\n\tpath = ../x\n", nil, []string{"x"}},
		{"includeIf", "[includeIf \"onbranch:none\"]\n\tpath = ../hook\n", []string{"hook"}, nil},
		{"include of include", "[include]\n\tpath = ../tools/inc\n", []string{"tools/inc", "tools/inc2", "hooks.d"}, nil},
		{"include outside that names inside", "[include]\n\tpath = ../../inc\n", []string{"hooks.d"}, nil},
		{"include by a link starts at the link", "[include]\n\tpath = ../d/inc\n", []string{"tools/inc3", "d/inc2"}, []string{"d/inc"}},
		{"fsmonitor", "[core]\n\tfsmonitor = tools/x.sh\n", []string{"tools/x.sh"}, nil},
		{"fsmonitor absent", "[core]\n\tfsmonitor = tools/y.sh\n", nil, []string{"tools/y.sh"}},
		{"fsmonitor boolean", "[core]\n\tfsmonitor\n\tsshCommand = hook\n\tpager =\n", nil, nil},
		{"sshCommand", "[core]\n\tsshCommand = ssh -F tools/x.sh -i hook\n", []string{"tools/x.sh", "hook"}, nil},
		{"sshCommand quoted", "[core]\n\tsshCommand = sh -c 'exec \\\"tools/my ssh\\\" \\\"$@\\\"'\n", []string{"tools/my ssh"}, nil},
		{"option", "[core]\n\tpager = less --lesskey-file=./hook\n", []string{"hook"}, nil},
		{"filter", "[filter \"f\"]\n\tclean = sed s/tools/x/\n\tsmudge = ./hook %f\n", []string{"hook"}, nil},
		{"filter in python", "[filter \"f\"]\n\tprocess = python3 tools/x.sh\n", []string{"tools/x.sh"}, nil},
		{"textconv", "[diff \"f\"]\n\ttextconv = $W/tools/x.sh\n", []string{"tools/x.sh"}, nil},
		{"merge driver", "[merge \"f\"]\n\tdriver = \"tools/x.sh %O %A %B;hook\"\n", []string{"tools/x.sh", "hook"}, nil},
		{"alias", "[alias]\n\ta = log hook\n\tb = !sh tools/x.sh\n", []string{"tools/x.sh"}, nil},
		{"credential file is data", "[credential]\n\thelper = store --file hook\n", nil, nil},
		{"credential helper", "[credential \"h\"]\n\thelper = !./hook\n", []string{"hook"}, nil},
		{"a whole folder is no program", "[core]\n\teditor = tools/ hooks.d\n", nil, nil},
		{"program by a link", "[gpg]\n\tprogram = linked.sh\n\t[gpg \"ssh\"]\n\tprogram = ./linked.sh\n", []string{"tools/x.sh"}, []string{"linked.sh"}},
		{"template", "[init]\n\ttemplateDir = hooks.d\n", []string{"hooks.d"}, nil},
		{"too long a name", "[core]\n\teditor = ./" + strings.Repeat("x", 5000) + "\n", nil, nil},
	}
	base := tempDir(t)
	t.Setenv("HOME", base)
	w := repository(t, base+"/w")
	for path, text := range map[string]string{
		"/hook": "", "/tools/x.sh": "", "/tools/my ssh": "", "/hooks.d/pre-commit": "", "/.husky/_/h": "", "/d/inc2": "",
		"/tools/inc": "[include]\n\tpath = inc2\n", "/tools/inc2": "[core]\n\thooksPath = hooks.d\n",
		"/tools/inc3": "[include]\n\tpath = inc2\n", "/../inc": "[core]\n\thooksPath = hooks.d\n",
	} {
		write(t, w+path, text)
	}
	symlink(t, "hooks.d", w+"/link")
	symlink(t, "tools/x.sh", w+"/linked.sh")
	symlink(t, "../tools/inc3", w+"/d/inc")
	plain := readFile(t, w+"/.git/config")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			write(t, w+"/.git/config", plain+strings.ReplaceAll(tt.config, "$W", w))
			r := discover(t, w)
			ro := []string{w + "/.git/config", w + "/.git/hooks"}
			for _, p := range tt.ro {
				ro = append(ro, w+"/"+p)
			}
			want(t, "ReadOnly", r.ReadOnly, ro...)
			var names []string
			for _, p := range tt.names {
				names = append(names, w+"/"+p)
			}
			want(t, "Names", r.Names, names...)
			warned(t, r)
			// The same from config.worktree.
			write(t, w+"/.git/config", plain)
			write(t, w+"/.git/config.worktree", strings.ReplaceAll(tt.config, "$W", w))
			want(t, "ReadOnly from config.worktree", discover(t, w).ReadOnly, append(ro, w+"/.git/config.worktree")...)
			remove(t, w+"/.git/config.worktree")
		})
	}
}

// A relative path in the shared config holds in each worktree.
func TestTargetsOfWorktrees(t *testing.T) {
	base := tempDir(t)
	m := repository(t, base+"/m")
	git(t, m, "worktree", "add", "-q", "../wt")
	git(t, m, "worktree", "add", "-q", "-b", "in", "in/wt")
	git(t, m, "config", "core.hooksPath", "h")
	for _, d := range []string{m, base + "/wt", m + "/in/wt"} {
		mkdir(t, d+"/h")
	}
	has(t, "ReadOnly", discover(t, m).ReadOnly, m+"/h", m+"/in/wt/h")
	has(t, "ReadOnly", discover(t, base+"/wt").ReadOnly, base+"/wt/h")
	// Not believed, not granted, but git on the host still uses it.
	write(t, m+"/.git/worktrees/wt/gitdir", "/nowhere/.git\n")
	r := discover(t, base+"/wt")
	want(t, "ReadOnly", r.ReadOnly, base+"/wt/.git", base+"/wt/h")
	want(t, "Writable", r.Writable)
	// A bare repository is its own root.
	git(t, base, "init", "-q", "--bare", "b.git")
	git(t, base+"/b.git", "config", "core.sshCommand", "./ssh")
	write(t, base+"/b.git/ssh", "")
	has(t, "ReadOnly", discover(t, base+"/b.git").ReadOnly, base+"/b.git/ssh")
	// A commondir in .git moves config and hooks away.
	write(t, m+"/.git/commondir", "../evil\n")
	write(t, m+"/evil/config", "[core]\n\tfsmonitor = ./fs\n")
	write(t, m+"/fs", "")
	r = discover(t, m)
	has(t, "ReadOnly", r.ReadOnly, m+"/.git/commondir", m+"/evil/config", m+"/fs")
	has(t, "Pins", r.Pins, m+"/evil")
}

func TestHookLinks(t *testing.T) {
	m := repository(t, tempDir(t)+"/m")
	write(t, m+"/scripts/pre-commit", "")
	symlink(t, "../../scripts/pre-commit", m+"/.git/hooks/pre-commit")
	symlink(t, "../../scripts/absent", m+"/.git/hooks/pre-push")
	r := discover(t, m)
	want(t, "ReadOnly", r.ReadOnly, m+"/.git/config", m+"/.git/hooks", m+"/scripts/pre-commit")
	want(t, "Names", r.Names, m+"/scripts/absent")
	want(t, "Pins", r.Pins, m+"/.git", m+"/scripts")

	// hooks itself a link: the target holds, the name is the guard's.
	remove(t, m+"/.git/hooks")
	symlink(t, "../scripts", m+"/.git/hooks")
	r = discover(t, m)
	want(t, "ReadOnly", r.ReadOnly, m+"/.git/config", m+"/scripts")
	want(t, "Names", r.Names, m+"/.git/hooks")
}

// The folder itself is where git takes hooks from.
func TestWholeFolder(t *testing.T) {
	m := repository(t, tempDir(t)+"/m")
	git(t, m, "config", "core.hooksPath", ".")
	r := discover(t, m)
	want(t, "ReadOnly", r.ReadOnly, m)
	want(t, "Pins", r.Pins)
	warned(t, r, "read-only as a whole")
}

func TestIncludeOddities(t *testing.T) {
	m := repository(t, tempDir(t)+"/m")
	git(t, m, "config", "include.path", "../a")
	write(t, m+"/a", "[include]\n\tpath = a\n") // git dies of it; this must end
	discover(t, m)
	remove(t, m+"/a")
	mkdir(t, m+"/a")
	r := discover(t, m)
	want(t, "Names", r.Names, m+"/a")
	warned(t, r, "no plain file")
	remove(t, m+"/a")
	write(t, m+"/a", "[broken")
	if _, err := Discover(m); err == nil || !strings.Contains(err.Error(), m+"/a") {
		t.Errorf("broken include: %v", err)
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                    nil,
		"a b\tc":              {"a", "b", "c"},
		`"a b" 'c d'`:         {"a b", "c d", "a", "b", "c", "d"},
		`a\ b --x=y;z|q>r`:    {"a b", "--x", "y", "z", "q", "r", "a", "b"},
		`sh -c 'sh -c "x y"'`: {"sh", "-c", `sh -c "x y"`, "sh", "-c", "x y", "x", "y"},
		`"unended x`:          {"unended x", "unended", "x"},
		`'a\b'`:               {`a\b`},
		`"a"'b'c`:             {"abc"},
	} {
		if got := words(line); !slices.Equal(got, want) {
			t.Errorf("words(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Setenv("HOME", "/h")
	for in, want := range map[string]string{
		"~/x": "/h/x", "~": "/h", "a/~": "a/~", "%(prefix)/x": "", ":(optional)a": "a", "~no-such-user/x": "", "~root/x": "/root/x",
	} {
		if want == "/root/x" {
			if _, err := os.Stat("/etc/passwd"); err != nil {
				continue
			}
		}
		if got := expand(in); got != want {
			t.Errorf("expand(%q) = %q, want %q", in, got, want)
		}
	}
}
