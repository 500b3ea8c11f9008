//go:build linux

package linux

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// CloseInherited marks every descriptor above the standard three to be closed
// at exec: one left open by the caller would reach past the boundary.
func CloseInherited() error {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited descriptors: %w", err)
	}
	return nil
}

// Hint is the fix for a machine where no launcher works, in one line.
func Hint() string {
	const weaker = "; or use --tier open (no sandbox), or --allow-weaker"
	if v, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); err == nil && strings.TrimSpace(string(v)) == "1" {
		return "AppArmor restricts user namespaces: install bubblewrap and its profile (apt install bubblewrap apparmor-profiles), " +
			"add an AppArmor profile with `userns,` for bawn, or sysctl kernel.apparmor_restrict_unprivileged_userns=0" + weaker
	}
	if v, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil && strings.TrimSpace(string(v)) == "0" {
		return "user namespaces are switched off: sysctl user.max_user_namespaces=15000" + weaker
	}
	if v, err := os.ReadFile("/proc/sys/kernel/unprivileged_userns_clone"); err == nil && strings.TrimSpace(string(v)) == "0" {
		return "user namespaces are switched off: sysctl kernel.unprivileged_userns_clone=1" + weaker
	}
	return "allow user namespaces, or install bubblewrap (apt install bubblewrap, dnf install bubblewrap)" + weaker
}
