package session

import (
	"os"
	"path/filepath"
	"strings"

	"bawn/internal/config"
	"bawn/internal/config/plugin"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// plugins asks for the folders that installed plugins declare (SPEC F7), and
// returns what is wrong with their manifests.
func plugins(c config.Config, r *sandbox.Request) (problems []string) {
	tier := r.Tier
	if r.Mode != policy.NoMode {
		tier = r.Mode.Tier()
	}
	if tier != policy.Guarded {
		return nil // added folders hold nowhere else
	}
	getenv := func(name string) (value string) {
		for _, e := range r.Environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				value = v
			}
		}
		return value
	}
	home := getenv("HOME")
	from := plugin.Source{Dir: plugin.Dir(home, getenv), Home: home, UID: os.Getuid()}
	if _, err := os.Lstat(from.Dir); err != nil {
		return nil
	}
	from.Writable = appendReal(nil, r.Workspace)
	for _, it := range c.Folders() {
		from.Writable = appendReal(from.Writable, it.Text)
	}
	for _, c := range policy.Caches(home, getenv, policy.SharedCaches) {
		from.Writable = appendReal(from.Writable, c.Path)
	}
	folders, errs := plugin.Load(from)
	for _, p := range folders {
		r.Plugins = append(r.Plugins, sandbox.PluginFolder{Path: p.Path, Plugin: p.Plugin, Origin: p.Origin})
	}
	for _, err := range errs {
		problems = append(problems, err.Error())
	}
	return problems
}

// appendReal adds a folder's real path, if there is such a folder; "" is the
// current one.
func appendReal(list []string, dir string) []string {
	if abs, err := filepath.Abs(dir); err == nil {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			list = append(list, real)
		}
	}
	return list
}
