//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// Outcome is the result of one check. The zero value is Fail.
type Outcome uint8

const (
	Fail Outcome = iota // the sandbox, or one launcher, cannot work so
	Warn                // it works, but something is missing
	OK
	Info // nothing depends on it
)

func (o Outcome) String() string { return [...]string{"fail", "warn", "ok", "info"}[o] }

// Check is one row of the doctor's report.
type Check struct {
	Name    string
	Outcome Outcome
	Detail  string
	Fix     string // for Fail and Warn
}

// Report is what the doctor found.
type Report struct {
	Checks   []Check
	Launcher Launcher // what Auto takes; Auto itself if nothing works
	Hint     string   // the way out if nothing works
}

// Fit reports whether sandboxed commands can run here.
func (r Report) Fit() bool { return r.Launcher != Auto }

// Examine tries on this machine what the sandbox needs: it makes real
// sandboxes and looks whether they hold. It leaves nothing behind.
func Examine() Report {
	var r Report
	add := func(c ...Check) { r.Checks = append(r.Checks, c...) }
	second := make(chan probed)
	go func() { second <- probe(Bwrap) }()
	native := probe(Native)
	bwrap := <-second
	switch {
	case native.err == nil:
		r.Launcher = Native
	case bwrap.err == nil && errors.Is(native.err, sandbox.ErrUnavailable):
		r.Launcher = Bwrap
	case errors.Is(native.err, sandbox.ErrUnavailable):
		r.Hint = Hint()
	default:
		r.Hint = native.fix() + "; or use --tier open (no sandbox)"
	}
	add(nativeCheck(native, bwrap), bwrapCheck(bwrap, native))
	add(kernelCheck(), namespaceCheck(native))
	add(appArmorCheck(native)...)
	add(mountCheck(), procCheck(native), filterCheck())
	add(notifyCheck(), landlockCheck(), keyringCheck(), tunCheck(), cgroupCheck(), tiocstiCheck())
	add(wslCheck()...)
	return r
}

func nativeCheck(native, bwrap probed) Check {
	c := Check{Name: "native launcher", Outcome: OK, Detail: native.detail()}
	if native.err != nil {
		c.Outcome, c.Fix = Fail, native.fix()
		if bwrap.err == nil {
			c.Outcome = Warn
		}
	}
	return c
}

func bwrapCheck(bwrap, native probed) Check {
	c := Check{Name: "bwrap launcher", Outcome: OK}
	path, err := findBwrap()
	switch {
	case err != nil && !installedBwrap():
		c.Outcome, c.Detail, c.Fix = Warn, err.Error(), "apt install bubblewrap (or dnf install bubblewrap)"
		if native.err == nil {
			c.Outcome, c.Fix = Info, ""
		}
	case err != nil:
		c.Outcome, c.Detail, c.Fix = Fail, err.Error(), "install bubblewrap again: apt install --reinstall bubblewrap"
	case bwrap.err != nil:
		c.Outcome, c.Detail, c.Fix = Fail, path+" does not work: "+bwrap.detail(), bwrap.fix()
	default:
		c.Detail = path + " " + bwrap.detail()
	}
	return c
}

func installedBwrap() bool {
	for _, p := range bwrapPaths {
		if _, err := os.Lstat(p); err == nil {
			return true
		}
	}
	return false
}

func kernelCheck() Check {
	c := Check{Name: "kernel", Outcome: OK}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		c.Outcome, c.Detail, c.Fix = Fail, err.Error(), "use Linux 5.12 or newer"
		return c
	}
	c.Detail = "Linux " + unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Machine[:])
	var major, minor int
	_, _ = fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	if major < 5 || major == 5 && minor < 12 {
		c.Outcome, c.Fix = Fail, "use Linux 5.12 or newer"
	}
	return c
}

