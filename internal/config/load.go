package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bawn/internal/config/disk"
	"bawn/internal/policy"
)

// Limits of files, in bytes. A project's comes from anybody.
const (
	maxFile = 8 << 20
	// MaxProject is the limit of a project's file.
	MaxProject = 64 << 10
)

// Names of the files in their folders.
const (
	fileName        = "config.toml"
	allowedName     = "allowed.toml"
	requiredName    = "requirements.toml"
	projectFolder   = ".bawn"
	managedFolder   = "/etc/bawn"
	userFolder      = "bawn"
	userConfigBelow = ".config"
)

// Options is what Load reads besides the files: the caller's own world, never
// a sandboxed command's.
type Options struct {
	// Environ is the environment of the host, as of os.Environ.
	Environ []string
	// Home is the user's home folder; "" takes HOME of Environ.
	Home string
	// Workspace is the real path of the workspace; "" reads no project's file.
	Workspace string
	// Flags are the settings of the command line.
	Flags []Flag
	// UserFile, if it is not nil, is read in place of the user's config.toml:
	// what that would mean before it is written.
	UserFile []byte
	// Trusted says whether a person has trusted this content of the project's
	// file; nil trusts none. An error refuses the run.
	Trusted func(workspace string, content []byte) (bool, error)

	// managed replaces the managed folder, and its owner, in tests.
	managed      string
	managedOwner int
}

// Flag is one setting of the command line: its name as typed, as --add-dir,
// the key it sets, and the value or one entry of a list. Paths are absolute.
type Flag struct{ Name, Key, Value string }

// Load reads all layers and merges them. It looks at three folders where none
// exists. Any setting that cannot be taken is an *Error, and a file that
// others could have written, or that is no plain file, a *policy.RefusedError.
func Load(o Options) (Config, error) {
	l, err := Read(o)
	if err != nil {
		return Config{}, err
	}
	return l.With(o.Flags)
}

// Layers is what was read from the files and the environment: an immutable
// value, to which flags can be added again and again. The zero Layers has none.
type Layers struct{ l layers }

// Read reads all layers but the flags, which it ignores; see Load.
func Read(o Options) (Layers, error) {
	o.Flags = nil
	l, err := read(o)
	if err != nil {
		return Layers{}, err
	}
	return Layers{*l}, nil
}

// With merges the layers and the flags.
func (r Layers) With(flags []Flag) (Config, error) {
	l := r.l
	v, err := parseFlags(scope{layer: Flags, workspace: filepath.ToSlash(l.workspace), home: l.home}, flags)
	if err != nil {
		return Config{}, err
	}
	l.strong = append(l.strong[:len(l.strong):len(l.strong)], v)
	return l.merge(), nil
}

// layers is everything that was read, before it is merged.
type layers struct {
	workspace string
	home      string   // with slashes
	weak      []values // managed, user, saved
	project   *values
	trusted   bool
	content   []byte   // of the project's file
	strong    []values // environment, flags
	required  *values
	files     []string
	warnings  []string
}

// UserDir returns the folder of the user's configuration; "" if neither
// XDG_CONFIG_HOME nor a home folder is known. Relative values of
// XDG_CONFIG_HOME do not count.
func UserDir(environ []string, home string) string {
	if dir := getenv(environ, "XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, userFolder)
	}
	if home == "" {
		home = getenv(environ, "HOME")
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, userConfigBelow, userFolder)
}

// getenv returns the last value of a variable, as package sandbox does.
func getenv(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

func read(o Options) (*layers, error) {
	home := o.Home
	if home == "" {
		home = getenv(o.Environ, "HOME")
	}
	if !filepath.IsAbs(home) {
		home = ""
	}
	if o.Workspace != "" && !filepath.IsAbs(o.Workspace) {
		return nil, fmt.Errorf("config: the workspace %q is not an absolute path", o.Workspace)
	}
	l := &layers{workspace: o.Workspace}
	sc := func(layer Layer) scope {
		return scope{layer: layer, home: filepath.ToSlash(strings.TrimSuffix(home, "/")), workspace: filepath.ToSlash(o.Workspace)}
	}
	if err := l.managed(o, sc); err != nil {
		return nil, err
	}
	if err := l.user(o, UserDir(o.Environ, home), sc); err != nil {
		return nil, err
	}
	if o.Workspace != "" {
		if err := l.projectFile(o, sc(ProjectFile)); err != nil {
			return nil, err
		}
	}
	env, warnings, err := parseEnviron(sc(Environment), o.Environ)
	if err != nil {
		return nil, err
	}
	l.warnings = append(l.warnings, warnings...)
	flags, err := parseFlags(sc(Flags), o.Flags)
	if err != nil {
		return nil, err
	}
	l.home = sc(Flags).home
	l.strong = append(l.strong, env, flags)
	return l, nil
}

func (l *layers) managed(o Options, sc func(Layer) scope) error {
	path := o.managed
	if path == "" {
		path = managedFolder
	}
	d, err := openOwned(path, o.managedOwner, "managed")
	if d == nil || err != nil {
		return err
	}
	defer d.Close()
	for _, f := range [...]struct {
		name  string
		layer Layer
	}{{fileName, Managed}, {requiredName, Requirements}} {
		v, err := l.file(d, path, f.name, o.managedOwner, sc(f.layer))
		switch {
		case err != nil:
			return err
		case v == nil:
		case f.layer == Requirements:
			l.required = v
		default:
			l.weak = append(l.weak, *v)
		}
	}
	return nil
}

func (l *layers) user(o Options, path string, sc func(Layer) scope) error {
	if path == "" {
		l.warnings = append(l.warnings, "no settings of yours were read: neither HOME nor XDG_CONFIG_HOME names a folder")
		return nil
	}
	d, err := openOwned(path, os.Geteuid(), "your")
	if err == nil && d == nil && o.UserFile != nil {
		return l.userText(o.UserFile, path, sc(User))
	}
	if d == nil || err != nil {
		return err
	}
	defer d.Close()
	if l.workspace != "" {
		// A variable can lead the user's settings into the repository (A75).
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return refuse(path, "it cannot be followed: "+err.Error(), "")
		}
		if policy.Inside(filepath.ToSlash(real), filepath.ToSlash(l.workspace)) {
			return refuse(path, "your settings lie in the workspace, where commands may change them", "work in a project folder (-C DIR), or let XDG_CONFIG_HOME name a folder outside of this one")
		}
	}
	for _, f := range [...]struct {
		name  string
		layer Layer
	}{{fileName, User}, {allowedName, Saved}} {
		if f.layer == User && o.UserFile != nil {
			if err := l.userText(o.UserFile, path, sc(User)); err != nil {
				return err
			}
			continue
		}
		v, err := l.file(d, path, f.name, os.Geteuid(), sc(f.layer))
		if err != nil {
			return err
		}
		if v != nil {
			l.weak = append(l.weak, *v)
		}
	}
	return nil
}

