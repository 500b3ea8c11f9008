package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bawn/internal/audit"
	"bawn/internal/hostname"
	"bawn/internal/policy"
)

// exitBroken: the log was changed, or a part of it is missing.
const exitBroken = 1

// logFlags are those of `bawn log`.
type logFlags struct {
	filter audit.Filter
	last   int // records, or runs; 0 is all
	hasN   bool
	asJSON bool
	head   string
	out    string
}

// defaultLast is how much is listed if nothing says so.
const defaultLast = 100

func (f *logFlags) specs() []flagSpec {
	return []flagSpec{
		{name: "--verdict", arg: "allow|deny", help: "only what was allowed, or denied", set: func(v string) error {
			f.filter.Verdict = v
			if v != "allow" && v != "deny" {
				return fmt.Errorf("%q is neither allow nor deny", v)
			}
			return nil
		}},
		{name: "--host", arg: "HOST", help: "only this host and those below it", set: func(v string) error {
			f.filter.Host = v
			if r, err := hostname.ParseRule(v, policy.Origin{}); err == nil { // in its one form
				f.filter.Host = r.String()
			}
			return nil
		}},
		{name: "--path", arg: "PATH", help: "only this path and those below it", set: func(v string) (err error) {
			f.filter.Path, err = filepath.Abs(v)
			return err
		}},
		{name: "--command", arg: "TEXT", help: "only records whose command has this in it", set: func(v string) error { f.filter.Command = v; return nil }},
		{name: "--since", arg: "TIME", help: "only from then on: 90m, 12h, 7d, 2026-01-31 or\n2026-01-31T15:04:05Z", set: func(v string) (err error) {
			f.filter.Since, err = parseSince(v, time.Now())
			return err
		}},
		{name: "--run", arg: "ID", help: "only this run", set: func(v string) error {
			f.filter.Run = v
			if strings.Trim(v, "0123456789abcdef") != "" || len(v) > 16 || v == "" {
				return fmt.Errorf("%q is no id of a run: bawn log runs lists them", v)
			}
			return nil
		}},
		{name: "-n", arg: "COUNT", help: "the last COUNT; 0 is all (default: 100)", set: func(v string) (err error) {
			f.last, err = strconv.Atoi(v)
			if f.hasN = true; err != nil || f.last < 0 {
				return fmt.Errorf("%q is no number", v)
			}
			return nil
		}},
		jsonFlag(&f.asJSON),
		{name: "-o", arg: "FILE", help: "with export: write there (- is standard output)", set: func(v string) error { f.out = v; return nil }},
		{name: "--head", arg: "SHA256", help: "with verify: a hash that it printed earlier, which\nmust still be in the chain", set: func(v string) error {
			f.head = strings.ToLower(v)
			if b, err := hex.DecodeString(v); err != nil || len(b) != 32 {
				return fmt.Errorf("%q is not a SHA-256 in hexadecimal", v)
			}
			return nil
		}},
	}
}

// parseSince reads a point in time, or how long ago it was.
func parseSince(v string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(v, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(v); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, v, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a time (2026-01-31, 2026-01-31T15:04:05Z) nor how long ago it was (90m, 12h, 7d)", v)
}

// logWords are what bawn log does, and how many words may follow.
var logWords = map[string]int{"list": 0, "runs": 0, "show": 1, "follow": 0, "verify": 0, "export": 1}

// logActions are those words in the order of the help.
var logActions = []string{"list", "runs", "show", "follow", "verify", "export"}

// logCommand reads the log; it never writes to it.
func logCommand(args []string) int {
	var f logFlags
	words, err := parseAround(args, f.specs(), 2)
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"log"})
	case err != nil:
		return usageError("log", err)
	case nested():
		return fail(errors.New("the log is read outside the sandbox: this command runs in one"))
	case trustState() == "": // nor is it a folder "log" of the current one
		return fail(errNoState)
	}
	do := "list"
	if len(words) > 0 {
		do, words = words[0], words[1:]
	}
	most, known := logWords[do]
	switch {
	case !known:
		return usageError("log", unknown("action", do, logActions))
	case len(words) > most:
		return usageError("log", fmt.Errorf("log %s takes no %q", do, words[most]))
	case f.head != "" && do != "verify":
		return usageError("log", errors.New("--head is for bawn log verify"))
	case f.out != "" && do != "export":
		return usageError("log", errors.New("-o is for bawn log export"))
	}
	if !f.hasN && do != "export" {
		f.last = defaultLast
	}
	f.filter.NoProcesses = do == "list" || do == "follow"
	switch do {
	case "runs":
		return f.runs()
	case "show":
		return f.show(words)
	case "follow":
		return f.follow()
	case "verify":
		return f.verify()
	case "export":
		return f.export(words)
	}
	return f.list()
}

func (f *logFlags) list() int {
	lines, err := audit.LastLines(trustState(), f.filter, f.last)
	if err != nil {
		return fail(err)
	}
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for _, line := range lines {
		if r, err := audit.Parse(line); err == nil {
			f.print(out, line, &r)
		}
	}
	if err := out.Flush(); err != nil {
		return fail(err)
	}
	return 0
}

// print writes one record on one line.
func (f *logFlags) print(w io.Writer, line []byte, r *audit.Record) {
	if f.asJSON {
		fmt.Fprintf(w, "%s\n", line)
		return
	}
	fmt.Fprintln(w, printable(fmt.Sprintf("%s  %-8s  %-14s  %s", r.Time.Local().Format(time.DateTime), audit.ShortID(r.Run), r.What(), r.Text())))
}

