package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"bawn/internal/approval"
	"bawn/internal/config"
	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/session/learn"
)

// learning is what `bawn learn` adds to a run.
type learning struct {
	asJSON, print bool
	out           *os.File // for --json and --print: what standard output was
	mu            sync.Mutex
	answered      []policy.Connect
}

func (l *learning) specs() []flagSpec {
	return []flagSpec{
		{name: "--print", help: "only print the change, as a diff", on: func() { l.print = true }},
		{name: "--json", help: "only print the proposals, as JSON", on: func() { l.asJSON = true }},
	}
}

// learnSpecs are the flags of `bawn learn`: those of a run that leave its tier
// as it is.
func (f *runFlags) learnSpecs(l *learning) []flagSpec {
	specs := flagsBut(f.specs(), "--tier", "--sandbox", "--profile", "--session", "--allow-weaker", "--no-egress", "--guard", "--no-terminal")
	return append(specs, l.specs()...)
}

// learnCommand runs a command in guarded and proposes what it was refused as
// additions to the user's settings.
func learnCommand(args []string) int {
	f, l := new(runFlags), new(learning)
	f.set("bawn learn", "sandbox.default_tier", policy.Guarded.String())
	f.set("bawn learn", "sandbox.guard", "on") // who else would see what is not written
	rest, err := parseFlags(args, f.learnSpecs(l))
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"learn"})
	case err != nil:
		return usageError("learn", err)
	case l.asJSON && l.print:
		return usageError("learn", errors.New("--json and --print exclude one another"))
	case nested():
		return fail(errors.New("settings are changed outside the sandbox: this command runs in one"))
	}
	if l.asJSON || l.print {
		// The command's own output must not stand between.
		rest, err := copyOf(2)
		if err != nil {
			return fail(fmt.Errorf("standard error: %w", err))
		}
		l.out, os.Stdout = os.Stdout, rest
	}
	f.session, f.learn = "none", l
	return runGiven("learn", f, rest)
}

// watch notes the answers that the run's questions got.
func (l *learning) watch(record func(egress.Event) error) func(egress.Event) error {
	return func(e egress.Event) error {
		once := e.Decision.Rule.ID == "answer:once" || e.Decision.Rule.ID == "answer:session"
		if !e.End && e.Decision.Verdict == policy.Allow && once && e.Connect.Port != 0 {
			l.mu.Lock()
			if !slices.Contains(l.answered, e.Connect) && len(l.answered) < 256 {
				l.answered = append(l.answered, e.Connect)
			}
			l.mu.Unlock()
		}
		if record == nil {
			return nil
		}
		return record(e)
	}
}

// learned proposes what would let the command pass, and adds what a person
// accepts.
func (f *runFlags) learned(args []string, res session.Result) error {
	change, err := config.ReadUser(config.UserDir(os.Environ(), ""))
	if err != nil {
		return err
	}
	facts := learn.Facts{
		Answered: f.learn.answered, Real: sandbox.RealPath, Path: pathFolders(),
		IsDir: func(path string) bool {
			st, err := os.Stat(path)
			return err == nil && st.IsDir()
		},
		Try: func(entries []config.Entry) (policy.Policy, string) { return f.try(change, args, entries) },
	}
	if res.Code != 0 {
		facts.Denials = res.Denials
	}
	r := lesson{f: f, args: args, change: change, code: res.Code, more: res.MoreDenials}
	r.proposals, r.left = learn.Propose(facts)
	if r.after, err = r.with(r.proposals); err != nil {
		return err
	}
	switch {
	case f.learn.asJSON:
		return r.json()
	case f.learn.print:
		_, err := fmt.Fprint(f.learn.out, r.diff(r.after))
		r.tellLeft()
		if len(r.proposals) > 0 {
			r.mark()
		}
		return err
	}
	return r.propose()
}

// pathFolders are the folders in which the user's programs are found, links
// resolved.
func pathFolders() (out []string) {
	add := func(path string) {
		if real, err := sandbox.RealPath(path); err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			add(dir)
		}
	}
	return out
}

