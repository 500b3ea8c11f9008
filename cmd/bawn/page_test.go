package main

import (
	"reflect"
	"strings"
	"testing"

	"bawn/internal/tools/page"
)

// docs/log.md has every field of a report.
func TestReportPage(t *testing.T) {
	fields := func(v any) (out []string) {
		for f := range reflect.TypeOf(v).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			out = append(out, name)
		}
		return out
	}
	for _, row := range page.Table(t, "docs/log.md", "| of the report | |") {
		inner := map[string]any{"`denials`": denial{}, "`processes`": member{}}[row[0]]
		if inner == nil {
			continue
		}
		for _, name := range fields(inner) {
			if !strings.Contains(row[1], "`"+name+"`") && !strings.Contains(row[1], `"`+name+`"`) {
				t.Errorf("%s: nothing of %s", row[0], name)
			}
		}
	}
	page.Names(t, "docs/log.md", "| of the report | |", fields(report{}))
}
