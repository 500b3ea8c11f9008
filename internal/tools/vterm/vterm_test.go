//go:build linux

package vterm

import (
	"encoding/xml"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const patience = 20 * time.Second

func open(t *testing.T, w, h int) *Terminal {
	t.Helper()
	term, err := Open(w, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	})
	return term
}

func shows(t *testing.T, term *Terminal, want string) {
	t.Helper()
	if _, err := term.Wait(patience, func(s string) bool { return strings.Contains(s, want) }); err != nil {
		t.Fatalf("%q: %v", want, err)
	}
}

// A program reads keys, is answered when it asks the terminal something, and
// hears of another size.
func TestTerminal(t *testing.T) {
	term := open(t, 30, 4)
	cmd := exec.Command("bash", "-c", `read -r line; echo "got $line"; stty raw -echo; printf '\033[6n'; IFS= read -r -d R pos; stty sane; printf 'at %q\n' "$pos"; trap 'stty size' WINCH; echo ready; while read -r x; do :; done`)
	if err := term.Start(cmd); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := term.Type("hello\r"); err != nil {
		t.Fatal(err)
	}
	shows(t, term, "got hello")
	shows(t, term, `[3;1`)
	shows(t, term, "ready")
	if err := term.Resize(40, 6); err != nil {
		t.Fatal(err)
	}
	if err := term.Type("\r"); err != nil { // bash runs a trap between commands
		t.Fatal(err)
	}
	shows(t, term, "6 40")
	if _, err := term.Wait(0, func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "got hello") {
		t.Errorf("no error that shows the screen: %v", err)
	}
}

func TestSVG(t *testing.T) {
	term := open(t, 20, 2)
	cmd := exec.Command("printf", `\033[1;32m<ok>\033[m 日本\033[7m&\033[m`+"\033[3;38;2;1;2;3mx")
	if err := term.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	shows(t, term, "&x")
	svg := term.SVG(Dark)
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
	}
	for _, want := range []string{
		`x="12.0" y="25" textLength="33.7" lengthAdjust="spacingAndGlyphs" fill="#a6e3a1" font-weight="bold">&lt;ok&gt;<`,
		`x="54.1" y="25" textLength="16.9" lengthAdjust="spacingAndGlyphs" fill="#cdd6f4">日<`,
		`<rect x="87.9" y="12" width="8.4" height="18" fill="#cdd6f4"/>`, `fill="#1e1e2e">&amp;<`, `fill="#010203">x<`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
}
