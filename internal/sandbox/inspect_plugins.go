//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bawn/internal/gitdir"
	"bawn/internal/policy"
)

// plugins adds the folders that plugins declare, each that may be added by
// itself: what a plugin says must not stop every run, and never opens a
// protected place.
func (in *inspector) plugins(c *policy.Config, r Request) {
	named := slices.Clone(c.AddDirs) // what was added before is real
	for _, f := range r.Plugins {
		err := in.plugin(c, &named, f.Path, r.MayAdd)
		var refused *policy.RefusedError
		switch {
		case errors.As(err, &refused):
			in.host.Warnings = append(in.host.Warnings, fmt.Sprintf("the plugin %q does not get %q (%s): %s", f.Plugin, f.Path, f.Origin, refused.Why))
		case err != nil:
			in.host.Warnings = append(in.host.Warnings, fmt.Sprintf("the plugin %q does not get %q (%s): %v", f.Plugin, f.Path, f.Origin, err))
		}
	}
}

func (in *inspector) plugin(c *policy.Config, named *[]string, path string, may func(string) error) error {
	next, err := in.folder(*c, *named, path, may)
	if err != nil {
		return err
	}
	real := next.AddDirs[len(next.AddDirs)-1]
	if what := overlap(*c, real); what != "" {
		return errors.New("it overlaps a protected place: " + what)
	}
	if _, err := gitdir.Discover(real); err != nil {
		return fmt.Errorf("its git directories cannot be protected: %w", err)
	}
	c.AddDirs, *named = next.AddDirs, append(*named, path)
	return nil
}

// overlap names a protected place that lies in dir, or in which dir lies.
func overlap(c policy.Config, dir string) string {
	for _, root := range slices.Concat(c.Homes, c.AddDirs, []string{c.Workspace}) {
		for _, r := range policy.Protected(root) {
			if policy.Inside(dir, r.Path) || root != dir && policy.Inside(r.Path, dir) {
				return r.Path
			}
		}
	}
	for d := dir; d != "/"; d = policy.Parent(d) {
		if strings.HasSuffix(d, "/.git") {
			return d
		}
	}
	return ""
}
