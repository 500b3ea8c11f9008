//go:build linux

package sandboxtest

import (
	"os"
	"slices"
	"testing"
)

// Weaker stands in a Box in the place of a launcher: the run is one of
// --allow-weaker on a machine where no namespaces can be made.
const Weaker = "weaker"

// EachGuarded runs a case wherever the name guard holds: under every launcher
// and in the weaker mode.
func EachGuarded(t *testing.T, f func(t *testing.T, launcher string)) {
	t.Helper()
	all := slices.Clone(Launchers)
	if os.Getenv(envKept) == "" { // a keeper needs namespaces
		all = append(all, Weaker)
	}
	for _, l := range all {
		t.Run(l, func(t *testing.T) { f(t, l) })
	}
}

// running is the beginning of a command line of bawn run with the box's launcher.
func (b *Box) running() []string {
	if b.Launcher == Weaker {
		return append(setupSysctl("-U", "-c", "--keep-caps"), binary, "run", "--allow-weaker")
	}
	return []string{binary, "run", "--launcher", b.Launcher}
}

// setupSysctl is a machine whose user namespaces are switched off. Inside a
// user namespace made for the test the setting is the test's own to change.
func setupSysctl(flags ...string) []string {
	return append(append([]string{"unshare"}, flags...), "sh", "-c",
		`echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all -- "$@"`, "sh")
}
