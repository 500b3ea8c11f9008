package seatbelt

import (
	"slices"
	"strings"

	"bawn/internal/policy"
)

// Ids of the git names that the user's settings lift, as the guard of Linux
// has them.
const (
	liftHooks   = "git.hooks"
	liftConfig  = "git.config"
	liftPointer = "git.pointer"
	liftLayout  = "git.layout"
)

// names closes the names by which git runs code or finds a repository, in
// every writable place, caches and temporary folders too: between those a
// folder can be moved as a whole, and the kernel shows a rule one end of a
// move at a time.
func (w *writer) names() {
	w.section("names that run code outside, wherever they are")
	free := w.free()
	deny := func(operations string, filter ...string) { w.rule("deny", operations, all(append(filter, free...)...)) }
	has := func(id string) bool { return !slices.Contains(w.lifted, id) }

	var control []string
	if has(liftConfig) {
		control = append(control, folded("config")+`(\.`+folded("worktree")+`)?(\.`+folded("lock")+`)?`)
	}
	if has(liftHooks) {
		control = append(control, folded("hooks"))
	}
	if has(liftPointer) {
		control = append(control, folded("commondir"), folded("gitdir"))
	}
	git := anywhere + "/" + folded(".git")
	dirs := w.gitDirs()
	if len(control) > 0 {
		any := "/(" + strings.Join(control, "|") + ")" + below
		deny(writing, regex(git+any))
		for _, d := range dirs {
			deny(writing, regex(exact(d)+any))
		}
	}
	if has(liftLayout) {
		// Where git would look for repositories: what is there is used.
		more := "/(" + folded("modules") + "|" + folded("worktrees") + ")" + below
		var known []string
		for _, d := range dirs {
			known = append(known, not(subpath(d)))
		}
		for _, d := range dirs {
			deny(naming, append([]string{regex(exact(d) + more)}, w.deeper(d, dirs)...)...)
		}
		deny(naming, append([]string{regex(git + more)}, known...)...)
		// No .git is made, moved or removed, and no file HEAD, which makes a
		// repository of a folder, but in one.
		deny(writing, regex(git))
		deny("file-write-create", append([]string{
			regex(anywhere + "/" + folded("HEAD")), not("(vnode-type DIRECTORY)"), not(regex(git + below)),
		}, known...)...)
	} else if has(liftPointer) {
		deny(writing, regex(git), not("(vnode-type DIRECTORY)"))
	}
	for _, path := range w.host.Names {
		if outer, inside := w.writableAbove(path); inside {
			w.rule("deny", writing, w.inside(outer, path))
			w.pinAbove(outer, path, false)
		}
	}
	w.rule("deny", "file-write-create", regex(anywhere+"/[^/]*"+ignored()+"[^/]*"))
	for _, d := range w.stores() {
		// Repositories of package tools: none of them leaves as a whole.
		w.rule("deny", "file-write-unlink", all(subpath(d), "(vnode-type DIRECTORY)"))
	}
}

// free are the places in which git's names are nobody's concern: those that
// the settings name, and the repositories that package tools keep.
func (w *writer) free() (filters []string) {
	for _, d := range slices.Concat(w.open, w.stores()) {
		filters = append(filters, not(literal(d)), not(subpath(d)))
	}
	return filters
}

// stores are the folders of caches in which tools keep git repositories.
func (w *writer) stores() (dirs []string) {
	for _, r := range w.table.Rules() {
		if !r.IsCache() || r.Access != policy.ReadWrite {
			continue
		}
		switch r.Rule().ID {
		case "cache:cargo":
			if strings.HasSuffix(r.Path, "/git") {
				dirs = append(dirs, r.Path)
			}
		case "cache:go-module":
			dirs = append(dirs, r.Path+"/cache/vcs")
		case "cache:uv":
			dirs = append(dirs, r.Path+"/git-v0")
		}
	}
	return dirs
}

// gitDirs are the git directories that are known: those of the workspace and
// the added folders, of their submodules and linked working trees.
func (w *writer) gitDirs() (dirs []string) {
	for _, path := range w.host.Control {
		dir, name := policy.Parent(path), path[strings.LastIndexByte(path, '/')+1:]
		switch name {
		case "config", "config.worktree", "commondir", "gitdir", "hooks":
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

// deeper leaves out the known directories inside dir.
func (w *writer) deeper(dir string, dirs []string) (filters []string) {
	for _, d := range dirs {
		if d != dir && policy.Inside(d, dir) {
			filters = append(filters, not(subpath(d)))
		}
	}
	return filters
}

// pins holds the folders whose move would take a closed name out of its
// rules: the writable places, and what lies between them and what is closed
// inside. A folder that is not there yet cannot be made either, since a move
// of one that holds such a name looks the same.
func (w *writer) pins() {
	for _, r := range w.table.Rules() {
		if policy.Inside(r.Path, "/dev") {
			continue
		}
		if outer, inside := w.writableAbove(r.Path); inside && !r.IsCache() {
			w.pinAbove(outer, r.Path, false)
		}
		if r.Access == policy.ReadWrite {
			w.pin(literal(r.Path), r.IsCache())
		}
	}
	for _, d := range w.stores() {
		if outer, inside := w.writableAbove(d); inside {
			w.pinAbove(outer, d, true)
		}
	}
	for _, d := range slices.Concat(w.host.Pins, w.run.Temp) {
		w.pin(literal(d), false)
	}
	w.section("folders that stay where they are")
	if len(w.pinned) > 0 {
		w.rule("deny", "file-write-unlink", w.pinned...)
	}
	if len(w.unmade) > 0 {
		w.rule("deny", "file-write-create", w.unmade...)
	}
}

// pin holds one folder. mayMake: what is not there is made when it is needed.
func (w *writer) pin(filter string, mayMake bool) {
	if !slices.Contains(w.pinned, filter) {
		w.pinned = append(w.pinned, filter)
	}
	if !mayMake && !slices.Contains(w.unmade, filter) {
		w.unmade = append(w.unmade, filter)
	}
}

// pinAbove pins the folders between root and path.
func (w *writer) pinAbove(root, path string, mayMake bool) {
	for d := policy.Parent(path); d != root && policy.Inside(d, root); d = policy.Parent(d) {
		w.pin(regex(exact(root)+folded(strings.TrimPrefix(d, root))), mayMake)
	}
}
