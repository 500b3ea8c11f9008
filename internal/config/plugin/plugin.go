// Package plugin reads which folders the installed plugins declare (SPEC F7).
//
// A plugin is a folder $XDG_CONFIG_HOME/bawn/plugins/NAME (~/.config if the
// variable is not set) with a manifest plugin.json. Who can write there
// decides what every guarded command may write, so nothing is read that
// somebody else, or a sandboxed command, could have put there.
package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/config/disk"
	"bawn/internal/policy"
)

// The limits of what is read; each folder is a mount of every sandbox.
const (
	maxPlugins  = 256
	maxFolders  = 64       // of one manifest
	maxManifest = 64 << 10 // bytes
)

// ManifestName is the file in a plugin's folder that says what it needs.
const ManifestName = "plugin.json"

// Folder is one folder that a plugin wants to be writable. Whether it may be
// is for policy.Config.CheckFolder to say, once its links are resolved.
type Folder struct {
	Path   string        // absolute and clean, as it is written
	Plugin string        // the name of the plugin's folder
	Origin policy.Origin // the manifest and the line
}

// Source is where plugins are looked for. The zero value has none.
type Source struct {
	// Dir is the folder of plugins, see Dir. "" is none.
	Dir string
	// Home is what ~ stands for in a manifest; "" refuses such paths.
	Home string
	// UID is the user that, besides root, may own what is read.
	UID int
	// Writable are the places, by their real paths, that sandboxed commands
	// may write: plugins in one of them are not read.
	Writable []string
}

// Dir is the folder of plugins for an environment; "" if that names no
// absolute path.
func Dir(home string, getenv func(string) string) string {
	config := strings.TrimSuffix(getenv("XDG_CONFIG_HOME"), "/")
	if !policy.IsClean(config) {
		if !policy.IsClean(home) || home == "/" {
			return ""
		}
		config = home + "/.config"
	}
	return config + "/bawn/plugins"
}

// Load returns the folders of all plugins, sorted by the plugins' names. What
// is wrong with one plugin opens nothing for it and is told; the others hold.
// Without a folder of plugins there are none, which is no error.
func Load(s Source) (folders []Folder, problems []error) {
	if s.Dir == "" {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = s.apart(real)
	}
	var names []string
	if err == nil {
		names, err = pluginNames(real)
	}
	if err != nil {
		return nil, []error{fmt.Errorf("plugins in %q: %w", s.Dir, err)}
	}
	root, err := disk.OpenPlain(real)
	if err == nil {
		defer root.Close()
		err = owned(root, s.UID)
	}
	if err != nil {
		return nil, []error{fmt.Errorf("plugins in %q: %w", s.Dir, err)}
	}
	for _, name := range names {
		found, err := s.plugin(root, name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		folders = append(folders, found...)
	}
	return folders, problems
}

// apart refuses a folder that an earlier sandboxed command could have filled.
func (s Source) apart(real string) error {
	for _, w := range s.Writable {
		if policy.Inside(real, w) || policy.Inside(w, real) {
			return fmt.Errorf("not read: sandboxed commands may write %q", w)
		}
	}
	return nil
}

func pluginNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		// Notes and editors' files may lie between the plugins.
		if !strings.HasPrefix(e.Name(), ".") && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			names = append(names, e.Name())
		}
	}
	if len(names) > maxPlugins {
		return nil, fmt.Errorf("%d plugins: at most %d are read", len(names), maxPlugins)
	}
	slices.Sort(names)
	return names, nil
}

func owned(d *disk.Dir, uid int) error {
	in, err := d.Info()
	if err != nil {
		return err
	}
	in.Sticky = false // there too others may add what is not there yet
	return in.OnlyOwners(uid)
}

// plugin reads one plugin. A folder without a manifest declares nothing.
func (s Source) plugin(root *disk.Dir, name string) ([]Folder, error) {
	shown := s.Dir + "/" + name
	fail := func(err error) error { return fmt.Errorf("plugin %q: %w", name, err) }
	if !plainName(name) {
		return nil, fail(errors.New("not read: a plugin's name is made of letters, digits, '.', '-' and '_'"))
	}
	dir, err := root.Sub(name)
	if err != nil {
		return nil, fail(reason(err))
	}
	defer dir.Close()
	if err := owned(dir, s.UID); err != nil {
		return nil, fail(err)
	}
	data, in, err := dir.Read(ManifestName, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = in.OnlyOwners(s.UID)
	}
	if err != nil {
		return nil, fail(fmt.Errorf("%s: %w", ManifestName, reason(err)))
	}
	paths, err := parse(shown+"/"+ManifestName, data, s.Home)
	if err != nil {
		return nil, fail(err)
	}
	out := make([]Folder, len(paths))
	for i, p := range paths {
		out[i] = Folder{Path: p.path, Plugin: name, Origin: policy.Origin{File: shown + "/" + ManifestName, Line: p.line}}
	}
	return out, nil
}

// reason leaves the path out of an error that is told with its own.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func plainName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
