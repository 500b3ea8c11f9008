//go:build linux

package guard

import (
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

func itoa(n int) string { return strconv.Itoa(n) }

// outcome is a verdict, with the error number that it ends the call with or 0.
type outcome struct {
	Verdict
	err unix.Errno
}

// ruleUnreachable is the guard's own: what has no path here has no rule.
var ruleUnreachable = policy.Rule{ID: "guard:unreachable", Text: "the folder is not part of the sandbox"}

// ruleUnseen: as ruleUnreachable, for a file.
var ruleUnseen = policy.Rule{ID: "guard:unseen", Text: "the folder of the file cannot be searched"}

// check asks the rules and reports what they want reported.
func (w *worker) check(c *Call) outcome {
	if t := &c.Target; t.Dir >= 0 {
		if t.at == (place{}) {
			t.at, _ = placeOf(t.Dir)
		}
		if !strings.HasPrefix(t.DirPath, "/") || !w.has(t.at) {
			v := Verdict{Rule: ruleUnreachable}
			if err := w.vacant(c); err != 0 {
				return outcome{v, err}
			}
			return outcome{v, w.deny(c, v, "")}
		}
	}
	v := w.rules.Check(c)
	if v.Decision != Allow || v.Rule.ID != "" {
		if err := w.vacant(c); err != 0 {
			return outcome{v, err}
		}
	}
	regular := c.Other != nil && c.Other.Exists && c.Other.Stat.Mode&unix.S_IFMT == unix.S_IFREG
	switch {
	case v.Decision == Allow:
		w.watched(c, v)
	case v.Decision == Refuse && v.Errno != 0:
		return outcome{v, v.Errno}
	case v.Decision == Vet && v.Vet != nil && regular && (c.Op == RenameTo || c.Op == Link):
	case v.Decision == Fixed && (c.Op == Create || c.Op == Open):
	case v.Decision == Held && (c.Op == Create || c.Op == Open):
	case v.Decision == Held && c.Op == Rename:
		content, ok := w.held.find(&c.Target.Stat)
		if !ok {
			return outcome{v, w.deny(c, v, "another program made it")}
		}
		closeFD(content)
	default:
		return outcome{v, w.deny(c, v, "")}
	}
	return outcome{v, 0}
}

// vacant is for a name that nobody has looked at: a call that would make it
// fails if it is taken, and there is nothing to tell then.
func (w *worker) vacant(c *Call) unix.Errno {
	t := &c.Target
	if !t.unseen {
		return 0
	}
	t.unseen = false
	switch err := errnoOf(lstatAt(t.Dir, t.Name, &t.Stat)); err {
	case 0:
		return unix.EEXIST
	case unix.ENOENT:
		return 0
	default:
		return err
	}
}

// deny reports a denial and gives its error number.
func (w *worker) deny(c *Call, v Verdict, reason string) unix.Errno {
	w.denied = true
	w.report(w.event(c, v.Rule, false, reason))
	switch v.Errno {
	case unix.EPERM, unix.EROFS:
		return v.Errno
	}
	return unix.EACCES
}

// asked is the path that a call named last.
type asked struct {
	dirfd int32
	path  string
}

// failed reports a name that could not be made or changed. Whether that is the
// sandbox's doing the kernel does not say; whoever knows the policy can.
func (w *worker) failed() {
	path := w.asked.path
	if path == "" {
		return
	}
	if path[0] != '/' {
		base, err := w.base(w.asked.dirfd)
		if err != 0 {
			return
		}
		defer closeFD(base)
		dir, err := w.pathOf(base)
		if err != 0 || !strings.HasPrefix(dir, "/") {
			return
		}
		path = dir + "/" + path
	}
	command := w.command()
	tgid := w.status().tgid
	w.report(Event{PID: w.pid(), TGID: tgid, Command: command, Path: filepath.Clean(path), Failed: true, Line: w.line(tgid)})
}

// maxLine bounds how far up a line is followed.
const maxLine = 16

// line reads who started whom, up to what the guard started. It is for people
// alone: a process may be another by the time it is read.
func (w *worker) line(pid int) (out []Ancestor) {
	for pid > 1 && pid != w.self && len(out) < maxLine {
		fd, err := unix.Openat(w.proc, strconv.Itoa(pid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		n, _ := unix.Read(fd, w.text[:])
		closeFD(fd)
		a := Ancestor{PID: pid}
		for line := range strings.Lines(string(w.text[:max(n, 0)])) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":\t")
			switch key {
			case "Name":
				a.Command = value
			case "PPid":
				a.Parent, _ = strconv.Atoi(value)
			}
		}
		out = append(out, a)
		pid = a.Parent
	}
	return out
}

// watched reports an allowed call that a rule watches.
func (w *worker) watched(c *Call, v Verdict) {
	if v.Rule.ID != "" {
		w.report(w.event(c, v.Rule, true, ""))
	}
}

func (w *worker) event(c *Call, rule policy.Rule, allowed bool, reason string) Event {
	command := w.command()
	tgid := w.status().tgid
	return Event{
		PID: c.PID, TGID: tgid, Command: command, Op: c.Op, Path: c.Target.Path(),
		Allowed: allowed, Rule: rule, Reason: reason, Line: w.line(tgid),
	}
}

// target describes the name last in dir; a special one has no Name. With an
// error, ENOENT if nothing has the name, it does not exist for the rules. What
// was not seen is not judged, so no call that was refused by it may go to the
// kernel: unlink, chmod and bind go on meanwhile.
func (w *worker) target(dir int, last string, at place) (Target, unix.Errno) {
	t := targetOf(dir, last, at)
	if t.Name == "" {
		return t, 0
	}
	t.DirPath, _ = w.folderPath(dir)
	return t, t.see()
}

// see looks at the name.
func (t *Target) see() unix.Errno {
	err := errnoOf(lstatAt(t.Dir, t.Name, &t.Stat))
	t.Exists = err == 0
	return err
}

func targetOf(dir int, last string, at place) Target {
	t := Target{Dir: dir, at: at}
	if name := strings.TrimRight(last, "/"); !special(name) {
		t.Name = name
	}
	return t
}

// newTarget is target for a name that is to be made. Where the rules need not
// know whether it is taken, the kernel looks first: what has the name ends the
// call (EEXIST), and if nothing has it is made as it was judged.
func (w *worker) newTarget(dir int, last string, at place) (Target, unix.Errno) {
	if !w.blind {
		return w.target(dir, last, at)
	}
	t := targetOf(dir, last, at)
	if t.Name != "" {
		t.DirPath, _ = w.folderPath(dir)
		t.unseen = true
	}
	return t, unix.ENOENT
}

// target describes an object that was found.
func (f *found) target(w *worker) Target {
	t := Target{Dir: f.dir, Name: f.name, Exists: true, Stat: f.st, at: f.at}
	if f.dir >= 0 {
		t.DirPath, _ = w.folderPath(f.dir)
	}
	return t
}

// name finds a name of an object that a descriptor led to: where the kernel
// says it is, if that name leads to it. If nothing is there, or another object,
// it has no name here: unlinked meanwhile, or handed in. An error is that it may
// have one, which cannot be looked at: the command can close a folder above it
// (chmod), or move it below PATH_MAX.
func (w *worker) name(f *found) unix.Errno {
	if f.dir >= 0 || f.st.Nlink == 0 {
		return 0
	}
	path, err := w.pathOf(f.obj)
	if err != 0 {
		return err
	}
	if path == "" || path[0] != '/' {
		return 0
	}
	cut := strings.LastIndexByte(path, '/')
	dir, e := lookupStrict(unix.AT_FDCWD, path[:cut+1], openPath|unix.O_DIRECTORY)
	if e != nil {
		return unseen(e)
	}
	var st unix.Stat_t
	name := path[cut+1:]
	e = lstatAt(dir, name, &st)
	if e != nil || st.Dev != f.st.Dev || st.Ino != f.st.Ino {
		closeFD(dir)
		return unseen(e)
	}
	f.dir, f.name = dir, name
	return 0
}

// unseen is why a look-up does not tell that nothing is there, or 0. No path
// that the kernel tells of an object here has a link on the way.
func unseen(e error) unix.Errno {
	switch e {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return 0
	}
	return errnoOf(e)
}

// named is name, and refuses what may have a name that cannot be looked at.
func (w *worker) named(f *found, op Op) unix.Errno {
	if w.name(f) == 0 {
		return 0
	}
	return w.refuse(op, ruleUnseen)
}

// refuse is the guard's own denial of what has no name for the rules.
func (w *worker) refuse(op Op, rule policy.Rule) unix.Errno {
	w.denied = true
	e := w.event(&Call{PID: w.pid(), Op: op, Target: Target{Dir: -1}}, rule, false, "")
	e.Path = w.asked.path
	w.report(e)
	return unix.EACCES
}

// checkObject asks about a regular file that exists.
func (w *worker) checkObject(f *found, c Call) outcome {
	if f.dir < 0 && f.st.Nlink == 0 {
		return outcome{Verdict: Verdict{Decision: Allow}} // by no name will it be read
	}
	if f.objAt == (place{}) {
		f.objAt, _ = placeOf(f.obj)
	}
	if !w.has(f.objAt) && !w.stream(&f.st) {
		return outcome{err: w.refuse(c.Op, ruleUnreachable)}
	}
	if err := w.named(f, c.Op); err != 0 {
		return outcome{err: err}
	}
	c.PID, c.Target = w.pid(), f.target(w)
	return w.check(&c)
}
