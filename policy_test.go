//go:build linux

package bawn_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bawn"
)

func TestZeroPolicy(t *testing.T) {
	ws := hostDir(t)
	for name, p := range map[string]bawn.Policy{"zero": {}, "made": newPolicy(t, bawn.Airlock, ws)} {
		made := name == "made"
		var refused *bawn.RefusedError
		err := bawn.Command(deadline(t), p, "true").Run()
		if made != (err == nil) || (!made && !errors.As(err, &refused)) {
			t.Errorf("%s: run: %v", name, err)
		}
		if d := p.Check(bawn.Write{Path: ws + "/f"}); (d.Verdict == bawn.Allow) != made || d.Rule.ID == "" {
			t.Errorf("%s: check: %v", name, d)
		}
		if _, err := p.With(bawn.WithMode(bawn.ReadOnly)); (err == nil) != made {
			t.Errorf("%s: With: %v", name, err)
		}
	}
}

func TestNewPolicy(t *testing.T) {
	root := hostDir(t)
	home, ws := mkdir(t, root, "home"), mkdir(t, root, "home", "src")
	mkdir(t, home, ".aws", "inner")
	t.Setenv("HOME", home)
	write(t, root+"/file", "", 0o644)
	if err := os.Symlink(home+"/.aws", root+"/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := bawn.NewPolicy(bawn.Guarded, ws); err != nil {
		t.Fatal("a folder of the home:", err)
	}
	for _, dir := range []string{"/", "/etc", "/tmp", "/proc/self", home, root, home + "/.aws", home + "/.aws/inner", root + "/link", root + "/absent", root + "/file", "a\x00b"} {
		var refused *bawn.RefusedError
		if _, err := bawn.NewPolicy(bawn.Guarded, dir); !errors.As(err, &refused) || refused.Why == "" {
			t.Errorf("workspace %q: %v", dir, err)
		}
		if _, err := bawn.NewPolicy(bawn.Guarded, ws, bawn.WithDirs(dir)); !errors.As(err, &refused) {
			t.Errorf("added folder %q: %v", dir, err)
		}
	}
	for name, opt := range map[string]bawn.Option{
		"launcher": bawn.WithLauncher("firejail"), "mode": bawn.WithMode(99), "tier": {},
	} {
		tier := bawn.Guarded
		if name == "tier" {
			tier = 99
		}
		if p, err := bawn.NewPolicy(tier, ws, opt); err == nil {
			t.Errorf("unknown %s accepted: %v", name, p.Mode())
		}
	}
	p := newPolicy(t, bawn.Airlock, ws, bawn.WithDirs(mkdir(t, home, "more")))
	if w := p.Warnings(); len(w) != 1 || !strings.Contains(w[0], "not writable in airlock") {
		t.Errorf("warnings: %q", w)
	}
	for _, s := range []string{"open", "guarded", "airlock"} {
		if tier, err := bawn.ParseTier(s); err != nil || tier.String() != s {
			t.Errorf("%s: %v, %v", s, tier, err)
		}
	}
	if tier, err := bawn.ParseTier("Open"); err == nil || tier != bawn.Airlock {
		t.Errorf("an unknown tier: %v, %v", tier, err)
	}
}

