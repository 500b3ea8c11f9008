//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// setupRefused holds that nothing ran, and that one line says why and what
// would change it.
func setupRefused(t *testing.T, b *Box, r Result, words ...string) {
	t.Helper()
	if r.Code != 125 || r.Stdout != "" {
		t.Errorf("exit %d, stdout %q: want 125 and nothing", r.Code, r.Stdout)
	}
	if _, err := os.Lstat(b.Workspace + "/in"); err == nil {
		t.Error("the command ran")
	}
	if strings.Count(r.Stderr, "\n") != 1 || !strings.HasPrefix(r.Stderr, "bawn: ") {
		t.Errorf("want one line, got:\n%s", r.Stderr)
	}
	for _, w := range words {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("%q is not in: %s", w, r.Stderr)
		}
	}
}

// A command that proves that it ran, and shows no harm.
var setupProof = []string{"sh", "-c", "echo ran >in; echo ran"}

func setupRan(t *testing.T, b *Box, r Result) {
	t.Helper()
	r.OK(t)
	if data, err := os.ReadFile(b.Workspace + "/in"); err != nil || string(data) != "ran\n" || r.Stdout != "ran\n" {
		t.Errorf("in: %q, %v; stdout %q", data, err, r.Stdout)
	}
}

// Without user namespaces no launcher may run anything, least of all
// unprotected. The twins: the same command on the whole machine, and open.
func TestB125_NoUserNamespaces(t *testing.T) {
	for _, m := range setupNoNamespaces() {
		fix := "sysctl user.max_user_namespaces="
		if m.filter != nil {
			fix = "start the container with --security-opt seccomp=unconfined"
		}
		for _, l := range []string{"auto", "native", "bwrap"} {
			t.Run(m.name+"/"+l, func(t *testing.T) {
				b := New(t, l)
				for _, extra := range [][]string{nil, {"--tier", "airlock"}, {"--sandbox", "read-only"}} {
					args := append(append([]string{"run", "-q", "--launcher", l}, extra...), "--")
					cause := "native: cannot make namespaces"
					if l == "bwrap" {
						cause = "bwrap: "
					}
					setupRefused(t, b, m.bawn(t, b, append(args, setupProof...)...), "no sandbox can be made here", cause, fix, "--tier open")
				}
				setupRan(t, b, b.Run(t, setupProof...))
				open := New(t, l)
				setupRan(t, open, m.bawn(t, open, append([]string{"run", "--tier", "open", "--"}, setupProof...)...))
			})
		}
	}
}

func TestB125_BwrapCannotMapIDs(t *testing.T) {
	const script = "echo 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
	b := New(t, "bwrap")
	m := setupFakeBwrap(t, 0o755, script, "")
	run := func(m setupMachine, b *Box, l string) Result {
		return m.bawn(t, b, append([]string{"run", "-q", "--launcher", l, "--"}, setupProof...)...)
	}
	setupRefused(t, b, run(m, b, "bwrap"), "setting up uid map: Permission denied")
	setupRefused(t, b, run(setupFakeBwrap(t, 0o755, script, setupNoMore), b, "auto"),
		"native: ", "setting up uid map: Permission denied", "sysctl user.max_user_namespaces=")
	setupRan(t, b, run(m, b, "auto"))
	whole := New(t, "bwrap")
	setupRan(t, whole, whole.Run(t, setupProof...))
}

// A launcher whose network namespace is refused must not go on without it.
func TestB129_BwrapWithoutNetworkNamespace(t *testing.T) {
	b := New(t, "bwrap")
	script := `case " $* " in *" --args "*) n=${*#*--args }; n=${n%% *};; esac
if tr '\0' '\n' <"/proc/self/fd/$n" | grep -qx -e --unshare-net; then
	echo 'bwrap: Unknown option --unshare-net' >&2; exit 1
fi
exec ` + b.Workspace + `/real "$@"
`
	m := setupFakeBwrap(t, 0o755, script, "")
	m.prefix[4] = `cp /usr/bin/bwrap "$PWD/real" && ` + m.prefix[4] // the real one, for all else
	args := append([]string{"run", "-q", "--launcher", "bwrap", "--"}, setupProof...)
	setupRefused(t, b, m.bawn(t, b, args...), "Unknown option --unshare-net")
	setupRan(t, b, b.Run(t, setupProof...))
}

