//go:build linux

package linux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox"
)

// emulated makes a machine of files, and lets this package look at it.
func emulated(t *testing.T, files map[string]string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	machineRoot = root
	t.Cleanup(func() { machineRoot = "" })
	t.Setenv("BAWN_SANDBOXED", "")
}

const (
	kernelDir = "proc/sys/kernel/"
	appArmor  = kernelDir + "apparmor_restrict_unprivileged_userns"
	ownMounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:21 / /proc rw,nosuid - proc proc rw\n24 23 0:30 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
	// As in a container of Docker's with its defaults.
	dockerMounts = "600 500 0:50 / / rw,relatime - overlay overlay rw\n601 600 0:52 / /proc rw,nosuid - proc proc rw\n" +
		"610 601 0:52 /sys /proc/sys ro,nosuid - proc proc rw\n611 601 0:55 / /proc/acpi ro - tmpfs tmpfs ro\n612 601 0:56 /null /proc/kcore rw - tmpfs tmpfs rw\n"
	chrootMounts = "601 600 0:52 / /proc rw,nosuid - proc proc rw\n"
	seccompOn    = "Name:\tbawn\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n"
	seccompOff   = "Name:\tbawn\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n"
)

// B125: each machine on which no launcher works is told what is wrong with it, and
// what exactly is to be done; a neighbour that differs in that alone is not.
func TestB125_FixOfEachMachine(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"WSL 1", map[string]string{kernelDir + "osrelease": "4.4.0-19041-Microsoft\n"}, []string{"WSL version 1", "wsl --set-version DISTRIBUTION 2"}},
		{"WSL 2 without", map[string]string{kernelDir + "osrelease": "5.15.153.1-microsoft-standard-WSL2\n", "proc/sys/user/max_user_namespaces": "0\n"}, []string{"sysctl user.max_user_namespaces=15000"}},
		{"limit", map[string]string{"proc/sys/user/max_user_namespaces": "0\n"}, []string{"switched off", "sudo sysctl user.max_user_namespaces=15000"}},
		{"no network namespaces", map[string]string{"proc/sys/user/max_net_namespaces": "0\n", "proc/sys/user/max_mnt_namespaces": "9\n"}, []string{"net namespaces are switched off: sudo sysctl user.max_net_namespaces=15000"}},
		{"no /proc", map[string]string{"etc/hostname": "x"}, []string{"no /proc is mounted here: mount -t proc proc /proc"}},
		{"Ubuntu", map[string]string{appArmor: "1\n", "proc/self/mountinfo": ownMounts, "proc/self/status": seccompOff, "proc/self/attr/current": "unconfined\n"},
			[]string{"AppArmor restricts", "profile bawn " + exe + " flags=(unconfined) {\\n  userns,\\n}", "apparmor_parser -r /etc/apparmor.d/bawn,", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"}},
		{"Ubuntu, the package's profile for another path", map[string]string{appArmor: "1\n", "etc/apparmor.d/bawn": "x"}, []string{"profile bawn-local " + exe, "/etc/apparmor.d/bawn-local"}},
		{"Docker", map[string]string{"proc/self/mountinfo": dockerMounts, "proc/self/status": seccompOn, "proc/self/attr/current": "docker-default (enforce)\n"},
			[]string{"this container covers parts of /proc and confines with AppArmor and filters", "--security-opt systempaths=unconfined --security-opt apparmor=unconfined --security-opt seccomp=unconfined", "podman: unmask=ALL"}},
		{"Docker on Ubuntu", map[string]string{appArmor: "1\n", "proc/self/mountinfo": dockerMounts, "proc/self/status": seccompOn}, []string{"this container", "systempaths=unconfined --security-opt seccomp=unconfined"}},
		{"unconfined container on Ubuntu", map[string]string{appArmor: "1\n", "proc/self/mountinfo": ownMounts, "proc/self/status": seccompOff}, []string{"AppArmor restricts"}},
		{"covered /proc alone", map[string]string{"proc/self/mountinfo": dockerMounts, "proc/self/status": seccompOff}, []string{"this container covers parts of /proc: start it with --security-opt systempaths=unconfined (podman"}},
		{"chroot", map[string]string{"proc/self/mountinfo": chrootMounts}, []string{"this is a chroot", "outside of it"}},
		{"chroot with covered /proc", map[string]string{"proc/self/mountinfo": chrootMounts + strings.Replace(dockerMounts, " / / ", " / /srv/root ", 1)}, []string{"this is a chroot"}},
		{"filter alone", map[string]string{"proc/self/mountinfo": ownMounts, "proc/self/status": seccompOn}, []string{"a system call filter", "seccomp=unconfined", "RestrictNamespaces=no"}},
		{"nothing seen", map[string]string{"proc/self/mountinfo": ownMounts, "proc/self/status": seccompOff, appArmor: "0\n", "proc/sys/user/max_user_namespaces": "15000\n"}, []string{"allow user namespaces, or "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			emulated(t, c.files)
			got := Hint()
			for _, w := range append(c.want, "; or use --tier open (no sandbox)") {
				if !strings.Contains(got, w) {
					t.Errorf("%q is not in: %s", w, got)
				}
			}
			if strings.Contains(got, "\n") {
				t.Errorf("more than a line: %q", got)
			}
		})
	}
}