func TestPolicyIsImmutable(t *testing.T) {
	root := hostDir(t)
	ws, a, b := mkdir(t, root, "ws"), mkdir(t, root, "a"), mkdir(t, root, "b")
	dirs, drop := []string{a}, []string{"FIRST"}
	p := newPolicy(t, bawn.Guarded, ws, bawn.WithDirs(dirs...), bawn.WithEnv(nil, drop))
	dirs[0], drop[0] = b, "SECOND"
	p.Dirs()[0] = b
	if got := p.Dirs(); !slices.Equal(got, []string{a}) {
		t.Errorf("added folders: %q", got)
	}
	one, err1 := p.With(bawn.WithDirs(b), bawn.WithMode(bawn.ReadOnly))
	two, err2 := p.With(bawn.WithDirs(root + "/ws"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if len(p.Dirs()) != 1 || p.Mode() != 0 || one.Mode() != bawn.ReadOnly || one.Dirs()[1] != b || two.Dirs()[1] != ws {
		t.Errorf("copies share what they change: %q %q %q", p.Dirs(), one.Dirs(), two.Dirs())
	}
	cmd := bawn.Command(deadline(t), p, "sh", "-c", "echo $FIRST $SECOND")
	cmd.Env = append(os.Environ(), "FIRST=1", "SECOND=2")
	if out, err := cmd.Output(); err != nil || string(out) != "2\n" {
		t.Errorf("%q, %v", out, err)
	}
	// Copies of one policy with room to grow do not write over each other.
	wide := newPolicy(t, bawn.Guarded, ws, bawn.WithDirs(a, b, a))
	one, err1 = wide.With(bawn.WithDirs(a))
	two, err2 = wide.With(bawn.WithDirs(b))
	if err := errors.Join(err1, err2); err != nil || one.Dirs()[3] != a || two.Dirs()[3] != b {
		t.Errorf("copies share their room: %q %q %v", one.Dirs(), two.Dirs(), err)
	}
	// A link that is changed after the check does not move the policy.
	link := root + "/link"
	if err := os.Symlink(a, link); err != nil {
		t.Fatal(err)
	}
	linked := newPolicy(t, bawn.Airlock, link)
	if err := errors.Join(os.Remove(link), os.Symlink(b, link)); err != nil {
		t.Fatal(err)
	}
	if out, err := sh(t, linked, "pwd; echo $PWD"); err != nil || out != a+"\n"+a+"\n" {
		t.Errorf("the workspace moved: %q, %v", out, err)
	}
}

func TestEnvironment(t *testing.T) {
	p := newPolicy(t, bawn.Guarded, hostDir(t))
	env := []string{"PATH=" + os.Getenv("PATH"), "A=1", "DEPLOY_TOKEN=x", "TMPDIR=/nowhere", "A=2", "PWD=/nowhere"}
	for _, c := range []struct {
		opts []bawn.Option
		want string
	}{
		{nil, "A=2 token= tmp=/tmp"},
		{[]bawn.Option{bawn.WithEnv([]string{"deploy_*"}, []string{"A"})}, "A= token=x tmp=/tmp"},
		{[]bawn.Option{bawn.WithTemp(bawn.HostTemp)}, "A=2 token= tmp=/nowhere"},
	} {
		q, err := p.With(c.opts...)
		if err != nil {
			t.Fatal(err)
		}
		cmd := bawn.Command(deadline(t), q, "sh", "-c", `echo "A=$A token=$DEPLOY_TOKEN tmp=$TMPDIR" $PWD`)
		cmd.Env = env
		if out, err := cmd.Output(); err != nil || string(out) != c.want+" "+p.Workspace()+"\n" {
			t.Errorf("%q, %v, want %q", out, err, c.want)
		}
	}
	if slices.Contains(env, "PWD="+p.Workspace()) {
		t.Error("the caller's slice was changed")
	}
}

// What the environment of the command names is hidden as what the caller's
// own does, its home too; but no home that the caller made where it writes.
func TestF4_CredentialsThatEnvNames(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		root := hostDir(t)
		ws, home := mkdir(t, root, "ws"), mkdir(t, root, "home")
		secrets := []string{root + "/kube", root + "/db", home + "/.netrc", ws + "/key"}
		for _, f := range append([]string{root + "/free", ws + "/home/free"}, secrets...) {
			write(t, f, "SECRET", 0o600)
		}
		made, err := bawn.NewPolicy(bawn.Guarded, ws, launcher)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("XDG_STATE_HOME", mkdir(t, root, "state"))
		loaded, err := bawn.LoadPolicy(ws, launcher)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []bawn.Policy{made, loaded} {
			run := func(text string, env ...string) (string, error) {
				cmd := bawn.Command(deadline(t), p, "sh", "-c", text)
				cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			named := []string{"HOME=" + home, "KUBECONFIG=" + root + "/absent:" + root + "/kube", "DB_PASSWORD_FILE=" + root + "/db", "PGSSLKEY=" + ws + "/key"}
			for _, f := range secrets {
				if out, err := run("cat "+f, named...); err == nil || !strings.Contains(out, "Permission denied") {
					t.Errorf("%s: %v %s", f, err, out)
				}
				if out, err := run("cat "+f, "OTHER=/x"); err != nil || out != "SECRET" {
					t.Errorf("%s, which nothing names: %v %s", f, err, out)
				}
			}
			if out, err := run("cat "+root+"/free", named...); err != nil || out != "SECRET" {
				t.Errorf("a neighbour: %v %s", err, out)
			}
			for _, h := range []string{ws, ws + "/home", ws + "/absent"} {
				text := `mkdir -p "$HOME/.config" && echo x > "$HOME/.config/x" && echo x > "$HOME/new" && rm -r "$HOME/.config" "$HOME/new"`
				if out, err := run(text, "HOME="+h, "XDG_CONFIG_HOME="+h+"/.config", "XDG_STATE_HOME="+h+"/.state"); err != nil {
					t.Errorf("a home of the caller's making %s: %v %s", h, err, out)
				}
			}
		}
	})
}

func TestDir(t *testing.T) {
	root := hostDir(t)
	ws, more := mkdir(t, root, "ws"), mkdir(t, root, "more")
	sub := mkdir(t, ws, "sub")
	if err := errors.Join(os.Symlink("sub", ws+"/in"), os.Symlink(root, ws+"/out")); err != nil {
		t.Fatal(err)
	}
	p := newPolicy(t, bawn.Guarded, ws, bawn.WithDirs(more))
	for dir, want := range map[string]string{
		"": ws, ws: ws, sub: sub, ws + "/in": sub, more: more,
		ws + "/out": "", root: "", root + "/wsx": "", ws + "/absent": "", "/": "",
	} {
		cmd := bawn.Command(deadline(t), p, "pwd")
		cmd.Dir = dir
		out, err := cmd.Output()
		var refused *bawn.RefusedError
		switch {
		case want != "" && (err != nil || string(out) != want+"\n"):
			t.Errorf("%q: %q, %v", dir, out, err)
		case want == "" && !errors.As(err, &refused):
			t.Errorf("%q is outside: %q, %v", dir, out, err)
		}
	}
}

func TestCheck(t *testing.T) {
	root := hostDir(t)
	ws, home := mkdir(t, root, "ws"), mkdir(t, root, "home")
	t.Setenv("HOME", home)
	write(t, home+"/.ssh/id", "", 0o600)
	for name, target := range map[string]string{
		"dangling": root + "/new", "inside": "new", "key": "../home/.ssh/id", "loop": "loop", "deep": "dangling",
	} {
		if err := os.Symlink(target, ws+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	p := newPolicy(t, bawn.Guarded, ws)
	outside := "root"
	if os.Getuid() != 0 {
		outside = "home" // of the password file, where the test's folder is
	}
	for _, c := range []struct {
		action bawn.Action
		want   bawn.Verdict
		rule   string
	}{
		{bawn.Write{Path: ws + "/new"}, bawn.Allow, "workspace"},
		{bawn.Write{Path: ws + "/inside"}, bawn.Allow, "workspace"},
		{bawn.Write{Path: ws + "/dangling"}, bawn.Deny, outside},
		{bawn.Write{Path: ws + "/deep"}, bawn.Deny, outside},
		{bawn.Write{Path: ws + "/deep/../x"}, bawn.Deny, outside}, // as the kernel goes, and not by the text
		{bawn.Write{Path: ws + "/folder/../x"}, bawn.Allow, "workspace"},
		{bawn.Write{Path: ws + "/loop"}, bawn.Deny, "path:error"},
		{bawn.Read{Path: ws + "/key"}, bawn.Deny, "credential:" + home + "/.ssh"},
		{bawn.Read{Path: home + "/.netrc"}, bawn.Deny, "credential:" + home + "/.netrc"},
		{bawn.Read{Path: home + "/notes"}, bawn.Allow, "home"},
		{bawn.Write{Path: home + "/notes"}, bawn.Deny, "home"},
		{bawn.Write{Path: ws + "x"}, bawn.Deny, outside},
		{bawn.Read{Path: ""}, bawn.Deny, "path:error"},
		{bawn.Read{Path: "a\x00b"}, bawn.Deny, "path:error"},
		{nil, bawn.Deny, "action:unknown"},
	} {
		d := p.Check(c.action)
		if d.Verdict != c.want || d.Rule.ID != c.rule || d.Rule.Text == "" {
			t.Errorf("%#v: %v by %+v, want %v by %s", c.action, d.Verdict, d.Rule, c.want, c.rule)
		}
	}
	if err := os.RemoveAll(ws); err != nil {
		t.Fatal(err)
	}
	if d := p.Check(bawn.Read{Path: "/etc/passwd"}); d.Verdict != bawn.Deny || d.Rule.ID != "policy:error" {
		t.Errorf("without its workspace: %v", d)
	}
}

// A descriptor that the program left open is out of the command's reach.
func TestA70_InheritedDescriptor(t *testing.T) {
	root := hostDir(t)
	ws, home := mkdir(t, root, "ws"), mkdir(t, root, "home")
	t.Setenv("HOME", home)
	write(t, home+"/.ssh/id", "secret", 0o600)
	fd, err := syscall.Open(home+"/.ssh", syscall.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	const text = "for d in /proc/self/fd/*/id; do cat $d; done 2>/dev/null; echo end"
	if out, err := sh(t, newPolicy(t, bawn.Open, ws), text); err != nil || out != "secretend\n" {
		t.Fatalf("without a sandbox: %q, %v", out, err)
	}
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		if out, err := sh(t, newPolicy(t, bawn.Guarded, ws, launcher), text); err != nil || out != "end\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestOpen(t *testing.T) {
	root := hostDir(t)
	ws := mkdir(t, root, "ws")
	p := newPolicy(t, bawn.Open, ws)
	out, err := sh(t, p, "echo x >../out; pwd; echo $BAWN_TIER")
	if err != nil || out != ws+"\n\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(root, "out")); err != nil {
		t.Error(err)
	}
	if d := p.Check(bawn.Write{Path: "/etc/passwd"}); d.Verdict != bawn.Allow {
		t.Errorf("%v", d)
	}
	var exec *bawn.ExecError
	if err := bawn.Command(deadline(t), p, "no-such-program").Run(); !errors.As(err, &exec) || exec.Code != 127 {
		t.Errorf("not found: %v", err)
	}
	if err := bawn.Command(deadline(t), p, ws).Run(); !errors.As(err, &exec) || exec.Code != 126 {
		t.Errorf("a folder: %v", err)
	}
	var exit *bawn.ExitError
	if _, err := sh(t, p, "kill -TERM $$"); !errors.As(err, &exit) || exit.ExitCode() != 143 {
		t.Errorf("a signal: %v", err)
	}
}
