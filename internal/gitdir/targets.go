package gitdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// variable is a config entry with the folder that its relative includes start
// from.
type variable struct {
	Entry
	dir string
}

// kind is how git uses a variable's value.
type kind uint8

const (
	program kind = iota // a shell command line
	bang                // a command only after "!" or as an absolute path
	folder              // a folder that programs are taken from
	include             // more config
)

// anySub matches a key of the section itself and below any subsection.
var runs = [...]struct {
	section, key string // key "" is any
	kind         kind
}{
	{"include", "path", include},
	{"includeif", "path", include},
	{"core", "hookspath", folder},
	{"init", "templatedir", folder}, // its hooks go into each new repository
	{"core", "fsmonitor", program},
	{"core", "sshcommand", program},
	{"core", "gitproxy", program},
	{"core", "askpass", program},
	{"core", "pager", program},
	{"core", "editor", program},
	{"core", "alternaterefscommand", program},
	{"sequence", "editor", program},
	{"pager", "", program},
	{"alias", "", bang},
	{"diff", "external", program},
	{"diff", "command", program},
	{"diff", "textconv", program},
	{"filter", "clean", program},
	{"filter", "smudge", program},
	{"filter", "process", program},
	{"merge", "driver", program},
	{"difftool", "cmd", program},
	{"difftool", "path", program},
	{"mergetool", "cmd", program},
	{"mergetool", "path", program},
	{"guitool", "cmd", program},
	{"browser", "cmd", program},
	{"browser", "path", program},
	{"man", "cmd", program},
	{"man", "path", program},
	{"interactive", "difffilter", program},
	{"credential", "helper", bang},
	{"gpg", "program", program},
	{"gpg", "defaultkeycommand", program},
	{"trailer", "command", program},
	{"trailer", "cmd", program},
	{"remote", "uploadpack", program},
	{"remote", "receivepack", program},
	{"uploadpack", "packobjectshook", program},
	{"submodule", "update", bang},
	{"hook", "command", program},
	{"tar", "command", program},
	{"imap", "tunnel", program},
	{"sendemail", "smtpserver", program},
	{"sendemail", "sendmailcmd", program},
	{"sendemail", "tocmd", program},
	{"sendemail", "cccmd", program},
	{"sendemail", "headercmd", program},
	{"lfs", "path", program},
	{"lfs", "clean", program},
	{"lfs", "smudge", program},
}

// config reads one config file. An absent one is empty; one that cannot be
// read or parsed is an error, because what it names would go unprotected.
func (f *finder) config(p place) ([]variable, error) {
	if !p.exists() {
		return nil, nil
	}
	if f.configs++; f.configs > maxConfigs {
		return nil, fmt.Errorf("more than %d config files: %w", maxConfigs, ErrLimit)
	}
	var data []byte
	err := errNotRegular
	if p.isFile() { // known before it is opened: opening a device may act
		data, err = readRegular(p.path, maxConfig)
	}
	if errors.Is(err, ErrLimit) {
		return nil, fmt.Errorf("read git config %q: larger than %d bytes: %w", p.path, maxConfig, ErrLimit)
	}
	_, ours := f.root(p.path)
	if err != nil {
		if !ours && (f.lenient || errors.Is(err, fs.ErrPermission)) {
			return nil, nil // neither git nor the command can read or change it
		}
		return nil, fmt.Errorf("read git config %q: %w", p.path, err)
	}
	entries, err := parseConfig(data)
	if err != nil && !(f.lenient && !ours) {
		return nil, fmt.Errorf("read git config %q: %w", p.path, err)
	}
	vars := make([]variable, len(entries))
	for i, e := range entries {
		vars[i] = variable{e, filepath.Dir(p.path)}
	}
	return vars, nil
}