// try is the policy of the command with further entries in the user's file,
// which is not written.
func (f *runFlags) try(change config.UserChange, args []string, entries []config.Entry) (policy.Policy, string) {
	fail := func(err error) (policy.Policy, string) { return policy.Policy{}, err.Error() }
	after, err := config.AddEntries(change.Before, entries, change.Path)
	if err != nil {
		return fail(err)
	}
	o, err := f.options()
	if err != nil {
		return fail(err)
	}
	o.UserFile = append([]byte{}, after...)
	c, err := config.Load(o)
	if err != nil {
		return fail(err)
	}
	next := &settings{config: c, mode: f.mode, workspace: o.Workspace, profile: f.profile}
	if err := f.narrow(next, args); err != nil {
		return fail(err)
	}
	p, host, err := next.settle(true)
	if err != nil {
		return fail(err)
	}
	for _, w := range host.Warnings {
		if _, why, ok := strings.Cut(w, "is left out: "); ok && strings.Contains(w, change.Path) {
			return p, why
		}
	}
	return p, ""
}

// propose shows the change and asks how much of it a person wants.
func (r *lesson) propose() error {
	r.tellLeft()
	if len(r.proposals) == 0 {
		switch {
		case r.code == 0:
			warn("learn: it passed, and needs nothing more")
		case len(r.left) == 0:
			warn("learn: it ended with %d, and bawn saw nothing that was denied", r.code)
		default:
			warn("learn: there is nothing to propose")
		}
		return nil
	}
	a, canAsk := r.f.asker()
	if !canAsk {
		warn("learn: this change of %s would allow what was denied (--print prints it alone):", r.change.Path)
		r.show(r.after)
		r.again()
		return nil
	}
	chosen := r.choose(a)
	if len(chosen) == 0 {
		warn("learn: nothing was added")
		return nil
	}
	after, err := r.with(chosen)
	if err != nil {
		return err
	}
	if _, why := r.f.try(r.change, r.args, entriesOf(chosen)); why != "" {
		return fmt.Errorf("nothing was added: %s", why)
	}
	if err := r.change.Write(after); err != nil {
		return err
	}
	warn("learn: added %s to %s", plural(len(chosen), "entry", "entries"), r.change.Path)
	r.again()
	return nil
}

// choose asks about the change, and if a person wants some of it, about each
// part. What wants care is only added by a yes of its own.
func (r *lesson) choose(a approval.Asker) (chosen []learn.Proposal) {
	plain := slices.DeleteFunc(slices.Clone(r.proposals), func(p learn.Proposal) bool { return p.Careful != "" })
	q := approval.Prompt{
		Title: "Add this to your settings, for every later run?", Object: r.change.Path, Notes: strings.Split(strings.TrimSuffix(r.diff(r.after), "\n"), "\n"),
		Offers: []approval.Offer{{Scope: approval.Once, Text: "add all of it"}, {Scope: approval.Session, Text: "some of it: ask about each"}},
	}
	q.Notes = append(q.Notes, r.widened()...)
	switch n := len(r.proposals) - len(plain); {
	case len(plain) == 0:
		q.Offers = q.Offers[1:]
	case n > 0:
		q.Offers[0].Text = fmt.Sprintf("add it without the %s", plural(n, "entry that wants a yes of its own", "entries that want a yes of their own"))
	case len(plain) == 1:
		q.Offers = q.Offers[:1]
	}
	switch ask(a, q).Scope {
	case approval.Once:
		return plain
	case approval.Session:
	default:
		return nil
	}
	for _, p := range r.proposals {
		one := approval.Prompt{
			Title: "Add this entry?", Object: fmt.Sprintf("%s: %q", strings.TrimPrefix(p.Key, "sandbox."), p.Value),
			Notes: []string{"needed for " + listed(p.For)}, Offers: []approval.Offer{{Scope: approval.Once, Text: "add it"}},
		}
		if p.Careful != "" {
			one.Notes = append(one.Notes, "careful: "+p.Careful)
		}
		if ask(a, one).Scope == approval.Once {
			chosen = append(chosen, p)
		}
	}
	return chosen
}
