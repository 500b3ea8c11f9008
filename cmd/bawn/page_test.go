package main

import (
	"reflect"
	"slices"
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
		slices.Sort(out)
		return out
	}
	var told []string
	for _, row := range page.Table(t, "docs/log.md", "| of the report | |") {
		told = append(told, page.Code(row[0])...)
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
	slices.Sort(told)
	if want := fields(report{}); !slices.Equal(told, want) {
		t.Errorf("the page has %q, a report %q", told, want)
	}
}
