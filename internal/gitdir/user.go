package gitdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// user protects in the folder what the user's own settings name, and the
// machine's (core.hooksPath = .githooks for all repositories): they hold for a
// repository to come as well. git does without a file of these that it cannot
// read, and ends at one that it cannot parse. Of a command line only paths with
// a slash count: an alias that names a README must not take it from everyone.
func (f *finder) user() error {
	var vars []variable
	for _, path := range userConfigs() {
		data, err := readLinked(path, maxConfig)
		if errors.Is(err, ErrLimit) {
			return fmt.Errorf("read git config %q: larger than %d bytes: %w", path, maxConfig, ErrLimit)
		}
		entries, _ := parseConfig(data)
		for _, e := range entries {
			v := variable{Entry: e}
			switch {
			case e.Section == "core" && e.Key == "hookspath":
				f.hooks = append(f.hooks, v)
			case e.Section == "include" || e.Section == "includeif":
				dir, err := f.walk("/", filepath.Dir(path))
				if err != nil {
					return err
				}
				v.dir = dir.path
			}
			vars = append(vars, v)
		}
	}
	f.lenient = true
	defer func() { f.lenient = false }()
	return f.targets(vars, f.folder, []string{f.folder})
}

// userConfigs are the files of settings that hold in every repository, those
// that hold most last (git-config(1)).
func userConfigs() (paths []string) {
	if system := os.Getenv("GIT_CONFIG_SYSTEM"); system != "" {
		paths = append(paths, system)
	} else if no := os.Getenv("GIT_CONFIG_NOSYSTEM"); !truthy(no) {
		paths = append(paths, "/etc/gitconfig")
	}
	if global := os.Getenv("GIT_CONFIG_GLOBAL"); global != "" {
		return append(paths, global)
	}
	home, config := os.Getenv("HOME"), os.Getenv("XDG_CONFIG_HOME")
	if config != "" {
		paths = append(paths, config+"/git/config")
	} else if home != "" {
		paths = append(paths, home+"/.config/git/config")
	}
	if home != "" {
		paths = append(paths, home+"/.gitconfig")
	}
	return paths
}
