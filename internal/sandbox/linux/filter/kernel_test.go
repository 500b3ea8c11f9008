//go:build linux

package filter

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/tools/tempdir"
)

// testUIDs: the tester, and an ordinary user if the tester is root.
func testUIDs() []int {
	if os.Getuid() == 0 {
		return []int{0, nobodyUID}
	}
	return []int{os.Getuid()}
}

// Every probe without a filter, with Base, with NoInet, and with both. Without
// the filter a refused call must answer something else, or its refusal proves
// nothing; only root can tell the filter's EPERM from the kernel's.
func TestKernelEnforces(t *testing.T) {
	for _, uid := range testUIDs() {
		control := probeResults(t, noFilter, uid)
		base := probeResults(t, "base", uid)
		noInet := probeResults(t, "noinet", uid)
		both := probeResults(t, "base,noinet", uid)
		turned := probeResults(t, "noinet,base", uid)
		ps := probes()
		if len(control) != len(ps) {
			t.Fatalf("%d results of %d probes", len(control), len(ps))
		}
		for _, p := range ps {
			free := control[p.name]
			judge := func(filters string, got, want syscall.Errno) {
				switch {
				case want != 0 && got != want:
					t.Errorf("uid %d, %s, %s: %v, want %v", uid, filters, p.name, got, want)
				case want == 0 && got != free:
					t.Errorf("uid %d, %s, %s: %v, without a filter %v", uid, filters, p.name, got, free)
				}
			}
			judge("base", base[p.name], p.base)
			judge("noinet", noInet[p.name], p.noInet)
			strictest := p.noInet
			if strictest == 0 {
				strictest = p.base
			}
			judge("base,noinet", both[p.name], strictest)
			if p.base == 0 || p.noInet == 0 { // else the later filter's errno wins
				judge("noinet,base", turned[p.name], strictest)
			} else if turned[p.name] == 0 {
				t.Errorf("uid %d, noinet,base, %s: allowed", uid, p.name)
			}
			if p.optional {
				continue
			}
			if p.base == 0 && free != 0 {
				t.Errorf("uid %d: %s fails without a filter: %v", uid, p.name, free)
			}
			if p.base != 0 && free == p.base && uid == 0 {
				t.Errorf("%s: %v without a filter as well: the probe proves nothing", p.name, free)
			}
		}
	}
}

// cProgram builds testdata/calls.c where every user can run it.
func cProgram(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI needs gcc: ", err)
		}
		t.Skip(err)
	}
	dir := tempdir.ForTest(t, "")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(dir, "calls")
	if out, err := exec.Command(cc, "-O1", "-pthread", "-o", prog, "testdata/calls.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return prog
}

func TestKernelEnforcesOnPrograms(t *testing.T) {
	prog := cProgram(t)
	run := func(filters string, uid int, mode string) (string, syscall.Signal) {
		out, err := child(filters, uid, actExec, prog, mode).CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		text := strings.TrimSpace(string(out))
		if exit != nil {
			if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
				return text, ws.Signal()
			}
			t.Fatalf("%s %s: %v: %s", filters, mode, err, text)
		}
		return text, 0
	}
	enosys := unix.ENOSYS.Error()
	for _, tc := range []struct {
		mode   string
		amd64  bool
		want   string // with Base; after "MODE: "
		signal syscall.Signal
		noInet bool // NoInet gives the same
		why    string
	}{
		{mode: "thread", want: "ok", noInet: true, why: "libc falls back from clone3"},
		{mode: "spawn", want: "ok", noInet: true, why: "libc falls back from clone3"},
		{mode: "clone3", want: enosys, why: "flags out of sight"},
		{mode: "x32", amd64: true, want: enosys, noInet: true, why: "A92"},
		{mode: "int80", amd64: true, signal: unix.SIGSYS, noInet: true, why: "A92"},
		{mode: "skip", amd64: true, want: "ok", noInet: true, why: "a tracer's answer stands"},
	} {
		if tc.amd64 && runtime.GOARCH != "amd64" {
			continue
		}
		filters := []string{"base", "base,noinet"}
		if tc.noInet {
			filters = append(filters, "noinet")
		}
		for _, uid := range testUIDs() {
			free, freeSig := run(noFilter, uid, tc.mode)
			t.Logf("uid %d, %s without a filter: %q, signal %d", uid, tc.mode, free, freeSig)
			if tc.want == "ok" && !strings.HasSuffix(free, "ok") {
				t.Errorf("%s fails without a filter: %q", tc.mode, free)
			}
			if tc.mode == "int80" && freeSig == unix.SIGSEGV {
				// Built without CONFIG_IA32_EMULATION: the gate does not exist.
				tc.signal = unix.SIGSEGV
			}
			for _, f := range filters {
				text, sig := run(f, uid, tc.mode)
				want := ""
				if tc.want != "" {
					want = tc.mode + ": "
				}
				if want += strings.ToLower(tc.want); strings.ToLower(text) != want || sig != tc.signal {
					t.Errorf("uid %d, %s, %s (%s): %q, signal %v; want %q, %v", uid, f, tc.mode, tc.why, text, sig, want, tc.signal)
				}
			}
		}
	}
}
