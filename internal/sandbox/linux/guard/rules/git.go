//go:build linux

package rules

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/gitdir"
	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

const (
	hooksText   = "git hook"
	configText  = "git config"
	pointerText = "git pointer file"
	layoutText  = "git directory"
	remotesText = "git remote"
	stepsText   = "options of git's sequencer"
	linkText    = "symbolic link in a git directory"
)

// maxConfig bounds what is parsed, in bytes.
const maxConfig = 1 << 20

// git decides about git's control files. False: it is none of them.
func (r *rules) git(c *guard.Call) (guard.Verdict, bool) {
	t := &c.Target
	key := canon(t.Name)
	if key == ".git" {
		return r.dotGit(c), true
	}
	s := look(t)
	v, done := r.judge(c, s, key)
	if s.blind && !r.lifted[LiftLayout] {
		return deny(LiftLayout, "folder that cannot be looked at"), true
	}
	return v, done
}

// judge decides about what is not itself called .git.
func (r *rules) judge(c *guard.Call, s *spot, key string) (guard.Verdict, bool) {
	t := &c.Target
	if s.below("hooks") {
		return r.hook(c, s), true
	}
	if policy.HookLike(t.Name) && s.last() > 0 && s.is(s.last(), "hooks") && s.data(s.last()-1) {
		return r.branch(c, s, LiftHooks, hooksText, gitdir.VetRef), true
	}
	if s.below("remotes") || s.below("branches") {
		// Old forms of [remote], still read: "URL: …".
		if c.Op != guard.Mkdir && !r.lifted[LiftConfig] {
			return deny(LiftConfig, remotesText), true
		}
	}
	switch key {
	case "config", "config.worktree", "commondir", "gitdir", "hooks":
		switch {
		case !plainName(t.Dir, t.Name, key):
		case s.home(s.last()):
			return r.control(c, s, key), true
		case key == "gitdir" || !s.data(s.last()):
		case strings.HasPrefix(key, "config"):
			return r.branch(c, s, LiftConfig, configText, gitdir.VetBranch), true
		case s.has(s.last(), "HEAD"):
			return r.control(c, s, key), true
		case key == "commondir":
			return r.branch(c, s, LiftPointer, pointerText, gitdir.VetRef), true
		}
	case "config.lock", "config.worktree.lock":
		if plainName(t.Dir, t.Name, key) && (s.home(s.last()) || s.data(s.last())) {
			return r.lock(c, key), true
		}
	case "opts", "opts.lock":
		// What a cherry-pick or revert goes on with: a strategy is a program.
		if s.sequencer() && plainName(t.Dir, t.Name, key) {
			if key == "opts" {
				return r.steps(c), true
			}
			return r.lock(c, key), true
		}
	case "head", "objects", "refs":
		if want := strings.Replace(key, "head", "HEAD", 1); plainName(t.Dir, t.Name, want) {
			if v, done := r.piece(c, s, want); done {
				return v, true
			}
		}
	}
	return r.area(c, s)
}

// dotGit: whoever makes .git decides which directory the host's git uses.
func (r *rules) dotGit(c *guard.Call) guard.Verdict {
	t := &c.Target
	if r.lifted[LiftLayout] && (r.lifted[LiftPointer] || c.Op == guard.Rename) {
		return allow
	}
	switch c.Op {
	case guard.Mkdir:
		return allow // empty, and all that comes into it is judged
	case guard.Create, guard.Open:
		if r.lifted[LiftPointer] {
			return allow
		}
		if t.Name == ".git" {
			// git writes it in place, so what is right is found out beforehand.
			if content, ok := gitdir.PointerFor(t.DirPath, r.latest(), r.pointed); ok {
				return guard.Verdict{Decision: guard.Fixed, Content: content, Replace: true, Rule: policy.NameRule(LiftPointer, pointerText)}
			}
		}
		return deny(LiftPointer, pointerText)
	case guard.RenameTo:
		if t.Name == ".git" && c.Other != nil && mode(c.Other) == unix.S_IFREG && c.Flags&unix.RENAME_EXCHANGE == 0 {
			if r.lifted[LiftPointer] {
				return allow
			}
			dir := t.DirPath
			v := deny(LiftPointer, pointerText)
			v.Decision, v.MaxSize = guard.Vet, 64<<10
			v.Vet = func(content []byte) error { return gitdir.VetPointer(dir, content, r.pointed) }
			return v
		}
	}
	return deny(LiftLayout, layoutText)
}

