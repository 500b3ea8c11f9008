package export

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"bawn/internal/audit"
)

// What turns, joins or hides its neighbours is in no export, whichever field it
// came in.
func TestNothingUnseenIsExported(t *testing.T) {
	const unseen = "\x1b\u202e\u200f\u200e\u061c\u2028\u200b\u2066\u3164\U000e0041\u009b"
	text := "a" + unseen + "é漢b"
	r := audit.Record{
		Kind: audit.Decided, Run: "aaaaaaaaaaaaaaaa", Verdict: "deny", Action: audit.Write, Target: text, Command: text, Error: text, Via: text, Addr: text,
	}
	r.Rule.Text, r.Rule.ID, r.Rule.Lift, r.Rule.Origin.File = text, text, text, text
	start := audit.Record{Kind: audit.Started, Run: r.Run, Command: text, Dir: text, Tier: text, Place: text}
	process := audit.Record{Kind: audit.Process, Run: r.Run, Inside: 6, Parent: 1, Command: text}
	records := []audit.Record{start, r, process}
	for name, write := range map[string]func(io.Writer, []audit.Record) error{"csv": CSV, "markdown": Markdown, "html": HTML} {
		var b bytes.Buffer
		if err := write(&b, records); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexAny(b.String(), unseen); i >= 0 {
			t.Errorf("%s: %+q", name, b.String()[i:i+16])
		}
		if !strings.Contains(b.String(), "é漢b") {
			t.Errorf("%s has not what can be seen", name)
		}
	}
}
