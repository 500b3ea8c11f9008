package policy

import (
	"runtime"
	"slices"
	"strings"
)

// Named is the rule by which a file at path, absolute, clean and real, is not
// made or written for what it would be called: what the name guard holds
// although nothing is there yet. Decide knows what is there. A git directory
// under another name (a bare repository) is none that a path tells.
func (p Policy) Named(path string) (Rule, bool) {
	r := p.files.Lookup(path)
	if !p.Sandboxed() || r.Access < PrivateCopy {
		return Rule{}, false
	}
	if strings.HasPrefix(Canon(path[strings.LastIndexByte(path, '/')+1:]), KeepPrefix) {
		return KeepRule, true
	}
	if InsideAny(path, p.open) {
		return Rule{}, false
	}
	for _, root := range append([]string{p.workspace}, p.addDirs...) {
		rest, ok := strings.CutPrefix(path, root+"/")
		for i := range protectedNames {
			if n := &protectedNames[i]; ok && spells(rest, n.Path) && !slices.Contains(p.lifted, n.Lift) {
				return NameRule(n.Lift, n.What), true
			}
		}
	}
	if r.limited() { // names in caches and temp are free
		if id, what := gitControl(strings.Split(path[1:], "/")); id != "" && !slices.Contains(p.lifted, id) {
			return NameRule(id, what), true
		}
	}
	if InsideAny(path, p.named) {
		return NameRule("git.target", "git's settings name it"), true
	}
	return Rule{}, false
}

// spells reports whether path is a name of several elements, in any spelling, or
// lies below it.
func spells(path, name string) bool {
	for {
		want, wantMore, more := strings.Cut(name, "/")
		got, gotMore, deeper := strings.Cut(path, "/")
		switch {
		case got != want && Canon(got) != want:
			return false
		case !more:
			return true
		case !deeper:
			return false
		}
		path, name = gotMore, wantMore
	}
}

// gitControl is the id by which the settings lift that a path is one of git's
// control files, and what it is; "" if it is none.
func gitControl(elems []string) (id, what string) {
	is := func(i int, name string) bool {
		return i >= 0 && i < len(elems) && (elems[i] == name || runtime.GOOS != "linux" && Canon(elems[i]) == name)
	}
	dot := slices.IndexFunc(elems, func(e string) bool { return Canon(e) == ".git" })
	last := len(elems) - 1
	switch {
	case dot < 0:
		return "", ""
	case dot == last:
		return "git.pointer", "git pointer file"
	}
	nested := is(dot+1, "modules") || is(dot+1, "worktrees")
	for i := dot + 1; i <= last; i++ {
		if i > dot+1 && (!nested || i == dot+2) {
			continue // not in a git directory itself
		}
		switch {
		case i < last && is(i, "logs"):
			return "", "" // the logs of branches have their names
		case i < last && is(i, "refs"):
			// A branch so called comes by a rename, which the guard judges, and
			// is not written in place.
			switch {
			case is(last, "config"), is(last, "config.worktree"):
				return "git.config", "git config"
			case is(last, "commondir"):
				return "git.pointer", "git pointer file"
			case is(last-1, "hooks") && HookLike(elems[last]):
				return "git.hooks", "git hook"
			}
			return "", ""
		case is(i, "hooks"):
			if i == last-1 && strings.HasSuffix(elems[last], ".sample") {
				return "", ""
			}
			return "git.hooks", "git hook"
		case i < last && (is(i, "remotes") || is(i, "branches")):
			return "git.config", "git remote"
		case i < last:
		case is(i, "config"), is(i, "config.worktree"), is(i, "config.lock"), is(i, "config.worktree.lock"):
			return "git.config", "git config"
		case is(i, "commondir"), is(i, "gitdir") && !(i == dot+3 && is(dot+1, "worktrees")):
			return "git.pointer", "git pointer file"
		}
	}
	return "", ""
}

// HookLike says whether a file in a folder of hooks may be one (githooks(5)):
// of what is not, any other name may be a branch's.
func HookLike(name string) bool {
	name = Canon(name)
	if strings.HasSuffix(name, ".lock") {
		return false
	}
	for _, p := range [...]string{"pre", "post-", "p4-", "fsmonitor-"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "applypatch-msg", "commit-msg", "update", "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate":
		return true
	}
	return false
}