// hook: only samples, which git never runs.
func (r *rules) hook(c *guard.Call, s *spot) guard.Verdict {
	t := &c.Target
	if r.lifted[LiftHooks] {
		return allow
	}
	if canon(s.elems[s.last()]) == "hooks" && strings.HasSuffix(t.Name, ".sample") {
		switch c.Op {
		case guard.Create, guard.Open, guard.Truncate, guard.Rename:
			return allow
		case guard.RenameTo, guard.Link:
			if c.Other != nil && mode(c.Other) == unix.S_IFREG {
				return allow
			}
		}
	}
	return deny(LiftHooks, hooksText)
}

// control decides about a control file in a git directory.
func (r *rules) control(c *guard.Call, s *spot, key string) guard.Verdict {
	t := &c.Target
	if c.Op == guard.Mkdir {
		return allow // no folder is read as config, and hooks are judged one by one
	}
	exact := t.Name == key
	file := c.Op == guard.RenameTo && c.Other != nil && mode(c.Other) == unix.S_IFREG && c.Flags&unix.RENAME_EXCHANGE == 0
	switch key {
	case "hooks":
		if r.lifted[LiftHooks] || file || c.Op == guard.Create || c.Op == guard.Open || c.Op == guard.Truncate {
			return allow // a file has no hooks in it, and may be a branch
		}
		return deny(LiftHooks, hooksText)
	case "config", "config.worktree":
		if r.lifted[LiftConfig] {
			return allow
		}
		v := deny(LiftConfig, configText)
		if key == "config" && exact && c.Op == guard.Create {
			if c.Flags&unix.O_EXCL == 0 {
				// libgit2 (cargo new) begins with an empty one, which says no more
				// than none does.
				v.Decision, v.Sealed = guard.Fixed, true
			}
			v.Rule.Lift = "copy a repository with git clone, " + v.Rule.Lift // cp, tar
		}
		if exact && file {
			if s.nested(s.last()) || s.dot >= 0 && s.is(s.dot+1, "modules") {
				r.remember(t.DirPath)
			}
			var old []gitdir.Entry
			if !s.wasData(s.last()) || r.harmless(t.DirPath, "config") == nil {
				old = gitdir.ReadConfig(t.Path())
			}
			v.Decision, v.MaxSize = guard.Vet, maxConfig
			v.Vet = r.vetConfig(t.DirPath, old)
		}
		return v
	}
	if r.lifted[LiftPointer] {
		return allow
	}
	if exact && s.linkedTree() {
		common := s.last() - 2
		switch {
		case key == "commondir" && s.wasData(common) && r.unjudged("/"+strings.Join(s.elems[:common+1], "/"), false):
		case key == "commondir" && (c.Op == guard.Create || c.Op == guard.Open):
			return guard.Verdict{Decision: guard.Fixed, Content: []byte("../..\n"), Rule: policy.NameRule(LiftPointer, pointerText)}
		case key == "gitdir" && (c.Op == guard.Create || c.Op == guard.Open || c.Op == guard.Truncate || file):
			// It says where the working folder is and grants nothing: bawn
			// and git believe it only if .git there points back.
			r.remember(t.DirPath)
			return allow
		}
	}
	return deny(LiftPointer, pointerText)
}

// steps decides about sequencer/opts, which git writes as it does a config.
func (r *rules) steps(c *guard.Call) guard.Verdict {
	if r.lifted[LiftConfig] || c.Op == guard.Mkdir {
		return allow
	}
	v := deny(LiftConfig, stepsText)
	if c.Op == guard.RenameTo && c.Target.Name == "opts" && c.Other != nil && mode(c.Other) == unix.S_IFREG && c.Flags&unix.RENAME_EXCHANGE == 0 {
		v.Decision, v.MaxSize, v.Vet = guard.Vet, maxConfig, gitdir.VetSequencer
	}
	return v
}

