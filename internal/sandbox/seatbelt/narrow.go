package seatbelt

import "strings"

// narrow opens, of a writable place, only the names that a package install
// writes (policy.WriteNames). What cannot be said in a rule is looser than
// on Linux: a temporary name is free whoever made it.
func (w *writer) narrow(root string) {
	names := w.policy.Writes()
	at := exact(root) + anywhere + "/"
	var free, way []string
	for _, n := range names.Folders {
		free = append(free, regex(at+exact(n)+below), regex(at+exact(n)+random6+below))
		way = append(way, ways(at, n)...)
	}
	for _, n := range names.Files {
		free = append(free, regex(at+exact(n)))
		way = append(way, ways(at, n)...)
		dir, base := "", n
		if i := strings.LastIndexByte(n, '/'); i >= 0 {
			dir, base = n[:i+1], n[i+1:]
		}
		for _, t := range temporary(base) {
			free = append(free, regex(at+exact(dir)+t))
		}
	}
	if len(free) == 0 {
		return
	}
	w.rule("allow", writing, free...)
	if len(way) > 0 {
		w.rule("allow", "file-write-create", way...)
	}
	w.rule("deny", writing, regex(at+folded(".git")+below))
	for _, n := range names.Folders {
		// A link in its place would have a program outside write elsewhere.
		w.rule("deny", writing, all(regex(at+exact(n)), "(vnode-type SYMLINK)"))
	}
}

// ways are the folders on the way to a name "a/b".
func ways(at, name string) (filters []string) {
	for i, c := range name {
		if c == '/' {
			filters = append(filters, regex(at+exact(name[:i])))
		}
	}
	return filters
}

const (
	alnum   = "[0-9A-Za-z]"
	word    = "[0-9A-Za-z_~-]*"
	random6 = alnum + alnum + alnum + alnum + alnum + alnum
)

// temporary are the names under which package tools write what becomes base,
// as policy.WriteNames lists them.
func temporary(base string) []string {
	stem := `(\.)?` + exact(strings.TrimPrefix(base, "."))
	more := "[._~-][0-9A-Za-z._~-]*" // then an end that gives it no kind of its own
	return []string{
		stem + "[-_~]" + word,
		stem + "(" + more + ")?\\.(tmp|temp|new|[0-9][0-9_-]*)~*",
		stem + "(" + more + ")?\\." + alnum + "*[0-9]" + alnum + "*" + random6 + "~*",
		stem + "(" + more + ")?\\." + random6 + alnum + "*[0-9]" + alnum + "*~*",
		stem + random6,
		`\.tmp` + random6 + alnum + "*",
		`(\.atomic-write|atomic-write-)` + "[0-9A-Za-z_]*",
		`_tmp_[0-9]+_[0-9A-Za-z]+`,
		`\.(lock|lockb)-[0-9A-Za-z]+\.tmp`,
	}
}
