//go:build linux

package vterm

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Theme is the ground and the ink of a picture, and its sixteen colours.
type Theme struct {
	Ground, Ink string
	Palette     [16]string
}

// Dark and Light are terminals as people have them.
var (
	Dark = Theme{"#1e1e2e", "#cdd6f4", [16]string{
		"#45475a", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#bac2de",
		"#585b70", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#a6adc8",
	}}
	Light = Theme{"#fafafa", "#2b2b33", [16]string{
		"#2b2b33", "#b3261e", "#2e7d32", "#8a6d00", "#1e5fb3", "#8e24aa", "#00796b", "#9e9e9e",
		"#616161", "#b3261e", "#2e7d32", "#8a6d00", "#1e5fb3", "#8e24aa", "#00796b", "#e0e0e0",
	}}
)

// The size of a cell, in pixels.
const (
	cellWidth, cellHeight = 8.43, 18
	border                = 12
)

// SVG is a picture of the screen.
func (t *Terminal) SVG(th Theme) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, h := t.emu.Width(), t.emu.Height()
	var b strings.Builder
	width, height := float64(w)*cellWidth+2*border, h*cellHeight+2*border
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", th.Ground)
	b.WriteString(`<g font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="14" xml:space="preserve">` + "\n")
	for y := range h {
		for x := 0; x < w; {
			first := t.cell(x, y)
			text, n := first.Content, max(1, first.Width)
			// A run of cells that look the same is one text; a wide character
			// is one by itself, so that every cell has its place.
			for first.Width == 1 && x+n < w {
				next := t.cell(x+n, y)
				if next.Width != 1 || !next.Style.Equal(&first.Style) {
					break
				}
				text += next.Content
				n++
			}
			th.run(&b, text, first.Style, x, y, n)
			x += n
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// run draws n cells of one style.
func (th Theme) run(b *strings.Builder, text string, st uv.Style, x, y, n int) {
	ink, ground := th.hex(st.Fg, th.Ink), th.hex(st.Bg, "")
	if st.Attrs&uv.AttrReverse != 0 {
		if ground == "" {
			ground = th.Ground
		}
		ink, ground = ground, ink
	}
	left, top := border+float64(x)*cellWidth, border+y*cellHeight
	if ground != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", left, top, float64(n)*cellWidth, cellHeight, ground)
	}
	more := ""
	if st.Attrs&uv.AttrBold != 0 {
		more += ` font-weight="bold"`
	}
	if st.Attrs&uv.AttrFaint != 0 {
		more += ` opacity="0.6"`
	}
	// Two spaces or more are room, not text: viewers draw them as one, whatever
	// xml:space says.
	for len(text) > 0 {
		inner := strings.TrimLeft(text, " ")
		left += float64(len(text)-len(inner)) * cellWidth
		word, rest, _ := strings.Cut(inner, "  ")
		text = inner[len(word):]
		if rest == "" {
			word = strings.TrimRight(word, " ")
		}
		if word == "" {
			return
		}
		cells := float64(ansi.StringWidth(word)) * cellWidth
		fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs" fill="%s"%s>%s</text>`+"\n",
			left, top+13, cells, ink, more, html.EscapeString(word))
		left += cells
	}
}

func (th Theme) hex(c color.Color, none string) string {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return th.Palette[c&15]
	case ansi.IndexedColor:
		if c < 16 {
			return th.Palette[c]
		}
	}
	r, g, bl, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, bl>>8)
}
