package audit

import (
	"slices"
	"time"
)

// RunRecords are the records of one run, in order.
type RunRecords struct {
	ID      string
	Start   Record // zero if the command was not started
	End     Record // zero if its end is not known
	Records []Record
}

// Runs groups records by run, in the order of their beginnings. Records of no
// run are left out.
func Runs(records []Record) []RunRecords {
	index := map[string]int{}
	var out []RunRecords
	for _, r := range records {
		if r.Run == "" {
			continue
		}
		i, ok := index[r.Run]
		if !ok {
			i = len(out)
			index[r.Run] = i
			out = append(out, RunRecords{ID: r.Run})
		}
		run := &out[i]
		switch r.Kind {
		case Started:
			run.Start = r
		case Ended:
			run.End = r
		}
		run.Records = append(run.Records, r)
	}
	return out
}

// Command is the command line.
func (r RunRecords) Command() string {
	if r.Start.Kind != "" {
		return r.Start.Command
	}
	i := slices.IndexFunc(r.Records, func(x Record) bool { return x.Action == Run })
	if i < 0 {
		return ""
	}
	return r.Records[i].Target
}

// Time is when it began.
func (r RunRecords) Time() time.Time { return r.Records[0].Time }

// Last is when it ended, or what is known of that.
func (r RunRecords) Last() time.Time { return r.Records[len(r.Records)-1].Time }

// Denied counts denials.
func (r RunRecords) Denied() int {
	n := 0
	for _, x := range r.Records {
		if x.Verdict == "deny" {
			n++
		}
	}
	return n
}

// Outcome says how it ended, in a few words.
func (r RunRecords) Outcome() string {
	switch {
	case r.End.Kind != "":
		return exitText(r.End.Code)
	case r.Start.Kind == "":
		return "not run"
	case r.Start.Place != "sandbox":
		return r.Start.Place // bawn became the command
	}
	return "no end" // it runs, or bawn was killed
}

// ShortID is enough of an id for people.
func ShortID(id string) string { return id[:min(len(id), 8)] }
