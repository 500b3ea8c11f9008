// Package export writes records of the log in other forms.
package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bawn/internal/audit"
	"bawn/internal/policy"
)

// columns of CSV: one for each field.
var columns = []string{
	"seq", "time", "kind", "run", "verdict", "action", "target", "command", "dir", "tier", "place", "via", "addr", "up", "down",
	"pid", "inside", "parent", "count", "rule", "rule_text", "rule_file", "rule_line", "lift", "code", "denied", "us", "error", "trace",
}

// formulas are characters with which a spreadsheet begins a formula, the wide
// ones in some languages.
const formulas = "=+-@\t\r\n＝＋－＠"

// CSV writes a table with one line for each record. A cell that a spreadsheet
// would take for a formula begins with a quote, and nothing in one acts on a
// terminal.
func CSV(w io.Writer, records []audit.Record) error {
	c := csv.NewWriter(w)
	if err := c.Write(columns); err != nil {
		return err
	}
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	for _, r := range records {
		code := number(int64(r.Code))
		if r.Kind == audit.Ended {
			code = strconv.Itoa(r.Code)
		}
		row := []string{
			strconv.FormatUint(r.Seq, 10), stamp(r.Time), string(r.Kind), r.Run, r.Verdict, r.Action, r.Target, r.Command, r.Dir, r.Tier, r.Place,
			r.Via, r.Addr, number(r.Up), number(r.Down), number(int64(r.PID)), number(int64(r.Inside)), number(int64(r.Parent)), number(int64(r.Count)),
			r.Rule.ID, r.Rule.Text, r.Rule.Origin.File, number(int64(r.Rule.Origin.Line)), r.Rule.Lift, code, number(int64(r.Denied)),
			number(r.Duration.Microseconds()), r.Error, r.Trace,
		}
		for i := range row {
			row[i] = printable(row[i])
			if strings.IndexAny(strings.TrimLeft(row[i], " "), formulas) == 0 {
				row[i] = "'" + row[i]
			}
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Markdown writes the runs as a table, and what was denied as another.
func Markdown(w io.Writer, records []audit.Record) error {
	runs := audit.Runs(records)
	var b strings.Builder
	fmt.Fprintf(&b, "# bawn log\n\n%d runs, %d records.\n\n| time | command | outcome | duration | denied |\n|---|---|---|---|---|\n", len(runs), len(records))
	for _, r := range runs {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", stamp(r.Time()), cell(r.Command()), cell(r.Outcome()), audit.ShortTime(r.End.Duration), r.Denied())
	}
	b.WriteString("\n## Denied\n\n| time | action | target | command | rule | what would allow it |\n|---|---|---|---|---|---|\n")
	for _, r := range records {
		if r.Verdict == "deny" {
			rule := r.Rule.Text
			if r.Rule.Origin.File != "" {
				rule += " (" + r.Rule.Origin.String() + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", stamp(r.Time), cell(r.Action), cell(r.Target), cell(r.Command), cell(rule), cell(r.Rule.Lift))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell is text that is only text in a cell of a table.
func cell(s string) string {
	return plainMarkdown.Replace(strings.Join(strings.Fields(printable(s)), " "))
}

var plainMarkdown = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;",
	"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "~", "\\~", "!", "\\!", "#", "\\#")

// printable replaces what a terminal or browser would act on, and what no eye
// sees.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || policy.Visible(r) {
			return r
		}
		return '·'
	}, s)
}
