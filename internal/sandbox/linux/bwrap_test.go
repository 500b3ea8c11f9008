//go:build linux

package linux

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

var update = flag.Bool("update", false, "write the golden files anew")

// every step, each with its variants.
var allSteps = []sandbox.Mount{
	{Op: sandbox.OpTmpfs, Target: "/tmp", Mode: 0o1777},
	{Op: sandbox.OpTmpfs, Target: "/run", Mode: 0o755},
	{Op: sandbox.OpDir, Target: "/run/systemd", Mode: 0o755},
	{Op: sandbox.OpFile, Target: "/run/systemd/resolv.conf", Mode: 0o644, Data: "# none\n"},
	{Op: sandbox.OpSymlink, Target: "/run/current-system", Data: "/nix/store/x"},
	{Op: sandbox.OpSkeleton, Target: "/home/me", Mode: 0o700},
	{Op: sandbox.OpDir, Target: "/home/me/.ssh"},
	{Op: sandbox.OpFile, Target: "/home/me/.netrc"},
	{Op: sandbox.OpSkeleton, Target: "/home/me/.config", Mode: 0o755},
	{Op: sandbox.OpBind, Target: "/home/me/.config/nvim", Source: "/home/me/.config/nvim", Dir: true, Try: true},
	{Op: sandbox.OpBind, Target: "/home/me/notes", Source: "/home/me/notes", Try: true},
	{Op: sandbox.OpBind, Target: "/home/me/src", Source: "/home/me/src", Write: true, Dir: true},
	{Op: sandbox.OpSeal, Target: "/home/me"},
	{Op: sandbox.OpPin, Target: "/home/me/src/.git", Write: true, Dir: true},
	{Op: sandbox.OpPin, Target: "/home/me/src/.git/hooks", Dir: true},
	{Op: sandbox.OpPin, Target: "/proc/sys", Try: true},
	{Op: sandbox.OpMask, Target: "/etc/shadow"},
	{Op: sandbox.OpMask, Target: "/etc/ssl/private", Dir: true},
	{Op: sandbox.OpMask, Target: "/var/lib/app.sock", Try: true},
	{Op: sandbox.OpProc, Target: "/proc"},
	{Op: sandbox.OpDev, Target: "/dev"},
}

func TestBwrapArgsGolden(t *testing.T) {
	args, data := bwrapArgs(sandbox.Spec{Dir: "/home/me/src", Mounts: allSteps}, 10)
	var b strings.Builder
	for _, a := range args {
		if strings.HasPrefix(a, "--") && b.Len() > 0 {
			b.WriteString("\n")
		} else if b.Len() > 0 {
			b.WriteString(" ")
		}
		b.WriteString(a)
	}
	b.WriteString("\n")
	file := filepath.Join("testdata", "bwrap.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("run with -update if the change is meant\n--- want\n%s--- got\n%s", want, b.String())
	}
	if !slices.Equal(data, []string{"", "# none\n"}) {
		t.Errorf("data: %q", data)
	}
}

// Every kind of step becomes an argument: one that is forgotten would be a
// protection that is not there.
func TestBwrapArgsCoverEveryStep(t *testing.T) {
	seen := map[sandbox.Op]bool{}
	for _, m := range allSteps {
		seen[m.Op] = true
		args, _ := bwrapArgs(sandbox.Spec{Dir: "/", Mounts: []sandbox.Mount{m}}, 10)
		none, _ := bwrapArgs(sandbox.Spec{Dir: "/"}, 10)
		if len(args) <= len(none) || !slices.Contains(args, m.Target) {
			t.Errorf("%+v gives %q", m, args)
		}
	}
	for op := sandbox.OpTmpfs; op <= sandbox.OpDev; op++ {
		if !seen[op] {
			t.Errorf("step %d is in no test", op)
		}
	}
}

// A79: a name is one argument, whatever it holds; it is never read as an
// option, since a path begins with a slash.
func TestA79_NamesAreNotOptions(t *testing.T) {
	for _, dir := range []string{"/w/--bind", "/w/--share-net", "/w/x\n--bind\n/x", `/w/a")(allow default)("`, "/w/$(id)"} {
		cfg := policy.Config{Tier: policy.Guarded, Workspace: dir}
		p, err := policy.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		spec := sandbox.Plan(p, sandbox.Host{Kinds: map[string]sandbox.Kind{dir: sandbox.KindDir}}, sandbox.Command{})
		args, _ := bwrapArgs(spec, 10)
		i := slices.Index(args, "--bind")
		if i < 0 || args[i+1] != dir || args[i+2] != dir {
			t.Errorf("%q is not bound as itself: %q", dir, args)
		}
		if slices.Contains(args, "--share-net") || strings.Contains(strings.Join(args, " "), "\x00") {
			t.Errorf("%q became an option: %q", dir, args)
		}
	}
}

// Steps below one folder of the root keep their order; what reads much for what
// it adds comes first; a step of the root itself changes nothing.
func TestBwrapCheapestOrder(t *testing.T) {
	tops := func(mounts []sandbox.Mount) (out []string) {
		for _, m := range mounts {
			top, _, _ := strings.Cut(m.Target[1:], "/")
			if len(out) == 0 || out[len(out)-1] != top {
				out = append(out, top)
			}
		}
		return out
	}
	got := cheapest(allSteps)
	if want := []string{"home", "etc", "var", "dev", "proc", "tmp", "run"}; len(got) != len(allSteps) || !slices.Equal(tops(got), want) {
		t.Errorf("%q, want %q", tops(got), want)
	}
	for _, top := range tops(got) {
		of := func(mounts []sandbox.Mount) []sandbox.Mount {
			return slices.DeleteFunc(slices.Clone(mounts), func(m sandbox.Mount) bool { return !policy.Inside(m.Target, "/"+top) })
		}
		if !slices.Equal(of(got), of(allSteps)) {
			t.Errorf("/%s: another order", top)
		}
	}
	whole := append([]sandbox.Mount{{Op: sandbox.OpTmpfs, Target: "/"}}, allSteps...)
	if !slices.Equal(cheapest(whole), whole) {
		t.Error("steps of the root are moved")
	}
}
