package main

import (
	"fmt"
	"strings"
)

// diffContext is how many unchanged lines stand around a change.
const diffContext = 3

// lineDiff is the change of a small edit as a unified diff with one hunk; "" if
// there is none. Between the first and the last line that differ only lines
// that stand in both, in order, count as kept.
func lineDiff(path, before, after string) string {
	if before == after {
		return ""
	}
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, to := max(0, head-diffContext), min(tail, diffContext)
	var body strings.Builder
	put := func(mark string, line string) {
		body.WriteString(mark + line)
		if !strings.HasSuffix(line, "\n") {
			body.WriteString("\n\\ No newline at end of file\n")
		}
	}
	for _, line := range a[from:head] {
		put(" ", line)
	}
	old, next := a[head:len(a)-tail], b[head:len(b)-tail]
	for len(old) > 0 || len(next) > 0 {
		switch {
		case len(old) > 0 && len(next) > 0 && old[0] == next[0]:
			put(" ", old[0])
			old, next = old[1:], next[1:]
		case len(old) > 0 && !contains(next, old[0]):
			put("-", old[0])
			old = old[1:]
		case len(next) > 0:
			put("+", next[0])
			next = next[1:]
		}
	}
	for _, line := range a[len(a)-tail : len(a)-tail+to] {
		put(" ", line)
	}
	n, m := len(a)-tail+to-from, len(b)-tail+to-from
	return fmt.Sprintf("--- %s\n+++ %s\n@@ -%s +%s @@\n", path, path, span(from, n), span(from, m)) + body.String()
}

// span is a range of lines as diff writes it.
func span(from, n int) string {
	if n > 0 {
		from++
	}
	return fmt.Sprintf("%d,%d", from, n)
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func contains(lines []string, line string) bool {
	for _, l := range lines {
		if l == line {
			return true
		}
	}
	return false
}
