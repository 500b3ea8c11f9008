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
	for _, h := range homes {
		for _, s := range starters {
			if touches(h + "/" + s) {
				return "programs are started from ~/" + s + " outside the sandbox"
			}
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
	return ""
}
