//go:build linux

package sandboxtest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// trust says yes to the project's file as it is.
func (b *Box) trust(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(b.Workspace + "/.bawn/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	b.Bawn(t, "trust", "--hash", hex.EncodeToString(sum[:])).OK(t)
}

// A76, C6: a clone's own file widens nothing until a person has trusted that
// content; a change asks again, and revoking takes it back.
func TestA76_TrustIsForOneContent(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		x := filepath.Dir(b.Home) + "/x"
		mkdir(t, x)
		text := "[sandbox]\nallowed_paths = ['" + x + "']\nexclude = ['bash *']\ndefault_tier = 'open'\nguard = 'off'\n"
		b.project(t, text)
		wrote := func() bool {
			b.Sh(t, "echo x >"+x+"/f; true").OK(t)
			defer os.Remove(x + "/f")
			return exists(x + "/f")
		}
		r := b.Sh(t, "echo $BAWN_TIER").OK(t)
		if r.Stdout != "guarded\n" || !strings.Contains(r.Stderr, "2 settings of .bawn/config.toml wait for trust: bawn trust") || !strings.Contains(r.Stderr, "2 settings of .bawn/config.toml are not taken") {
			t.Errorf("%q %q", r.Stdout, r.Stderr)
		}
		if wrote() {
			t.Error("an untrusted file widens")
		}
		// Nobody can be asked here: the answer is no, and the way is told.
		r = b.Bawn(t, "trust")
		if r.Code != 1 || !strings.Contains(r.Stdout, "allowed_paths adds") || !strings.Contains(r.Stderr, "(there is no terminal to ask on); bawn trust --hash ") || wrote() {
			t.Errorf("exit %d, %q, %q", r.Code, r.Stdout, r.Stderr)
		}
		if r := b.Bawn(t, "trust", "--hash", strings.Repeat("0", 64)); r.Code != 125 || wrote() {
			t.Errorf("another hash: exit %d, %q", r.Code, r.Stderr)
		}
		b.trust(t)
		if !wrote() {
			t.Error("a trusted file has no effect")
		}
		if r := b.Sh(t, "echo $BAWN_TIER").OK(t); r.Stdout != "guarded\n" || !strings.Contains(r.Stderr, "default_tier \"open\"") {
			t.Errorf("T8: a saved open tier: %q %q", r.Stdout, r.Stderr)
		}
		if r := b.Bawn(t, "trust", "--list").OK(t); !strings.Contains(r.Stdout, b.Workspace) {
			t.Errorf("list: %q", r.Stdout)
		}
		b.project(t, text+"# changed\n")
		if wrote() {
			t.Error("a changed file is trusted")
		}
		b.project(t, text)
		if !wrote() {
			t.Error("the content that was trusted is not any more")
		}
		b.Bawn(t, "trust", "--revoke").OK(t)
		if wrote() {
			t.Error("revoked, it still widens")
		}
		// In another place the same content is nobody's.
		b.trust(t)
		other := New(t, l)
		other.Home = b.Home
		other.project(t, text)
		other.Sh(t, "echo x >"+x+"/f; true").OK(t)
		if exists(x + "/f") {
			t.Error("trust follows the content to another folder")
		}
	})
}

// A76: a person's yes at the terminal is about what was shown; anything else
// is a no.
func TestA76_TrustAsks(t *testing.T) {
	for answer, want := range map[string]int{"y\n": 0, "yes\n": 0, "n\n": 1, "\n": 1, "yep\nno\n": 1, "a\n\x1b": 1, "\x04": 1} {
		b := New(t, "native")
		s := trusting(t, b)
		text := s.wait(t, trustChoices)
		for _, part := range []string{"    " + b.Workspace + "/.bawn/config.toml\r\n", `adds "a.example"`, "  y  trust exactly this content, until the file changes\r\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("the question does not show %q:\n%s", part, text)
			}
		}
		first, second, more := strings.Cut(answer, "\n")
		if s.send(t, first); more {
			s.send(t, "\n")
		}
		if second != "" { // the first was no answer: the question stays
			s.wait(t, trustChoices)
			s.send(t, second)
		}
		if code := s.code(t); code != want {
			t.Errorf("%q: exit %d, want %d: %q", answer, code, want, s.text())
		}
		r := b.Bawn(t, "check", "connect", "a.example")
		if (r.Code == 0) != (want == 0) {
			t.Errorf("%q: check says %d", answer, r.Code)
		}
	}
}

const trustChoices = "Answer and Enter [y/N]: "

// trusting starts `bawn trust` on a terminal, for a project that adds a host.
func trusting(t *testing.T, b *Box, typed ...string) *screen {
	t.Helper()
	b.project(t, "[sandbox]\nallowed_domains = ['a.example']\n")
	s := openTTY(t)
	for _, keys := range typed {
		s.send(t, keys)
	}
	cmd := exec.Command(Binary(), "trust")
	cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "TERM=xterm")
	s.start(t, cmd)
	return s
}

// A76: what was typed before the line with the choices was drawn is no answer.
func TestA76_TrustTakesNoEarlyKeys(t *testing.T) {
	b := New(t, "native")
	s := trusting(t, b, "y\ny\n")
	s.wait(t, "would widen")
	s.send(t, "y\n") // while it is being written
	s.wait(t, trustChoices)
	s.send(t, "\n")
	if code := s.code(t); code != 1 {
		t.Errorf("exit %d: %q", code, s.text())
	}
	if r := b.Bawn(t, "check", "connect", "a.example"); r.Code == 0 {
		t.Error("a y from before the question trusts the file")
	}
}

// A80: people who say yes to many projects at once lose none of it.
func TestA80_TrustRaces(t *testing.T) {
	b := New(t, "native")
	var runs []*exec.Cmd
	for i := range 12 {
		ws := filepath.Join(filepath.Dir(b.Home), "many", strconv.Itoa(i))
		text := "[sandbox]\nallowed_local_ports = [" + strconv.Itoa(i+1) + "]\n"
		Write(t, ws+"/.bawn/config.toml", text)
		sum := sha256.Sum256([]byte(text))
		cmd := exec.Command(Binary(), "trust", "-C", ws, "--hash", hex.EncodeToString(sum[:]))
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, cmd)
	}
	for _, cmd := range runs {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if r := b.Bawn(t, "trust", "--list").OK(t); strings.Count(r.Stdout, "/many/") != 12 {
		t.Errorf("trusted: %s", r.Stdout)
	}
}

// A147: a command in a sandbox cannot trust, whatever it says of itself.
func TestA147_NoTrustFromInside(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		file := b.project(t, "[sandbox]\nallowed_domains = ['*']\n")
		data, _ := os.ReadFile(file)
		sum := sha256.Sum256(data)
		hash := hex.EncodeToString(sum[:])
		for _, state := range []bool{false, true} {
			if state { // one that exists
				mkdir(t, b.State+"/bawn")
			}
			r := b.Sh(t, Binary()+" trust --hash "+hash+" && echo TRUSTED; env -u BAWN_SANDBOXED "+Binary()+" trust --hash "+hash+" && echo TRUSTED; true").OK(t)
			if strings.Contains(r.Stdout, "TRUSTED") || exists(b.State+"/bawn/trust") {
				t.Errorf("state %v: %q", state, r.Stdout)
			}
			if r := b.Bawn(t, "check", "connect", "a.example"); r.Code == 0 {
				t.Error("the project's file is trusted")
			}
		}
		b.trust(t)
		if r := b.Bawn(t, "check", "connect", "a.example"); r.Code != 0 {
			t.Error("outside the same call trusts nothing")
		}
	})
}
