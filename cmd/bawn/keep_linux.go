package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/audit"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/shell/plain"
	"bawn/internal/staged"
)

// exitNotKept: some of what was asked for stays staged.
const exitNotKept = 1

// maxPaths bounds the words of a command line.
const maxPaths = 100_000

var errKeepInside = errors.New("staged runs are kept and discarded outside the sandbox: this command runs in one")

// keepCommand lists staged runs, shows one, or brings it into the workspace.
func keepCommand(args []string) int {
	var f keepFlags
	words, err := parseAround(args, f.specs(), maxPaths)
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"keep"})
	case err != nil:
		return usageError("keep", err)
	case f.list && (f.diff || len(words) > 0 || len(f.force) > 0):
		return usageError("keep", errors.New("--list lists all staged runs: it takes no ID, PATH, --diff or --force"))
	case f.diff && len(f.force) > 0:
		return usageError("keep", errors.New("--diff keeps nothing, so there is nothing to force"))
	case nested():
		return fail(errKeepInside)
	case trustState() == "":
		return fail(errNoState)
	}
	if f.list {
		return listStaged(f.asJSON)
	}
	run, words, err := f.open(words)
	if err != nil {
		return fail(err)
	}
	defer run.Close()
	// Who forces a path means that one: with none beside it, all else stays.
	paths, err := pathsIn(run, slices.Concat(words, f.force))
	if err != nil {
		return fail(err)
	}
	if f.diff {
		return f.show(run, paths)
	}
	f.force = paths[len(words):]
	return f.keep(run, paths)
}

func discardCommand(args []string) int {
	var f keepFlags
	words, err := parseAround(args, f.discardSpecs(), 2)
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"discard"})
	case err != nil:
		return usageError("discard", err)
	case nested():
		return fail(errKeepInside)
	case trustState() == "":
		return fail(errNoState)
	}
	run, rest, err := f.open(words)
	if err != nil {
		return fail(err)
	}
	defer run.Close()
	if len(rest) > 0 {
		return usageError("discard", fmt.Errorf("%q is no staged run: bawn keep --list has them", rest[0]))
	}
	rec, err := keepRecorder(run)
	if err == nil {
		err = rec.add(audit.Record{Kind: audit.Discarded, Dir: run.Workspace, Target: "all that was left"})
	}
	if err != nil {
		return fail(unrecorded(err))
	}
	if err := run.Discard(); err != nil {
		return fail(fmt.Errorf("discard %s: %w", run.ID, err))
	}
	if f.asJSON {
		return printJSON(struct {
			ID string `json:"discarded"`
		}{run.ID})
	}
	printf("discarded %s\n", run.ID[:8])
	return 0
}

// keepRecorder records what is done with a staged run, as of that run.
func keepRecorder(run *staged.Run) (*recorder, error) {
	log, err := openLog()
	rec := recorderIn(log, func(line string) { warn("%s", line) })
	if rec != nil {
		rec.run = run.ID
	}
	return rec, err
}

// open takes hold of the staged run that the first word names, or else of the
// newest of the workspace, and returns the other words.
func (f *keepFlags) open(words []string) (*staged.Run, []string, error) {
	store := stagedStore()
	all, err := store.List()
	if err != nil {
		return nil, nil, err
	}
	id := ""
	if len(words) > 0 && likeID(words[0]) {
		for _, e := range all {
			if !strings.HasPrefix(e.ID, words[0]) {
				continue
			}
			if id != "" {
				return nil, nil, fmt.Errorf("%q is the beginning of several staged runs: bawn keep --list has them", words[0])
			}
			id = e.ID
		}
		switch {
		case id != "":
			words = words[1:]
		case len(words[0]) >= 8:
			return nil, nil, fmt.Errorf("no staged run %s: bawn keep --list has them; a path that looks so is written ./%s", words[0], words[0])
		}
	}
	if id == "" {
		here, err := sandbox.Workspace(f.workspace)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range all {
			if policy.Inside(here, e.Workspace) {
				id = e.ID
				break
			}
		}
		if id == "" {
			return nil, nil, fmt.Errorf("nothing is staged for %s: bawn run --stage -- CMD stages, bawn keep --list lists", here)
		}
	}
	run, err := store.Open(id)
	if err != nil {
		return nil, nil, fmt.Errorf("staged run %s: %w", id[:8], err)
	}
	return run, words, nil
}

