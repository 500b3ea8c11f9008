//go:build linux

package sandboxtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

type setupReport struct {
	Fit      bool
	Launcher string
	Hint     string
	Checks   []struct{ Check, Result, Detail, Fix string }
}

func (r setupReport) row(t *testing.T, name string) (result, detail, fix string) {
	t.Helper()
	for _, c := range r.Checks {
		if c.Check == name {
			return c.Result, c.Detail, c.Fix
		}
	}
	t.Fatalf("no row %q", name)
	return "", "", ""
}

func setupDoctor(t *testing.T, m setupMachine, b *Box) (setupReport, int) {
	t.Helper()
	temp := Dir(t)
	b.Env = append(b.Env, "TMPDIR="+temp)
	res := m.bawn(t, b, "doctor", "--json")
	var r setupReport
	if err := json.Unmarshal([]byte(res.Stdout), &r); err != nil {
		t.Fatalf("%v\n%s%s", err, res.Stdout, res.Stderr)
	}
	for _, c := range r.Checks {
		if (c.Result == "fail" || c.Result == "warn") != (c.Fix != "") {
			t.Errorf("%s: %s, fix %q", c.Check, c.Result, c.Fix)
		}
	}
	for _, dir := range []string{temp, b.Home, b.Workspace} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v %v", dir, left, err)
		}
	}
	return r, res.Code
}

func TestB126_DoctorRunsSandboxes(t *testing.T) {
	whole := setupMachine{name: "whole"}
	broken := "case $1 in --version) echo 'bubblewrap 0.8.0'; exit 0;; esac\necho 'bwrap: nothing works' >&2\nexit 1\n"
	// It exits 0 and does nothing: only a look at the outcome shows it.
	idle := "exit 0\n"
	for _, c := range []struct {
		name           string
		m              setupMachine
		code           int
		native, bwrap  string // results
		launcher, word string
	}{
		{"whole", whole, 0, "ok", "ok", "native", "holds"},
		{"version only", setupFakeBwrap(t, 0o755, broken, ""), 0, "ok", "fail", "native", "nothing works"},
		{"does nothing", setupFakeBwrap(t, 0o755, idle, ""), 0, "ok", "fail", "native", "ended before"},
		{"writable", setupFakeBwrap(t, 0o777, idle, ""), 0, "ok", "fail", "native", "only root can change"},
		{"neither", setupFakeBwrap(t, 0o755, broken, setupNoMore), 1, "fail", "fail", "", "nothing works"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, code := setupDoctor(t, c.m, New(t, "auto"))
			native, _, _ := r.row(t, "native launcher")
			bwrap, detail, _ := r.row(t, "bwrap launcher")
			if code != c.code || r.Fit != (c.code == 0) || r.Launcher != c.launcher || native != c.native || bwrap != c.bwrap {
				t.Errorf("exit %d, %+v", code, r)
			}
			if !strings.Contains(detail, c.word) {
				t.Errorf("%q is not in %q", c.word, detail)
			}
		})
	}
}

func TestB125_DoctorNamesTheFix(t *testing.T) {
	for _, c := range []struct {
		m         setupMachine
		row, word string
	}{
		{setupNoNamespaces()[0], "user namespaces", "sysctl user.max_user_namespaces="},
		{setupNoNamespaces()[1], "user namespaces", "sysctl user.max_user_namespaces="},
		{setupNoNamespaces()[2], "native launcher", "seccomp=unconfined"},
		{setupProc("mount -t tmpfs none /proc/sys &&"), "new /proc", "systempaths=unconfined"},
	} {
		r, code := setupDoctor(t, c.m, New(t, "auto"))
		result, _, fix := r.row(t, c.row)
		if code != 1 || r.Fit || result != "fail" || !strings.Contains(fix, c.word) || !strings.Contains(r.Hint, c.word) {
			t.Errorf("%s: exit %d, %s, fix %q, hint %q", c.m.name, code, result, fix, r.Hint)
		}
	}
	r, code := setupDoctor(t, setupMachine{}, New(t, "auto"))
	if result, _, _ := r.row(t, "user namespaces"); code != 0 || result != "ok" || r.Hint != "" {
		t.Errorf("whole machine: exit %d, %+v", code, r)
	}
}

