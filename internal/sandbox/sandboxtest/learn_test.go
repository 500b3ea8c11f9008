//go:build linux

package sandboxtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type lesson struct {
	Code      int
	File      string
	Proposals []struct {
		Key, Value, Careful string
		For                 []string
	}
	NotProposed []struct{ What, Why, Lift, Comment string } `json:"not_proposed"`
	Diff        string
	Again       bool
}

// learn runs bawn learn --json in the workspace.
func (b *Box) learn(t *testing.T, text string) lesson {
	t.Helper()
	r := b.Bawn(t, "learn", "--launcher", b.Launcher, "--json", "-c", text)
	var l lesson
	if err := json.Unmarshal([]byte(r.Stdout), &l); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	if l.Code != r.Code {
		t.Errorf("exit %d, %d in the report", r.Code, l.Code)
	}
	return l
}

func (l lesson) values() (out []string) {
	for _, p := range l.Proposals {
		out = append(out, p.Value)
	}
	return out
}

// A folder is proposed and printed as a diff that patch can read; nothing is
// written by that, and with it the command passes.
func TestLearn_Folder(t *testing.T) {
	EachLauncher(t, func(t *testing.T, launcher string) {
		b := New(t, launcher)
		out, file := filepath.Join(filepath.Dir(b.Home), "out"), filepath.Join(b.Home, ".config/bawn/config.toml")
		if err := os.Mkdir(out, 0o755); err != nil {
			t.Fatal(err)
		}
		const mine = "# mine\n[permissions]\nmode = 'auto' # so\n"
		Write(t, file, mine)
		text := "echo hello; mkdir -p " + out + "/a/b && echo x > " + out + "/a/b/c"
		if l := b.learn(t, text); !slices.Equal(l.values(), []string{out}) || l.Proposals[0].Key != "sandbox.allowed_paths" || !l.Again || l.Code == 0 {
			t.Errorf("%+v", l)
		}
		if l := b.learn(t, "("+text+") || true"); len(l.Proposals) != 0 || l.Again {
			t.Errorf("of a command that did without: %+v", l)
		}
		r := b.Bawn(t, "learn", "--launcher", launcher, "--print", "-c", text)
		if strings.Contains(r.Stdout, "hello") || !strings.Contains(r.Stderr, "hello\n") {
			t.Errorf("the command's output: %+v", r)
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != mine {
			t.Errorf("printing changed the file: %q, %v", data, err)
		}
		patch := filepath.Join(t.TempDir(), "patch")
		Write(t, patch, r.Stdout)
		patched(t, file, patch)
		if data, _ := os.ReadFile(file); !strings.HasPrefix(string(data), mine) || !strings.Contains(string(data), "allowed_paths = [\""+out+"\"]") {
			t.Errorf("patched: %q", data)
		}
		b.Run(t, "sh", "-c", text).OK(t)
		if l := b.learn(t, text); l.Proposals == nil || len(l.Proposals) != 0 || l.Diff != "" || l.Again {
			t.Errorf("of a run that passes: %+v", l)
		}
	})
}

// Credentials, protected names and homes are never proposed, whatever was
// tried; the project's file is neither read for it nor written.
func TestLearn_NeverProposed(t *testing.T) {
	b := New(t, "native")
	Write(t, b.Home+"/.ssh/id", "x")
	Write(t, b.Home+"/.config/app/x", "x")
	if err := os.MkdirAll(b.Workspace+"/.git/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	Write(t, b.Workspace+"/.git/HEAD", "ref: refs/heads/main\n")
	if err := os.MkdirAll(b.Workspace+"/.git/objects", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(b.Workspace+"/.git/refs", 0o755); err != nil {
		t.Fatal(err)
	}
	l := b.learn(t, `cat ~/.ssh/id; echo x > ~/.ssh/id; echo x > ~/.ssh/new; echo x > ~/file; mkdir ~/.config/bawn; echo x > ~/.config/file
		echo x > .git/hooks/pre-commit; echo x > .bashrc; mkdir .bawn; cat ~/.ssh/id`)
	if l.Code == 0 || len(l.Proposals) != 0 || l.Diff != "" {
		t.Errorf("%+v", l)
	}
	all := ""
	for _, n := range l.NotProposed {
		all += strings.Join([]string{n.What, n.Why, n.Lift, n.Comment}, "|") + "\n"
	}
	for _, want := range []string{
		b.Home + "/.ssh/new|SSH keys are hidden from sandboxed commands, and are never proposed||\n",
		`|# unprotect = ["git.hooks"]`, `|# unprotect = ["`, b.Home + "/file|",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if _, err := os.Lstat(b.Home + "/.config/bawn"); err == nil {
		t.Error("a folder for settings was made")
	}
	if l := b.learn(t, "cat ~/.ssh/id"); l.Code == 0 || len(l.Proposals) != 0 {
		t.Errorf("a credential that was to be read: %+v", l)
	}
	for _, dir := range []string{"bin", ".local/bin", ".config/autostart", ".config/systemd/user", "tools/bin"} {
		Write(t, filepath.Join(b.Home, dir, "x"), "x")
	}
	b.Env = append(b.Env, "PATH="+filepath.Join(b.Home, "tools/bin")+":/usr/bin:/bin")
	l = b.learn(t, "for d in bin .local/bin .config/autostart .config/systemd/user tools/bin tools; do echo x > ~/$d/f; done; false")
	if len(l.Proposals) != 0 || len(l.NotProposed) != 6 {
		t.Errorf("what starts programs: %+v", l)
	}
	for _, n := range l.NotProposed {
		if !strings.Contains(n.Why, "is never proposed") || n.Lift != "" {
			t.Errorf("%+v", n)
		}
	}
	if l := b.learn(t, "echo x > ~/.config/app/f"); !slices.Equal(l.values(), []string{b.Home + "/.config/app"}) || l.Proposals[0].Careful == "" {
		t.Errorf("its twin: %+v", l)
	}
}

// A folder that holds the settings, which a link leads to, is not proposed: with
// it they would be left out the next time.
func TestLearn_LinkedSettings(t *testing.T) {
	b := New(t, "native")
	Write(t, b.Home+"/dots/bawn/config.toml", "# mine\n")
	Write(t, b.Home+"/dots/app/x", "x")
	if err := os.MkdirAll(b.Home+"/.config/bawn", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.Home+"/dots/bawn/config.toml", b.Home+"/.config/bawn/config.toml"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"dots", "dots/bawn"} {
		if l := b.learn(t, "echo x > ~/"+dir+"/new"); len(l.Proposals) != 0 || len(l.NotProposed) != 1 || !strings.Contains(l.NotProposed[0].Why, "bawn's settings") {
			t.Errorf("%s: %+v", dir, l)
		}
	}
	if l := b.learn(t, "echo x > ~/dots/app/new"); !slices.Equal(l.values(), []string{b.Home + "/dots/app"}) {
		t.Errorf("the twin: %+v", l)
	}
}

// What would take the run out of guarded is no flag of it, and an exclusion
// does not leave the sandbox.
func TestLearn_StaysInGuarded(t *testing.T) {
	b := New(t, "native")
	for _, flag := range []string{"--tier=open", "--sandbox", "--profile=scratch", "--guard=off", "--no-egress"} {
		if r := b.Bawn(t, "learn", flag, "--", "true"); r.Code != 125 || !strings.Contains(r.Stderr, "unknown flag") {
			t.Errorf("%s: %+v", flag, r)
		}
	}
	Write(t, b.Home+"/.config/bawn/config.toml", "[sandbox]\ndefault_tier = 'airlock'\nguard = 'off'\nescape_hatch_binaries = ['/usr/bin/touch']\n")
	if l := b.learn(t, "echo $BAWN_TIER > tier; echo x > /opt/bawn-learn-x"); l.Code == 0 || len(l.NotProposed) == 0 && os.Getuid() == 0 {
		t.Errorf("%+v", l)
	}
	if data, _ := os.ReadFile(b.Workspace + "/tier"); string(data) != "guarded\n" {
		t.Errorf("it ran in %q", data)
	}
	// On a terminal, where it would hold.
	s := openTTY(t)
	b.Env = append(b.Env, "TERM=xterm")
	cmd := exec.Command(Binary(), "learn", "--launcher", "native", "--", "/usr/bin/touch", b.Home+"/x")
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	s.start(t, cmd)
	if code := s.code(t); code != 1 {
		t.Errorf("exit %d:\n%s", code, s.text())
	}
	if _, err := os.Lstat(b.Home + "/x"); err == nil {
		t.Error("an escape hatch left the sandbox")
	}
}

func patched(t *testing.T, file, patch string) {
	t.Helper()
	cmd := exec.Command("patch", "--quiet", file, patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		text, _ := os.ReadFile(patch)
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
}

// An address in the command's text is learned as one that a program asks for:
// the run is not refused before, as bawn run is.
func TestLearn_AddressInTheText(t *testing.T) {
	b := New(t, "native")
	const text = "curl -sSf http://10.9.8.7:81/"
	if l := b.learn(t, text); l.Code == 125 || !slices.Equal(l.values(), []string{"10.9.8.7:81"}) || l.Proposals[0].Careful == "" {
		t.Errorf("%+v", l)
	}
	// A patch has no marks, so standard error says them; with nothing proposed it has none.
	if r := b.Bawn(t, "learn", "--print", "-c", text); !strings.Contains(r.Stderr, `careful with "10.9.8.7:81"`) || strings.Contains(r.Stdout, "careful") {
		t.Errorf("%+v", r)
	}
	if r := b.Bawn(t, "learn", "--print", "-c", "false"); r.Stdout != "" || strings.Contains(r.Stderr, "careful") || strings.Contains(r.Stderr, "with it") {
		t.Errorf("%+v", r)
	}
	if r := b.Bawn(t, "run", "--no-prompt", "-c", text); r.Code != 125 || !strings.Contains(r.Stderr, "not run") {
		t.Errorf("%+v", r)
	}
}
