//go:build linux

package sandboxtest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// With the flag and a launcher that works, the boundary is the real one.
func TestWeaker_OnlyWhereNothingElseWorks(t *testing.T) {
	host, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	const broken = "echo 'bwrap: nothing works' >&2\nexit 1\n"
	for _, c := range []struct {
		name, launcher string
		m              setupMachine
		says           string
	}{
		{"native", "native", setupMachine{}, ""},
		{"bwrap", "bwrap", setupMachine{}, ""},
		{"auto", "auto", setupMachine{}, ""},
		{"bwrap broken", "bwrap", setupFakeBwrap(t, 0o755, broken, ""), "nothing works; another launcher works and is used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := New(t, c.launcher)
			r := c.m.bawn(t, b, "run", "--allow-weaker", "--launcher", c.launcher, "--", "readlink", "/proc/self/ns/pid").OK(t)
			if got := strings.TrimSpace(r.Stdout); !strings.HasPrefix(got, "pid:") || got == host {
				t.Errorf("no pid namespace of its own: %q", got)
			}
			if strings.Contains(r.Stderr, "weaker mode:") || !strings.Contains(r.Stderr, c.says) {
				t.Errorf("%s", r.Stderr)
			}
		})
	}
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := New(t, "auto")
		for _, l := range []string{"auto", "native", "bwrap"} {
			r := m.bawn(t, b, "run", "--allow-weaker", "--launcher", l, "--", "sh", "-c", "echo $BAWN_SANDBOXED $BAWN_TIER").OK(t)
			if r.Stdout != "1 guarded\n" || strings.Count(r.Stderr, "weaker mode:") != 1 {
				t.Errorf("%s: %q, %s", l, r.Stdout, r.Stderr)
			}
		}
	})
}

// A bwrap that fails for this sandbox alone is not a machine that has none.
func TestWeaker_NotForOneFailure(t *testing.T) {
	b := New(t, "auto")
	script := `case " $* " in *" --args "*) n=${*#*--args }; n=${n%% *};; esac
if tr '\0' '\n' <"/proc/self/fd/$n" | grep -qx ` + b.Home + `; then echo 'bwrap: not this one' >&2; exit 1; fi
exec ` + b.Workspace + `/real "$@"
`
	m := setupFakeBwrap(t, 0o755, "", "")
	// The real one stays reachable beside the fake.
	m.prefix[4] = `cp /usr/bin/bwrap "$PWD/real" && mount --bind "$0" /usr/bin/bwrap && exec "$@"`
	fake := m.prefix[len(m.prefix)-1]
	Write(t, fake, "#!/bin/sh\n"+script)
	if err := os.Chmod(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	m.filter = func(t *testing.T) { setupLoad(t, setupNativeFilter(), 0) }
	r := m.bawn(t, b, append([]string{"run", "-q", "--allow-weaker", "--"}, setupProof...)...)
	setupRefused(t, b, r, "not this one", "--allow-weaker does not apply")
	whole := setupMachine{filter: m.filter}
	setupRan(t, b, whole.bawn(t, b, append([]string{"run", "-q", "--allow-weaker", "--"}, setupProof...)...))
}

// Older versions of Landlock: refused where files could be cut to nothing,
// and said where signals pass.
func TestWeaker_OlderLandlock(t *testing.T) {
	for _, version := range []int64{0, 1, 2} {
		b := New(t, "auto")
		r := setupLandlock(version).bawn(t, b, append([]string{"run", "-q", "--allow-weaker", "--guard", "off", "--"}, setupProof...)...)
		setupRefused(t, b, r, "landlock: version 3 is needed")
		if strings.Contains(r.Stderr, "or --allow-weaker") {
			t.Errorf("it advises what cannot work: %s", r.Stderr)
		}
	}
	for _, version := range []int64{3, 4, 5} {
		b := weakerBox(t)
		m := setupLandlock(version)
		pid, _ := weakerSleeper(t)
		r := m.sh(t, b, "echo x >in; (echo x >../out); cat ~/.ssh/key; kill -0 "+strconv.Itoa(pid)+" && echo signalled; kill -0 $$ && bash -c ': >/dev/tcp/127.0.0.1/1'")
		if !strings.Contains(r.Stderr, "your other processes can be signalled") || r.Stdout != "signalled\n" {
			t.Errorf("version %d: %q\n%s", version, r.Stdout, r.Stderr)
		}
		if n := strings.Count(strings.ToLower(r.Stderr), "permission denied"); n < 3 {
			t.Errorf("version %d: %d denials\n%s", version, n, r.Stderr)
		}
		if _, err := os.Stat(b.Workspace + "/in"); err != nil {
			t.Error(err)
		}
	}
}
