//go:build linux

package inside

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// An edit changes the places that it says and nothing else, and keeps the line
// endings.
func TestReplaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab\n]{0,3}`)
		text := rapid.StringMatching(`[abc\n]{0,30}`).Draw(t, "text")
		windows := rapid.Bool().Draw(t, "crlf")
		if windows {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		old, new, all := word.Draw(t, "old"), word.Draw(t, "new"), rapid.Bool().Draw(t, "all")
		next, n, err := replaced([]byte(text), []byte(old), []byte(new), all)
		if windows && !strings.Contains(text, old) {
			old = strings.ReplaceAll(old, "\n", "\r\n")
		}
		if old == "" {
			if err == nil {
				t.Fatal("an empty text was found")
			}
			return
		}
		there := strings.Count(text, old)
		switch {
		case err != nil && there == 1 && !windows && old != new:
			t.Fatalf("%q is there once: %v", old, err)
		case err == nil && (n == 0 || n != there || there > 1 && !all):
			t.Fatalf("%d places of %d, all %v", n, there, all)
		case err == nil && crlf([]byte(text)) && strings.Count(string(next), "\n") != strings.Count(string(next), "\r\n") && !strings.HasPrefix(old, "\n"):
			t.Fatalf("%q: the line endings are mixed", next)
		}
		if err == nil && !windows && string(next) != strings.ReplaceAll(text, old, new) {
			t.Fatalf("%q", next)
		}
	})
}

func FuzzReceive(f *testing.F) {
	var good bytes.Buffer
	if err := Send(&good, Answer{Real: "/x"}, []byte("body")); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 8 && (b[0] != 0 || b[4] != 0) {
			b[0], b[4] = 0xff, 0xff // refused before anything is made room for
		}
		var a Answer
		body, err := Receive(bytes.NewReader(b), &a)
		if len(b) == 0 && !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
		if err == nil && len(body) > len(b) {
			t.Errorf("%d bytes of %d", len(body), len(b))
		}
	})
}

// A page that is not shown to its end says so, and bytes are no text whatever
// they are called.
func TestPageCut(t *testing.T) {
	long := "<p>seen<a " + strings.Repeat("x=1 ", 1<<19) + ">"
	if got, cut := pageText([]byte(long), true); got != "seen" || !cut {
		t.Errorf("%.20q, cut %v", got, cut)
	}
	if got, cut := pageText([]byte("<p>seen<a x=1>"), true); got != "seen" || cut {
		t.Errorf("%q, cut %v", got, cut)
	}
	if textual("text/html", []byte("\x1f\x8b\x08\x00\x00")) || !textual("text/html", []byte("<p>")) {
		t.Error("compressed bytes are text, or text is not")
	}
}

// What stands between the tags of a script is never shown, and nothing crashes.
func FuzzPageText(f *testing.F) {
	f.Add("<h1>a</h1><script>HIDDEN</script><p>b<a href=x>c</a>", true)
	f.Add("<pre>x\n y</pre><td>1<td>2", false)
	f.Add("<style><svg><a href='", true)
	f.Fuzz(func(t *testing.T, page string, markdown bool) {
		out, _ := pageText([]byte(page), markdown)
		if utf8.ValidString(page) && !utf8.ValidString(out) {
			t.Errorf("%q", out)
		}
		if got, _ := pageText([]byte("<script>"+strings.ReplaceAll(page, "<", "")+"</script>seen"), markdown); got != "seen" {
			t.Errorf("%q", got)
		}
	})
}
