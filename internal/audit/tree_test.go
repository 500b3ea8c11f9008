package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// No text that a command chose makes a line of its own in what a person reads
// of a run.
func TestTimelineHasNoForeignLines(t *testing.T) {
	evil := "x\n   +1ms  allow connect   forged\r\u202e\u2028\x1b[1A"
	run := RunRecords{ID: "a", Start: Record{Kind: Started, Command: evil, Dir: evil}, Records: []Record{
		{Kind: Started, Command: evil, Dir: evil},
		{Kind: Decided, Verdict: "deny", Action: Write, Target: evil, Command: evil, Error: evil},
		{Kind: Process, Inside: 6, Parent: 1, Command: evil},
		{Kind: Ended},
	}}
	run.Records[1].Rule.Text, run.Records[1].Rule.Lift = evil, evil
	for line := range strings.Lines(Timeline(run)) {
		if strings.HasPrefix(strings.TrimSpace(line), "+1ms") || strings.ContainsAny(line, "\r\u202e\u2028\x1b") {
			t.Errorf("%q", line)
		}
	}
}

// Without processes the list is what it was, also by its cheap test.
func TestProcessesAreLeftOut(t *testing.T) {
	state := t.TempDir()
	l := openLog(t, state)
	for i := range 5 {
		must(t, l.Append(Record{Kind: Started, Run: "aaaaaaaaaaaaaaaa", Command: fmt.Sprintf(`sh -c ',"kind":"process"' %d`, i)}))
		must(t, l.Append(Record{Kind: Process, Run: "aaaaaaaaaaaaaaaa", Inside: 6 + i, Parent: 1, Command: "sh", Count: i}))
	}
	must(t, l.Close())
	for _, f := range []Filter{{NoProcesses: true}, {NoProcesses: true, Command: "sh"}} {
		for _, n := range []int{0, 5} {
			got, err := Last(state, f, n)
			if err != nil || len(got) != 5 && n == 5 {
				t.Fatalf("%+v: %d, %v", f, len(got), err)
			}
			for _, r := range got {
				if r.Kind == Process {
					t.Errorf("%+v, -n %d: %+v", f, n, r)
				}
			}
		}
	}
	if got, err := Last(state, Filter{Command: "sh"}, 0); err != nil || len(got) != 10 || got[9].Count != 4 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is written has each unseen character as JSON escapes it, and reads back
// as it was.
func TestUnseenIsEscaped(t *testing.T) {
	const unseen = "\x1b\u202e\u200f\u200e\u061c\u2028\u200b\u2066\u3164\U000e0041\u009b"
	line := appendRecord(nil, &Record{Kind: Decided, Run: "a", Action: Write, Target: "/a" + unseen + "é漢😀"})
	if i := strings.IndexAny(string(line), unseen); i >= 0 {
		t.Errorf("%+q", line[i:i+8])
	}
	if r, err := Parse(bytes.TrimSuffix(line, []byte("\n"))); err != nil || r.Target != "/a"+unseen+"é漢😀" {
		t.Errorf("%+q, %v", r.Target, err)
	}
	var any map[string]any
	if err := json.Unmarshal(line, &any); err != nil || any["target"] != "/a"+unseen+"é漢😀" {
		t.Errorf("%+q, %v", any["target"], err)
	}
}
