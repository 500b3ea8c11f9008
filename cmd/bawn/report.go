package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bawn/internal/audit"
	"bawn/internal/config/disk"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// denial is one thing that was denied, as --report has it (docs/log.md).
type denial struct {
	Kind    string `json:"kind"` // run, read, write, connect or resolve
	Target  string `json:"target"`
	Command string `json:"command,omitempty"` // who was denied first
	PID     int    `json:"pid,omitempty"`     // of the sandbox for a write, else of the host
	Count   int    `json:"count"`
	Rule    rule   `json:"rule"`
	Lift    string `json:"lift,omitempty"` // what would allow it
	// From is text if only the command's error text tells of it (session.Hinted).
	From string `json:"from,omitempty"`
}

type rule struct {
	ID   string `json:"id,omitempty"`
	Text string `json:"text"`
	File string `json:"file,omitempty"` // where it was written; a built-in rule has none
	Line int    `json:"line,omitempty"`
}

func ruleOf(r policy.Rule) rule { return rule{r.ID, r.Text, r.Origin.File, r.Origin.Line} }

func denialsOf(res session.Result) []denial {
	out := make([]denial, 0, len(res.Denials))
	for _, d := range res.Denials {
		target := d.Path
		if target == "" {
			target = d.String()
		}
		from := ""
		if d.FromText {
			from = "text"
		}
		out = append(out, denial{d.Kind(), policy.Redact(target), d.Command, d.PID, d.Count, ruleOf(d.Rule), lift(d.Rule.Lift), from})
	}
	return out
}

// report is what --report writes.
type report struct {
	Version int      `json:"version"`
	Run     string   `json:"run,omitempty"` // in the log
	Command string   `json:"command"`
	Code    *int     `json:"code,omitempty"` // not known if bawn became the command
	Reason  string   `json:"reason,omitempty"`
	Denials []denial `json:"denials"`
	More    int      `json:"more,omitempty"`    // denials that are only counted
	Written []string `json:"written,omitempty"` // names that run code outside later
	Unheld  []string `json:"unheld,omitempty"`  // protected names that appeared or changed
	Staged  string   `json:"staged,omitempty"`  // the id of what is staged
	// Processes are those that were seen, as the log has them.
	Processes []member `json:"processes,omitempty"`
}

// member is one process of a report, as the sandbox counts.
type member struct {
	PID     int    `json:"pid"`
	Parent  int    `json:"parent"`
	Command string `json:"command"`
	Count   int    `json:"count,omitempty"` // of equal ones
}

// reportTo is where the report goes: to a file, or a descriptor.
type reportTo struct {
	path   string
	fd     *os.File
	policy policy.Policy
	// anyLink: sandboxed commands may have made a link in whatever folder.
	anyLink bool
}

func parseReport(v string) (*reportTo, error) {
	digits, isFD := strings.CutPrefix(v, "fd:")
	if !isFD {
		if v == "" {
			return nil, errors.New("the file's name is empty")
		}
		abs, err := filepath.Abs(v)
		return &reportTo{path: abs}, err
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != digits {
		return nil, fmt.Errorf("%q is no descriptor: it is fd:1, fd:2, …", v)
	}
	// A copy: a run lets go of its own streams while the command runs.
	f, err := copyOf(int(n))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written to: %w", v, err)
	}
	return &reportTo{fd: f}, nil
}

// check opens the file before anything runs, so that a slip shows at once.
func (t *reportTo) check(p policy.Policy) error {
	if t == nil {
		return nil
	}
	t.policy = p
	w, err := t.open()
	if err == nil && t.path != "" {
		err = w.Close()
	}
	return err
}

// open opens where the report goes. A file that is named by way of a folder in
// which sandboxed commands write must lie in one: they could have put a link
// there.
func (t *reportTo) open() (*os.File, error) {
	if t.path == "" {
		return t.fd, nil
	}
	fail := func(err error) (*os.File, error) { return nil, fmt.Errorf("--report: %w", err) }
	real, err := sandbox.RealPath(t.path)
	if err != nil {
		return fail(err)
	}
	writes := func(path string) bool { return t.policy.Decide(policy.Write{Path: path}).Verdict != policy.Deny }
	if t.policy.Sandboxed() && real != t.path && (t.anyLink || writes(t.path)) && !writes(real) {
		return nil, &policy.RefusedError{
			What: fmt.Sprintf("--report %q", t.path), Why: fmt.Sprintf("links in a folder that sandboxed commands write lead it to %q", real), Lift: "name that file itself",
		}
	}
	dir, err := disk.Open(filepath.Dir(real))
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	f, err := dir.OpenFile(filepath.Base(real), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fail(err)
	}
	if at, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))); err == nil && at != real {
		f.Close()
		return fail(fmt.Errorf("%q was moved while bawn opened it", t.path))
	}
	return f, nil
}

// tell writes the report, if one is wanted. code is nil if bawn is about to
// become the command.
func (f *runFlags) tell(res session.Result, denials []denial, code *int) {
	if f.report == nil {
		return
	}
	r := report{
		Version: audit.Version, Run: f.log.id(), Command: policy.Redact(commandLine(f.command)), Code: code, Reason: res.Reason,
		Denials: append([]denial{}, denials...), More: res.MoreDenials, Staged: f.staged, Processes: f.log.processes(),
	}
	for _, e := range res.Watched {
		r.Written = append(r.Written, e.Path)
	}
	for _, n := range res.Unheld {
		r.Unheld = append(r.Unheld, n.Path)
	}
	if err := f.report.write(r); err != nil {
		warn("the report could not be written: %v", err)
	}
}

func (t *reportTo) write(r report) error {
	w, err := t.open()
	if err != nil {
		return err
	}
	if t.path != "" {
		defer w.Close()
		if err := w.Truncate(0); err != nil {
			return err
		}
	}
	return writeJSON(w, r)
}