// Debian's switch binds everybody but root.
func TestB125_DebianSwitch(t *testing.T) {
	const name = kernelDir + "unprivileged_userns_clone"
	emulated(t, map[string]string{name: "0\n"})
	said := strings.Contains(fix(), "sudo sysctl kernel.unprivileged_userns_clone=1")
	if said != (os.Getuid() != 0) {
		t.Errorf("uid %d: %s", os.Getuid(), fix())
	}
	emulated(t, map[string]string{name: "1\n"})
	if strings.Contains(fix(), "unprivileged_userns_clone") {
		t.Error(fix())
	}
}

// Root without CAP_SETFCAP, in a container and without one.
func TestB125_RootWithoutSetfcap(t *testing.T) {
	const without, with = "Name:\tbawn\nCapEff:\t000000007fffffff\nSeccomp:\t0\n", "Name:\tbawn\nCapEff:\t00000000ffffffff\nSeccomp:\t0\n"
	for _, c := range []struct {
		status, mounts string
		want           bool
	}{{without, ownMounts, true}, {without, dockerMounts, true}, {with, ownMounts, false}, {with, dockerMounts, false}, {"Name:\tbawn\n", ownMounts, false}} {
		emulated(t, map[string]string{"proc/self/status": c.status, "proc/self/mountinfo": c.mounts})
		if got := fix(); strings.Contains(got, "--cap-add SETFCAP") != (c.want && os.Getuid() == 0) {
			t.Errorf("%q: %s", c.status, got)
		}
	}
}

// The rows that depend on the machine alone.
func TestDoctorRows(t *testing.T) {
	failed := probed{err: &sandbox.Unavailable{Mechanism: "native", Reason: "cannot make namespaces: permission denied"}}
	emulated(t, map[string]string{appArmor: "1\n", "etc/apparmor.d/bwrap-userns-restrict": "x", "proc/self/mountinfo": dockerMounts, kernelDir + "osrelease": "5.15.153.1-microsoft-standard-WSL2\n"})
	if r := appArmorCheck(failed); len(r) != 1 || r[0].Outcome != Warn || !strings.Contains(r[0].Detail, "bwrap-userns-restrict") || !strings.Contains(r[0].Fix, "add a profile") {
		t.Errorf("%+v", r)
	}
	if r := appArmorCheck(probed{}); len(r) != 1 || r[0].Outcome != OK || r[0].Fix != "" {
		t.Errorf("%+v", r)
	}
	if r := procCheck(failed); r.Outcome != Fail || !strings.Contains(r.Detail, "/proc/sys /proc/acpi /proc/kcore") || !strings.Contains(r.Fix, "systempaths=unconfined") {
		t.Errorf("%+v", r)
	}
	if r := wslCheck(); len(r) != 1 || r[0].Outcome != Warn || r[0].Detail != "version 2" {
		t.Errorf("%+v", r)
	}
	emulated(t, map[string]string{kernelDir + "osrelease": "4.4.0-19041-Microsoft\n", "proc/sys/user/max_user_namespaces": "0\n"})
	if r := wslCheck(); len(r) != 1 || r[0].Outcome != Fail || r[0].Fix != wsl1Fix {
		t.Errorf("%+v", r)
	}
	if r := namespaceCheck(failed); r.Outcome != Fail || r.Fix != "sudo sysctl user.max_user_namespaces=15000" {
		t.Errorf("%+v", r)
	}
	emulated(t, map[string]string{"proc/self/mountinfo": chrootMounts})
	if r := namespaceCheck(failed); r.Outcome != Fail || r.Fix != chrootFix {
		t.Errorf("%+v", r)
	}
	if r := namespaceCheck(probed{}); r.Outcome != OK {
		t.Errorf("%+v", r)
	}
	emulated(t, map[string]string{kernelDir + "osrelease": "6.8.0-45-generic\n"})
	if r := namespaceCheck(failed); r.Outcome != Fail || r.Fix != "use a kernel with CONFIG_USER_NS" {
		t.Errorf("%+v", r)
	}
	emulated(t, map[string]string{"etc/hostname": "x"})
	if r := namespaceCheck(failed); r.Outcome != Info || r.Fix != "" {
		t.Errorf("%+v", r)
	}
	if wslCheck() != nil || appArmorCheck(failed) != nil {
		t.Error("rows of other machines")
	}
	if c := nativeCheck(probed{err: errors.New("a write outside the workspace passes"), leaks: true}, probed{}); c.Fix != "report this: the boundary does not hold on this machine" {
		t.Errorf("%+v", c)
	}
}

// A path that would say something else in a profile is not put there.
func TestAppArmorFixQuotes(t *testing.T) {
	emulated(t, nil)
	for exe, want := range map[string]string{
		"/home/me/go/bin/bawn": "profile bawn /home/me/go/bin/bawn flags", "/x y/bawn": "profile bawn /usr/local/bin/bawn flags",
		"/x'; rm -rf '/bawn": "profile bawn /usr/local/bin/bawn flags", "/{a,b}/*": "profile bawn /usr/local/bin/bawn flags", "": "profile bawn /usr/local/bin/bawn flags",
	} {
		if got := appArmorFix(exe); !strings.Contains(got, want) {
			t.Errorf("%q: %s", exe, got)
		}
	}
	emulated(t, map[string]string{"etc/apparmor.d/bawn": "x"})
	if got := appArmorFix("/usr/bin/bawn"); strings.Contains(got, "tee") || !strings.Contains(got, "apparmor_parser -r /etc/apparmor.d/bawn") {
		t.Error(got)
	}
}
