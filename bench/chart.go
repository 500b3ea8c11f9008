//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
)

// bar is one line of a chart.
type bar struct {
	label string
	value float64
	ours  bool
}

// chart writes horizontal bars as an SVG file, in the colours of the other
// pictures of the documents.
func chart(path, title, unit string, bars []bar) error {
	const (
		left, width, line = 190, 470, 26
		text              = `<text x="%d" y="%d" fill="%s"%s>%s</text>` + "\n"
	)
	most := 0.0
	for _, b := range bars {
		most = max(most, b.value)
	}
	var s strings.Builder
	h := 52 + line*len(bars) + 10
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="783" height="%d" viewBox="0 0 783 %d">
<rect width="100%%" height="100%%" rx="8" fill="#1e1e2e"/>
<g font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="14">
`, h, h)
	fmt.Fprintf(&s, text, 20, 30, "#cdd6f4", ` font-weight="bold"`, title)
	for i, b := range bars {
		y, colour := 52+line*i, "#7f849c"
		if b.ours {
			colour = "#a6e3a1"
		}
		w := int(max(2, b.value/most*width))
		fmt.Fprintf(&s, text, left-12, y+14, "#cdd6f4", ` text-anchor="end"`, b.label)
		fmt.Fprintf(&s, `<rect x="%d" y="%d" width="%d" height="18" rx="2" fill="%s"/>`+"\n", left, y, w, colour)
		fmt.Fprintf(&s, text, left+w+8, y+14, "#cdd6f4", "", fmt.Sprintf("%.1f %s", b.value, unit))
	}
	s.WriteString("</g>\n</svg>\n")
	return os.WriteFile(path, []byte(s.String()), 0o644)
}