// procFile is a setting of the kernel; "" if this kernel does not have it.
func procFile(name string) string {
	b, err := os.ReadFile(machineRoot + "/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func namespaceCheck(native probed) Check {
	c := Check{Name: "user namespaces", Outcome: OK}
	limit, clone := procFile("user/max_user_namespaces"), procFile("kernel/unprivileged_userns_clone")
	switch {
	case limit == "0":
		c.Outcome, c.Detail, c.Fix = Fail, "max_user_namespaces is 0", "sudo sysctl user.max_user_namespaces=15000"
	case clone == "0" && os.Getuid() != 0:
		c.Outcome, c.Detail, c.Fix = Fail, "unprivileged_userns_clone is 0", "sudo sysctl kernel.unprivileged_userns_clone=1"
	case native.err == nil:
		c.Detail = "can be made"
	case noProc():
		c.Outcome, c.Detail = Info, "not known: no /proc is mounted"
	case chrooted():
		c.Outcome, c.Detail, c.Fix = Fail, "the kernel makes none in a chroot", chrootFix
	default:
		if _, err := os.Stat(machineRoot + "/proc/self/ns/user"); err != nil {
			c.Outcome, c.Detail, c.Fix = Fail, "not in this kernel", "use a kernel with CONFIG_USER_NS"
			return c
		}
		c.Outcome, c.Detail = Info, "no setting forbids them"
	}
	if limit != "" && limit != "0" {
		c.Detail += ", max_user_namespaces " + limit
	}
	return c
}

func appArmorCheck(native probed) []Check {
	v := procFile("kernel/apparmor_restrict_unprivileged_userns")
	if v == "" {
		return nil
	}
	c := Check{Name: "AppArmor", Outcome: OK, Detail: "does not restrict user namespaces"}
	if v == "1" {
		c.Detail = "restricts user namespaces; profiles:"
		found := 0
		files, _ := os.ReadDir(machineRoot + "/etc/apparmor.d")
		for _, f := range files {
			if strings.Contains(f.Name(), "bawn") || strings.Contains(f.Name(), "bwrap") {
				c.Detail += " " + f.Name()
				found++
			}
		}
		if found == 0 {
			c.Detail += " none for bawn or bwrap"
		}
		if native.err != nil {
			exe, _ := os.Executable()
			c.Outcome, c.Fix = Warn, appArmorFix(exe)
		}
	}
	return []Check{c}
}

// mountCheck asks for each call of the mount interface in a way that does
// nothing; only "no such call" matters here, permission comes with the
// namespaces.
func mountCheck() Check {
	c := Check{Name: "mount calls", Outcome: OK, Detail: "open_tree, move_mount, mount_setattr, fsopen, openat2"}
	var missing []string
	for _, call := range []struct {
		name string
		try  func() error
	}{
		{"open_tree", func() error { return tryFD(unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLOEXEC)) }},
		{"move_mount", func() error { return unix.MoveMount(-1, "", -1, "", 0) }},
		{"mount_setattr", func() error { return unix.MountSetattr(-1, "", 0, &unix.MountAttr{}) }},
		{"fsopen", func() error { return tryFD(unix.Fsopen("", unix.FSOPEN_CLOEXEC)) }},
		{"openat2", func() error {
			return tryFD(unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}))
		}},
	} {
		if call.try() == unix.ENOSYS {
			missing = append(missing, call.name)
		}
	}
	if len(missing) > 0 {
		c.Outcome, c.Detail = Fail, "missing: "+strings.Join(missing, ", ")
		c.Fix = "use Linux 5.12 or newer; in a container, allow them in its seccomp profile"
	}
	return c
}

