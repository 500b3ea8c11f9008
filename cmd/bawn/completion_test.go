package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bawn/internal/config"
)

// tool runs a program that reads what bawn printed for it.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the shells are installed on Linux")
	}
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "LANG=C.UTF-8"}, t.TempDir()
	var out, errb bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errb
	if err := cmd.Run(); err != nil || errb.Len() > 0 {
		t.Fatalf("%s: %v\n%s%s", name, err, out.String(), errb.String())
	}
	return out.String()
}

func printed(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "printed")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// typed are beginnings of command lines, and what a shell must then offer,
// and must not.
var typed = []struct{ line, want, not string }{
	{"bawn ", "run", "--tier"},
	{"bawn do", "doctor", "run"},
	{"bawn run --ti", "--tier", "--sandbox"},
	{"bawn run --tier ", "airlock", "read-only"},
	{"bawn run --tier air", "airlock", "open"},
	{"bawn run --sandbox read", "read-only", "airlock"},
	{"bawn run -q -- basen", "basenc", "--tier"},
	{"bawn config ke", "keys", "show"},
	{"bawn help tr", "trust", "run"},
	{"bawn policy --js", "--json", "--tier"},
	{"bawn wrap --preset ", "none", "AGENT"},
	{"bawn wrap --print-preset co", "codex", "claude"},
	{"bawn learn basen", "basenc", "--tier"},
	{"bawn keep /etc/passw", "/etc/passwd", "--list"},
}

func checkOffers(t *testing.T, line, got, want, not string) {
	t.Helper()
	words := strings.Fields(got)
	if !slices.Contains(words, want) || slices.Contains(words, not) {
		t.Errorf("%q offers %.200q, want %q and not %q", line, words, want, not)
	}
}

func TestBashCompletion(t *testing.T) {
	file := printed(t, bashCompletion())
	const script = `source "$1"; COMP_WORDS=($2); [[ $2 == *' ' ]] && COMP_WORDS+=(''); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _bawn; printf '%s\n' "${COMPREPLY[@]}"`
	for _, c := range append(typed, struct{ line, want, not string }{"bawn run --tier = air", "airlock", "open"}) {
		checkOffers(t, c.line, tool(t, "bash", "--norc", "-c", script, "bash", file, c.line), c.want, c.not)
	}
}

func TestFishCompletion(t *testing.T) {
	file := printed(t, fishCompletion())
	for _, c := range typed {
		out := tool(t, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, c.line)
		var first []string
		for l := range strings.Lines(out) {
			word, _, _ := strings.Cut(l, "\t")
			first = append(first, strings.TrimSpace(word))
		}
		checkOffers(t, c.line, strings.Join(first, " "), c.want, c.not)
	}
}

// zsh completes at a prompt alone: what its functions are given is looked at.
func TestZshCompletion(t *testing.T) {
	file := printed(t, zshCompletion())
	tool(t, "zsh", "-n", file)
	const script = `_arguments() { print -rl -- "$@" }; _describe() { print -rl -- ${(P)2} }; compdef() { }; source $1; words=(${(s: :)2}); CURRENT=${#words}; _bawn`
	for _, c := range []struct{ line, want, not string }{
		{"bawn r", "doctor:try what the sandbox needs on this machine", "tier"},
		{"bawn run x", "*--tier=[how much the command may do (default\\: guarded)]:value:(open guarded airlock)", "keys"},
		{"bawn run x", "*::command:_normal", "keys"},
		{"bawn config x", "1:word:(show path check keys)", "_normal"},
	} {
		out := tool(t, "zsh", "-f", "-c", script, "zsh", file, c.line)
		if !slices.Contains(strings.Split(out, "\n"), c.want) || strings.Contains(out, c.not) {
			t.Errorf("%q gives\n%swant %q and not %q", c.line, out, c.want, c.not)
		}
	}
}

// The overview has every command, and all summaries in one column.
func TestHelpOverview(t *testing.T) {
	_, out := output(t, helpCommand)
	column := 0
	for _, c := range commands() {
		usage := strings.TrimSpace("  bawn " + c.name + " " + c.args)
		before, _, found := strings.Cut(out, "  "+c.summary+"\n")
		line := before[strings.LastIndexByte(before, '\n')+1:]
		if at := utf8.RuneCountInString(line); !found || strings.TrimSpace(line) != usage || column != 0 && at != column {
			t.Errorf("%s: %q, not in column %d", c.name, line, column)
		} else {
			column = at
		}
	}
	for _, c := range commands() {
		for line := range strings.Lines(helpNotes(c.name)) {
			if utf8.RuneCountInString(line) > 86 {
				t.Errorf("%s: the line is long: %q", c.name, line)
			}
		}
	}
}

// The manual has every command and flag, and no line that groff warns of.
func TestManPage(t *testing.T) {
	page := manPage()
	out := tool(t, "groff", "-ww", "-man", "-Tascii", printed(t, page))
	if out == "" {
		t.Error("it is empty")
	}
	for _, c := range commands() {
		if !strings.Contains(page, ".SS bawn "+roff(c.name)+" ") {
			t.Errorf("%s is missing", c.name)
		}
		for _, f := range flagsOf(c.name) {
			if !strings.Contains(page, ".B "+roff(f.name)) {
				t.Errorf("%s %s is missing", c.name, f.name)
			}
		}
	}
	for _, f := range new(runFlags).sessionSpecs() {
		if _, session, _ := strings.Cut(page, ".SH SESSION\n"); !strings.Contains(session, ".B "+roff(f.name)) {
			t.Errorf("the session's %s is missing", f.name)
		}
	}
	if got := roff(".x -y"); got != `\&.x \-y` {
		t.Errorf("roff: %q", got)
	}
}

// The page of the settings has every table and key, each with its variable.
func TestConfigManPage(t *testing.T) {
	page := configManPage()
	out := tool(t, "groff", "-ww", "-man", "-Tascii", printed(t, page))
	for _, k := range config.Keys() {
		_, of, _ := strings.Cut(page, ".SH ["+roff(strings.ToUpper(k.Table))+"]\n")
		of, _, _ = strings.Cut(of, ".SH ")
		if !strings.Contains(of, ".B "+roff(k.Name)+"\n") || k.Env != "" && !strings.Contains(of, roff(k.Env)) {
			t.Errorf("%s is missing", k.Path())
		}
	}
	if out == "" || !strings.Contains(page, ".I /etc/bawn/requirements.toml") || strings.Contains(page, "`") {
		t.Error(page)
	}
}
