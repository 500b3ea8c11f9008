package seatbelt

import (
	"strings"

	"bawn/internal/policy"
)

// environment is the command's: its temporary files go to a folder of the
// run's own (base is its name in the system's two folders, "" for none), and
// PATH has no folder that is hidden, since the search for a program ends there
// with an error. Values of set replace others.
func environment(env []string, p policy.Policy, base string, set []string) []string {
	out := make([]string, 0, len(env)+8)
	over := append([]string{}, set...)
	if base != "" {
		temp := p.MacOS().Temp + "/" + base + "/"
		over = append(over, "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp, "TEMPDIR="+temp,
			// confstr ignores TMPDIR, and with it mktemp and Foundation; so do
			// zsh with what stands in a here-document, and the programs that
			// /usr/bin/git and clang stand for.
			"DIRHELPER_USER_DIR_SUFFIX="+base, "TMPPREFIX="+temp+"zsh", "xcrun_db="+temp+"xcrun_db", "CLANG_MODULE_CACHE_PATH="+temp+"clang")
	}
next:
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		for _, o := range over {
			if strings.HasPrefix(o, name+"=") {
				continue next
			}
		}
		if name == "PATH" {
			e = "PATH=" + searched(value, p.Files())
		}
		out = append(out, e)
	}
	return append(out, over...)
}

// searched is a list of folders without those that are hidden.
func searched(path string, t policy.Table) string {
	var out []string
	for dir := range strings.SplitSeq(path, ":") {
		clean := strings.TrimSuffix(dir, "/")
		if policy.IsClean(clean) && t.Lookup(clean).Access == policy.Hidden {
			continue
		}
		out = append(out, dir)
	}
	return strings.Join(out, ":")
}