func (f *logFlags) follow() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	records, err := audit.Last(trustState(), f.filter, f.last)
	if err != nil {
		return fail(err)
	}
	// Those that are there already begin with the last few.
	first := uint64(0)
	if len(records) > 0 {
		first = records[0].Seq
	}
	err = audit.Follow(ctx, trustState(), f.filter, func(line []byte, r *audit.Record) bool {
		if r.Seq >= first {
			f.print(os.Stdout, line, r)
		}
		return true
	})
	if err != nil {
		return fail(err)
	}
	return 0
}

// runRecords are the runs of which some record is wanted, whole.
func (f *logFlags) runRecords() ([]audit.RunRecords, error) {
	wanted := map[string]bool{}
	if err := audit.Scan(trustState(), f.filter, func(_ []byte, r *audit.Record) bool {
		wanted[r.Run] = true
		return true
	}); err != nil {
		return nil, err
	}
	var records []audit.Record
	err := audit.Scan(trustState(), audit.Filter{Run: f.filter.Run}, func(_ []byte, r *audit.Record) bool {
		if wanted[r.Run] {
			records = append(records, *r)
		}
		return true
	})
	runs := audit.Runs(records)
	if f.last > 0 && len(runs) > f.last {
		runs = runs[len(runs)-f.last:]
	}
	return runs, err
}

func (f *logFlags) runs() int {
	runs, err := f.runRecords()
	if err != nil {
		return fail(err)
	}
	type row struct {
		ID       string    `json:"run"`
		Time     time.Time `json:"time"`
		Command  string    `json:"command"`
		Dir      string    `json:"dir,omitempty"`
		Tier     string    `json:"tier,omitempty"`
		Outcome  string    `json:"outcome"`
		Code     *int      `json:"code,omitempty"`
		Duration float64   `json:"seconds"`
		Denied   int       `json:"denied"`
	}
	rows := []row{}
	for _, r := range runs {
		x := row{r.ID, r.Time(), r.Command(), r.Start.Dir, r.Start.Tier, r.Outcome(), nil, r.End.Duration.Seconds(), r.Denied()}
		if r.End.Kind != "" {
			x.Code = &r.End.Code
		}
		rows = append(rows, x)
		if !f.asJSON {
			denied := ""
			if x.Denied > 0 {
				denied = fmt.Sprintf("%d denied", x.Denied)
			}
			printLine(printable(fmt.Sprintf("%s  %s  %-8s  %7s  %-10s  %s",
				x.Time.Local().Format(time.DateTime), x.ID, x.Outcome, audit.ShortTime(r.End.Duration), denied, x.Command)))
		}
	}
	if f.asJSON {
		return printJSON(rows)
	}
	return 0
}

func (f *logFlags) show(words []string) int {
	if len(words) == 1 && words[0] != "last" {
		f.filter.Run = words[0]
	}
	f.last = 0
	if f.asJSON {
		return f.showJSON()
	}
	runs, err := f.runRecords()
	switch {
	case err != nil:
		return fail(err)
	case len(runs) == 0 && f.filter.Run != "":
		return fail(fmt.Errorf("no run %q is in the log: bawn log runs lists them", f.filter.Run))
	case len(runs) == 0:
		return fail(errors.New("no run is in the log"))
	case len(runs) > 1 && f.filter.Run != "":
		return fail(fmt.Errorf("%d runs begin with %q: give more of its digits", len(runs), f.filter.Run))
	}
	run := runs[len(runs)-1]
	printText(printableLines(audit.Timeline(run)))
	return 0
}

// showJSON prints the records of the run as the log has them.
func (f *logFlags) showJSON() int {
	if f.filter.Run == "" {
		runs, err := f.runRecords()
		switch {
		case err != nil:
			return fail(err)
		case len(runs) == 0:
			return fail(errors.New("no run is in the log"))
		}
		f.filter = audit.Filter{Run: runs[len(runs)-1].ID}
	}
	return f.list()
}

// printableLines is printable for text of many lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (f *logFlags) verify() int {
	v, err := audit.Verify(trustState(), f.head)
	if err != nil {
		return fail(err)
	}
	code := 0
	for _, p := range v.Problems {
		warn("%s", p)
	}
	if v.More > 0 {
		warn("and %d more", v.More)
	}
	if len(v.Problems) > 0 {
		code = exitBroken
	}
	if f.head != "" && !v.Known {
		warn("no record has the hash %s: the log is not the one that it was taken from, or it was rotated away", f.head)
		code = exitBroken
	}
	folder := filepath.Join(trustState(), audit.Folder)
	if f.asJSON {
		problems := []string{}
		for _, p := range v.Problems {
			problems = append(problems, p.String())
		}
		printJSON(struct {
			Folder   string   `json:"folder"`
			OK       bool     `json:"ok"`
			Files    int      `json:"files"`
			Records  int      `json:"records"`
			Seq      uint64   `json:"seq"`
			Head     string   `json:"head"`
			Problems []string `json:"problems"`
		}{folder, code == 0, v.Files, v.Records, v.Seq, v.Head, problems})
		return code
	}
	if v.Records == 0 {
		printLine(printable("no records in " + folder))
		return code
	}
	printLine(printable(fmt.Sprintf("%s in %s of %s", plural(v.Records, "record", "records"), plural(v.Files, "file", "files"), folder)))
	printf("from %s to %s\n", v.First.Local().Format(time.DateTime), v.Last.Local().Format(time.DateTime))
	printf("head: record %d, sha256 %s\n", v.Seq, v.Head)
	if code == 0 {
		printLine("every record fits the one before, and the last one the head")
	}
	return code
}
