// Package page reads the tables of the documents, for tests that compare them
// with the program.
package page

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Text is a document, by its path from the root of the repository.
func Text(t testing.TB, path string) string {
	t.Helper()
	for up := "."; ; up += "/.." {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err != nil {
			if abs, _ := filepath.Abs(up); abs == "/" {
				t.Fatal("no go.mod above")
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(up, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// Table has the rows below the only table whose head is this line, as cells.
func Table(t testing.TB, path, head string) (rows [][]string) {
	t.Helper()
	_, below, found := strings.Cut(Text(t, path), "\n"+head+"\n")
	if !found || strings.Contains(below, "\n"+head+"\n") {
		t.Fatalf("%s has not one table %q", path, head)
	}
	for line := range strings.Lines(below) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !ok {
			break
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.TrimSuffix(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	if len(rows) < 2 || strings.Trim(rows[0][0], "-") != "" {
		t.Fatalf("%s: %q is followed by no table", path, head)
	}
	return rows[1:]
}

// Names compares what stands between backquotes in the first column of a table
// with the names that the program has, in any order.
func Names(t testing.TB, path, head string, want []string) {
	t.Helper()
	var told []string
	for _, row := range Table(t, path, head) {
		told = append(told, Code(row[0])...)
	}
	want = slices.Sorted(slices.Values(want))
	if slices.Sort(told); !slices.Equal(told, want) {
		t.Errorf("%s, %q: the page has %q, the program %q", path, head, told, want)
	}
}

var code = regexp.MustCompile("`([^`]+)`")

// Code has what stands between backquotes.
func Code(text string) (out []string) {
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}