// userText reads what the user's file is to say.
func (l *layers) userText(data []byte, dir string, sc scope) error {
	path := filepath.Join(dir, fileName)
	v, err := parseFile(sc, path, data)
	if err != nil {
		return err
	}
	l.weak = append(l.weak, v)
	if real, err := filepath.EvalSymlinks(path); err == nil { // where it will be written
		path = real
	}
	l.files = append(l.files, path)
	return nil
}

// refuse is the refusal of a run because of a file.
func refuse(path, why, lift string) error {
	return &policy.RefusedError{What: fmt.Sprintf("settings %q", path), Why: why, Lift: lift}
}

// openOwned opens a folder that only root and one user may change; nil if
// there is none.
func openOwned(path string, uid int, whose string) (*disk.Dir, error) {
	d, err := disk.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, refuse(path, "the folder of "+whose+" settings cannot be read: "+reason(err), "")
	}
	in, err := d.Info()
	if err == nil {
		err = in.OnlyOwners(uid)
	}
	if err != nil {
		d.Close()
		return nil, refuse(path, reason(err), "")
	}
	return d, nil
}

// reason is an error without the path, which the caller names.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// file reads one file that only root and one user may change; nil if there is
// none. A link is followed, as tools that manage settings make them, but
// never into the workspace, and the rules hold for where it leads.
func (l *layers) file(d *disk.Dir, folder, name string, uid int, sc scope) (*values, error) {
	path := filepath.Join(folder, name)
	data, in, err := d.Read(name, maxFile)
	if errors.Is(err, disk.ErrLink) && sc.layer != Saved {
		data, in, path, err = l.linked(path, uid)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, policy.ErrRefused):
		return nil, err
	case err != nil:
		return nil, refuse(path, "it cannot be read: "+reason(err), "")
	}
	if err := in.OnlyOwners(uid); err != nil {
		return nil, refuse(path, err.Error(), "")
	}
	v, err := parseFile(sc, path, data)
	if err != nil {
		return nil, err
	}
	l.files = append(l.files, path)
	return &v, nil
}

// linked reads the file that a link leads to.
func (l *layers) linked(link string, uid int) ([]byte, disk.Info, string, error) {
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return nil, disk.Info{}, link, refuse(link, "the link cannot be followed: "+reason(err), "")
	}
	if l.workspace != "" && policy.Inside(filepath.ToSlash(real), filepath.ToSlash(l.workspace)) {
		return nil, disk.Info{}, link, refuse(link, "it is a link into the workspace, where commands may change it", "put a copy in its place")
	}
	d, err := openOwned(filepath.Dir(real), uid, "the linked")
	if err != nil {
		return nil, disk.Info{}, link, err
	}
	if d == nil {
		return nil, disk.Info{}, link, refuse(link, "it is a link to nothing", "")
	}
	defer d.Close()
	data, in, err := d.Read(filepath.Base(real), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = refuse(link, "it is a link to nothing", "")
	}
	return data, in, real, err
}

// projectFile reads the workspace's own file. Its content is anybody's: no
// link is followed to it, and what is trusted is what is parsed.
func (l *layers) projectFile(o Options, sc scope) error {
	path := filepath.Join(o.Workspace, projectFolder, fileName)
	data, err := readProject(o.Workspace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refuse(path, "it cannot be read: "+reason(err), "")
	}
	v, err := parseFile(sc, path, data)
	if err != nil {
		return err
	}
	l.project, l.content = &v, data
	l.files = append(l.files, path)
	if o.Trusted != nil {
		if l.trusted, err = o.Trusted(o.Workspace, l.content); err != nil {
			l.trusted = false
			return fmt.Errorf("whether %s is trusted: %w", shown(path), err)
		}
	}
	return nil
}

func readProject(workspace string) ([]byte, error) {
	d, err := disk.OpenPlain(filepath.Join(workspace, projectFolder))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	data, _, err := d.Read(fileName, MaxProject)
	return data, err
}