// What is wrong with the machine, and not with the boundary, is told as it is.
func TestB125_DoctorTellsTheCause(t *testing.T) {
	shell := func(text string, around ...string) setupMachine {
		return setupMachine{name: text, prefix: append(around, "sh", "-c", text+` && exec "$@"`, "sh")}
	}
	for _, c := range []struct {
		m           setupMachine
		detail, fix string
	}{
		{shell("ulimit -n 40"), "the limit on open files: it is 40", "raise it before: ulimit -n 64"},
		{shell("ulimit -f 0"), "the limit on the size of files: it is 0", "raise it before: ulimit -f 128"},
		{shell("mount -t tmpfs none /proc", "unshare", "-Urm"), "it is not mounted", "mount -t proc proc /proc"},
		{shell("echo 0 >/proc/sys/user/max_net_namespaces", "unshare", "-Ur"), "cannot make namespaces", "sudo sysctl user.max_net_namespaces=15000"},
	} {
		b := New(t, "auto")
		r, code := setupDoctor(t, c.m, b)
		for _, row := range []string{"native launcher", "bwrap launcher"} {
			result, detail, fix := r.row(t, row)
			if code != 1 || result != "fail" || row[0] == 'n' && !strings.Contains(detail, c.detail) || !strings.Contains(fix, c.fix) || !strings.Contains(r.Hint, c.fix) {
				t.Errorf("%s: exit %d, %s: %s, %q, fix %q, hint %q", c.m.name, code, row, result, detail, fix, r.Hint)
			}
		}
		for _, check := range r.Checks {
			if strings.Contains(check.Fix, "CONFIG_USER_NS") || strings.Contains(check.Fix, "report this") {
				t.Errorf("%s: %+v", c.m.name, check)
			}
		}
		for _, l := range []string{"native", "bwrap", "auto"} {
			if run := c.m.bawn(t, b, "run", "--launcher", l, "--", "true"); run.Code != 125 || !strings.Contains(run.Stderr, c.fix) {
				t.Errorf("%s: %s: %d %q", c.m.name, l, run.Code, run.Stderr)
			}
		}
	}
}

// A kernel without the flag that the name guard needs: everything works, and the
// doctor says what does not.
func TestF2_DoctorOnOldKernel(t *testing.T) {
	for how, word := range map[string]string{"old": "without WAIT_KILLABLE_RECV", "nested": ""} {
		r, code := setupDoctor(t, setupMachine{name: how, prefix: []string{tool(t, "old"), how}}, New(t, "auto"))
		result, detail, fix := r.row(t, "filter notification")
		if code != 0 || !r.Fit || result != "warn" || !strings.Contains(detail, word) || !strings.Contains(fix, "Linux 5.19") {
			t.Errorf("%s: exit %d, %s, %q, %q", how, code, result, detail, fix)
		}
	}
}

// The table for people: aligned, plain unless on a terminal that wants colour.
func TestSetup_DoctorTable(t *testing.T) {
	b := New(t, "auto")
	plain := b.Bawn(t, "doctor").OK(t).Stdout
	if strings.Contains(plain, "\x1b") || !strings.HasSuffix(plain, "\n\nauto uses the native launcher\n") {
		t.Errorf("%q", plain)
	}
	for line := range strings.Lines(strings.Split(plain, "\n\n")[0]) {
		if f := strings.Fields(line[21:]); line[19:21] != "  " || line[20:21] != " " || len(f) < 2 {
			t.Errorf("not aligned: %q", line)
		}
	}
	for env, want := range map[string]bool{"X=1": true, "NO_COLOR=1": false, "TERM=dumb": false} {
		cmd := exec.Command("script", "-qec", Binary()+" doctor", "/dev/null")
		cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "TERM=xterm", env)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), "\x1b[32mok"); got != want {
			t.Errorf("%s: colour %v: %q", env, got, out)
		}
	}
	for _, args := range [][]string{{"doctor", "x"}, {"doctor", "--jsn"}} {
		if r := b.Bawn(t, args...); r.Code != 125 || r.Stdout != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
