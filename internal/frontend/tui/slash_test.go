package tui

import (
	"errors"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"bawn/internal/policy"
	"bawn/internal/session"
)

func TestSlash(t *testing.T) {
	for line, want := range map[string]struct {
		page            Page
		note, did, fail string
	}{
		"/sandbox":                       {page: SandboxPage},
		"/network":                       {page: NetworkPage},
		"/denied":                        {page: DeniedPage},
		"/policy":                        {page: PolicyPage},
		"/tasks ":                        {page: TasksPage},
		"/help":                          {page: HelpPage},
		"/questions":                     {page: QuestionsPage},
		"/config":                        {page: ConfigPage},
		"/config general":                {page: ConfigPage},
		"/config network":                {fail: "unknown page"},
		"/config general x":              {fail: "write it as /config [general]"},
		"/tier airlock":                  {note: "Sandbox: airlock (new commands)", did: "tier airlock"},
		"/tier open":                     {page: OpenPage},
		"/tier":                          {fail: "write it as /tier TIER"},
		"/tier Open":                     {fail: "unknown tier"},
		"/permissions auto":              {note: "Permissions: auto", did: "permission auto"},
		"/permissions all":               {fail: "unknown permission mode"},
		"/allow db.example:5432":         {note: "db.example:5432 is allowed for this session", did: "allow db.example:5432 session"},
		"/allow db.example always":       {note: "db.example is allowed from now on", did: "allow db.example always"},
		"/deny db.example":               {note: "db.example is denied for this session", did: "deny db.example session"},
		"/allow db.example forever":      {fail: `"forever"`},
		"/publish 8080":                  {note: "127.0.0.1:8080 leads to port 8080 of guarded commands", did: "publish 127.0.0.1:8080"},
		"/publish [::1]:80":              {note: "[::1]:80 leads to port 80 of guarded commands", did: "publish [::1]:80"},
		"/publish":                       {fail: "write it as /publish PORT|IP:PORT"},
		"/publish x":                     {fail: "is not a port"},
		"/publish host:80":               {fail: "is not an address of this machine"},
		"/allow":                         {fail: "write it as /allow HOST[:PORT] [always]"},
		"/allow a always b":              {fail: "write it as"},
		"/stop 3":                        {note: "task 3 was asked to end", did: "stop 3"},
		"/output 2":                      {},
		"/output two":                    {fail: "no task's number"},
		"/stop three":                    {fail: "no task's number"},
		"/nothing":                       {fail: "unknown command /nothing"},
		"/":                              {fail: "/help lists them"},
		"/usr/bin/env":                   {fail: "a program is started with its path"},
		"/check read":                    {fail: "write it as /check ACTION OBJECT"},
		"/help me":                       {fail: "write it as /help"},
		"/check connect db.example:5432": {},
	} {
		s := exampleSession(t)
		got, err := runSlash(line, s, testOptions(&clock{noon}))
		switch {
		case want.fail != "":
			if err == nil || !strings.Contains(err.Error(), want.fail) || s.log() != "" {
				t.Errorf("%s: %v, %q", line, err, s.log())
			}
		case err != nil || got.page != want.page || got.note != want.note || s.log() != want.did:
			t.Errorf("%s: %+v, %v, %q", line, got, err, s.log())
		}
	}
	if r, err := runSlash("/quit", &fake{}, Options{}); err != nil || !r.quit {
		t.Errorf("/quit: %+v, %v", r, err)
	}
	failing := &fake{err: errors.New("no such task"), st: session.State{Tier: policy.Open}}
	if _, err := runSlash("/stop 9", failing, Options{}); err == nil {
		t.Error("an error of the session is lost")
	}
}

// The box to try rules says what bawn check says.
func TestTry(t *testing.T) {
	o := testOptions(&clock{noon})
	p := examplePolicy(t)
	for text, want := range map[string]string{
		"connect db.example:5432":       "allow",
		"connect db.example":            "asks",
		"connect tracking.example":      "deny",
		"read /etc/passwd":              "allow",
		"write /etc/passwd":             "deny",
		"read ~/.ssh/id":                "deny",
		"write new.txt":                 "allow",
		"write ../outside":              "deny",
		"write a file with spaces":      "allow",
		"erase x":                       "unknown action",
		"read":                          "type: read PATH",
		"":                              "type: read PATH",
		"connect http://x/":             "not a host name or address: \"http://x/\": name the host alone",
		"connect bücher.example":        "asks",
		"connect tracking.example:9:9 ": "",
	} {
		lines := o.tryLines(p, text)
		for i, l := range lines {
			lines[i] = ansi.Strip(l)
		}
		if !strings.HasPrefix(lines[0], want) {
			t.Errorf("%q: %q", text, lines)
		}
		if want == "deny" && (len(lines) < 3 || !strings.HasPrefix(lines[1], "rule  ")) || want == "asks" && !strings.HasPrefix(lines[3], "lift  ") {
			t.Errorf("%q: no rule or no way out: %q", text, lines)
		}
	}
}

func TestComplete(t *testing.T) {
	for line, want := range map[string]string{
		"/t": "/tier /tasks", "/ti": "/tier", "/tier ": "/tier open /tier guarded /tier airlock", "/tier a": "/tier airlock", "/x": "", "t": "", "": "",
		"/tier a b": "", "/help ": "",
	} {
		if got := strings.Join(complete(line), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if n := len(complete("/")); n != len(slashes) {
		t.Errorf("%d commands for /", n)
	}
	if got := slashHint("/tier gu"); got != "/tier TIER: switch new commands to open, guarded or airlock" {
		t.Error(got)
	}
	if got := slashHint("/ta"); got != "/tasks" {
		t.Error(got)
	}
}

// No line does what its first word does not say.
func TestSlashLines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		line := "/" + rapid.OneOf(anyText(), rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"tier", "allow", "open", "always", " ", "x.example", "stop", "1", "check", "read", "/etc"})), func(s []string) string { return strings.Join(s, " ") })).Draw(rt, "line")
		s := exampleSession(t)
		got, err := runSlash(line, s, testOptions(&clock{noon}))
		words := strings.Fields(line[1:])
		if err == nil && len(words) == 0 {
			rt.Fatalf("%q does something: %+v", line, got)
		}
		if log := s.log(); log != "" && !strings.HasPrefix(log, map[string]string{"permissions": "permission"}[words[0]]+words[0][:min(len(words[0]), 4)]) && words[0] != "permissions" {
			rt.Fatalf("%q did %q", line, log)
		}
		for _, l := range got.text {
			onlyStyles(rt, l, Look{Color: true})
		}
		complete(line)
		slashHint(line)
	})
}
