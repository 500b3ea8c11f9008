package export

import (
	"bytes"
	"strings"
	"testing"

	"bawn/internal/audit"
)

// A page shows so many records of a run, whichever kinds are among them.
func TestHTMLIsBounded(t *testing.T) {
	for _, process := range []bool{false, true} {
		all := []audit.Record{{Kind: audit.Started, Run: "aaaaaaaaaaaaaaaa", Command: "x"}}
		for i := range 1000 {
			r := audit.Record{Kind: audit.Written, Run: "aaaaaaaaaaaaaaaa", Target: "TARGET"}
			if process && i%2 == maxPageRecords%2 {
				r = audit.Record{Kind: audit.Process, Run: "aaaaaaaaaaaaaaaa", Command: "x", Inside: i + 2, Parent: 1}
			}
			all = append(all, r)
			all[i+1].Seq = uint64(i)
		}
		for shift := range 2 {
			var b bytes.Buffer
			if err := HTML(&b, all[:len(all)-shift]); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(b.String(), "<td>TARGET"); n < maxPageRecords-1 || n > maxPageRecords || !strings.Contains(b.String(), " more records") {
				t.Errorf("%d records, processes %t", n, process)
			}
			all = append(all[:1], all[2:]...)
		}
	}
}
