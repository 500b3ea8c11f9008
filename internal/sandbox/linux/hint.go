//go:build linux

package linux

import (
	"fmt"
	"os"
	"strconv"
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

// machineRoot is the root of what is read of the machine, and another one in
// tests: "/proc" and "/etc/apparmor.d" lie below it.
var machineRoot = ""

const ownProfile = "/etc/apparmor.d/bawn" // the packages' own, for /usr/bin/bawn

// appArmorFix is how the program at exe gets leave to make user namespaces where
// AppArmor restricts them (Ubuntu 23.10 and later).
func appArmorFix(exe string) string {
	name := "bawn"
	if _, err := os.Stat(machineRoot + ownProfile); err == nil {
		if exe == "/usr/bin/bawn" {
			return "AppArmor restricts user namespaces: load bawn's profile with sudo apparmor_parser -r " + ownProfile +
				", or sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
		}
		name = "bawn-local"
	}
	if strings.ContainsFunc(exe, func(r rune) bool { // such a path would say something else in a profile
		return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("/._+-", r))
	}) || !strings.HasPrefix(exe, "/") {
		exe = "/usr/local/bin/bawn"
	}
	return "AppArmor restricts user namespaces: add a profile with printf 'abi <abi/4.0>,\\nprofile " + name + " " + exe +
		" flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/" + name + " && sudo apparmor_parser -r /etc/apparmor.d/" + name +
		", or install bubblewrap and its profile (apt install bubblewrap apparmor-profiles), or sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
}

// containerFix is what a container around bawn must be started with; "" if none
// is seen.
func containerFix() string {
	var does, options []string
	if len(procMasks()) > 0 {
		does, options = append(does, "covers parts of /proc"), append(options, "systempaths=unconfined")
	}
	label := ""
	if b, err := os.ReadFile(machineRoot + "/proc/self/attr/current"); err == nil {
		label, _, _ = strings.Cut(strings.TrimRight(string(b), "\n\x00"), " ")
	}
	if strings.Contains(label, "-default") { // docker-default, containers-default-0.58, crio-default
		does, options = append(does, "confines with AppArmor"), append(options, "apparmor=unconfined")
	}
	if len(does) == 0 {
		return ""
	}
	if filtered() {
		does, options = append(does, "filters system calls"), append(options, "seccomp=unconfined")
	}
	fix := "this container " + strings.Join(does, " and ") + ": start it with --security-opt " + strings.Join(options, " --security-opt ")
	if options[0] == "systempaths=unconfined" {
		fix += " (podman: unmask=ALL for systempaths=unconfined)"
	}
	if rootless() {
		fix += ", and with --cap-add SETFCAP"
	}
	return fix
}

// rootless reports whether bawn runs as root without CAP_SETFCAP: the kernel
// then lets nobody map root into a user namespace (EPERM from uid_map).
func rootless() bool {
	if os.Getuid() != 0 {
		return false
	}
	b, _ := os.ReadFile(machineRoot + "/proc/self/status")
	_, text, found := strings.Cut(string(b), "\nCapEff:\t")
	text, _, _ = strings.Cut(text, "\n")
	caps, err := strconv.ParseUint(text, 16, 64)
	return found && err == nil && caps&(1<<unix.CAP_SETFCAP) == 0
}

// filtered reports whether somebody put a system call filter on bawn.
func filtered() bool {
	b, _ := os.ReadFile(machineRoot + "/proc/self/status")
	return strings.Contains(string(b), "\nSeccomp:\t2\n")
}

// wsl is the version of the Windows Subsystem for Linux; 0 on any other
// machine. The kernel of version 1 calls itself 4.4.0-19041-Microsoft, those of
// version 2 5.15.90.1-microsoft-standard-WSL2, or what its builder chose.
func wsl() int {
	switch release := procFile("kernel/osrelease"); {
	case strings.HasSuffix(release, "-Microsoft"):
		return 1
	case strings.Contains(release, "microsoft") || strings.Contains(release, "WSL2"):
		return 2
	}
	return 0
}

// chrooted reports whether the root folder is no mount, as chroot leaves it: the
// kernel makes no user namespace there, whatever its settings (EPERM).
func chrooted() bool {
	b, err := os.ReadFile(machineRoot + "/proc/self/mountinfo")
	if err != nil || len(b) == 0 {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == "/" {
			return false
		}
	}
	return true
}

// noProc reports whether no /proc is mounted, from which bawn starts itself.
func noProc() bool {
	_, self := os.Stat(machineRoot + "/proc/self")
	_, sys := os.Stat(machineRoot + "/proc/sys")
	return self != nil && sys != nil
}

const (
	mountProc   = "mount -t proc proc /proc"
	mountMaxFix = "a sandbox needs more mounts than the machine allows: " + stage.RaiseMounts
)

// noneOf is a kind of namespaces of which the machine's settings allow none,
// beside those of users; "" if there is no such kind.
func noneOf() string {
	for _, kind := range [...]string{"mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		if procFile("user/max_"+kind+"_namespaces") == "0" {
			return kind
		}
	}
	return ""
}

const chrootFix = "this is a chroot, in which the kernel makes no user namespace: enter the folder by a container instead (systemd-nspawn -D, podman run --rootfs), or run bawn outside of it"

const wsl1Fix = "WSL version 1 has no namespaces: change to version 2, in Windows, with wsl --set-version DISTRIBUTION 2"

// fix is what would let a launcher work on this machine.
func fix() string {
	container := containerFix()
	switch {
	case os.Getenv("BAWN_SANDBOXED") != "":
		return "this is a bawn sandbox already, in which none can be made: look from outside of it"
	case noProc():
		return "no /proc is mounted here: " + mountProc
	case wsl() == 1:
		return wsl1Fix
	case procFile("user/max_user_namespaces") == "0":
		return "user namespaces are switched off: sudo sysctl user.max_user_namespaces=15000"
	case procFile("kernel/unprivileged_userns_clone") == "0" && os.Getuid() != 0:
		return "user namespaces are switched off: sudo sysctl kernel.unprivileged_userns_clone=1"
	case noneOf() != "":
		return noneOf() + " namespaces are switched off: sudo sysctl user.max_" + noneOf() + "_namespaces=15000"
	case chrooted():
		return chrootFix
	case container != "":
		return container
	case procFile("kernel/apparmor_restrict_unprivileged_userns") == "1":
		exe, _ := os.Executable()
		return appArmorFix(exe)
	case rootless():
		return "bawn runs as root without CAP_SETFCAP, which mapping root takes: run it as an ordinary user, or with that capability (docker: --cap-add SETFCAP)"
	case filtered():
		return "a system call filter around bawn forbids namespaces: start the container with --security-opt seccomp=unconfined, or the systemd service with RestrictNamespaces=no"
	}
	if _, err := findBwrap(); err == nil {
		return "allow user namespaces, or repair bubblewrap (apt install --reinstall bubblewrap)"
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
	b, _ := os.ReadFile(machineRoot + "/proc/self/mountinfo")
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
