//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/policy"
)

// Inspect resolves a Request on this machine: the real paths of what it
// names, and the facts that Plan needs. It reads a fixed number of folders
// (the homes and those on the way to hidden places) and never scans a tree.
func Inspect(r Request) (policy.Config, Host, error) {
	in := inspector{
		getenv: func(name string) string { return getenv(r.Environ, name) },
		above:  make(map[string]bool, 64),
		brief:  r.Decisions,
		host: Host{
			Dirs: map[string][]Entry{}, Modes: map[string]uint32{},
			Links: map[string]string{}, Copies: map[string]string{},
		},
	}
	if in.host.Kinds = make(map[string]Kind, 128); !r.Decisions {
		in.host.Kinds = make(map[string]Kind, 512)
	}
	c := policy.Config{Tier: r.Tier, Mode: r.Mode, Temp: r.Temp, TempOrigin: r.TempOrigin, Env: r.Env, Network: r.Network, Guard: r.Guard, Few: r.Decisions, About: r.About, Lifted: r.Lifted, Unprotected: r.Unprotected, Profile: r.Profile, Install: r.Install}
	if c.Mode != policy.NoMode {
		c.Tier = c.Mode.Tier()
	}
	var err error
	if c.Workspace, err = realFolder("workspace", r.Workspace); err != nil {
		return c, in.host, err
	}
	for _, d := range r.AddDirs {
		real, err := realFolder("added folder", d)
		if err != nil {
			return c, in.host, err
		}
		c.AddDirs = append(c.AddDirs, real)
	}
	if !c.CacheAccess() || c.Profile != policy.NoProfile {
		// None is writable, and New says so of those that a person named.
		for _, f := range r.Folders {
			if !f.Must {
				continue
			}
			real, err := realFolder("added folder", f.Path)
			if err != nil {
				return c, in.host, err
			}
			c.AddDirs = append(c.AddDirs, real)
		}
	}
	left, err := c.Narrow()
	if err != nil {
		return c, in.host, err
	}
	in.host.Warnings = append(in.host.Warnings, left...)
	if c.Profile != policy.NoProfile {
		r.AddDirs, r.Folders, r.Plugins = nil, nil, nil // left out
	}
	if c.Profile != policy.NoProfile || !c.CacheAccess() {
		r.Preset = nil
	}
	if c.Tier == policy.Open {
		return c, in.host, nil
	}
	if err := in.macOS(&c, r); err != nil {
		return c, in.host, err
	}
	if c.Profile == policy.ScratchProfile && in.kind("/tmp") != KindDir {
		return c, in.host, &policy.RefusedError{What: "the scratch profile", Why: "its folder lies in /tmp, which is no folder here", Lift: "make /tmp a folder"}
	}
	for _, rule := range c.Protected {
		in.kind(rule.Path)
	}
	in.workspace = c.Workspace
	in.findNear(&c, r)
	c.Homes = in.homes(getenv(r.Asking, "HOME"))
	if c.Hidden, err = in.hidden(c.Homes, r); err != nil {
		return c, in.host, err
	}
	dirs := slices.Concat([]string{c.Workspace}, c.AddDirs, realFolders(r.Folders))
	c.Hidden = slices.DeleteFunc(c.Hidden, func(h policy.PathRule) bool { // else no folder could hold a CARGO_HOME
		return h.IsPart() && policy.InsideAny(h.Path, dirs) && in.kind(h.Path) == KindNone
	})
	for i, h := range c.Hidden {
		// No mount holds a link, and a folder in a writable one is no single file.
		if k := in.kind(h.Path); h.IsSingle() && policy.InsideAny(h.Path, dirs) && k != KindFile && k != KindNone {
			c.Hidden[i] = h.NotSingle()
		}
	}
	c.Hidden = onDisk(c.Hidden)
	if len(c.Homes) > 0 {
		caches := onDisk(append(policy.Caches(c.Homes[0], in.getenv, r.Caches), macCaches(c.Homes[0])...))
		caches = append(caches, in.state(c, r)...)
		c.Caches = in.caches(caches, dirs)
		if !r.Decisions {
			in.listToMissing(c.Caches, c.Homes)
		}
	}
	if c.CacheAccess() {
		if err := in.layers(c, r); err != nil {
			return c, in.host, err
		}
		if err := plantedFolders(c, r.AddDirs); err != nil {
			return c, in.host, err
		}
		if err := in.folders(&c, r); err != nil {
			return c, in.host, err
		}
		in.plugins(&c, r)
	}
	if err := in.protect(&c, r.Decisions && r.Reads); err != nil {
		return c, in.host, err
	}
	in.settings(&c, append(slices.Clip(r.Settings), in.kept(c, r)...))
	c.Hidden = in.dropAbsent(c)
	in.runUser(&c)
	if !r.Decisions {
		in.system(dirs)
		in.copies(c.Homes)
		in.locks(r.Locks)
	}
	return c, in.host, nil
}

type inspector struct {
	host      Host
	getenv    func(string) string
	workspace string
	above     map[string]bool // of folders: whether they are links, or below one
	brief     bool            // the lists are not for the Host: they are read where that saves calls
	near      *near
	repos     map[string]discovered
}

