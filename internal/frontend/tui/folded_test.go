package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Any part of a folded text is what it is among all of its lines, and these are
// the lines of the text, cut where they are too wide.
func TestFolded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := (Look{}).safeLines(anyText().Draw(rt, "text"))
		if rapid.Bool().Draw(rt, "long") {
			text = strings.Repeat(text+"\n", rapid.IntRange(60, 140).Draw(rt, "times"))
		}
		w := rapid.IntRange(2, 20).Draw(rt, "width")
		f := newFolded(text, w, func(line string) string { return line })
		var want []string
		for line := range strings.SplitSeq(text, "\n") {
			from, cells := 0, 0
			for i, r := range line {
				if n := width(string(r)); cells+n > w {
					want, from, cells = append(want, line[from:i]), i, 0
				}
				cells += width(string(r))
			}
			want = append(want, line[from:])
		}
		if got := f.all(); !slices.Equal(got, want) {
			rt.Fatalf("%q, want %q", got, want)
		}
		p := passage{[]string{"a", "b"}, f, []string{"z"}}
		whole := slices.Concat(p.before, want, p.after)
		a := rapid.IntRange(0, len(whole)).Draw(rt, "from")
		b := rapid.IntRange(a, len(whole)).Draw(rt, "to")
		if got := p.lines(a, b); p.len() != len(whole) || !slices.Equal(got, whole[a:b]) {
			rt.Fatalf("lines %d to %d of %d: %q, want %q", a, b, p.len(), got, whole[a:b])
		}
	})
}

// What it costs to draw a question depends on the screen, not on what it is
// about: nothing is made for each of four million lines, and notes that name
// something as long are no longer than a page.
func TestDrawingALongQuestion(t *testing.T) {
	for name, object := range map[string]string{"line feeds": strings.Repeat("\n", 4<<20), "one word": strings.Repeat("x", 4<<20), "marks": strings.Repeat("\u0301", 2<<20)} {
		for _, size := range [][2]int{{80, 24}, {30, 10}} {
			q := exampleQuestion(1)
			q.Prompt.Object = object
			q.Prompt.Notes = []string{"program: " + object}
			q.Prompt.Rule.Text = object + "."
			var lines []string
			made := testing.AllocsPerRun(1, func() {
				f := newFrame(QuestionsPage, withQuestions(t, q), Options{Now: (&clock{noon}).now})
				f.w, f.h = size[0], size[1]
				lines = f.screen()
			})
			if made > 200_000 {
				t.Errorf("%s on %v: %.0f allocations for the first drawing", name, size, made)
			}
			if text := strings.Join(lines, "\n"); !strings.Contains(text, "no") || len(lines) != size[1] {
				t.Errorf("%s on %v:\n%s", name, size, text)
			}
		}
	}
	if n := len(ends(strings.Repeat("x", 4<<20) + "END")); n > 4<<10 || !strings.HasSuffix(ends(fmt.Sprintf("%04000d END", 0)), "END") {
		t.Errorf("the ends of a note are %d bytes", n)
	}
}
