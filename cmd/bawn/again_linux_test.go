//go:build !race

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/vterm"
)

// asking is a command that asks for a host until the file go is there, and then
// ends with code.
const asking = `curl -s http://new.test/ & c=$!; while ! test -e go; do sleep 0.05; done; kill $c; wait; echo over; exit `

// forms are a session's two: args, what a question shows, and the key and words
// of the answers yes.
var forms = []struct {
	name, page, once, session string
	args                      []string
}{
	{"screen", "bawn asks", "y", "s", nil},
	{"plain", "new.test:80", "y\r", "s\r", []string{"--plain"}},
}

// says answers until the screen shows want: what comes too soon does not count.
// Once more only after long: on a busy machine the first may have counted, and
// the second would be typed to whatever comes next.
func says(t *testing.T, term *vterm.Terminal, key string, want func(text string) bool) {
	t.Helper()
	pauses(t, term)
	for range 20 {
		if pressed(t, term, key, want) {
			return
		}
	}
	t.Fatalf("not answered:\n%s", term.Text())
}

// pauses is longer than a question takes no key (docs/session.md).
func pauses(t *testing.T, term *vterm.Terminal) {
	t.Helper()
	_, _ = term.Wait(500*time.Millisecond, func(string) bool { return false })
}

// pressed types a key and reports whether done came of it. While a letter waits to
// be an answer it lets that be: another key would take it back.
func pressed(t *testing.T, term *vterm.Terminal, key string, done func(text string) bool) bool {
	t.Helper()
	waits := func(text string) bool { return strings.Contains(text, "takes it back") }
	types(t, term, key)
	text, err := term.Wait(5*time.Second, func(text string) bool { return waits(text) || done(text) })
	if err == nil && !done(text) {
		text, err = term.Wait(sandboxtest.Limit/5, func(text string) bool { return !waits(text) || done(text) })
		if err == nil && !done(text) {
			_, err = term.Wait(sandboxtest.Limit/5, done)
		}
	}
	return err == nil
}

// A question whose command has ended is taken from the screen, also where the
// command went well while the question held up what it wrote.
func TestQuestionEndsWithItsCommandOnTheScreen(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			b := room(t)
			sandboxtest.Write(t, filepath.Join(b.Workspace, "ask"), asking+"0\n")
			term, cmd := sessionOn(t, b, f.args...)
			types(t, term, "sh ./ask\r")
			shows(t, term, f.page)
			sandboxtest.Write(t, filepath.Join(b.Workspace, "go"), "")
			shows(t, term, "\nover")
			leaves(t, term, cmd)
		})
	}
}

// C5: a command that gave up before its host was allowed is run once more, and
// has the screen then: what is typed is its own, and the input line comes after.
func TestC5_RunAgainOnTheScreen(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			b := room(t)
			sandboxtest.Write(t, filepath.Join(b.Workspace, "ask"), `if test -e go; then echo second; read x; echo "got $x"; exit; fi; `+asking+"7\n")
			term, cmd := sessionOn(t, b, f.args...)
			types(t, term, "sh ./ask\r")
			shows(t, term, f.page)
			sandboxtest.Write(t, filepath.Join(b.Workspace, "go"), "")
			says(t, term, f.session, func(text string) bool { return strings.Contains(text, "Run it again?") })
			says(t, term, f.once, func(text string) bool { return strings.Contains(text, "\nsecond") })
			if lines := strings.Split(strings.ReplaceAll(term.Text(), " ", ""), "\n"); lines[len(lines)-2] == ">" || lines[len(lines)-1] == ">" {
				t.Errorf("the input line is under a command:\n%s", term.Text())
			}
			types(t, term, "word\r")
			shows(t, term, "\ngot ")
			leaves(t, term, cmd)
		})
	}
}