// Homes are the caller's home folders by real path: that of the environment,
// and those that the system knows.
func Homes(getenv func(string) string) []string { return (&inspector{getenv: getenv}).homes("") }

// homes returns the caller's home folders by real path: $HOME first, and those
// that the system knows, so that a changed HOME does not expose the real one; that of
// who asks comes last. A place that is private in the sandbox is hidden already, and no home.
func (in *inspector) homes(asking string) []string {
	var out []string
	add := func(dir string) {
		if !filepath.IsAbs(dir) {
			return
		}
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			real, err = diskPath(real)
		}
		if err != nil || real == "/" || policy.OwnPlace(real) {
			return
		}
		for _, h := range out {
			if h == real {
				return
			}
		}
		if st, err := os.Stat(real); err == nil && st.IsDir() {
			out = append(out, real)
		}
	}
	add(in.getenv("HOME"))
	for _, dir := range systemHomes(os.Getuid()) {
		add(dir)
	}
	add(asking)
	return out
}

// hidden lists the credential places by every path they have: as named, and
// where links on the way, or the entry itself, lead.
func (in *inspector) hidden(homes []string, r Request) ([]policy.PathRule, error) {
	var skip func(home int, place string) bool
	if in.brief {
		for _, h := range homes {
			for _, dir := range [...]string{h, h + "/.config", h + "/.local/share"} {
				in.listTo(h, dir)
			}
		}
		skip = func(home int, place string) bool { return in.farBelow(homes[home], place, true) }
	}
	rules := append(policy.CredentialsBut(homes, in.getenv, skip), macCredentials(homes)...)
	named := policy.NamedCredentials(r.Environ, r.Env.Keep)
	if asking := slices.DeleteFunc(slices.Clone(r.Asking), func(e string) bool { return slices.Contains(r.Environ, e) }); len(asking) > 0 {
		rules = append(rules, policy.MovedCredentials(homes, func(name string) string { return getenv(asking, name) })...)
		named = append(named, policy.NamedCredentials(asking, r.Env.Keep)...)
	}
	for _, named := range named {
		if st, err := os.Stat(named.Path); err != nil || !st.IsDir() { // a folder of such a name may hold anything
			rules = append(rules, named)
		}
	}
	rules = append(rules, in.keys(homes, r)...)
	if r.Preset != nil {
		rules = slices.DeleteFunc(rules, func(h policy.PathRule) bool { return h.Agent() != "" && h.Agent() == r.Preset.Agent })
	}
	for _, path := range r.Own {
		rules = append(rules, policy.OwnRule(path))
	}
	for _, s := range r.Settings {
		if s.Access == policy.Hidden {
			if err := in.mayHide(s); err != nil {
				return nil, err
			}
			rules = append(rules, s)
		}
	}
	if !in.brief {
		for _, h := range homes {
			for _, r := range rules {
				if dir := policy.Parent(r.Path); policy.Inside(dir, h) {
					in.listTo(h, dir)
				}
			}
		}
	}
	n := len(rules)
	for i, r := range rules[:n:n] {
		above := in.linkAbove(r.Path)
		k := in.kind(r.Path)
		if k == KindDir && !r.File && !r.IsSetting() {
			rules = append(rules, in.linkedKeys(r, homes)...)
		}
		if k != KindLink && !above {
			continue // its path is its real path
		}
		// A link to nothing counts where it leads: the host may make that.
		real, err := RealPath(r.Path)
		if err != nil || real == r.Path || real == "/" {
			continue
		}
		for _, h := range homes {
			if dir := policy.Parent(real); policy.Inside(dir, h) {
				in.listTo(h, dir)
			}
		}
		in.kind(real)
		twin := r
		twin.Path = real
		if above {
			rules[i] = twin // no mount can go through the link above
		} else {
			rules = append(rules, twin)
		}
	}
	return slices.DeleteFunc(rules, func(r policy.PathRule) bool { return in.far(r.Path) }), nil
}

// linkAbove reports whether a folder on the way to path is a symbolic link. It
// looks at the upper ones first: below one that is not there is nothing to see.
func (in *inspector) linkAbove(path string) bool {
	dir := policy.Parent(path)
	if dir == "/" {
		return false
	}
	above, known := in.above[dir]
	if !known {
		above = in.linkAbove(dir) || in.kind(dir) == KindLink
		in.above[dir] = above
	}
	return above
}

// linkedKeys hides what links inside a credential folder lead to (dotfile
// managers keep ~/.aws/credentials elsewhere): files anywhere but in the
// system's folders, folders in the home.
func (in *inspector) linkedKeys(r policy.PathRule, homes []string) []policy.PathRule {
	var out []policy.PathRule
	for _, h := range homes {
		if rel, ok := strings.CutPrefix(r.Path, h+"/"); !ok || strings.Contains(rel, "/") {
			continue
		}
		for _, name := range folderLinks(r.Path) {
			real, err := filepath.EvalSymlinks(r.Path + "/" + name)
			if err != nil || systemPath(real) {
				continue
			}
			k := in.kind(real)
			if k == KindFile || k == KindDir && policy.Inside(real, h) && !policy.Inside(h, real) && !policy.Inside(in.workspace, real) {
				twin := r
				twin.Path, twin.File = real, k == KindFile
				out = append(out, twin)
			}
		}
	}
	return out
}

