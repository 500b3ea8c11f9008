package audit

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"bawn/internal/policy"
	"bawn/internal/tools/page"
)

// docs/log.md has every field and every kind, and no other.
func TestLogPage(t *testing.T) {
	full := Record{
		Seq: 1, Time: time.Unix(1, 0), Kind: Ended, Run: "a", Command: "a", Dir: "a", Tier: "a", Place: "a", Trace: "a", Code: 1, Denied: 1, Error: "a", Duration: 1e6,
		File: 1, FirstFile: 1, Verdict: "a", Action: "a", Target: "a", Via: "a", Addr: "a", Up: 1, Down: 1, PID: 1, Inside: 1, Parent: 1, Count: 1, Prev: "a",
		Rule: policy.Rule{ID: "a", Text: "a", Lift: "a", Origin: policy.Origin{File: "a", Line: 1}},
	}
	var written map[string]any
	if err := json.Unmarshal(appendRecord(nil, &full), &written); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for name := range written {
		want = append(want, name)
	}
	for _, row := range page.Table(t, "docs/log.md", "| field | |") {
		got = append(got, page.Code(row[0])...)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("fields: the page has %q, records %q", got, want)
	}
	got = nil
	for _, row := range page.Table(t, "docs/log.md", "| kind | |") {
		got = append(got, page.Code(row[0])...)
	}
	want = nil
	for _, k := range kinds {
		want = append(want, string(k))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("kinds: the page has %q, records %q", got, want)
	}
}