// lock: the host's git renames its own config.lock to config without looking,
// even if the command has removed that and made another. So nothing comes into
// that name but an empty file, whose content the guard holds until the rename
// to its own config; what is there, which may be the host's, is not opened.
func (r *rules) lock(c *guard.Call, key string) guard.Verdict {
	if r.lifted[LiftConfig] {
		return allow
	}
	switch c.Op {
	case guard.Create, guard.Open:
		v := deny(LiftConfig, configText)
		v.Decision = guard.Held
		return v
	case guard.Rename:
		if o := c.Other; o != nil && o.DirPath == c.Target.DirPath && o.Name+".lock" == key && c.Flags&unix.RENAME_EXCHANGE == 0 {
			v := deny(LiftConfig, configText)
			v.Decision = guard.Held
			return v
		}
	}
	return deny(LiftConfig, configText)
}

// vetConfig returns the judge of a new config file of the git directory dir.
func (r *rules) vetConfig(dir string, old []gitdir.Entry) func([]byte) error {
	remotes := remotes{r: r, dir: dir}
	v := gitdir.Vetting{
		Old:      old,
		Worktree: once(func(value string) bool { return gitdir.VetWorktree(dir, value, r.guarded) }),
		Local:    once(remotes.local),
		Lifted:   func(key string) bool { return r.lifted[LiftConfig+":"+key] },
	}
	return func(content []byte) error { return liftOfKeys(gitdir.VetConfig(content, v)) }
}

// maxLiftedKey bounds a key that is told as what to lift, in bytes.
const maxLiftedKey = 64

// liftOfKeys adds to a refusal of single keys what lifts these alone, if all
// of them are known.
func liftOfKeys(err error) error {
	var refused *gitdir.KeysError
	if !errors.As(err, &refused) || refused.More > 0 {
		return err
	}
	var ids []string
	for _, k := range refused.Keys {
		if len(k.Key) > maxLiftedKey {
			return err
		}
		if id := LiftConfig + ":" + k.Key; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return &guard.LiftError{Err: err, Lift: policy.NameLift(ids...)}
}

// area decides about what would move a git directory or a part of it, and
// about links in it, through which the host's git would write elsewhere.
func (r *rules) area(c *guard.Call, s *spot) (guard.Verdict, bool) {
	t := &c.Target
	if r.lifted[LiftLayout] {
		return allow, false
	}
	switch c.Op {
	case guard.Symlink:
		// git tries whether links work with one to "testing".
		if c.Link != "testing" && s.noLinks() {
			return deny(LiftLayout, linkText), true
		}
	case guard.RenameTo:
		o := c.Other
		if o == nil {
			return deny(LiftLayout, layoutText), true
		}
		switch mode(o) {
		case unix.S_IFLNK:
			if s.noLinks() {
				return deny(LiftLayout, linkText), true
			}
		case unix.S_IFDIR:
			if s.part(t.Name) || o.Dir < 0 {
				return deny(LiftLayout, layoutText), true
			}
			if s.dataBy(t.Name) && holdsControl(o.Path(), t.Name) {
				return deny(LiftLayout, layoutText), true
			}
			if s.noLinksIn(t.Name) && !plainFolder(o.Path(), "x/") {
				return deny(LiftLayout, linkText), true
			}
			if !r.guarded(o.DirPath) || r.unguardedIn(o.Path()) {
				// What is in it came unguarded. Between mounts the kernel
				// refuses, and mv copies.
				if r.together(o, t) {
					return deny(LiftLayout, "folder from an unguarded place"), true
				}
			} else if from := look(o); from.part(o.Name) || from.linked(o.Name) || from.blind {
				return deny(LiftLayout, layoutText), true
			}
		}
	}
	return allow, false
}

// unguardedIn says whether path is in a place whose names are not guarded, or
// has one in it.
func (r *rules) unguardedIn(path string) bool {
	if !r.guarded(path) || policy.InsideAny(path, r.Unprotected) {
		return true
	}
	for _, places := range [...][]string{r.Exempt, r.Unprotected} {
		for _, p := range places {
			if policy.Inside(p, path) {
				return true
			}
		}
	}
	return false
}

func sameMount(a, b int) bool {
	var x, y unix.Statx_t
	if unix.Statx(a, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &x) != nil || unix.Statx(b, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &y) != nil {
		return true
	}
	return x.Mnt_id == y.Mnt_id
}
