//go:build unix

package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"bawn/internal/policy"
)

// state are the folders in which the agent of a preset keeps its state, as
// rules for writable places. Links are resolved as those of caches are: one
// that a sandboxed command could have planted opens nothing.
func (in *inspector) state(c policy.Config, r Request) (out []policy.PathRule) {
	if r.Preset == nil {
		return nil
	}
	for _, dir := range r.Preset.State {
		// What holds credentials, or is wider than one agent's folder, is not
		// opened, whatever a variable says.
		if err := c.CheckFolder(dir); err != nil {
			in.host.Warnings = append(in.host.Warnings, fmt.Sprintf("the preset of %s leaves a folder out: %v", r.Preset.Agent, err))
			continue
		}
		if real, err := RealPath(dir); err == nil && r.MayAdd != nil {
			if err := r.MayAdd(real); err != nil {
				in.host.Warnings = append(in.host.Warnings, fmt.Sprintf("the preset of %s leaves a folder out: %v", r.Preset.Agent, err))
				continue
			}
		}
		out = append(out, policy.PresetRule(dir, r.Preset.Agent, r.Preset.Title))
		for _, name := range r.Preset.Private {
			if path := dir + "/" + name; r.Layers != "" && in.kind(path) == KindDir && !policy.InsideAny(path, c.Unprotected) {
				out = append(out, policy.PresetCopyRule(path, r.Preset.Agent, r.Preset.Title))
			}
		}
	}
	return out
}

// kept are what stays as it is in those folders, and what the protected names
// of a home are there.
func (in *inspector) kept(c policy.Config, r Request) (out []policy.PathRule) {
	if r.Preset == nil {
		return nil
	}
	add := func(path, what string) {
		if !policy.InsideAny(path, c.Unprotected) {
			out = append(out, policy.KeptRule(path, what, r.Preset.Origin))
		}
	}
	for _, rule := range c.Caches {
		if !rule.IsPreset() || rule.Access != policy.ReadWrite {
			continue
		}
		for _, name := range r.Preset.Kept {
			add(rule.Path+"/"+name, "settings of "+r.Preset.Title)
		}
		for _, name := range r.Preset.Private {
			path := rule.Path + "/" + name
			switch {
			case slices.ContainsFunc(c.Caches, func(o policy.PathRule) bool { return o.Path == path && o.Access == policy.PrivateCopy }):
			case in.kind(rule.Path) == KindNone: // all that is written there is lost
			case in.kind(path) == KindNone && r.Layers != "" && !policy.InsideAny(path, c.Unprotected):
				out = append(out, policy.NoCopyRule(path, r.Preset.Title, r.Preset.Origin))
			default:
				add(path, "settings of "+r.Preset.Title)
			}
		}
		for _, h := range c.Homes {
			for _, n := range policy.ProtectedNames() {
				// A folder that is protected as a whole is the agent's own here.
				if path := h + "/" + n.Path; strings.HasPrefix(path, rule.Path+"/") {
					add(path, n.What)
				}
			}
		}
	}
	return out
}