func tryFD(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func procCheck(native probed) Check {
	c := Check{Name: "new /proc", Outcome: OK, Detail: "can be mounted"}
	masks := procMasks()
	switch {
	case native.err == nil:
	case len(masks) > 0:
		c.Outcome, c.Detail = Fail, "parts of /proc are covered: "+strings.Join(masks, " ")
		c.Fix = containerFix()
	default:
		c.Outcome, c.Detail = Info, "not tried: it takes the native launcher"
	}
	return c
}

func filterCheck() Check {
	if err := stage.TryFilter(); err != nil {
		return Check{"system call filter", Fail, err.Error(), "use a kernel with CONFIG_SECCOMP_FILTER on amd64 or arm64"}
	}
	return Check{Name: "system call filter", Outcome: OK, Detail: "loads"}
}

func notifyCheck() Check {
	c := Check{Name: "filter notification", Outcome: OK, Detail: "with WAIT_KILLABLE_RECV"}
	killable, err := stage.TryNotify()
	switch {
	case err != nil:
		c.Outcome, c.Detail = Warn, err.Error()
		c.Fix = "use Linux 5.19 or newer, and do not trace bawn: names that do not exist yet can then be guarded"
	case !killable:
		c.Outcome, c.Detail = Warn, "without WAIT_KILLABLE_RECV"
		c.Fix = "use Linux 5.19 or newer: names that do not exist yet can then be guarded"
	}
	return c
}

func landlockCheck() Check {
	c := Check{Name: "Landlock", Outcome: OK}
	abi, err := stage.LandlockABI()
	switch {
	case err != nil:
		c.Outcome, c.Detail, c.Fix = Warn, "not there: "+err.Error(), "boot with lsm=landlock,… (only --allow-weaker needs it)"
	case abi < stage.MinLandlock:
		c.Outcome, c.Detail, c.Fix = Warn, fmt.Sprintf("version %d", abi), "use Linux 6.2 or newer (only --allow-weaker needs it)"
	default:
		c.Detail = fmt.Sprintf("version %d (used by --allow-weaker alone)", abi)
	}
	return c
}

func keyringCheck() Check {
	c := Check{Name: "keyring", Outcome: OK, Detail: "the sandbox gets a session keyring of its own"}
	switch err := stage.TryKeyring(); err {
	case nil:
	case unix.ENOSYS:
		c.Detail = "not in this kernel"
	default:
		c.Outcome, c.Detail = Warn, "no fresh session keyring: "+err.Error()
		c.Fix = "allow keyctl in the container's seccomp profile, or raise kernel.keys.maxkeys"
	}
	return c
}

func tunCheck() Check {
	c := Check{Name: "/dev/net/tun", Outcome: Info, Detail: "can be opened"}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		c.Detail = err.Error() + ": programs that know no proxy use nftables in the sandbox instead"
		return c
	}
	unix.Close(fd)
	return c
}

func cgroupCheck() Check {
	c := Check{Name: "cgroup v2", Outcome: Info, Detail: "not mounted"}
	root := ""
	for _, m := range mountPoints() {
		if m.kind == "cgroup2" {
			root = m.path
		}
	}
	if root == "" {
		return c
	}
	b, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			dir := strings.TrimSuffix(root+own, "/")
			c.Detail = dir + ": not writable (nothing needs it yet)"
			if unix.Access(dir+"/cgroup.procs", unix.W_OK) == nil {
				c.Detail = dir + ": writable (nothing needs it yet)"
			}
		}
	}
	return c
}

func tiocstiCheck() Check {
	c := Check{Name: "legacy_tiocsti", Outcome: Info, Detail: "off"}
	switch procFile("dev/tty/legacy_tiocsti") {
	case "1":
		c.Detail = "on; the sandbox's filter refuses it"
	case "":
		c.Detail = "no such setting; the sandbox's filter refuses it"
	}
	return c
}

func wslCheck() []Check {
	switch wsl() {
	case 1:
		return []Check{{"WSL", Fail, "version 1 has no namespaces", wsl1Fix}}
	case 2:
		return []Check{{"WSL", Warn, "version 2", "keep workspaces in the Linux file system, not below /mnt/c"}}
	}
	return nil
}

// probeLimit ends a sandbox that hangs; one takes some ten milliseconds.
const probeLimit = 5 * time.Second
