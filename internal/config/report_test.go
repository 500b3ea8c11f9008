package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const reported = `[sandbox]
default_tier = "airlock"
allowed_domains = ["a.example", "b.example:443"]
[sandbox.proxy]
upstream = "http://me:hunter2@proxy.example:3128"
`

func TestReport(t *testing.T) {
	w := newWorld(t)
	w.write(w.userFile(), reported)
	w.write(w.projectFile(), "[sandbox]\nallowed_domains = ['evil.example']\nallowed_local_ports = [5432]\nexclude = ['bash']\n")
	r := w.load().Report()
	text := strings.ReplaceAll(r.Text(), w.root, "")
	want := `sandbox.default_tier = airlock  (/home/.config/bawn/config.toml:2)
sandbox.allowed_domains += a.example  (/home/.config/bawn/config.toml:3)
sandbox.allowed_domains += b.example:443  (/home/.config/bawn/config.toml:3)
sandbox.proxy.upstream = http://me:xxxxx@proxy.example:3128  (/home/.config/bawn/config.toml:5)
sandbox.enabled = false  (built in)
`
	if !strings.HasPrefix(text, want) {
		t.Errorf("got\n%s\nwant first\n%s", text, want)
	}
	tail := `project file: not trusted: only what makes the sandbox stricter is taken from it
  sandbox.allowed_domains = "evil.example" (/home/work/.bawn/config.toml:2) waits until the file is trusted (bawn trust)
  sandbox.allowed_local_ports = 5432 (/home/work/.bawn/config.toml:3) waits until the file is trusted (bawn trust)
  sandbox.exclude = "bash" (/home/work/.bawn/config.toml:4) is never taken from a project's file
`
	if !strings.HasSuffix(text, tail) {
		t.Errorf("got\n%s\nwant last\n%s", text, tail)
	}
	data, err := json.Marshal(r)
	if err != nil || !json.Valid(data) || strings.Contains(string(data), "hunter2") || strings.Contains(string(data), "null") {
		t.Errorf("%v: %s", err, data)
	}
	if n := len(r.Settings); n < 15 {
		t.Errorf("%d settings", n)
	}
}

func TestReviewText(t *testing.T) {
	w := newWorld(t)
	review := func() string {
		t.Helper()
		r, err := LoadReview(w.options())
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(r.Text(), w.root, "")
	}
	if got := review(); !strings.Contains(got, "no settings of its own") {
		t.Errorf("got %q", got)
	}
	w.write(w.projectFile(), "[sandbox]\ndefault_tier = 'airlock'\n")
	if got := review(); got != "/home/work/.bawn/config.toml widens nothing\n" {
		t.Errorf("got %q", got)
	}
	w.write(w.projectFile(), "[sandbox]\ndefault_tier = 'open'\nallowed_domains = ['a.example']\nallow_private = ['b.example']\nallowed_paths = ['../x']\ntmp = 'host'\nexclude = ['bash']\n")
	want := `trusting /home/work/.bawn/config.toml would widen:
  sandbox.default_tier: "open" instead of "guarded" (/home/work/.bawn/config.toml:2)
  sandbox.allowed_paths adds "/home/x" (/home/work/.bawn/config.toml:5)
  sandbox.allowed_domains adds "a.example" (/home/work/.bawn/config.toml:3)
  sandbox.allow_private adds "b.example" (/home/work/.bawn/config.toml:4)
  sandbox.tmp: "host" instead of "private" (/home/work/.bawn/config.toml:6)
  package installs get the ordinary profile of guarded, not their narrower one, since a file sets folders or hosts
  (sandbox.exclude = "bash" (/home/work/.bawn/config.toml:7) is never taken from a project's file)
`
	if got := review(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	w.trustProject()
	if got := review(); !strings.Contains(got, "is trusted, and widens:\n  sandbox.default_tier") {
		t.Errorf("got\n%s", got)
	}
}

// A person is shown hosts in letters that cannot be mistaken, before the file
// is trusted and after.
func TestLookAlikeHostsAreNamed(t *testing.T) {
	w := newWorld(t)
	w.write(w.projectFile(), "[sandbox]\nallowed_domains = ['\u0430pple.com', 'xn--pple-43d.com:8443', 'b\u00fccher.example', 'EXAMPLE.com']\n")
	r, err := LoadReview(w.options())
	if err != nil {
		t.Fatal(err)
	}
	text := r.Text()
	for _, want := range []string{
		`adds "xn--pple-43d.com", which reads "аpple.com" and looks like apple.com, but is another name, (`, `adds "xn--pple-43d.com:8443", which reads`, `adds "xn--bcher-kva.example", which reads "bücher.example"`, `adds "example.com" (`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, p := range w.load().Pending() {
		if strings.Contains(p.Text(), `= "а`) {
			t.Errorf("the look-alike by itself: %s", p.Text())
		}
	}
}

// Checking a project's file finds what a run would refuse: a link, and a size
// that a user's own file may have.
func TestCheckFileOfAProject(t *testing.T) {
	w := newWorld(t)
	long := "# " + strings.Repeat("x", MaxProject) + "\n"
	w.write(w.projectFile(), "[sandbox]\n")
	w.write(w.dir+"/mine.toml", long)
	check := func(path string) error { return CheckFile(path, w.home, w.dir) }
	if err := check(w.projectFile()); err != nil {
		t.Error(err)
	}
	if err := check(w.dir + "/mine.toml"); err != nil {
		t.Error(err)
	}
	w.write(w.projectFile(), long)
	if err := check(w.projectFile()); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file that no run takes: %v", err)
	}
	if err := os.Remove(w.projectFile()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.dir+"/mine.toml", w.projectFile()); err != nil {
		t.Fatal(err)
	}
	if err := check(w.projectFile()); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a link in a project: %v", err)
	}
}
