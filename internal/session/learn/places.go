package learn

import (
	"strings"

	"bawn/internal/policy"
)

// starters are folders below a home whose files desktops, logins and service
// managers start programs by.
var starters = [...]string{
	".config/autostart", ".config/autostart-scripts", ".config/plasma-workspace", ".config/environment.d", ".config/systemd",
	".local/share/systemd", ".local/share/applications", ".local/share/dbus-1", ".local/bin", "bin", ".bashrc.d", ".profile.d",
	".config/zsh", ".zsh", ".zshrc.d", ".local/share/bash-completion", ".config/sway", ".config/hypr", ".config/i3", ".config/openbox",
	".config/labwc", ".config/lxsession", ".config/xfce4", ".kde/Autostart", ".kde4/Autostart", ".local/share/gnome-shell", "Library/LaunchAgents",
}

// system are the places of the system, which root could write.
var system = [...]string{"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/sbin", "/usr", "/var/lib", "/var/spool"}

// runs says why a folder is never proposed: what is written there is started
// outside the sandbox, without anybody's doing. "" if that is not known of it.
func (p *proposer) runs(dir string, homes []string) string {
	touches := func(place string) bool { return policy.Inside(dir, place) || policy.Inside(place, dir) }
	for _, at := range p.f.Path {
		if touches(at) {
			return "it is or holds a folder of your PATH, whose programs run outside the sandbox"
		}
	}
	for _, s := range system {
		if policy.Inside(dir, s) {
			return s + " belongs to the system, whose programs run outside the sandbox"
		}
	}
	if why := steers(dir); why != "" {
		return why
	}
	if h := otherHome(dir, homes); h != "" && (dir == h || strings.HasPrefix(dir, h+"/.")) {
		return h + " is a home of somebody else, whose settings and credentials lie there"
	} else if h != "" {
		homes = []string{h}
	}
	for _, h := range homes {
		for _, s := range starters {
			if touches(h + "/" + s) {
				return "programs are started from ~/" + s + " outside the sandbox"
			}
		}
	}
	return ""
}

// steers says why a folder is never proposed that would be protected where its
// project is the workspace: bawn's, agents' and shells' settings. Git's are refused
// by the policy itself.
func steers(dir string) string {
	if n := named(dir, policy.ProtectedNames()); n != nil {
		return n.Path + " is a protected name (" + n.What + ")"
	}
	return ""
}

// named finds a name among those that lead to dir.
func named(dir string, names []policy.Name) *policy.Name {
	for i, n := range names {
		if strings.Contains(strings.ToLower(dir)+"/", "/"+n.Path+"/") {
			return &names[i]
		}
	}
	return nil
}

// otherHome is the home that dir is or lies in, if it is none of homes.
func otherHome(dir string, homes []string) string {
	for _, all := range [...]string{"/home/", "/Users/", "/root"} {
		rest, ok := strings.CutPrefix(dir+"/", all)
		if !ok || all == "/root" && !strings.HasPrefix(rest, "/") {
			continue
		}
		first, _, _ := strings.Cut(rest, "/")
		if (first != "" || all == "/root") && !policy.InsideAny(dir, homes) {
			return all + first
		}
	}
	return ""
}

// careful says why a folder wants a yes of its own, "" if it does not: in the
// hidden folders of a home programs keep what they are steered by.
func careful(dir string, homes []string) string {
	for _, h := range homes {
		if strings.HasPrefix(dir, h+"/.") {
			return "programs outside the sandbox may read their settings or plugins there, and so run what a command writes"
		}
	}
	if n := named(dir, policy.WatchedNames()); n != nil {
		return n.Path + " holds " + n.What + ", by which programs outside the sandbox may run what a command writes"
	}
	return ""
}
