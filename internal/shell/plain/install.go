package plain

import (
	"slices"
	"strings"

	"bawn/internal/policy"
)

// Install is one recognised package installation. The names are relative to
// the folder of the package; which folders those are is for the caller to
// find out.
type Install struct {
	Tool string // its usual name, whatever called it
	// Adds reports that packages come into or leave the manifest, which is then
	// written too.
	Adds      bool
	Manifests []string
	Locks     []string // lock files and other single files, replaced by rename by most tools
	Folders   []string // where the packages go
}

// Profile is what the installs of one command may write together, for
// policy.InstallProfile. Tools for monorepos write in the folders of the
// packages, and some from below up to the root, so the names hold everywhere
// in the workspace.
func Profile(installs []Install) policy.Install {
	var p policy.Install
	add := func(to *[]string, names []string) {
		for _, n := range names {
			if !slices.Contains(*to, n) {
				*to = append(*to, n)
			}
		}
	}
	for _, in := range installs {
		add(&p.Folders, in.Folders)
		add(&p.Files, in.Locks)
		if in.Adds {
			add(&p.Files, in.Manifests)
		}
	}
	return p
}

// InstallsText recognises text that does nothing but install packages: plain
// installs, joined by &&. Anything less plain is left alone: a profile too
// narrow breaks work, and the ordinary one still stands around the rest.
func InstallsText(text string) ([]Install, bool) {
	parts, ok := split(text)
	if !ok {
		return nil, false
	}
	var out []Install
	for _, part := range parts {
		for len(part) > 1 && part[0].bare && setting(part[0].text) {
			part = part[1:] // CI=1 npm ci
		}
		args, ok := command(part)
		if !ok {
			return nil, false
		}
		in, ok := InstallOf(args)
		if !ok {
			return nil, false
		}
		out = append(out, in)
	}
	return out, true
}

// setting reports whether a word before the command sets a variable that
// leaves the installation where it is.
func setting(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	if !ok || name == "" || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	for _, c := range []byte(name) {
		if !('A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_') {
			return false // also npm_config_prefix and its like
		}
	}
	switch {
	case name == "PATH", name == "HOME", strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "NPM_CONFIG_"), strings.HasPrefix(name, "XDG_"),
		strings.HasSuffix(name, "_DIR"), strings.HasSuffix(name, "_HOME"), strings.HasSuffix(name, "_PATH"),
		strings.HasSuffix(name, "_ENVIRONMENT"), strings.HasSuffix(name, "_TARGET"), strings.HasSuffix(name, "_PREFIX"), strings.HasSuffix(name, "_USER"),
		name == "GOFLAGS", name == "GOWORK", name == "GOPATH", name == "VIRTUAL_ENV":
		return false
	}
	return true
}

// InstallOf recognises one command given as its words.
func InstallOf(args []string) (Install, bool) {
	args, ok := unwrap(args)
	if !ok || len(args) == 0 {
		return Install{}, false
	}
	for i := range installers {
		t := &installers[i]
		if args[0] == t.tool || t.alias != "" && args[0] == t.alias {
			return t.match(args[1:])
		}
	}
	return Install{}, false
}

// unwrap takes off what may stand before the tool and changes nothing about
// where it installs. sudo is not among it: as root it is another command.
func unwrap(args []string) ([]string, bool) {
	for len(args) > 0 {
		rest := args[1:]
		switch name := args[0]; {
		case name == "env":
			for len(rest) > 0 && strings.Contains(rest[0], "=") {
				if !setting(rest[0]) {
					return nil, false
				}
				rest = rest[1:]
			}
		case name == "corepack":
			if len(rest) == 0 {
				return nil, false
			}
			tool, _, _ := strings.Cut(rest[0], "@")
			if tool != "pnpm" && tool != "yarn" && tool != "npm" {
				return nil, false
			}
			return append([]string{tool}, rest[1:]...), true
		case name == "npx":
			for len(rest) > 0 && (rest[0] == "-y" || rest[0] == "--yes" || rest[0] == "--") {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				return nil, false
			}
			tool, _, _ := strings.Cut(rest[0], "@")
			if tool != "pnpm" && tool != "yarn" && tool != "npm" && tool != "bun" {
				return nil, false
			}
			return append([]string{tool}, rest[1:]...), true
		case name == "python" || versioned(name, "python"):
			if len(rest) < 2 || rest[0] != "-m" || rest[1] != "pip" && rest[1] != "uv" && rest[1] != "poetry" {
				return nil, false
			}
			return rest[1:], true
		case versioned(name, "pip"):
			return append([]string{"pip"}, rest...), true
		default:
			return args, true
		}
		args = rest
	}
	return nil, false
}