// A bwrap that others can change is not run at all.
func TestSetup_UntrustedBwrap(t *testing.T) {
	b := New(t, "bwrap")
	ran := b.Workspace + "/ran"
	script := "touch '" + ran + "'\nexit 1\n"
	args := append([]string{"run", "-q", "--launcher", "bwrap", "--"}, setupProof...)
	for mode, word := range map[os.FileMode]string{0o775: "only root can change", 0o757: "only root can change"} {
		setupRefused(t, b, setupFakeBwrap(t, mode, script, "").bawn(t, b, args...), word)
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("mode %o: it was run", mode)
		}
	}
	// The twin: the same program, safe from others, is run.
	setupRefused(t, b, setupFakeBwrap(t, 0o755, script, "").bawn(t, b, args...), "bwrap: ")
	if _, err := os.Stat(ran); err != nil {
		t.Fatal("a bwrap that only its owner can change was not run")
	}
}

// A container that covers parts of /proc forbids a new one.
func TestB128_CoveredProc(t *testing.T) {
	covered := setupProc("mount -t tmpfs none /proc/sys &&")
	args := append([]string{"run", "-q", "--"}, setupProof...)
	b := New(t, "auto")
	setupRefused(t, b, covered.bawn(t, b, args...), `mount "/proc"`, "covers parts of /proc", "systempaths=unconfined", "--allow-weaker")
	setupRan(t, b, setupProc("").bawn(t, b, args...))
	if err := os.Remove(b.Workspace + "/in"); err != nil {
		t.Fatal(err)
	}
	r := covered.bawn(t, b, append([]string{"run", "--allow-weaker", "--"}, setupProof...)...)
	setupRan(t, b, r)
	if !strings.Contains(r.Stderr, "weaker mode does not cover") {
		t.Errorf("weaker, and silent about it: %s", r.Stderr)
	}
}

// What a container of Docker's defaults forbids, all of it named at once.
func TestB128_ContainerWithDefaults(t *testing.T) {
	b := New(t, "auto")
	m := setupProc("mount -t tmpfs none /proc/acpi && mount -t tmpfs none /proc/sys &&")
	m.program = tool(t, "old")
	args := append([]string{"container", Binary(), "run", "-q", "--"}, setupProof...)
	setupRefused(t, b, m.bawn(t, b, args...), "no sandbox can be made here (native: cannot make namespaces: ", "covers parts of /proc and filters system calls",
		"--security-opt systempaths=unconfined --security-opt seccomp=unconfined")
	alone := setupMachine{program: m.program}
	setupRefused(t, b, alone.bawn(t, b, args...), "a system call filter around bawn forbids namespaces")
	setupRan(t, b, setupProc("").bawn(t, b, args[2:]...))
}

// AppArmor on Ubuntu lets namespaces be made and then forbids what they are for.
func TestB125_NamespacesWithoutUse(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EACCES, unix.EPERM} {
		m := setupMachine{name: "no mounts", filter: func(t *testing.T) { setupLoad(t, setupMountFilter(errno), 0) }}
		for _, l := range []string{"auto", "native", "bwrap"} {
			b := New(t, l)
			args := append([]string{"run", "-q", "--launcher", l, "--"}, setupProof...)
			setupRefused(t, b, m.bawn(t, b, args...), "no sandbox can be made here", strings.ToLower(errno.Error()[1:]), "--tier open")
			setupRan(t, b, setupMachine{}.bawn(t, b, args...))
		}
	}
}

// Root without the capability to map itself: writing uid_map is EPERM.
func TestB125_RootCannotMapItself(t *testing.T) {
	m := func(drop string) setupMachine {
		return setupMachine{name: drop, prefix: []string{"unshare", "-Ur", "setpriv", "--bounding-set=" + drop, "--inh-caps=-all", "--ambient-caps=-all", "--"}}
	}
	for _, l := range []string{"auto", "native", "bwrap"} {
		b := New(t, l)
		args := append([]string{"run", "-q", "--launcher", l, "--"}, setupProof...)
		setupRefused(t, b, m("-setfcap").bawn(t, b, args...), "uid", "map: ", "peration not permitted", "root without CAP_SETFCAP", "--cap-add SETFCAP")
		setupRan(t, b, m("-sys_time").bawn(t, b, args...))
	}
}

