package main

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
	"bawn/internal/sandbox/linux/guard"
	"bawn/internal/sandbox/linux/stage"
	"bawn/internal/staged"
)

// keepJudge lets a keep do what a sandboxed run could do to the workspace: the
// mounts that would hold names there, and the name guard's own rules.
type keepJudge struct {
	policy policy.Policy
	rules  guard.Rules
	held   []sandbox.Mount // what is mounted in writable folders
	turn   *guard.Turn
}

func newKeepJudge(p policy.Policy, host sandbox.Host) *keepJudge {
	spec := sandbox.Plan(p, host, sandbox.Command{})
	g := spec.Guard
	j := &keepJudge{policy: p, rules: stage.Rules(g, nil)}
	var notice string
	if j.turn, notice = linux.Turn(g); notice != "" {
		warn("%s", notice)
	}
	for _, m := range spec.Mounts {
		switch m.Op {
		case sandbox.OpPin, sandbox.OpMask, sandbox.OpBind, sandbox.OpLayer, sandbox.OpReplace:
			j.held = append(j.held, m)
		}
	}
	return j
}

// takeTurn fits staged.KeepOptions.Turn.
func (j *keepJudge) takeTurn(dir int) (end func(), err error) {
	if errno := j.turn.Take(dir); errno != 0 {
		return nil, errno
	}
	return j.turn.End, nil
}

// Judge implements staged.Judge.
func (j *keepJudge) Judge(a staged.Ask) staged.Answer {
	path := a.DirPath + "/" + a.Name
	if a.Name == "." {
		path = a.DirPath
	}
	if r, held := j.mounted(a, path); held {
		return staged.Answer{Rule: r}
	}
	t := guard.Target{Dir: a.Dir, DirPath: a.DirPath, Name: a.Name}
	if a.Old != nil {
		t.Exists, t.Stat = true, *a.Old
	}
	call := guard.Call{PID: os.Getpid(), Target: t}
	switch a.Op {
	case staged.Remove, staged.SetMode:
		return staged.Answer{Allowed: true} // which the guard does not ask about
	case staged.Link:
		return staged.Answer{Allowed: j.mayLink(call, a.From)}
	case staged.Mkdir:
		call.Op, call.Mode = guard.Mkdir, a.Stat.Mode&0o7777
		call.Target.Exists = false
		return j.answer(a, j.rules.Check(&call))
	}
	switch a.Stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		call.Op, call.Link = guard.Symlink, a.Link
		call.Target.Exists = false
		return j.answer(a, j.rules.Check(&call))
	case unix.S_IFIFO:
		call.Op, call.Mode = guard.Mknod, a.Stat.Mode
		call.Target.Exists = false
		return j.answer(a, j.rules.Check(&call))
	}
	// A file comes in place as git's own do: renamed from another name, or made
	// there. Either would have done.
	st := *a.Stat
	st.Nlink = 1
	call.Op, call.Other = guard.RenameTo, &guard.Target{Dir: -1, Exists: true, Stat: st}
	renamed := j.answer(a, j.rules.Check(&call))
	if renamed.Allowed {
		return renamed
	}
	call.Other, call.Op = nil, guard.Create
	if a.Old != nil {
		call.Op = guard.Open
	}
	if made := j.answer(a, j.rules.Check(&call)); made.Allowed {
		return made
	}
	return renamed
}

// mayLink reports whether the file from may get the name of call: through
// that commands write it too.
func (j *keepJudge) mayLink(call guard.Call, from *staged.From) bool {
	path := from.DirPath + "/" + from.Name
	if _, held := j.mounted(staged.Ask{Op: staged.Put}, path); held {
		return false
	}
	call.Op = guard.Link
	call.Other = &guard.Target{Dir: from.Dir, DirPath: from.DirPath, Name: from.Name, Exists: true, Stat: *from.Stat}
	return j.rules.Check(&call).Decision == guard.Allow
}

func (j *keepJudge) answer(a staged.Ask, v guard.Verdict) staged.Answer {
	no := staged.Answer{Rule: v.Rule}
	refuse := func(err error) staged.Answer {
		no.Reason = err.Error()
		var lift *guard.LiftError
		if errors.As(err, &lift) {
			no.Rule.Lift = lift.Lift
		}
		return no
	}
	switch v.Decision {
	case guard.Allow:
		return staged.Answer{Allowed: true, Rule: v.Rule}
	case guard.Vet:
		content, err := a.Content(min(v.MaxSize, 1<<20))
		if err == nil {
			err = v.Vet(content)
		}
		if err != nil {
			return refuse(err)
		}
		return staged.Answer{Allowed: true, Content: append([]byte{}, content...)}
	case guard.Fixed:
		content, err := a.Content(int64(len(v.Content)))
		if err == nil && string(content) != string(v.Content) {
			err = errors.New("its content is not the one that it has to have there")
		}
		if err != nil {
			return refuse(err)
		}
		return staged.Answer{Allowed: true, Content: append([]byte{}, content...)}
	}
	return no
}

// mounted reports whether a mount would hold the name, and by which rule.
func (j *keepJudge) mounted(a staged.Ask, path string) (policy.Rule, bool) {
	takes := a.Op == staged.Remove || a.Op == staged.Put || a.Old != nil && a.Op == staged.Mkdir
	deepest := -1
	for i, m := range j.held {
		switch {
		case policy.Inside(path, m.Target):
			if deepest < 0 || len(m.Target) >= len(j.held[deepest].Target) { // a later one covers
				deepest = i
			}
		case takes && a.Op == staged.Remove && strings.HasPrefix(m.Target, path+"/"):
			return j.rule(m.Target), true
		}
	}
	if deepest < 0 {
		return policy.Rule{ID: "staged:place", Text: "not in a folder that sandboxed commands may write"}, true
	}
	m := j.held[deepest]
	if m.Op == sandbox.OpMask || !m.Write || takes && m.Target == path {
		return j.rule(path), true
	}
	return policy.Rule{}, false
}

// rule is why a mount is there.
func (j *keepJudge) rule(path string) policy.Rule {
	if d := j.policy.Decide(policy.Write{Path: path}); d.Verdict != policy.Allow {
		return d.Rule
	}
	return policy.Rule{ID: "staged:held", Text: "held in its place, since it leads to a protected name"}
}
