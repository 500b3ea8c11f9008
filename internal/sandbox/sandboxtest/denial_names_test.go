//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A denial names the program whole, though the kernel keeps 15 letters of it;
// a short name as it is; and what a program calls itself cannot speak for bawn.
func TestC5_WholeNamesInDenials(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		script := "#!/bin/sh\n(echo x >.codex) 2>/dev/null\nexit 3\n"
		for _, name := range []string{"a-tool-with-a-long-name", "short"} {
			if err := os.WriteFile(b.Workspace+"/"+name, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			r := b.Run(t, "./"+name)
			if !strings.Contains(r.Stderr, `/.codex" to `+name+": ") {
				t.Errorf("%s: %s", name, r.Stderr)
			}
		}
		evil := "a-program-of-15\x1b[2J\nbawn: fine"
		if err := os.WriteFile(b.Workspace+"/"+evil, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		r := b.Run(t, "./"+evil)
		if strings.Contains(r.Stderr, "\x1b") || strings.Contains(r.Stderr, "\nbawn: fine") || !strings.Contains(r.Stderr, `.codex" to a-program-of-15`) {
			t.Errorf("%q", r.Stderr)
		}
		// And of who asked for a host.
		if err := os.WriteFile(b.Workspace+"/a-client-with-a-long-name", []byte("#!/usr/bin/python3\nimport urllib.request\nurllib.request.urlopen('http://denied.test/')\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		r = b.Run(t, "./a-client-with-a-long-name")
		if !strings.Contains(r.Stderr, "denied denied.test:80 to a-client-with-a-long-name: ") {
			t.Errorf("%s", r.Stderr)
		}
	})
}

// F2: every setting of git that was refused is named, in one text or in
// several, and what the denial says to lift lifts just that.
func TestF2_RefusedSettingsAreNamed(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		git(t, b, "init", "-q", ".")
		const one, other = "git config core.fsmonitor ./x", "git config core.sshCommand ./y"
		r := b.Sh(t, one+"; "+other+"; exit 3")
		lift := regexp.MustCompile(`unprotect "(git\.config:core\.[a-z]+)" in `)
		var ids []string
		for _, m := range lift.FindAllStringSubmatch(r.Stderr, -1) {
			ids = append(ids, m[1])
		}
		if !slices.Equal(ids, []string{"git.config:core.fsmonitor", "git.config:core.sshcommand"}) {
			t.Fatalf("%q is to be lifted: %s", ids, r.Stderr)
		}
		r = b.Sh(t, `printf '[core]\nbare = false\nfsmonitor = ./x\n[core]\nsshCommand = ./y\n' >new; mv new .git/config; exit 3`)
		if !strings.Contains(r.Stderr, `"core.fsmonitor" may`) || !strings.Contains(r.Stderr, `"core.sshcommand" may`) ||
			!strings.Contains(r.Stderr, `unprotect "git.config:core.fsmonitor", "git.config:core.sshcommand" in `) {
			t.Errorf("%s", r.Stderr)
		}
		b.settings(t, "[sandbox]\n"+`unprotect = ["`+ids[0]+`"]`)
		b.Sh(t, one).OK(t)
		if r := b.Sh(t, other); r.Code == 0 || !strings.Contains(r.Stderr, ids[1]) {
			t.Errorf("%+v", r)
		}
	})
}

// C5: every call that is refused counts: those of one name, and those of names
// beyond what is told one by one.
func TestC5_EveryRefusedNameCounts(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Flags = []string{"--report", "../report.json"}
		r := b.Sh(t, "mkdir -p d; for i in $(seq 300); do mkdir -p d/$i/.git/hooks; for t in 1 2; do (echo x >d/$i/.git/hooks/update) 2>/dev/null; done; done; exit 3")
		data, err := os.ReadFile(filepath.Dir(b.Workspace) + "/report.json")
		if err != nil {
			t.Fatal(err)
		}
		report := parseReport(t, string(data))
		sum := report.More
		for _, d := range report.Denials {
			if sum += d.Count; d.Count != 2 {
				t.Errorf("%s: %d times", d.Target, d.Count)
			}
		}
		if sum != 600 || len(report.Denials) != 256 {
			t.Errorf("%d calls were refused, %d names told, want 600 and 256", sum, len(report.Denials))
		}
		if !strings.Contains(r.Stderr, " to sh (2 times): ") || !strings.Contains(r.Stderr, "and 584 more denials") {
			t.Errorf("%s", r.Stderr)
		}
		if log := b.Bawn(t, "log"); !strings.Contains(log.Stdout, "600 denied") {
			t.Errorf("%s", log.Stdout)
		}
	})
}
