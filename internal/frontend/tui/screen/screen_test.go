//go:build linux

package screen

import (
	"strings"
	"testing"
)

func TestFooterStaysUnderAFlood(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	r := h.run(s, 1, "sh", "-c", "stty size; seq 100000; echo end")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	h.wait("the end of the flood above the footer", func(lines []string) bool {
		return isLast(lines) && lines[9] == "end" && lines[8] == "100000" && lines[0] == "99992"
	})
	if got := h.got(); !strings.Contains(got, "11 60\r\n") {
		t.Errorf("the command's terminal has another size: %.200q", got)
	}
}
