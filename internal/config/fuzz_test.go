package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// seeds are the files of the error tests, and right ones.
func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/errors/*.toml")
	if err != nil || len(files) < 50 {
		f.Fatalf("%d seeds: %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{
		"", "\n", "#", "\xef\xbb\xbf[sandbox]", "[sandbox]", "[sandbox]\r\ntmp = 'host'\r\n", hostile,
		"sandbox.tmp = 'host'\nsandbox.proxy.enabled = false", "sandbox = { }", "sandbox = {tmp='host',\n proxy={enabled=false}}",
		"sandbox = 1\n[sandbox]", "[sandbox]\nallowed_domains = [ # c\n 'a.b', # d\n]\n", "[sandbox]\ndefault_tier = '''open'''", "[sandbox] # c",
		"[sandbox]\nallowed_local_ports = [0x50, 1_000, 0o17, 0b1, -1, +2]", "[permissions]\n[sandbox.proxy]\n[keybindings]\n[sandbox]",
		strings.Repeat("a.", 300) + "b = 1", strings.Repeat("[", 20000), "x = " + strings.Repeat("{a=", 2000), "[sandbox]\ntmp = \"\\u0000\"", "\"\u201e", "a=\"\\u12",
	} {
		f.Add([]byte(s))
	}
}

// No text makes the reader panic; an error has a place in the text; what is
// taken widens nothing if it comes from an untrusted project.
func FuzzParseFile(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, layer := range []Layer{User, ProjectFile, Saved} {
			v, err := parseFile(testScope(layer), "f.toml", data)
			if err != nil {
				var e *Error
				if !errors.As(err, &e) || !errors.Is(err, policy.ErrRefused) {
					t.Fatalf("not an Error: %v", err)
				}
				lines := strings.Split(string(data), "\n")
				if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len([]rune(lines[e.Line-1]))+1 {
					t.Fatalf("%d:%d is not in the text: %v", e.Line, e.Column, e)
				}
				for _, r := range e.Error() {
					if r != '\n' && !policy.Visible(r) {
						t.Fatalf("the message holds %U", r)
					}
				}
				continue
			}
			l := layers{workspace: "/workspace"}
			without := l.merge()
			l.project = &v
			with := l.merge()
			if d := without.Diff(with); len(d) != 0 {
				t.Fatalf("widened: %q", d)
			}
			_ = with.Report().Text()
			for k := range keys {
				for _, it := range v.items[k] {
					if it.Origin.Line < 1 {
						t.Fatalf("%s has no line", keys[k].Path())
					}
				}
			}
		}
	})
}

// Saving the tier changes the tier and nothing else, or is an error.
func FuzzSetTier(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		before, err := parseFile(testScope(ProjectFile), "f.toml", data)
		if err != nil {
			return
		}
		next, err := SetTier(data, policy.Airlock, "f.toml")
		if err != nil {
			t.Fatalf("a right file cannot be changed: %v\n%s", err, data)
		}
		again, err := SetTier(next, policy.Airlock, "f.toml")
		if err != nil || string(again) != string(next) {
			t.Fatalf("not stable: %v\n%q\n%q", err, next, again)
		}
		if !before.set[keyTier] && len(next) <= len(data) {
			t.Fatal("something was taken away")
		}
	})
}

// No environment makes the reader panic.
func FuzzEnviron(f *testing.F) {
	f.Add("BAWN_ALLOW_DOMAINS", "a.example,b.example")
	f.Add("BAWN_DEFAULT_TIER", "open")
	f.Add("BAWN_UPSTREAM", "http://u:p@h:1")
	f.Add("BAWN_UPSTREAM", "http://[::1]:1")
	f.Add("BAWN_HIDDEN", "~:a:/b:~x:$C:\\*")
	f.Add("BAWN_EXCLUDE", "a *,,b")
	f.Add("BAWN_", "=")
	f.Fuzz(func(t *testing.T, name, value string) {
		v, _, err := parseEnviron(testScope(Environment), []string{name + "=" + value})
		if err != nil {
			return
		}
		for k := range keys {
			for _, it := range v.items[k] {
				if it.Text == "" || !policy.AllVisible(it.Text) || it.Layer != Environment {
					t.Fatalf("%s = %q", keys[k].Path(), it.Text)
				}
			}
		}
	})
}
