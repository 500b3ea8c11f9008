package bawn_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/cases.md names tests that are there, has each case once, and leaves out
// none that a test is named after.
func TestCases(t *testing.T) {
	data, err := os.ReadFile("docs/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	have := testNames(t)
	rows := map[string]bool{}
	id, quoted := regexp.MustCompile(`^[AB]\d{2,3}$`), regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		name := strings.TrimSpace(cells[0])
		if !strings.HasPrefix(line, "| ") || !id.MatchString(name) {
			continue
		}
		if rows[name] {
			t.Errorf("%s is there twice", name)
		}
		rows[name] = true
		tests := quoted.FindAllStringSubmatch(line, -1)
		if len(cells) != 4 || len(tests) == 0 && strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s has neither a test nor a reason: %q", name, cells)
		}
		for _, q := range tests {
			if !have[q[1]] {
				t.Errorf("%s: there is no test %s", name, q[1])
			}
		}
	}
	if len(rows) < 145 {
		t.Errorf("only %d cases were read", len(rows))
	}
	for name := range have {
		for _, part := range strings.Split(strings.TrimPrefix(name, "Test"), "_") {
			if id.MatchString(part) && !rows[part] {
				t.Errorf("%s: the case %s is not in docs/cases.md", name, part)
			}
		}
	}
}
