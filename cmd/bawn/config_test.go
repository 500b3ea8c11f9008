package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/config"
)

// output runs a command and returns its exit code and what it printed.
func output(t *testing.T, run func([]string) int, args ...string) (int, string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = old }()
	got := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		got <- string(b)
	}()
	code := run(args)
	w.Close()
	return code, <-got
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigCommand(t *testing.T) {
	home := ownHome(t)
	ws := home + "/src"
	user := writeFile(t, home+"/.config/bawn/config.toml", "[sandbox]\nhidden = ['s']\n[sandbox.proxy]\nupstream = 'http://me:pass@proxy.example:1'\n")
	writeFile(t, ws+"/.bawn/config.toml", "[sandbox]\ntmp = 'host'\n")
	code, text := output(t, configCommand, "-C", ws, "--allow-domain", "a.example")
	for _, want := range []string{"sandbox.hidden += " + ws + "/s  (" + user + ":2)", "sandbox.allowed_domains += a.example  (--allow-domain)", "waits until the file is trusted"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, text)
		}
	}
	code, text = output(t, configCommand, "show", "--json", "-C", ws)
	var report config.Report
	if err := json.Unmarshal([]byte(text), &report); code != 0 || err != nil || len(report.Files) != 2 || report.Project == nil || report.Project.Trusted {
		t.Errorf("exit %d, %v: %s", code, err, text)
	}
	if strings.Contains(text, "pass@") {
		t.Error("the password is printed")
	}
	if code, text = output(t, configCommand, "path", "-C", ws); code != 0 || !strings.Contains(text, "user          "+user+"\n") || !strings.Contains(text, home+"/.config/bawn/allowed.toml  (none)") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text = output(t, configCommand, "check", "-C", ws); code != 0 || text != user+"\n"+ws+"/.bawn/config.toml\n" {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text = output(t, configCommand, "keys", "guard"); code != 0 || !strings.Contains(text, "values    on, off\ndefault   on\n") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text = output(t, configCommand, "keys", "tmp"); code != 0 || !strings.Contains(text, "BAWN_TMP") || strings.Contains(text, "caches") {
		t.Errorf("exit %d: %s", code, text)
	}
	other := writeFile(t, home+"/other.toml", "[sandbox]\nfoo = 1\n")
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"check", user, "-C", ws}, 0},
		{[]string{"check", other, "-C", ws}, exitRefused},
		{[]string{"check", home + "/none.toml", "-C", ws}, exitRefused},
		{[]string{"keys", "tmpp"}, exitUsage},
		{[]string{"shwo"}, exitUsage},
		{[]string{"path", "x"}, exitUsage},
	} {
		if code, _ := output(t, configCommand, c.args...); code != c.code {
			t.Errorf("%q: exit %d, want %d", c.args, code, c.code)
		}
	}
}

func TestTrustCommandLine(t *testing.T) {
	home := ownHome(t)
	t.Setenv("BAWN_SANDBOXED", "")
	ws := home + "/src"
	writeFile(t, ws+"/x", "")
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"-C", ws}, 0, "no settings of its own"},
		{[]string{"-C", ws, "--hash", strings.Repeat("0", 64)}, exitRefused, ""},
		{[]string{"-C", ws, "--hash", "00"}, exitUsage, ""},
		{[]string{"--list", "--revoke"}, exitUsage, ""},
		{[]string{ws}, exitUsage, ""},
		{[]string{"--revoke", ws}, 0, "was not trusted"},
		{[]string{"--revoke", home + "/gone"}, 0, "was not trusted"},
		{[]string{"--list"}, 0, "nothing is trusted\n"},
		{[]string{"--list", "--json"}, 0, "[]"},
		{[]string{"-C", home + "/gone"}, exitRefused, ""},
	} {
		code, text := output(t, trustCommand, c.args...)
		if code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%q: exit %d, %q", c.args, code, text)
		}
	}
	writeFile(t, ws+"/.bawn/config.toml", "[sandbox]\nallowed_domains = ['a.example']\n")
	code, text := output(t, trustCommand, "-C", ws, "--json")
	var r struct {
		SHA256 string
		Widens []string
	}
	if err := json.Unmarshal([]byte(text), &r); code != 0 || err != nil || len(r.SHA256) != 64 || len(r.Widens) != 2 {
		t.Fatalf("exit %d, %v: %s", code, err, text)
	}
	if code, _ := output(t, trustCommand, "-C", ws, "--hash", strings.ToUpper(r.SHA256)); code != 0 {
		t.Errorf("exit %d", code)
	}
	if code, text := output(t, trustCommand, "-C", ws); code != 0 || !strings.Contains(text, "is trusted, and widens:") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := output(t, trustCommand, "--list", "--json"); code != 0 || !strings.Contains(text, r.SHA256) || !strings.Contains(text, `"path":"`+ws+`"`) {
		t.Errorf("exit %d: %s", code, text)
	}
	t.Setenv("BAWN_SANDBOXED", "1")
	if code, _ := output(t, trustCommand, "-C", ws, "--revoke"); code != exitRefused {
		t.Errorf("from a sandbox: exit %d", code)
	}
}
