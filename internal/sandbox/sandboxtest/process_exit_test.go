//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestB111_ExitCodes(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		codes := []int{0, 1, 2, 63, 64, 100, 124, 125, 126, 127, 128, 129, 137, 143, 192, 254, 255}
		if l == "native" && os.Getuid() != 0 {
			for c := 3; c < 256; c += 7 {
				codes = append(codes, c)
			}
		}
		for _, c := range codes {
			if r := b.Run(t, "/bin/sh", "-c", fmt.Sprint("exit ", c)); r.Code != c || r.Stderr != "" {
				t.Errorf("exit %d gave %d, stderr %q", c, r.Code, r.Stderr)
			}
		}
		for _, sig := range []int{1, 2, 3, 6, 9, 11, 13, 14, 15, 31, 34, 64} {
			if r := b.Sh(t, fmt.Sprintf("ulimit -c 0; kill -%d $$", sig)); r.Code != 128+sig || r.Stdout+r.Stderr != "" {
				t.Errorf("signal %d gave %d, stderr %q", sig, r.Code, r.Stderr)
			}
		}
	})
}

// The same programs started by bash and by bawn end with the same code.
func TestB111_NotRun(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		file := func(name, text string, mode os.FileMode) {
			p := filepath.Join(b.Workspace, name)
			Write(t, p, text)
			if err := os.Chmod(p, mode); err != nil {
				t.Fatal(err)
			}
		}
		file("plain", "echo hi\n", 0o644)
		file("lines", "echo \"ran $1\"\n", 0o755)
		file("first-line", "#!/bin/sh\necho \"ran $1\"\n", 0o755)
		file("no-interpreter", "#!/no/such/program\n", 0o755)
		file("other-machine", "\x7fELF\x01\x01\x01\x00garbage\n", 0o755)
		file("empty", "", 0o755)
		b.Env = append(b.Env, "PATH="+b.Workspace+"/missing:/usr/bin:/bin:"+b.Workspace)
		for _, c := range []struct {
			name   string
			code   int
			stdout string
			reason string
		}{
			{"./first-line", 0, "ran x\n", ""},
			{"./lines", 0, "ran x\n", ""},
			{"lines", 0, "ran x\n", ""},
			{"./empty", 0, "", ""},
			{"./plain", 126, "", "permission denied"},
			{"plain", 126, "", "permission denied"},
			{"/etc/passwd", 126, "", "permission denied"},
			{"/", 126, "", "permission denied"},
			{"/etc", 126, "", "permission denied"},
			{"./other-machine", 126, "", "exec format error"},
			{"./no-interpreter", 127, "", "interpreter"},
			{"/nonexistent", 127, "", "command not found"},
			{"no-such-command", 127, "", "command not found"},
			{"./plain/below", 126, "", "not a directory"},
			{"odd\nname", 127, "", "command not found"},
		} {
			for _, tier := range []string{"guarded", "open"} {
				if tier == "open" && l != "native" {
					continue
				}
				b.Flags = []string{"--tier", tier}
				r := b.Run(t, c.name, "x")
				if r.Code != c.code || r.Stdout != c.stdout || !strings.Contains(r.Stderr, c.reason) || (c.reason == "") != (r.Stderr == "") {
					t.Errorf("%s %q: exit %d, stdout %q, stderr %q", tier, c.name, r.Code, r.Stdout, r.Stderr)
				}
				if strings.Count(r.Stderr, "\n") > 1 {
					t.Errorf("%q: more than one line: %q", c.name, r.Stderr)
				}
			}
			// bash agrees on all of them.
			if r := b.hostShell(t, fmt.Sprintf("$'%s' x", strings.ReplaceAll(c.name, "\n", "\\n"))); r.Code != c.code {
				t.Errorf("bash %q: exit %d, here %d", c.name, r.Code, c.code)
			}
		}
	})
}

