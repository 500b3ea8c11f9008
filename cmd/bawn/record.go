package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bawn/internal/audit"
	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/shell/plain"
)

// recorder keeps one run in the log. A nil one keeps nothing.
type recorder struct {
	log   *audit.Log
	run   string
	begun time.Time

	tell   func(line string) // what a person is told at the end
	mu     sync.Mutex
	failed error                    // of the first record that could not be kept
	tree   []member                 // the processes that were seen, for the report
	seen   map[sandbox.Ancestor]int // their places in tree
}

// maxProcesses bounds the processes that are recorded of one run.
const maxProcesses = 1000

// line records processes that were not seen before, the oldest first.
func (r *recorder) line(line []sandbox.Ancestor) {
	for _, a := range slices.Backward(line) {
		r.mu.Lock()
		_, known := r.seen[a]
		known = known || len(r.seen) >= maxProcesses
		if !known {
			if r.seen == nil {
				r.seen = map[sandbox.Ancestor]int{}
			}
			r.seen[a] = len(r.tree)
			r.tree = append(r.tree, member{a.PID, a.Parent, a.Command, 0})
		}
		r.mu.Unlock()
		if !known {
			_ = r.add(audit.Record{Kind: audit.Process, Inside: a.PID, Parent: a.Parent, Command: a.Command})
		}
	}
}

// saw records processes that were seen; it fits session.Options.Seen. A count
// comes at the end, and follows the record of the first one.
func (r *recorder) saw(processes []sandbox.Ancestor) {
	if r == nil {
		return
	}
	for _, a := range processes {
		if a.Count == 0 {
			r.line([]sandbox.Ancestor{a})
			continue
		}
		first := a
		first.Count = 0
		r.mu.Lock()
		if i, ok := r.seen[first]; ok {
			r.tree[i].Count = a.Count
		}
		r.mu.Unlock()
		_ = r.add(audit.Record{Kind: audit.Process, Inside: a.PID, Parent: a.Parent, Command: a.Command, Count: a.Count})
	}
}

// logVariable switches the log off, where there is no place for one.
const logVariable = "BAWN_LOG"

// openLog opens the log. A run that cannot be recorded does not run, unless
// the user's environment says that none is wanted: nil. In a sandbox of bawn the
// log is out of reach, and the run around it is recorded.
func openLog() (*audit.Log, error) {
	switch v := os.Getenv(logVariable); {
	case v == "off", nested():
		return nil, nil
	case v != "" && v != "on":
		return nil, fmt.Errorf("%s is %q: it is on or off", logVariable, v)
	}
	if err := stateHome(); err != nil {
		return nil, unrecorded(err)
	}
	log, err := audit.Open(trustState())
	if err != nil {
		return nil, unrecorded(err)
	}
	return log, nil
}

// newRecorder keeps the one command of this process.
func newRecorder() (*recorder, error) {
	log, err := openLog()
	return recorderIn(log, func(line string) { warn("%s", line) }), err
}

// recorderIn keeps one more run in a log; nil in none.
func recorderIn(log *audit.Log, tell func(line string)) *recorder {
	if log == nil {
		return nil
	}
	return &recorder{log: log, run: newRunID(), tell: tell}
}

// newRunID tells a run apart from others; that somebody guesses it does no
// harm. Package crypto/rand would start the runtime's poller, with files of its
// own.
func newRunID() string {
	id := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", time.Now().UnixNano(), os.Getpid(), runs.Add(1)))
	return hex.EncodeToString(id[:8])
}

var runs atomic.Int64 // of this process

func unrecorded(err error) error {
	return &policy.RefusedError{
		What: "the run", Why: "it cannot be recorded: " + err.Error(),
		Lift: "mend that, let XDG_STATE_HOME name a folder of yours that can be written, or set " + logVariable + "=off to run without a record",
	}
}

// processes are those of the run that were seen.
func (r *recorder) processes() []member {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tree)
}

// id is the run's; "" if nothing is recorded.
func (r *recorder) id() string {
	if r == nil {
		return ""
	}
	return r.run
}

func (r *recorder) add(rec audit.Record) error {
	if r == nil {
		return nil
	}
	rec.Run = r.run
	err := r.log.Append(rec)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.failed == nil {
			r.failed = err
		}
	}
	return err
}

// start records that the command is about to run. After an error it must not.
func (r *recorder) start(c session.Command, p policy.Policy, place string) error {
	if r == nil {
		return nil
	}
	begun := time.Now()
	tier := p.Tier().String()
	if p.Mode() != policy.NoMode {
		tier = p.Mode().String()
	}
	err := r.add(audit.Record{
		Kind: audit.Started, Time: begun, Command: commandLine(c), Dir: p.Workspace(), Tier: tier, Place: place,
		PID: os.Getpid(), Trace: audit.TraceParent(os.Getenv("TRACEPARENT")),
	})
	if err != nil {
		return unrecorded(err)
	}
	r.begun = begun
	return nil
}

