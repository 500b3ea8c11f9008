package tui

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEditor(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"h e l l o", "hello|"},
		{"a b left X", "aX|b"},
		{"a b home X end Y", "XabY|"},
		{"l s space - l ctrl+left X", "ls X|-l"},
		{"l s space - l ctrl+left ctrl+left ctrl+right X", "lsX| -l"},
		{"a space b space ctrl+w", "a |"},
		{"a b c left ctrl+u", "|c"},
		{"a b c home right ctrl+k", "a|"},
		{"a b backspace backspace backspace c", "c|"},
		{"a b home delete", "|b"},
		{"o n e enter t w o up", "one|"},
		{"o n e enter t w o up down", "two|"},
		{"o n e enter up up down down down", "|"},
		{"é 日 🦀 left backspace", "é|🦀"},
		{"e \u0301 x left left X", "Xe\u0301|x"},
	} {
		var e editor
		for _, k := range strings.Fields(c.keys) {
			switch {
			case k == "enter":
				e.take()
			case k == "space":
				e.key(k, " ")
			case len([]rune(k)) == 1:
				e.key(k, k)
			default:
				e.key(k, "")
			}
		}
		got := strings.Join(e.text[:e.at], "") + "|" + strings.Join(e.text[e.at:], "")
		if c.keys == "e \u0301 x left left X" {
			c.want = "X|e\u0301x"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestEditorPaste(t *testing.T) {
	var e editor
	e.insert("one\r\ntwo\rthree\x1b[31m\x9b\u009b\x00\tend")
	if got, want := e.String(), "one\ntwo\nthree[31m\tend"; strings.ReplaceAll(got, "\ufffd", "") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if line, _ := e.view(Look{}, 80); strings.ContainsAny(line, "\n\t\x1b") {
		t.Errorf("shown as %q", line)
	}
}

// The cursor is in the line that is shown, whatever is typed.
func TestEditorView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e editor
		keys := []string{"left", "right", "home", "end", "backspace", "delete", "ctrl+left", "ctrl+right", "ctrl+w", "ctrl+k", "ctrl+u", "up", "down", "alt+d"}
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			if rapid.Bool().Draw(t, "text") {
				e.insert(rapid.StringN(0, 12, -1).Draw(t, "insert"))
			} else {
				e.key(rapid.SampledFrom(keys).Draw(t, "key"), "")
			}
			if rapid.IntRange(0, 9).Draw(t, "take") == 0 {
				e.take()
			}
			w := rapid.IntRange(1, 20).Draw(t, "w")
			line, at := e.view(Look{}, w)
			if width(line) > w || at < 0 || at >= w || e.at < 0 || e.at > len(e.text) {
				t.Fatalf("%q in %d cells: %q, cursor at %d of %d", e.String(), w, line, at, e.at)
			}
		}
	})
}
