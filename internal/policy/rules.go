package policy

import (
	"slices"
)

// systemRules are those for the places that every sandbox has.
func (c Config) systemRules() []PathRule {
	if c.MacOS != nil {
		return c.MacOS.rules(c.Temp, c.TempOrigin)
	}
	fixed := FixedRule
	write, temp := Private, "the sandbox has its own temp folder, empty at the start"
	if c.Temp == HostTemp {
		write, temp = ReadWrite, "the host's temp folder"
	}
	rs := make([]PathRule, 0, len(c.Hidden)+len(c.Protected)+len(c.Caches)+56)
	rs = append(rs,
		fixed("/", ReadOnly, "root", "the system is read-only in the sandbox"),
		fixed("/tmp", write, "temp", temp).From(c.TempOrigin),
		fixed("/var/tmp", write, "temp", temp).From(c.TempOrigin),
		fixed("/dev", ReadOnly, "devices", "the sandbox has a minimal /dev"),
		fixed("/dev/shm", Private, "temp", "the sandbox has its own shared memory"),
		fixed("/dev/pts", Private, "devices", "the sandbox has its own terminals"),
		fixed("/proc", ReadOnly, "proc", "the sandbox sees its own processes only"),
		fixed("/sys", ReadOnly, "sys", "the kernel's settings are read-only"),
		fixed("/run", ReadOnly, "run", "the sandbox has its own, empty /run"),
	)
	for _, f := range kernelFiles {
		rs = append(rs, PathRule{Path: f, File: true, kind: kindFixed, id: "kernel", what: "the kernel's memory and tables are hidden from sandboxed commands"})
	}
	for _, d := range devices {
		rs = append(rs, fixed("/dev/"+d, ReadWrite, "devices", "a harmless device"))
	}
	if c.RunUser != "" {
		rs = append(rs, fixed(c.RunUser, Private, "run", "the sandbox has its own runtime folder"))
	}
	return rs
}

func (c Config) rules() []PathRule {
	fixed := FixedRule
	rs := c.systemRules()
	for _, h := range c.Homes {
		home := PathRule{Path: h, Access: ReadOnly, kind: kindHome}
		if !c.CacheAccess() { // where --add-dir lifts nothing
			home = fixed(h, ReadOnly, "home", "the home folder is read-only in the sandbox")
		}
		rs = append(rs, home)
	}
	ws, text := ReadWrite, "the workspace"
	if c.Mode == ReadOnlyMode {
		ws, text = ReadOnly, "the workspace is not writable in read-only"
	}
	if c.Profile == ScratchProfile {
		rs = append(rs, fixed(c.Workspace, ws, scratchID, "the scratch profile writes its own folder alone"))
	} else {
		rs = append(rs, fixed(c.Workspace, ws, "workspace", text))
	}
	for _, d := range c.AddDirs {
		r := fixed(d, ReadWrite, "add-dir", "an added folder")
		if o, ok := c.DirOrigins[d]; ok {
			r = r.From(o)
		}
		rs = append(rs, r)
	}
	hidden := make(pathSet, len(c.Hidden))
	for _, r := range c.Hidden {
		hidden[r.Path] = struct{}{}
	}
	if c.CacheAccess() {
		for _, r := range c.Caches {
			// A variable may name any folder as a cache.
			if c.tooWide(r.Path) == "" && !hidden.holds(r.Path) && !c.asFolder(r) {
				rs = append(rs, r)
			}
		}
		for _, d := range c.GitDirs {
			rs = append(rs, fixed(d, ReadWrite, "git-dir", "the git directory of this working tree"))
		}
	}
	for _, r := range c.Protected {
		if !hidden.holds(r.Path) {
			rs = append(rs, r)
		}
	}
	return append(rs, c.Hidden...)
}

// asFolder reports whether a cache that would be private lies in a folder that
// is writable anyway: it is part of that one, whether it exists or not.
func (c Config) asFolder(cache PathRule) bool {
	inside := func(dir string) bool { return Inside(cache.Path, dir) }
	return cache.Access == PrivateCopy && (inside(c.Workspace) || slices.ContainsFunc(c.AddDirs, inside) || slices.ContainsFunc(c.GitDirs, inside))
}

// kernelFiles show the kernel's memory, keys and addresses.
var kernelFiles = [...]string{
	"/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/key-users", "/proc/kallsyms", "/proc/timer_list", "/proc/timer_stats",
	"/proc/latency_stats", "/proc/sched_debug", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup",
	"/proc/vmallocinfo", "/proc/iomem", "/proc/ioports",
}

// KernelFiles are the files of /proc that no sandboxed command may read.
func KernelFiles() []string { return kernelFiles[:] }

// devices are the nodes the sandbox's /dev has.
var devices = [...]string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"}

// pathSet is a set of absolute paths.
type pathSet map[string]struct{}

// holds reports whether path is, or is inside, one of the set. There are many
// of both.
func (s pathSet) holds(path string) bool {
	for d := path; ; d = Parent(d) {
		if _, ok := s[d]; ok {
			return true
		}
		if d == "/" {
			return false
		}
	}
}