// decided records what became of the command itself.
func (r *recorder) decided(command string, d policy.Decision) error {
	err := r.add(audit.Record{Kind: audit.Decided, Verdict: d.Verdict.String(), Action: audit.Run, Target: command, PID: os.Getpid(), Rule: d.Rule})
	if err != nil && d.Verdict == policy.Allow {
		return unrecorded(err)
	}
	return nil
}

// connection records what the egress tells; it fits session.Egress.Record.
func (r *recorder) connection(e egress.Event) error {
	var line []sandbox.Ancestor
	if !e.End {
		line = lineOf(e.PID)
		r.line(line)
	}
	verdict := policy.Deny // a question that nobody was asked is one
	if e.Decision.Verdict == policy.Allow {
		verdict = policy.Allow
	}
	rec := audit.Record{
		Kind: audit.Decided, Verdict: verdict.String(), Action: audit.Connect, Target: e.Connect.Host.String(),
		Via: e.Via.String(), PID: e.PID, Command: e.Command, Rule: e.Decision.Rule, Error: e.Err,
	}
	if len(line) > 0 {
		rec.Inside = line[0].PID
	}
	if e.Connect.Port != 0 {
		rec.Target = net.JoinHostPort(rec.Target, strconv.Itoa(int(e.Connect.Port)))
	}
	if e.Via == egress.ViaName {
		rec.Action = audit.Resolve
	}
	if verdict == policy.Allow { // what is allowed needs neither
		rec.Rule.Text, rec.Rule.Lift = "", ""
	}
	if e.End {
		rec.Kind, rec.Verdict, rec.Rule = audit.Connection, "", policy.Rule{}
		rec.Duration, rec.Up, rec.Down = e.Duration, e.Up, e.Down
		if e.Addr.IsValid() {
			rec.Addr = e.Addr.String()
		}
	}
	return r.add(rec)
}

// named records what the guard tells; it fits session.Options.Named.
func (r *recorder) named(e sandbox.NameEvent) {
	if r == nil {
		return
	}
	r.line(e.Line)
	rec := audit.Record{Kind: audit.Decided, Verdict: policy.Deny.String(), Action: audit.Write, Target: e.Path, Command: e.Command, Inside: e.PID, Rule: e.Rule}
	switch {
	case e.Allowed:
		rec.Kind, rec.Verdict = audit.Written, ""
	case e.Reason != "":
		rec.Rule.Text = e.Reason
	}
	_ = r.add(rec) // it has happened; finish tells of the failure
}

// end records how the command ended, and tells a person of what could not be
// recorded meanwhile. What was not recorded as started did not run.
func (r *recorder) end(res session.Result, err error) {
	if r == nil || r.begun.IsZero() {
		return
	}
	rec := audit.Record{Kind: audit.Ended, Code: res.Code, Error: res.Reason, Denied: res.MoreDenials, Duration: time.Since(r.begun)}
	for _, d := range res.Denials {
		rec.Denied += d.Count
	}
	if err != nil {
		rec.Code, rec.Error = exitRefused, err.Error()
	}
	_ = r.add(rec)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		r.tell(fmt.Sprintf("not all of this run could be recorded (%v); what would have been allowed without a record was denied", r.failed))
	}
}

// taskRecorder keeps one command of a session, or the session itself.
type taskRecorder struct{ *recorder }

func (r taskRecorder) Decided(c session.Command, d policy.Decision) error {
	return r.decided(commandLine(c), d)
}

func (r taskRecorder) Start(c session.Command, p policy.Policy, place string) error {
	return r.start(c, p, place)
}

func (r taskRecorder) Connection(e egress.Event) error {
	if r.recorder == nil {
		return nil
	}
	return r.connection(e)
}

func (r taskRecorder) Named(e sandbox.NameEvent) { r.named(e) }

func (r taskRecorder) Seen(p []sandbox.Ancestor) { r.saw(p) }

func (r taskRecorder) End(code int, reason string, denied int) {
	r.end(session.Result{Code: code, Reason: reason, MoreDenials: denied}, nil)
}

// commandLine is the command as a person typed it, nearly.
func commandLine(c session.Command) string {
	if !c.IsText && len(c.Args) == 0 {
		return "bawn" // a session
	}
	if c.IsText {
		line := c.Text
		if len(c.Args) > 0 {
			line += " # " + plain.Quote(c.Args)
		}
		return line
	}
	return plain.Quote(c.Args)
}

// refused says why the command is not run, and records it.
func (f *runFlags) refused(d policy.Decision) int {
	d.Verdict = policy.Deny
	code := refuse(d)
	_ = f.log.decided(commandLine(f.command), d)
	f.tell(session.Result{}, []denial{{
		Kind: audit.Run, Target: policy.Redact(commandLine(f.command)), PID: os.Getpid(), Count: 1, Rule: ruleOf(d.Rule), Lift: lift(d.Rule.Lift),
	}}, &code)
	return code
}