func likeID(word string) bool {
	return len(word) >= 4 && len(word) <= 16 && strings.Trim(word, "0123456789abcdef") == ""
}

// pathsIn makes words paths in the run's folders.
func pathsIn(run *staged.Run, words []string) ([]string, error) {
	var out []string
	for _, w := range words {
		p, err := inRoot(run, w)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// inRoot is the real path of a name, whose last element need not be there and
// is no link that is followed.
func inRoot(run *staged.Run, name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	dir, err := sandbox.RealPath(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(abs))
	for _, r := range run.Roots {
		if policy.Inside(path, r.Path) || path == r.Path {
			return path, nil
		}
	}
	if real, err := sandbox.RealPath(abs); err == nil { // "." by way of a link
		for _, r := range run.Roots {
			if real == r.Path {
				return real, nil
			}
		}
	}
	return "", fmt.Errorf("%s does not lie in a folder of the staged run %s", name, run.ID[:8])
}

// change is one name, for programs.
type change struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Type     string `json:"type"`
	Size     int64  `json:"size,omitempty"`
	Conflict string `json:"conflict,omitempty"`
	Why      string `json:"why,omitempty"`
	Lift     string `json:"lift,omitempty"`
}

func changeOf(run *staged.Run, c staged.Change) change {
	return change{Path: run.PathOf(c.Root, c.Path), Kind: string(c.Kind), Type: c.Type, Size: c.Size, Conflict: c.Conflict}
}

// judge settles what a sandboxed run may do in the run's folders now.
func judge(run *staged.Run) (*keepJudge, error) {
	f := &runFlags{workspace: run.Workspace}
	for _, d := range run.AddDirs {
		f.set("--add-dir", "sandbox.allowed_paths", d)
	}
	if run.Mode != "" {
		var err error
		if f.mode, err = policy.ParseMode(run.Mode); err != nil {
			return nil, err
		}
	} else {
		f.set("--tier", "sandbox.default_tier", run.Tier)
	}
	s, err := f.load()
	if err != nil {
		return nil, err
	}
	p, host, err := s.settle(true)
	if err != nil {
		return nil, err
	}
	now := sandbox.StagedRoots(p, host)
	for _, r := range run.Roots {
		if !policy.InsideAny(r.Path, now) {
			return nil, &policy.RefusedError{
				What: "staged run " + run.ID[:8], Why: "a sandboxed command may not write " + r.Path + " any more",
				Lift: "allow it again in the settings, or bawn discard " + run.ID[:8],
			}
		}
	}
	return newKeepJudge(p, host), nil
}

type keepResult struct {
	ID      string   `json:"id"`
	Kept    []change `json:"kept"`
	Refused []change `json:"refused"`
	Left    []change `json:"left"`    // never kept
	Watched []string `json:"watched"` // run code outside later
	Staged  int      `json:"staged"`  // changes that are still staged
}

func (f *keepFlags) keep(run *staged.Run, paths []string) int {
	j, err := judge(run)
	if err != nil {
		return fail(err)
	}
	rec, err := keepRecorder(run)
	if err != nil {
		return fail(err)
	}
	what := "all of it"
	if len(paths) > 0 {
		what = strings.Join(paths, " ")
	}
	if err := rec.add(audit.Record{Kind: audit.Kept, Dir: run.Workspace, Target: what}); err != nil {
		return fail(unrecorded(err))
	}
	out, err := run.Keep(staged.KeepOptions{Judge: j, Turn: j.takeTurn, Paths: paths, Force: f.force})
	f.record(rec, run, out, err)
	if f.asJSON {
		f.tell(run, out)
	} else {
		f.print(run, out, paths)
	}
	var limit *staged.LimitError
	if errors.As(err, &limit) {
		return fail(&policy.RefusedError{What: "bawn keep", Why: limit.Error(), Lift: "ulimit -n 4096, or more, where the hard limit allows that (ulimit -Hn)"})
	}
	if err != nil {
		warn("the keep ended early: %v", err)
		fmt.Fprintf(os.Stderr, "  what is not in the workspace yet is still staged: bawn keep %s\n", run.ID[:8])
		return exitRefused
	}
	if len(out.Refused) > 0 {
		return exitNotKept
	}
	return 0
}

// maxRecorded bounds the names of one keep that are recorded one by one.
const maxRecorded = 256

func (f *keepFlags) record(rec *recorder, run *staged.Run, out staged.Outcome, err error) {
	for i, w := range out.Watched {
		if i == maxRecorded {
			break
		}
		_ = rec.add(audit.Record{Kind: audit.Written, Action: audit.Write, Target: w.Path, Command: "bawn", PID: os.Getpid(), Rule: w.Rule})
	}
	for i, r := range out.Refused {
		if i == maxRecorded {
			break
		}
		rule := r.Rule
		if rule.Text == "" {
			rule.Text = r.Why
		}
		_ = rec.add(audit.Record{
			Kind: audit.Decided, Verdict: policy.Deny.String(), Action: audit.Write, Target: run.PathOf(r.Root, r.Path), Command: "bawn", PID: os.Getpid(), Rule: rule,
		})
	}
	end := audit.Record{Kind: audit.Kept, Dir: run.Workspace, Target: fmt.Sprintf("%d kept, %d still staged", len(out.Kept), out.Staged), Denied: len(out.Refused)}
	if err != nil {
		end.Error = err.Error()
	}
	if rec.add(end) != nil {
		warn("not all of this could be recorded")
	}
}

func (f *keepFlags) tell(run *staged.Run, out staged.Outcome) {
	k := keepResult{ID: run.ID, Kept: []change{}, Refused: []change{}, Left: []change{}, Watched: []string{}, Staged: out.Staged}
	for _, c := range out.Kept {
		k.Kept = append(k.Kept, changeOf(run, c))
	}
	for _, r := range out.Refused {
		c := changeOf(run, r.Change)
		c.Why, c.Lift, c.Conflict = r.Why, lift(r.Lift), ""
		if r.Conflict {
			c.Conflict = r.Why
		}
		k.Refused = append(k.Refused, c)
	}
	for _, l := range out.Left {
		k.Left = append(k.Left, change{Path: run.PathOf(l.Root, l.Path), Why: l.Why})
	}
	for _, w := range out.Watched {
		k.Watched = append(k.Watched, w.Path)
	}
	printJSON(k)
}

func (f *keepFlags) print(run *staged.Run, out staged.Outcome, paths []string) {
	id := run.ID[:8]
	switch {
	case len(out.Kept) > 0:
		printf("kept %s: %s\n", id, summary(out.Kept))
	case len(out.Refused) == 0 && len(paths) > 0 && !out.Done:
		printf("kept nothing: nothing is staged at %s\n", printable(strings.Join(paths, " ")))
	default:
		printf("kept nothing of %s\n", id)
	}
	for i, r := range out.Refused {
		if i == maxDenialLines {
			warn("and %d more are not kept", len(out.Refused)-i)
			break
		}
		more := ""
		if r.Below > 0 {
			more = fmt.Sprintf(", nor %d below it", r.Below)
		}
		warn("not kept: %s%s: %s", run.PathOf(r.Root, r.Path), more, r.Why)
		switch {
		case r.Conflict:
			fmt.Fprintf(os.Stderr, "  %s takes the staged one\n", plain.Quote([]string{"bawn", "keep", id, "--force", run.PathOf(r.Root, r.Path)}))
		case r.Lift != "":
			fmt.Fprintf(os.Stderr, "  %s\n", printable(lift(r.Lift)))
		}
	}
	printLeft(run, out.Left)
	for i, c := range out.Rights {
		if i == maxDenialLines {
			break
		}
		warn("kept without its setuid, setgid or sticky bit: %s", run.PathOf(c.Root, c.Path))
	}
	if n := len(out.Watched); n > 0 {
		var names []string
		for _, w := range out.Watched[:min(n, maxDenialLines)] {
			names = append(names, w.Path)
		}
		warn("kept %s code outside later: %s", plural(n, "name that runs", "names that run"), strings.Join(names, ", "))
	}
	if !out.Done && out.Staged > 0 {
		printf("%s still staged as %s\n", plural(out.Staged, "change is", "changes are"), id)
	}
}
