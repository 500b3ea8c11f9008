package main

import (
	"fmt"
	"strings"

	"bawn/internal/audit"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
	"bawn/internal/staged"
)

// stagedStore is by its real place, as the layers of caches are: nothing is
// mounted by way of a link, which a home may lie behind.
func stagedStore() staged.Store {
	state := trustState()
	if real, err := sandbox.RealPath(state); err == nil {
		state = real
	}
	return staged.Store{Dir: staged.In(state)}
}

// stagedRun is one while its command runs; nil if that is not staged.
type stagedRun struct{ run *staged.Run }

// checkStage refuses --stage where what is written cannot be kept apart.
func (f *runFlags) checkStage(s *settings) error {
	if !f.stage {
		return nil
	}
	refuse := func(why, lift string) error { return &policy.RefusedError{What: "--stage", Why: why, Lift: lift} }
	switch {
	case s.tier() == policy.Open:
		return refuse("the open tier has no sandbox in which what is written could be kept apart", "leave out --stage, or run it in guarded or airlock")
	case s.mode == policy.ReadOnlyMode:
		return refuse("a read-only run writes nothing to keep", "leave out --stage or --sandbox read-only")
	case f.profile == policy.ScratchProfile:
		return refuse("the scratch profile writes nothing but a folder of its own", "leave out --stage or --profile scratch")
	case f.allowWeaker:
		return refuse("the weaker mode has no mounts, which it takes", "leave out --stage or --allow-weaker")
	case s.config.Launcher() == string(linux.Bwrap):
		return refuse("bubblewrap makes no overlay that keeps what is written apart", "leave out --stage, or --launcher bwrap")
	case madeState() == "":
		return refuse("there is no folder to keep it in", "set HOME or XDG_STATE_HOME")
	}
	return nil
}

// beginStage makes the layers of a run.
func (f *runFlags) beginStage(p policy.Policy, host sandbox.Host) (*stagedRun, error) {
	if !f.stage {
		return nil, nil
	}
	roots := sandbox.StagedRoots(p, host)
	if len(roots) == 0 {
		return nil, &policy.RefusedError{What: "--stage", Why: "the run may write no folder", Lift: "leave it out"}
	}
	run, err := f.newStaged(p, roots, f.log, staged.Meta{Command: shortCommand(f), Started: f.begun})
	if err != nil {
		return nil, unstageable(err)
	}
	return &stagedRun{run}, nil
}

// newStaged makes the layers of roots, with the id that the log has if there is
// one; m says the rest.
func (f *runFlags) newStaged(p policy.Policy, roots []string, log *recorder, m staged.Meta) (*staged.Run, error) {
	if m.ID = log.id(); m.ID == "" {
		m.ID = newRunID()
	}
	m.Workspace, m.Tier = p.Workspace(), p.Tier().String()
	if p.Mode() != policy.NoMode {
		m.Mode = p.Mode().String()
	}
	for _, s := range f.settings {
		if s.Name == "--add-dir" {
			m.AddDirs = append(m.AddDirs, s.Value)
		}
	}
	return stagedStore().Begin(m, roots)
}

// shortCommand is the command as a list shows it.
func shortCommand(f *runFlags) string {
	line := policy.Redact(commandLine(f.command))
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	return line
}

// layers is where the sandbox keeps what is written.
func (s *stagedRun) layers() sandbox.Staged {
	if s == nil {
		return sandbox.Staged{}
	}
	return sandbox.Staged{Dir: s.run.Dir(), Since: s.run.Since}
}

// abandon removes a run that did not start, and says why better than the kernel
// does.
func (s *stagedRun) abandon(err error) error {
	if s == nil {
		return err
	}
	var roots []string
	for _, r := range s.run.Roots {
		roots = append(roots, r.Path)
	}
	_ = s.run.Discard()
	if why := staged.CheckMounts(roots); why != nil {
		return unstageable(why)
	}
	return err
}

func unstageable(why error) error {
	return &policy.RefusedError{What: "--stage", Why: why.Error(), Lift: "leave it out to write the workspace itself"}
}

func (s *stagedRun) close() {
	if s != nil {
		s.run.Close()
	}
}

// end says what was staged. The kernel may still be clearing the sandbox away:
// the run is held until this process ends.
func (s *stagedRun) end(f *runFlags, code int) {
	if s == nil {
		return
	}
	left, lines, wrong := endStaged(s.run, code, f.log, (*staged.Run).Retire)
	if left {
		f.staged = s.run.ID
	}
	if f.quiet {
		lines = nil
	}
	sayLines(append(wrong, lines...)) // what went wrong is always said
}

// endStaged notes the end of a run. left says that something is staged; then
// the lines are what, how to go on, and what cannot be kept. wrong is what went
// wrong, for the person who is at the terminal now. A run that changed nothing
// leaves nothing: it is gone by empty. The caller closes it.
func endStaged(run *staged.Run, code int, log *recorder, empty func(*staged.Run) error) (left bool, lines, wrong []string) {
	id := run.ID
	say := func(format string, a ...any) { lines = append(lines, fmt.Sprintf(format, a...)) }
	failed := func(format string, a ...any) { wrong = append(wrong, fmt.Sprintf(format, a...)) }
	scan, err := run.Scan()
	if err == nil && len(scan.Changes)+len(scan.Left) == 0 {
		if err := empty(run); err != nil {
			failed("staged run %s changed nothing, but cannot be removed: %v", id, err)
		}
		return false, nil, wrong
	}
	if err := run.End(code); err != nil {
		failed("the end of the staged run could not be noted: %v", err)
	}
	if err != nil {
		failed("what the run wrote is staged as %s, but cannot be read: %v", id, err)
		return false, nil, wrong
	}
	what := summary(scan.Changes)
	_ = log.add(audit.Record{Kind: audit.Staged, Dir: run.Workspace, Target: what})
	say("staged as %s: %s; the workspace is as it was", id[:8], what)
	say("  bawn keep --diff %[1]s    bawn keep %[1]s    bawn discard %[1]s", id[:8])
	return true, append(lines, leftLines(run, scan.Left)...), wrong
}

// summary counts changes by their kinds.
func summary(changes []staged.Change) string {
	count := map[staged.Kind]int{}
	var size int64
	for _, c := range changes {
		count[c.Kind]++
		size += c.Size
		if c.Kind == staged.Deleted {
			size -= c.Size
		}
	}
	var parts []string
	for _, k := range []staged.Kind{staged.New, staged.Changed, staged.Deleted} {
		if n := count[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	if n := count[staged.Mode]; n > 0 {
		parts = append(parts, plural(n, "folder's mode", "folders' modes"))
	}
	if len(parts) == 0 {
		return "nothing that can be kept"
	}
	return strings.Join(parts, ", ") + " (" + audit.Size(max(size, 0)) + ")"
}

func printLeft(run *staged.Run, left []staged.Left) {
	for _, line := range leftLines(run, left) {
		warn("%s", line)
	}
}

func leftLines(run *staged.Run, left []staged.Left) (out []string) {
	for i, l := range left {
		if i == maxDenialLines {
			return append(out, fmt.Sprintf("and %d more that cannot be kept", len(left)-i))
		}
		out = append(out, fmt.Sprintf("cannot be kept: %s (%s)", run.PathOf(l.Root, l.Path), l.Why))
	}
	return out
}
