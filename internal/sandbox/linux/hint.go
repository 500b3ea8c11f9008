//go:build linux

package linux

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/linux/stage"
)

// CloseInherited marks every descriptor above the standard three to be closed
// at exec: one left open by the caller would reach past the boundary.
func CloseInherited() error {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited descriptors: %w", err)
	}
	return nil
}

const (
	appArmorFix = "AppArmor restricts user namespaces: install bubblewrap and its profile (apt install bubblewrap apparmor-profiles), " +
		"add an AppArmor profile with `userns,` for bawn, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
	procFix = "this container covers parts of /proc: start it with --security-opt systempaths=unconfined (docker) or unmask=ALL (podman)"
)

// fix is what would let a launcher work on this machine.
func fix() string {
	switch {
	case os.Getenv("BAWN_SANDBOXED") != "":
		return "this is a bawn sandbox already, in which none can be made: look from outside of it"
	case procFile("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return appArmorFix
	case procFile("user/max_user_namespaces") == "0":
		return "user namespaces are switched off: sysctl user.max_user_namespaces=15000"
	case procFile("kernel/unprivileged_userns_clone") == "0" && os.Getuid() != 0:
		return "user namespaces are switched off: sysctl kernel.unprivileged_userns_clone=1"
	case len(procMasks()) > 0:
		return procFix
	}
	if _, err := FindBwrap(); err == nil {
		return "allow user namespaces (in a container, in its seccomp profile), or repair bubblewrap"
	}
	return "allow user namespaces, or install bubblewrap (apt install bubblewrap, dnf install bubblewrap)"
}

// Hint is the fix for a machine where no launcher works, in one line.
func Hint() string {
	h := fix() + "; or use --tier open (no sandbox)"
	if abi, err := stage.LandlockABI(); err == nil && abi >= stage.MinLandlock {
		h += ", or --allow-weaker"
	}
	return h
}

type mountPoint struct{ path, kind string }

// mountPoints are this process's mounts.
func mountPoints() (out []mountPoint) {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(b)) {
		own, more, ok := strings.Cut(line, " - ")
		f := strings.Fields(own)
		if !ok || len(f) < 5 {
			continue
		}
		kind, _, _ := strings.Cut(more, " ")
		out = append(out, mountPoint{f[4], kind})
	}
	return out
}

// procMasks are the places in /proc that something is mounted on, as
// containers do: the kernel then refuses a new proc.
func procMasks() (out []string) {
	for _, m := range mountPoints() {
		if strings.HasPrefix(m.path, "/proc/") && m.path != "/proc/sys/fs/binfmt_misc" {
			out = append(out, m.path)
		}
	}
	return out
}