// match judges the words after the tool's name.
func (t *installer) match(args []string) (Install, bool) {
	var words []string
	flagsOnly := true
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") || a == "-" {
			flagsOnly = false
			words = append(words, a)
			continue
		}
		if a == "--" || a == "-h" || a == "--help" || a == "--version" || a == "--dry-run" || t.leaves(a) {
			return Install{}, false
		}
		if Has(t.values, a) {
			i++
		}
	}
	found := verb{}
	switch {
	case len(words) == 0:
		if !t.bare || !flagsOnly {
			return Install{}, false
		}
	default:
		n := 0
		found, n = t.verb(words)
		if n == 0 {
			return Install{}, false
		}
		words = words[n:]
	}
	if slices.ContainsFunc(words, func(w string) bool { return !t.registry(w) }) {
		return Install{}, false
	}
	return Install{
		Tool:      t.tool,
		Adds:      found.adds == always || found.adds == byNames && len(words) > 0,
		Manifests: slices.Clone(t.manifests),
		Locks:     slices.Clone(t.locks),
		Folders:   slices.Clone(t.folders),
	}, true
}

// verb finds the verb at the head of words and how many words it takes.
func (t *installer) verb(words []string) (verb, int) {
	for _, v := range t.verbs {
		for name := range strings.FieldsSeq(v.names) {
			first, second, two := strings.Cut(name, "+")
			if words[0] == first && !two {
				return v, 1
			}
			if two && words[0] == first && len(words) > 1 && words[1] == second {
				return v, 2
			}
		}
	}
	return verb{}, 0
}

// leaves reports whether an option takes the installation elsewhere. A short
// one may have its value, or others, glued to it.
func (t *installer) leaves(a string) bool {
	name, _, _ := strings.Cut(a, "=")
	if t.single {
		return Has(t.elsewhere, name) || Has(t.elsewhere, strings.TrimPrefix(name, "-"))
	}
	if strings.HasPrefix(name, "--") || Has(t.elsewhere, name) {
		return Has(t.elsewhere, name)
	}
	for e := range strings.FieldsSeq(t.elsewhere) {
		if len(e) == 2 && strings.Contains(a, e[1:]) {
			return true
		}
	}
	return false
}

// registry reports whether an argument names a package of a registry, not a
// place of its own: a path, an address, a repository.
func (t *installer) registry(w string) bool {
	w = strings.ToLower(w)
	if w == "" || w[0] == '-' || w[0] == '.' && w != "./..." || w[0] == '/' || w[0] == '~' || strings.Contains(w, "://") || strings.Contains(w, "git@") || strings.HasPrefix(w, "git+") {
		return false
	}
	for _, kind := range []string{"file:", "link:", "portal:", "patch:", "exec:", "workspace:", "git:", "github:", "gitlab:", "bitbucket:", "gist:", "http:", "https:", "ssh:"} {
		if strings.HasPrefix(w, kind) || strings.Contains(w, "@"+kind) {
			return false
		}
	}
	for _, end := range []string{".tgz", ".tar.gz", ".whl", ".zip", ".gem", ".tar", ".git"} {
		if strings.HasSuffix(w, end) {
			return false
		}
	}
	if t.slash {
		return true
	}
	// @scope/name is the only / in a name.
	name := w
	if w[0] == '@' {
		_, after, ok := strings.Cut(w, "/")
		if !ok {
			return false
		}
		name = after
	}
	name, _, _ = strings.Cut(name, "@npm:")
	return !strings.Contains(name, "/")
}

// Has reports whether a list separated by spaces holds the word s. A word with
// a space, or none at all, is in no list.
func Has(list, s string) bool {
	if s == "" {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(list[at:], s)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(s)
		if (at == 0 || list[at-1] == ' ') && (end == len(list) || list[end] == ' ') && strings.IndexByte(s, ' ') < 0 {
			return true
		}
	}
}