// Where namespaces and Landlock both are missing nothing is left to advise but open.
func TestB125_NoLandlockEither(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EOPNOTSUPP} { // not built, not in lsm=
		m := setupMachine{name: "no Landlock", filter: func(t *testing.T) {
			setupLoad(t, setupContainerFilter(), 0)
			setupLoad(t, setupErrno(errno, unix.SYS_LANDLOCK_CREATE_RULESET), 0)
		}}
		b := New(t, "auto")
		r := m.bawn(t, b, append([]string{"run", "-q", "--allow-weaker", "--"}, setupProof...)...)
		setupRefused(t, b, r, "landlock: not in this kernel: ", "--tier open")
		if strings.Contains(r.Stderr, "or --allow-weaker") {
			t.Errorf("it advises what cannot work: %s", r.Stderr)
		}
		report, code := setupDoctor(t, m, New(t, "auto"))
		if result, detail, fix := report.row(t, "Landlock"); code != 1 || result != "warn" || !strings.Contains(detail, errno.Error()) || !strings.Contains(fix, "lsm=landlock") {
			t.Errorf("doctor: exit %d, %s, %q, %q", code, result, detail, fix)
		}
		if strings.Contains(report.Hint, "allow-weaker") {
			t.Errorf("hint: %s", report.Hint)
		}
	}
}

// The text of WSL 1 comes before every other: nothing else helps there.
func TestB125_WSL(t *testing.T) {
	wsl := func(release, more string) setupMachine {
		return setupMachine{name: release, prefix: []string{"unshare", "-Urm", "sh", "-c",
			"mount -t tmpfs none /proc/sys/kernel && echo " + release + " >/proc/sys/kernel/osrelease && " + more + ` exec "$@"`, "sh"}}
	}
	b := New(t, "auto")
	args := append([]string{"run", "-q", "--"}, setupProof...)
	one := wsl("4.4.0-19041-Microsoft", setupNoMore)
	setupRefused(t, b, one.bawn(t, b, args...), "WSL version 1 has no namespaces", "wsl --set-version DISTRIBUTION 2")
	r, code := setupDoctor(t, one, New(t, "auto"))
	if result, _, fix := r.row(t, "WSL"); code != 1 || result != "fail" || !strings.Contains(fix, "wsl --set-version") {
		t.Errorf("doctor: exit %d, %s, %s", code, result, fix)
	}
	r, _ = setupDoctor(t, wsl("5.15.153.1-microsoft-standard-WSL2", ""), New(t, "auto"))
	if result, detail, fix := r.row(t, "WSL"); result != "warn" || detail != "version 2" || !strings.Contains(fix, "/mnt/c") {
		t.Errorf("doctor: %s, %s, %s", result, detail, fix)
	}
}

// Debian's switch, for an ordinary user.
func TestB125_DebianSwitch(t *testing.T) {
	m := setupMachine{name: "Debian", prefix: []string{"unshare", "-Um", "--map-user=1000", "--map-group=1000", "--keep-caps", "sh", "-c",
		"mount -t tmpfs none /proc/sys/kernel && echo 0 >/proc/sys/kernel/unprivileged_userns_clone && " +
			`exec setpriv --ambient-caps=-all --inh-caps=-all -- "$@"`, "sh"}}
	b := New(t, "auto")
	setupRefused(t, b, m.bawn(t, b, append([]string{"run", "-q", "--"}, setupProof...)...), "sudo sysctl kernel.unprivileged_userns_clone=1")
	r, code := setupDoctor(t, m, New(t, "auto"))
	if result, _, fix := r.row(t, "user namespaces"); code != 1 || result != "fail" || fix != "sudo sysctl kernel.unprivileged_userns_clone=1" {
		t.Errorf("doctor: exit %d, %s, %s", code, result, fix)
	}
}
