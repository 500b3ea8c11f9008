package audit

import (
	"encoding/json"
	"maps"
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
	page.Names(t, "docs/log.md", "| field | |", slices.Collect(maps.Keys(written)))
	var all []string
	for _, k := range kinds {
		all = append(all, string(k))
	}
	page.Names(t, "docs/log.md", "| kind | |", all)
}
