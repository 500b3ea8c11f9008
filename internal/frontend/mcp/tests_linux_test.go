package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a workspace holds chooses one of the known commands, and nothing in it is
// opened: a pipe, a device of a link, what is not there.
func TestHostileProjects(t *testing.T) {
	for _, s := range suites() {
		for kind, plant := range map[string]func(path string) error{
			"pipe":    func(p string) error { return unix.Mkfifo(p, 0o600) },
			"nothing": func(p string) error { return os.Symlink("/nothing/there", p) },
			"outside": func(p string) error { return os.Symlink("/dev/zero", p) },
			"text":    func(p string) error { return os.WriteFile(p, []byte("test: $(touch /tmp/x)\n"), 0) },
		} {
			dir := filepath.Join(t.TempDir(), "a\nb;c")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, s.file+"\n"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(dir, ".bawn"), 0o700); err != nil {
				t.Fatal(err)
			}
			if text, err := testText(dir, "", ""); err == nil {
				t.Errorf("%s with a line feed: %q", s.file, text)
			}
			if err := plant(filepath.Join(dir, s.file)); err != nil {
				t.Fatal(err)
			}
			if text, err := testText(dir, "", ""); err != nil || text != s.all {
				t.Errorf("%s, %s: %q, %v", s.file, kind, text, err)
			}
		}
	}
}

// A filter is one word of the command, whatever is in it.
func TestFilterIsOneWord(t *testing.T) {
	for _, s := range suites() {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, s.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if s.filter == nil {
			continue
		}
		for _, filter := range []string{"a b", "; id", "$(id)", "`id`", "'; id #", "\\'; id", "-x", "a\nid\n", "!!", "~", "*"} {
			text, err := testText(dir, "", filter)
			if err != nil {
				t.Fatal(err)
			}
			program, _, _ := strings.Cut(text, " ")
			out, err := exec.Command("/bin/bash", "-c", program+"() { printf '%s\\0' \"$@\"; }\n"+text).Output()
			words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
			if last := strings.TrimPrefix(words[len(words)-1], "-Dtest="); err != nil || last != filter {
				t.Errorf("%q: %q, %v", text, words, err)
			}
		}
	}
}
