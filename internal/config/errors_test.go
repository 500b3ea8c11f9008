package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

func testScope(l Layer) scope {
	return scope{layer: l, home: "/home/me", workspace: "/workspace"}
}

// Each file in testdata/errors is refused with the text beside it.
func TestErrorsShowThePlace(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.toml")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".toml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			_, err = parseFile(testScope(User), "config.toml", data)
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || !errors.Is(err, policy.ErrRefused) {
				t.Fatalf("no error with a place: %#v", err)
			}
			golden := strings.TrimSuffix(f, ".toml") + ".txt"
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// A password in a line of the file does not get into the message, which
// agents read.
func TestErrorHidesPasswords(t *testing.T) {
	for _, doc := range []string{
		"[sandbox.proxy]\nupstream = \"http://me:hunter2@proxy\"\n",
		"[sandbox.proxy]\nupstream = \"me:hunter2@proxy:80\" = 1\n",
		"[sandbox.proxy]\nupstrem = \"http://me:hunter2@proxy:80\"\n",
		"[sandbox.proxy]\nenabled = \"http://me:hunter2@proxy:80\"\n",
		"[sandbox]\nenv_keep = [\"TOKEN=hunter2\"]\n",
		"sandbox = { proxy = { upstream = \"http://me:hunter2@proxy:1:2\" } }\n",
	} {
		_, err := parseFile(testScope(User), "config.toml", []byte(doc))
		if err == nil {
			t.Errorf("%q was taken", doc)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error repeats the password: %v", err)
		}
	}
	// Its twin: other lines are shown.
	_, err := parseFile(testScope(User), "config.toml", []byte("[sandbox.proxy]\nenabled = \"hunter2\"\n"))
	if err == nil || !strings.Contains(err.Error(), "hunter2") {
		t.Errorf("no excerpt in %v", err)
	}
}

// Nothing that an error shows acts on a terminal.
func TestErrorIsPrintable(t *testing.T) {
	for _, doc := range []string{
		"[sandbox]\n\"\\u001b]0;x\\u0007\" = 1\n",
		"[sandbox]\ndefault_tier = \"\\u001b[31m\"\n",
		"[sandbox]\nallowed_domains = [\"\u202eevil\"]\n",
		"\x1b[31m\n",
		"[sandbox]\n\tx\x1b = 1",
	} {
		_, err := parseFile(testScope(User), "a\x1bb.toml", []byte(doc))
		if err == nil {
			t.Errorf("%q was taken", doc)
			continue
		}
		for _, r := range err.Error() {
			if r != '\n' && !policy.Visible(r) {
				t.Errorf("%q: the message holds %U: %q", doc, r, err)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"allowed_domains", "denied_domains", "tmp", "sandbox.tmp", "sandbox.proxy", "BAWN_TMP", "BAWN_GUARD", "log", "run", "-q", "--tier", "env_keep"}
	for _, tt := range []struct{ word, want string }{
		{"alowed_domains", "allowed_domains"},
		{"allowed_domain", "allowed_domains"},
		{"allowde_domains", "allowed_domains"},
		{"deniedDomains", "denied_domains"},
		{"denied_hosts", ""},
		{"tmp", "tmp"},
		{"tpm", "tmp"},
		{"temp", "tmp"},
		{"t", ""},
		{"tap", "tmp"},
		{"tab", ""},
		{"ls", ""},
		{"lg", "log"},
		{"rn", "run"},
		{"rnu", "run"},
		{"ruin", "run"},
		{"rain", ""},
		{"x", ""},
		{"", ""},
		{"-x", ""},
		{"--", ""},
		{"-qC", "-q"},
		{"--tire", "--tier"},
		{"--time", ""},
		{"sandbox.foo", ""},
		{"sandbox.tmpp", "sandbox.tmp"},
		{"sandbox.prox", "sandbox.proxy"},
		{"BAWN_FOO", ""},
		{"BAWN_TPM", "BAWN_TMP"},
		{"BAWN_GAURD", "BAWN_GUARD"},
		{"env_kept", ""},
		{"env_kep", "env_keep"},
		{"env_list", ""},
		{"something_else", ""},
		{strings.Repeat("a", 1000), ""},
	} {
		if got := Nearest(tt.word, known); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}