// What bawn will not run ends with 125 and a reason; the twin runs.
func TestRefusals(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Workspace+"/file", "")
		run := func(args ...string) []string { return append([]string{"run", "--launcher", l}, args...) }
		for _, c := range []struct {
			args   []string
			reason string // "" runs
		}{
			{run("--", "true"), ""},
			{run("--tier", "airlock", "true"), ""},
			{run("--tier", "locked", "true"), `unknown tier "locked"`},
			{run("--tier"), "--tier needs a value"},
			{run("--tier", "--", "true"), "--tier needs a value"},
			{run("--tire", "guarded", "true"), `unknown flag "--tire"; did you mean "--tier"?`},
			{run("--sandbox=some", "--", "true"), "some"},
			{run("-q=yes", "--", "true"), "-q takes no value"},
			{run("-C", ".", "--", "true"), ""},
			{run("-C", b.Workspace+"/missing", "--", "true"), "no such folder"},
			{run("-C", b.Workspace+"/file", "--", "true"), "not a folder"},
			{run("-C", "", "--", "true"), "empty"},
			{run("-C", "/", "--", "true"), `"/"`},
			{run("-C", b.Home, "--", "true"), "home"},
			{run("--add-dir", b.Home, "--", "true"), "home"},
			{run("--add-dir", "", "--", "true"), "empty"},
			{run("--"), "no command given"},
			{run(), "no command given"},
			{run("--", ""), "name is empty"},
			{run("--", "", "arg"), "name is empty"},
			{[]string{"run", "--launcher", "none", "--", "true"}, `unknown launcher "none"`},
			{[]string{"ruin"}, `unknown command "ruin"; did you mean "run"?`},
			{[]string{"--", "true"}, ""},
			{[]string{"--"}, "no command given"},
			{[]string{""}, "unknown command"},
		} {
			r := b.Bawn(t, c.args...)
			want := 125
			if c.reason == "" {
				want = 0
			}
			if r.Code != want || r.Stdout != "" || !strings.Contains(r.Stderr, c.reason) || (c.reason == "") != (r.Stderr == "") {
				t.Errorf("%q: exit %d, stdout %q, stderr %q", c.args, r.Code, r.Stdout, r.Stderr)
			}
		}
		for _, dir := range []string{"/", "$HOME"} {
			if r := b.hostShell(t, "cd "+dir+"; bawn true"); r.Code != 125 || r.Stderr == "" {
				t.Errorf("in %s: exit %d, stderr %q", dir, r.Code, r.Stderr)
			}
		}
		if r := b.hostShell(t, "mkdir gone; cd gone; rmdir ../gone; bawn true"); r.Code != 125 || r.Stderr == "" {
			t.Errorf("in a removed folder: exit %d, stderr %q", r.Code, r.Stderr)
		}
	})
}

// Everything after the command's name is its own (A78).
func TestA78_ArgumentsAreData(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, c := range []struct{ args, want []string }{
			{[]string{"--", "echo", "--tier=open"}, []string{"--tier=open"}},
			{[]string{"echo", "--tier=open", "--", "-C", "/"}, []string{"--tier=open", "--", "-C", "/"}},
			{[]string{"--", "echo", "--", "--sandbox", "danger-full-access"}, []string{"--", "--sandbox", "danger-full-access"}},
			{[]string{"--sandbox", "echo", "read-only"}, []string{"read-only"}},
			{[]string{"--sandbox", "workspace-write", "echo", "a"}, []string{"a"}},
			{[]string{"--tier=airlock", "--tier=guarded", "--", "echo", "-q"}, []string{"-q"}},
		} {
			r := b.Bawn(t, append([]string{"run", "--launcher", l}, c.args...)...).OK(t)
			if want := strings.Join(c.want, " ") + "\n"; r.Stdout != want {
				t.Errorf("%q: %q, want %q", c.args, r.Stdout, want)
			}
		}
		// The tier stays what the flags before the command said.
		r := b.Run(t, "sh", "-c", "echo $BAWN_TIER", "--tier=open").OK(t)
		if r.Stdout != "guarded\n" {
			t.Errorf("tier %q", r.Stdout)
		}
		if r := b.Bawn(t, "--", "sh", "-c", "echo $BAWN_TIER", "--tier=open").OK(t); r.Stdout != "guarded\n" {
			t.Errorf("bawn --: tier %q", r.Stdout)
		}
		if r := b.Run(t, "--", "true"); r.Code != 127 {
			t.Errorf("a second -- is the command's name: exit %d", r.Code)
		}
	})
}
