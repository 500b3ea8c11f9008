//go:build linux

package packaging

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// lint fails the test for what shellcheck says about a script.
func lint(t *testing.T, shell, file string) {
	t.Helper()
	if out, err := exec.Command("shellcheck", "-s", shell, file).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", file, err, out)
	}
}

// Every shell script of the repository is what shellcheck takes.
func TestScripts(t *testing.T) {
	count := 0
	for _, pattern := range []string{"../scripts/*.sh", "*.sh", "*/*.sh", "*/*/*.sh"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			count++
			lint(t, "sh", f)
		}
	}
	if count < 10 {
		t.Errorf("only %d were found", count)
	}
	bad := filepath.Join(t.TempDir(), "bad.sh")
	if err := os.WriteFile(bad, []byte("rm -r $1/x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if exec.Command("shellcheck", "-s", "sh", bad).Run() == nil {
		t.Error("shellcheck finds nothing")
	}
}

// The action is composite, and each of its scripts is sound and gets its inputs
// by variables: "${{ … }}" in a script is text that somebody else wrote.
func TestAction(t *testing.T) {
	data, err := os.ReadFile("action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "\n  using: composite\n") {
		t.Error("it is not composite")
	}
	lines := strings.Split(string(data), "\n")
	count := 0
	for i, l := range lines {
		block, ok := strings.CutPrefix(strings.TrimSpace(l), "run: ")
		if !ok {
			continue
		}
		count++
		if block == "|" {
			block = ""
			for _, l := range lines[i+1:] {
				if l != "" && !strings.HasPrefix(l, "        ") {
					break
				}
				block += strings.TrimPrefix(l, "        ") + "\n"
			}
		}
		if strings.Contains(block, "${{") {
			t.Errorf("a script with text from outside:\n%s", block)
		}
		file := filepath.Join(t.TempDir(), "step.sh")
		if err := os.WriteFile(file, []byte("# shellcheck disable=SC2154\n"+block), 0o644); err != nil {
			t.Fatal(err)
		}
		lint(t, "bash", file)
	}
	if count != 3 {
		t.Errorf("%d scripts were found", count)
	}
}

// The feature has what the specification of dev containers asks for, and its
// options are the variables that its script reads.
func TestFeature(t *testing.T) {
	data, err := os.ReadFile("devcontainer/bawn/devcontainer-feature.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		ID, Version, Name string
		Options           map[string]struct{ Type, Default, Description string }
		SecurityOpt       []string
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if f.ID != "bawn" || f.Version == "" || f.Name == "" || len(f.SecurityOpt) != 3 {
		t.Errorf("%+v", f)
	}
	script, err := os.ReadFile("devcontainer/bawn/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range f.Options {
		if o.Type != "string" || o.Description == "" || !strings.Contains(string(script), "${"+strings.ToUpper(name)+":") || o.Default != "" {
			t.Errorf("option %s: %+v", name, o)
		}
	}
	if len(f.Options) != 2 {
		t.Errorf("%d options", len(f.Options))
	}
}

// Each entry is in the changelog, once, below its release; those about security
// come first, and an empty file is an error.
func TestChangelog(t *testing.T) {
	out := run(t, "..", nil, "scripts/changelog.sh", "v"+version, "2026-01-31")
	if !strings.HasPrefix(out, "# Changelog\n\n## "+version+" (2026-01-31)\n\n- ") {
		t.Errorf("%.200s", out)
	}
	files, err := filepath.Glob("../changelog/unreleased/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(data), "\n")
		first, _, _ = strings.Cut(strings.TrimPrefix(first, "- "), "[")
		if strings.Count(out, "\n- "+first) != 1 {
			t.Errorf("%s: not once: %q", f, first)
		}
	}
	other := false
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "- Security:") && other {
			t.Errorf("below others: %s", line)
		}
		other = other || strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "- Security:")
	}
	if strings.Contains(out, "](") {
		t.Error("a link that leads nowhere")
	}

	// A repository with releases of its own.
	dir := t.TempDir()
	run(t, dir, nil, "sh", "-c", `mkdir -p scripts changelog/unreleased changelog/1.9.0 changelog/1.10.0 && cp "$1" scripts/
printf 'One\ntwo.\n' >changelog/unreleased/a.md; printf -- '- Three.\n- Security: four.\n' >changelog/unreleased/b.md
echo - old >changelog/1.9.0/x.md; echo - newer >changelog/1.10.0/x.md; echo 2026-01-01 >changelog/1.10.0/date`, "sh", abs(t, "../scripts/changelog.sh"))
	want := "# Changelog\n\n## 2.0.0\n\n- Security: four.\n- One\n  two.\n- Three.\n\n## 1.10.0 (2026-01-01)\n\n- newer\n\n## 1.9.0\n\n- old\n"
	if got := run(t, dir, nil, "scripts/changelog.sh", "2.0.0"); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "changelog/unreleased/c.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("scripts/changelog.sh", "2.0.0")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("an empty file: %s", out)
	}
}

func abs(t *testing.T, name string) string {
	t.Helper()
	out, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What must be said and was not is named with the way out: there is no place
// that could be its default.
func TestFeatureDefaults(t *testing.T) {
	for want, env := range map[string][]string{
		`the option "version" must name a release`: {"VERSION=latest", "SOURCE=/x"},
		`the option "version" must`:                {"VERSION=", "SOURCE="},
		"bawn has no public download place yet":    {"VERSION=1.2.3", "SOURCE="},
		`is neither an https address nor a folder`: {"VERSION=1.2.3", "SOURCE=ftp://x"},
		"/nowhere/checksums.txt":                   {"VERSION=1.2.3", "SOURCE=/nowhere"},
	} {
		cmd := exec.Command("devcontainer/bawn/install.sh")
		cmd.Env = append(append(os.Environ(), env...), "PREFIX="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, %s", env, err, out)
		}
	}
}

// The launcher of npm ends as the program does, by a signal too that node
// ignores.
func TestLauncherEnds(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "node_modules", "bawn-sandbox-linux-"+map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH], "bin")
	launcher, err := os.ReadFile("npm/bawn.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.WriteFile(dir+"/bawn.js", launcher, 0o644), os.WriteFile(bin+"/bawn", []byte("#!/bin/sh\neval \"$1\"\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int{"true": 0, "exit 3": 3, "kill -PIPE $$": 141, "kill -USR1 $$": 138, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		out, err := exec.Command("sh", "-c", `node "$1" "$2"; echo "code $?"`, "sh", dir+"/bawn.js", command).CombinedOutput()
		if err != nil || !strings.Contains(string(out), fmt.Sprintf("code %d\n", want)) {
			t.Errorf("%s: want %d: %v, %s", command, want, err, out)
		}
	}
}
