package tui

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// The plain form of every page is lines of text, without colours, moves or
// boxes: a screen reader reads them from the top. What a page lets a person do
// with a key is a slash command there. Questions are put by Options.Ask.

// plainWidth is where explanations wrap at the latest. What is to be copied
// never does.
const plainWidth = 100

// plainColumns is where explanations wrap on out: a terminal would break words.
func plainColumns(out io.Writer) int {
	if f, ok := out.(term.File); ok {
		if w, _, err := term.GetSize(f.Fd()); err == nil && w > 0 {
			return min(w, plainWidth)
		}
	}
	return plainWidth
}

func showPlain(ctx context.Context, p Page, s Session, out io.Writer, o Options) (note string, err error) {
	o.Look = Look{ASCII: o.Look.ASCII}
	var lines []string
	st := s.State()
	w := plainColumns(out)
	explain := func(text string) { lines = append(lines, wrap(text, w)...) }
	switch p {
	case QuestionsPage:
		return askPlain(ctx, s, o)
	case OpenPage, ClonePage:
		return dialogPlain(ctx, p, s, o)
	case SandboxPage:
		for _, r := range tierRows {
			now := ""
			if r.tier == st.Tier {
				now = " (now)"
			}
			explain(r.tier.String() + now + ": " + strings.Join(r.does, "; "))
		}
		if st.Mode != policy.NoMode {
			explain(fixedNote(st.Mode))
		}
		explain("Switch with /tier TIER.")
	case NetworkPage:
		lines = plainConnections(s, o)
		explain("Add a rule with /allow HOST or /deny HOST.")
	case DeniedPage:
		lines = plainDenials(s, o)
	case PolicyPage:
		lines = policyRules(s.Policy(), o)
		explain("Try the rules with /check read PATH, /check write PATH or /check connect HOST.")
	case TasksPage:
		lines = plainTasks(s, o)
		explain("Read what one wrote with /output TASK, end it with /stop TASK.")
	case ConfigPage:
		lines = append([]string{"Sandbox tier: " + tierWord(st), "Sandbox policy: " + writableWord(st)}, policyDetails(s, o, w)...)
	case HelpPage:
		lines = helpText(o, w)
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(out, strings.TrimRight(ansi.Strip(l), " ")); err != nil {
			return "", fmt.Errorf("write to the terminal: %w", err)
		}
	}
	return "", nil
}

func plainConnections(s Session, o Options) []string {
	l := o.Look
	all := s.Connections()
	out := []string{plural(len(all), "connection") + "; the latest are the last"}
	for _, c := range all[max(0, len(all)-100):] {
		word, _ := verdictWord(c.Decision.Verdict)
		line := c.Time.Format("15:04:05") + " " + word + " " + at(c.Host, c.Port)
		if c.Ended && c.Decision.Verdict == policy.Allow {
			line += fmt.Sprintf(", %s, %s up, %s down", shortTime(c.Duration), size(c.Up), size(c.Down))
		}
		if c.Err != "" {
			line += ", " + c.Err
		}
		out = append(out, l.safe(fmt.Sprintf("%s, task %d, %s", line, c.Task, c.Command)))
	}
	return out
}

func plainDenials(s Session, o Options) []string {
	l := o.Look
	all := s.Denials()
	if len(all) == 0 {
		return []string{"Nothing was denied."}
	}
	var out []string
	for _, d := range all {
		line := fmt.Sprintf("%s, %s: %s [%s, %s]", d, plural(d.Count, "time"), d.Rule.Text, d.Rule.ID, d.Rule.Origin)
		if d.Rule.Lift != "" {
			line += "; lift: " + d.Rule.Lift
		}
		out = append(out, l.safe(line))
	}
	return out
}

func plainTasks(s Session, o Options) []string {
	var out []string
	for _, t := range s.State().Tasks {
		state := "running"
		switch {
		case t.Reason != "":
			state = "not run: " + t.Reason
		case !t.Ended.IsZero():
			state = fmt.Sprintf("exit %d after %s", t.Code, shortTime(t.Ended.Sub(t.Started)))
		}
		out = append(out, o.Look.safe(fmt.Sprintf("task %d, %s, %s: %s", t.ID, kindWord(t.Kind), state, t.Command)))
	}
	return out
}

// askPlain puts the open questions one after the other.
func askPlain(ctx context.Context, s Session, o Options) (note string, err error) {
	for ctx.Err() == nil {
		open := s.State().Questions
		if len(open) == 0 {
			return note, nil
		}
		q := open[0]
		note = ""
		left, cancel := context.WithDeadline(ctx, q.Deadline)
		gone := whileOpen(left, cancel, s, q.ID)
		a := o.Ask.Ask(left, plainPrompt(q, len(open), o))
		cancel()
		if <-gone && !a.Given {
			note = "the question is withdrawn: nobody waits for the answer"
			continue
		}
		if !a.Given && ctx.Err() == nil && o.Now().Before(q.Deadline) {
			return "the question waits: " + a.Reason, nil // the terminal cannot be asked on
		}
		if !s.Answer(q.ID, a.Scope) {
			note = "the question was gone before it was answered"
		}
	}
	return note, ctx.Err()
}

// whileOpen cancels when the question is gone, or its context ends. It then says
// which.
func whileOpen(ctx context.Context, cancel func(), s Session, id int) (gone <-chan bool) {
	is := func() bool {
		return slices.ContainsFunc(s.State().Questions, func(q session.Question) bool { return q.ID == id })
	}
	changes, stop := s.Changes()
	out := make(chan bool, 1)
	go func() {
		defer stop()
		for is() {
			select {
			case _, ok := <-changes:
				if !ok { // the session has ended
					changes = nil
				}
			case <-ctx.Done():
				out <- false
				return
			}
		}
		cancel()
		out <- true
	}()
	return out
}

// plainPrompt is the prompt with what the box says besides.
func plainPrompt(q session.Question, open int, o Options) approval.Prompt {
	q = unrepeated(q)
	p := q.Prompt
	p.Notes = append([]string(nil), p.Notes...)
	if q.Command != "" {
		p.Notes = append(p.Notes, fmt.Sprintf("asked by task %d, %s", q.Task, who(q.PID, q.Command)))
	}
	if q.Dir != "" {
		p.Notes = append(p.Notes, "in the folder "+q.Dir)
	}
	if q.Waiting > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("%d wait for the answer", q.Waiting))
	}
	if open > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("it is the first of %d questions", open))
	}
	p.Notes = append(p.Notes, "without an answer it is no in "+shortTime(q.Deadline.Sub(o.Now()).Round(time.Second)))
	return p
}

// dialogPlain asks bawn's own questions on a line.
func dialogPlain(ctx context.Context, p Page, s Session, o Options) (string, error) {
	f := newFrame(p, s, o)
	d := f.dialog
	if d == nil {
		return f.note, nil
	}
	yes := d.choices.all[1]
	a := o.Ask.Ask(ctx, approval.Prompt{Title: d.heading, Object: yes.text, Notes: d.body, Offers: []approval.Offer{{Scope: approval.Once, Text: yes.text}}})
	picked := d.choices.all[0]
	if a.Given && a.Scope == approval.Once {
		picked = yes
	}
	if a.Given && picked.do != nil {
		picked.do()
	}
	return f.note, ctx.Err()
}
