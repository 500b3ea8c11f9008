package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func sampleReport() policyReport {
	return policyReport{
		Tier: "guarded", Workspace: "/home/me/p", Temp: "private", Launcher: "auto", Guard: true,
		Files: []fileReport{
			{"/", "read-only", "root", "the system is read-only in the sandbox", builtIn},
			{"/dev/null", "read-write", "devices", "a harmless device", builtIn},
			{"/etc/shadow", "hidden", "credential:/etc/shadow", "password hashes are hidden", builtIn},
			{"/home/me/.aws", "hidden", "credential:/home/me/.aws", "AWS credentials are hidden", builtIn},
			{"/home/me/.ssh", "hidden", "credential:/home/me/.ssh", "SSH keys are hidden", builtIn},
			{"/home/me/.npm", "read-write", "cache:npm", "the npm cache", builtIn},
			{"/home/me/p", "read-write", "workspace", "the workspace", builtIn},
			{"/home/me/p/.bashrc", "read-only", "protect:/home/me/p/.bashrc", "shell start-up file: a change …", builtIn},
			{"/home/me/p/deploy", "read-only", "protect:/home/me/p/deploy", "the settings protect it", "/home/me/c.toml:3"},
			{"/home/me/p/s\x1b", "hidden", "hidden:/home/me/p/s", "the settings hide it", "/home/me/c.toml:4"},
			{"/srv/" + strings.Repeat("long", 20), "read-write", "add-dir", "an added folder", "--add-dir"},
			{"/tmp", "private", "temp", "the sandbox has its own temp folder", builtIn},
		},
		Network: netReport{Enabled: true, Rules: []hostReport{{"deny", "evil.example", "/home/me/c.toml:5"}, {"allow", "npmjs.org", builtIn}, {"allow", "my.example", "--allow-domain"}},
			Ports: []hostReport{{"allow", "5432", "/home/me/c.toml:6"}}},
		Lifted: []string{"shell"}, Warnings: []string{"something"},
	}
}

const wantShort = `tier       guarded
workspace  /home/me/p
temp       private
launcher   auto
guard      on

writable
  ~/p   the workspace
  /srv/LONG
      --add-dir
  /tmp  private, ends with the run
  tool caches:
    ~/.npm

read-only, like everything that is not named here
  ~/p/deploy  /home/me/c.toml:3
  what would run code outside the sandbox later:
    shell start-up file (1)

hidden
  ~/p/s\x1b  /home/me/c.toml:4
  credentials, sessions, histories and bawn's own files:
    ~ (2), /etc (1)

network
  deny evil.example  /home/me/c.toml:5
  allow my.example   --allow-domain
  local port 5432    /home/me/c.toml:6
  built-in hosts:
    npmjs.org

outside the sandbox
  docker *  /home/me/c.toml:7

unprotect  shell

warning: something

every path and its rule: bawn policy --all
`

func TestPolicyShort(t *testing.T) {
	got := sampleReport().short("/home/me", []row{{"docker *", "/home/me/c.toml:7"}})
	if want := strings.Replace(wantShort, "LONG", strings.Repeat("long", 20), 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What is built in and much is counted, and stays inside the screen.
func TestPolicyShortIsShort(t *testing.T) {
	r := sampleReport()
	r.Files = r.Files[:10]
	for _, dir := range strings.Fields("a b c d e f g h i j k l m n o p q r s t") {
		for range 20 {
			r.Files = append(r.Files, fileReport{"/" + dir + "/x", "hidden", "credential:x", "x are hidden", builtIn},
				fileReport{"/home/me/.cache/" + dir, "read-write", "cache:x", "the x cache", builtIn})
		}
	}
	got := r.short("/home/me", nil)
	if n := strings.Count(got, "\n"); n > 200 {
		t.Errorf("%d lines", n)
	}
	for l := range strings.Lines(got) {
		if utf8.RuneCountInString(l) > textWidth+1 {
			t.Errorf("wide: %q", l)
		}
	}
	if !strings.Contains(got, "/a (20), /b (20)") {
		t.Error(got)
	}
}

func TestPolicyAllNamesEverything(t *testing.T) {
	r := sampleReport()
	got := r.all()
	for _, f := range r.Files {
		if !strings.Contains(got, printable(f.Path)+"  ("+printable(f.Rule)+", "+f.Origin+")") {
			t.Errorf("no %q in\n%s", f.Path, got)
		}
	}
}