// targets protects what the variables of the git directory dir name. roots
// are the working folders in which git uses a relative value.
func (f *finder) targets(vars []variable, dir string, roots []string) error {
	for i := range vars {
		v := &vars[i]
		f.secret(v)
		for _, r := range runs {
			if r.section != v.Section || r.key != "" && r.key != v.Key || v.Value == "" {
				continue
			}
			var err error
			switch r.kind {
			case include: // whatever its condition: that is the command's to fulfil
				err = f.include(v, dir, roots)
			case folder:
				// A push to dir runs hooks in dir, all else in a root.
				err = f.folderTarget(v.Value, append(roots[:len(roots):len(roots)], dir))
			case bang:
				value, ok := strings.CutPrefix(v.Value, "!")
				if ok || filepath.IsAbs(value) {
					err = f.command(value, roots, dir)
				}
			case program:
				err = f.command(v.Value, roots, dir)
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func (f *finder) include(v *variable, dir string, roots []string) error {
	path := expand(v.Value)
	if path == "" {
		return nil
	}
	p, err := f.walk(v.dir, path)
	if err != nil {
		return err
	}
	if !p.exists() {
		if p.path != "" {
			f.name(p.path)
		}
		return nil
	}
	if !p.isFile() {
		f.name(p.path)
		if _, ours := f.root(p.path); ours {
			f.warn("%q is included by git config and is no plain file: not read; replace it", p.path)
		}
		return nil
	}
	f.protect(p.path)
	// Several roots may share a file, but one pass covers them: each git
	// directory is visited once, with all its roots.
	if !f.seen.add(dir + "\x00" + p.path) {
		return nil
	}
	more, err := f.config(p)
	if err != nil {
		return err
	}
	if from := filepath.Dir(path); filepath.Base(path) != filepath.Base(p.path) {
		// Through a link: git starts relative includes at the link's folder.
		if q, err := f.walk(v.dir, from); err == nil && q.isDir() {
			for i := range more {
				more[i].dir = q.path
			}
		}
	}
	if f.depth++; f.depth > maxDepth {
		return fmt.Errorf("%q: includes nested more than %d deep: %w", p.path, maxDepth, ErrLimit)
	}
	defer func() { f.depth-- }()
	return f.targets(more, dir, roots)
}

// folderTarget protects a folder of programs, and what its links lead to.
func (f *finder) folderTarget(value string, bases []string) error {
	path := expand(value)
	for i, base := range bases {
		if path == "" || filepath.IsAbs(path) && i > 0 {
			break
		}
		p, err := f.walk(base, path)
		if err != nil {
			return err
		}
		switch {
		case p.exists():
			// husky's stubs in .husky/_ run the scripts beside it.
			if filepath.Base(p.path) == "_" && filepath.Base(filepath.Dir(p.path)) == ".husky" {
				p.path = filepath.Dir(p.path)
			}
			f.protect(p.path)
			if p.isDir() {
				err = f.hookLinks(p.path)
			}
		case p.path != "" && (len(bases) == 1 || i < len(bases)-1 || filepath.IsAbs(path)):
			f.name(p.path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hookLinks protects what symbolic links in a folder of hooks lead to:
// pre-commit -> ../../scripts/pre-commit is common.
func (f *finder) hookLinks(dir string) error {
	entries, err := readDir(dir, maxHooks)
	if errors.Is(err, fs.ErrPermission) {
		if _, ours := f.root(dir); !ours {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("read hooks: %w", err)
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		p, err := f.walk(dir, e.Name())
		if err != nil {
			return err
		}
		if p.isFile() {
			f.protect(p.path)
		} else if !p.exists() && p.path != "" {
			f.name(p.path)
		}
	}
	return nil
}

// command protects each file inside the area that a command line names. It
// is a search, not a shell: $(…), variables and cd are not followed.
func (f *finder) command(line string, roots []string, dir string) error {
	if len(roots) == 0 { // bare
		roots = []string{dir}
	}
	for i, word := range words(line) {
		path := expand(word)
		if path == "" || (i == 0 || f.lenient) && !strings.Contains(path, "/") {
			continue // found through PATH
		}
		for _, root := range roots {
			p, err := f.walk(root, path)
			if err != nil {
				return err
			}
			switch {
			case p.isFile():
				f.protect(p.path)
			case !p.exists() && p.path != "" && (i == 0 || pathLike(path)):
				f.name(p.path)
			}
			if filepath.IsAbs(path) {
				break
			}
		}
	}
	return nil
}

func pathLike(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../")
}

const separators = " \t\n;|&()<>=`" // "=" for --opt=path

// words splits a shell command line at blanks and operators. Quoted text is
// one word, and its own words follow at the end (sh -c '…', twice nested).
func words(line string) []string {
	out := split(line, nil)
	for start, nested := 0, 0; nested < 2; nested++ {
		end := len(out)
		for _, w := range out[start:end] {
			if strings.ContainsAny(w, separators) {
				out = split(w, out)
			}
		}
		start = end
	}
	return out
}

func split(line string, out []string) []string {
	var word []byte
	var quote byte
	flush := func() {
		if len(word) > 0 {
			out = append(out, string(word))
			word = word[:0]
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word = append(word, line[i])
		case c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte(separators, c) >= 0:
			flush()
		default:
			word = append(word, c)
		}
	}
	flush()
	return out
}

// expand resolves what git expands in paths; "" if it can lead to nothing in
// the area.
func expand(path string) string {
	path = strings.TrimPrefix(path, ":(optional)")
	switch {
	case strings.HasPrefix(path, "%(prefix)/"): // git's own installation
		return ""
	case path == "~" || strings.HasPrefix(path, "~/"):
		home := os.Getenv("HOME")
		if home == "" {
			return ""
		}
		return home + path[1:]
	case strings.HasPrefix(path, "~"):
		user, rest, _ := strings.Cut(path[1:], "/")
		return homeOf(user, rest)
	}
	return path
}

// homeOf reads /etc/passwd by itself: os/user would cost every start.
func homeOf(user, rest string) string {
	data, err := readRegular("/etc/passwd", 1<<20)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), ":"); len(f) > 5 && f[0] == user && f[5] != "" {
			return f[5] + "/" + rest
		}
	}
	return ""
}