// protect finds what must stay read-only inside the writable folders; for who
// asks about reads alone, git's directories only.
func (in *inspector) protect(c *policy.Config, reads bool) error {
	dirs := append([]string{c.Workspace}, c.AddDirs...)
	for _, d := range dirs {
		if in.kind(d) == KindDir && in.brief && !reads { // else each protected name is looked at
			in.list(d, true)
		}
	}
	if !reads {
		in.linked(c, dirs)
	}
	for _, d := range dirs {
		if !reads {
			in.names(c, d)
		}
		repo, err := in.repo(d)
		if err != nil {
			return &policy.RefusedError{
				What: fmt.Sprintf("folder %q", d), Why: "its git directories cannot be protected: " + err.Error(),
				Lift: "mend the repository, or name another folder with -C DIR",
			}
		}
		in.host.Warnings = append(in.host.Warnings, repo.Warnings...)
		if d == c.Workspace {
			c.Repository = repo.Above
		}
		for _, w := range repo.Writable {
			in.kind(w)
			c.GitDirs = append(c.GitDirs, w)
		}
		for _, p := range repo.ReadOnly {
			if in.lifted(p, c) {
				continue
			}
			in.kind(p)
			c.Protected = append(c.Protected, policy.ProtectRule(p, "git control file"))
			in.host.Control = append(in.host.Control, p)
		}
		in.host.Pins = append(in.host.Pins, repo.Pins...)
		for _, p := range repo.Names {
			if !slices.Contains(c.Lifted, "git.target") && !policy.InsideAny(p, c.Unprotected) {
				in.host.Names = append(in.host.Names, p)
				c.Named = append(c.Named, p)
			}
		}
	}
	return nil
}

// names keeps the protected names at the root of a writable folder.
func (in *inspector) names(c *policy.Config, d string) {
	for _, n := range policy.ProtectedNames() {
		if in.farBelow(d, n.Path, false) {
			continue
		}
		r := policy.ProtectRule(d+"/"+n.Path, n.What)
		if slices.Contains(c.Lifted, n.Lift) || policy.InsideAny(r.Path, c.Unprotected) {
			continue
		}
		k := in.kind(r.Path)
		if k == KindNone {
			if c.Guard { // the guard holds it
				c.Protected = append(c.Protected, r)
			}
			continue
		}
		if in.linkAbove(r.Path) {
			// No mount can go through a link; the real place is held.
			real, err := filepath.EvalSymlinks(r.Path)
			if err != nil {
				continue
			}
			r.Path, k = real, in.kind(real)
		}
		in.pinParents(r.Path, d)
		c.Protected = append(c.Protected, r)
		if k == KindLink {
			// The link cannot be mounted over; what it leads to can.
			if real, err := filepath.EvalSymlinks(r.Path); err == nil && real != d {
				twin := r
				twin.Path = real
				in.kind(real)
				c.Protected = append(c.Protected, twin)
			}
		}
	}
}

// pinParents pins the folders between root and path.
func (in *inspector) pinParents(path, root string) {
	for d := policy.Parent(path); d != root && policy.Inside(d, root); d = policy.Parent(d) {
		if in.kind(d) != KindNone { // above a protected name that does not exist yet
			in.host.Pins = append(in.host.Pins, d)
		}
	}
}

// dropAbsent pins the folders above hidden places inside writable folders:
// renamed, they would take the secret out of its name. It removes hidden names
// that do not exist there: no mount can hold them, so saying so would be a
// claim.
func (in *inspector) dropAbsent(c policy.Config) []policy.PathRule {
	// A workspace or added folder that would hold a credential is refused, but
	// for one in a cache, which may be the workspace in any tier. What settings
	// hide, and single files that variables name, may lie in any of them.
	var writable, dirs []string
	if c.Mode != policy.ReadOnlyMode {
		if dirs = append(dirs, c.Workspace); c.InCache(c.Workspace) {
			writable = append(writable, c.Workspace)
		}
	}
	if c.CacheAccess() {
		dirs = append(dirs, c.AddDirs...)
		for _, r := range c.Caches {
			if in.kind(r.Path) == KindDir {
				writable = append(writable, r.Path)
			}
		}
		writable = append(writable, c.GitDirs...)
	}
	dirs = append(dirs, writable...)
	out := c.Hidden[:0]
next:
	for _, r := range c.Hidden {
		within := writable
		if r.IsSetting() || r.IsSingle() {
			within = dirs
		}
		for _, d := range within {
			if !policy.Inside(r.Path, d) {
				continue
			}
			if in.kind(r.Path) == KindNone {
				continue next
			}
			in.pinParents(r.Path, d)
		}
		out = append(out, r)
	}
	return out
}
