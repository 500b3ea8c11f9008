//go:build linux && !race

package launchtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// text is a run of shell text.
func text(b *sandboxtest.Box, s string, flags ...string) *sandboxtest.Box {
	c := *b
	c.Flags = append(append([]string{}, flags...), "-c", s)
	return &c
}

// unasked runs to the end on a terminal, and fails if there was a question.
func unasked(t *testing.T, b *sandboxtest.Box, args ...string) (string, int) {
	t.Helper()
	s := onScreen(t, b, args...)
	code := s.Code(t)
	if strings.Contains(s.Text(), "Answer and Enter") || strings.Contains(s.Text(), "outside the sandbox (") {
		t.Errorf("%q %q left the sandbox, or could have:\n%s", b.Flags, args, s.Text())
	}
	return s.Text(), code
}

// said answers the question of a run on a terminal with yes.
func said(t *testing.T, b *sandboxtest.Box, args ...string) (string, int) {
	t.Helper()
	s := onScreen(t, b, args...)
	s.Wait(t, choices)
	s.Send(t, "y\r")
	code := s.Code(t)
	return s.Text(), code
}

// A111, A118, A120, A121, A123: whatever is more or less than one plain
// command goes into the sandbox as a whole, unasked. The plain one is the twin.
func TestA111_A118_A120_A121_A123_OnlyOnePlainCommandLeaves(t *testing.T) {
	b := box(t, excludes)
	if out, code := said(t, text(b, "mytool x")); code != 0 || !strings.Contains(out, "ran outside 1 x") {
		t.Fatalf("the twin: exit %d:\n%s", code, out)
	}
	script(t, filepath.Join(b.Workspace, "mytool"), "echo ran planted")
	for _, s := range []string{
		"cat /etc/hostname; mytool x", "mytool x && id", "mytool x || id", "mytool x | cat", "id | mytool x", "mytool x & wait", "mytool x\nid", "mytool x;",
		"mytool $(id)", "mytool `id`", "mytool $HOME", "mytool <(id)", "mytool ~", "mytool *", "mytool {a,b}",
		"mytool x > out", "mytool x 2>out", "mytool x >& out", "mytool < /dev/null", "exec 3>out; mytool x",
		"'m'ytool x", `\mytool x`, `$'\155ytool' x`, "./mytool x", "PATH=.:$PATH mytool x", "A=b mytool x", "env mytool x", "sh -c 'mytool x'", "(mytool x)", "! mytool x",
		strings.Repeat("true;", 60) + "mytool x",
	} {
		out, _ := unasked(t, text(b, s))
		if strings.Contains(out, "ran outside") {
			t.Errorf("%q ran outside:\n%s", s, out)
		}
	}
	// As words, what a shell would read means itself: one command still.
	for _, args := range [][]string{{"sh", "-c", "mytool x"}, {"./mytool", "x"}, {filepath.Join(b.Workspace, "mytool"), "x"}, {"env", "mytool", "x"}} {
		if out, _ := unasked(t, b, args...); strings.Contains(out, "ran outside") {
			t.Errorf("%q ran outside:\n%s", args, out)
		}
	}
	if out, code := said(t, b, "mytool", "$(id); x"); code != 0 || !strings.Contains(out, "ran outside 1 $(id); x") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// What makes people wonder is said: why an excluded command stays inside.
func TestB124_SaysWhyItStaysInside(t *testing.T) {
	b := box(t, "[sandbox]\nexclude = [\"mytool deploy\"]\n")
	for _, c := range []struct{ text, why string }{
		{"mytool deploy | cat", "only a single plain command can leave the sandbox"},
		{"mytool other", `exclude "mytool deploy" is for other arguments`},
	} {
		if out, _ := unasked(t, text(b, c.text)); !strings.Contains(out, c.why) {
			t.Errorf("%q does not say %q:\n%s", c.text, c.why, out)
		}
	}
	if out, _ := unasked(t, text(b, "echo deploy | cat")); strings.Contains(out, "bawn:") {
		t.Errorf("nothing to wonder about: %s", out)
	}
	r := b.Bawn(t, "check", "run", "--", "mytool", "deploy")
	if r.Code != 2 || !strings.Contains(r.Stdout, "place  outside the sandbox: ") || !strings.Contains(r.Stdout, "config.toml:2") {
		t.Errorf("check: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	r = b.Bawn(t, "check", "run", "-c", "mytool deploy | cat")
	if r.Code != 0 || !strings.Contains(r.Stdout, "only a single plain command") {
		t.Errorf("check: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// A112, A128: patterns that would let everything out are refused when they are
// read; those that let out more than they name are warned of.
func TestA112_A128_Patterns(t *testing.T) {
	for _, c := range []struct {
		entry, stderr string
		code          int
	}{
		{"linear:*", "is not a wildcard here", 125}, {"*", "would match every command", 125}, {"/usr/bin/docker *", "escape_hatch_binaries", 125},
		{"eval *", "part of the shell", 125}, {"docker *", "a container can mount and change any file", 0}, {"git *", "aliases", 0},
	} {
		b := box(t, "[sandbox]\nexclude = [\""+c.entry+"\"]\n")
		r := b.Run(t, "true")
		if r.Code != c.code || !strings.Contains(r.Stderr, c.stderr) {
			t.Errorf("%q: exit %d, %s", c.entry, r.Code, r.Stderr)
		}
	}
}

// A126, A129, B92, B138: what runs outside has the environment and folder that
// bawn was started with: nothing of the sandbox's, nothing of an earlier run.
func TestA126_A129_B92_B138_HostEnvironment(t *testing.T) {
	b := box(t, excludes)
	tool := filepath.Join(filepath.Dir(b.Home), "tools/mytool")
	script(t, tool, `env | sort; pwd; ulimit -Sn; echo "argv0 $0"`)
	b.Env = append(b.Env, "TMPDIR=/var/tmp/host", "MY_API_TOKEN=kept-outside", "HTTP_PROXY=http://proxy.host.test:1")
	text(b, "export PAGER=evil LD_PRELOAD=/x; echo PAGER=evil > ~/.profile; true").Bawn(t, "run", "-c", "export PAGER=evil").OK(t)
	out, code := said(t, b, "mytool")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	for _, want := range []string{"TMPDIR=/var/tmp/host\r\n", "MY_API_TOKEN=kept-outside\r\n", "HTTP_PROXY=http://proxy.host.test:1\r\n", b.Workspace + "\r\n", "argv0 " + tool + "\r\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q outside:\n%s", want, out)
		}
	}
	for _, not := range []string{"BAWN_", "PAGER", "LD_PRELOAD", "127.0.0.1:3128"} {
		if strings.Contains(out, not) {
			t.Errorf("%s got outside:\n%s", not, out)
		}
	}
	// The twin inside has the sandbox's.
	b.Flags = []string{"--no-prompt"}
	if r := b.Run(t, "mytool"); !strings.Contains(r.Stdout, "BAWN_TIER=guarded") || strings.Contains(r.Stdout, "kept-outside") {
		t.Errorf("inside: %s", r.Stdout)
	}
}

// A program that a sandboxed command could have written, or what runs it, is
// not trusted by its name: it stays inside, or nothing runs.
func TestOutsideRunsOnlyWhatNobodyInsideCanWrite(t *testing.T) {
	b := box(t, "[sandbox]\nexclude = [\"mytool *\", \"viaenv\", \"rel\", \"link\"]\n")
	tools := filepath.Join(filepath.Dir(b.Home), "tools")
	bin := filepath.Join(b.Workspace, "bin")
	script(t, filepath.Join(bin, "mytool"), "echo ran planted ${BAWN_TIER:-outside}")
	script(t, filepath.Join(bin, "myinterp"), "echo ran planted ${BAWN_TIER:-outside}")
	for name, first := range map[string]string{"viaenv": "#!/usr/bin/env myinterp\n", "rel": "#!bin/myinterp\n"} {
		sandboxtest.Write(t, filepath.Join(tools, name), first)
		if err := os.Chmod(filepath.Join(tools, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(bin, "mytool"), filepath.Join(tools, "link")); err != nil {
		t.Fatal(err)
	}
	first := *b
	first.Env = append(first.Env, "PATH="+bin+":"+tools+":/usr/bin:/bin")
	for _, args := range [][]string{{"mytool", "x"}, {"viaenv"}, {"rel"}, {"link"}} {
		out, _ := unasked(t, &first, args...)
		if strings.Contains(out, "planted outside") || !strings.Contains(out, "bawn: ") {
			t.Errorf("%q:\n%s", args, out)
		}
	}
	// The twin: PATH has the tools alone.
	if out, code := said(t, b, "mytool", "x"); code != 0 || !strings.Contains(out, "ran outside 1 x") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// A name that leads through a link which a sandboxed command can change may be
// any program of the host by the next run; so may what runs a script through
// another script.
func TestNoLinkOfTheWorkspaceLeadsOutside(t *testing.T) {
	b := box(t, "")
	tools := filepath.Join(filepath.Dir(b.Home), "tools")
	cur, via, direct := filepath.Join(b.Workspace, "cur"), filepath.Join(tools, "via"), filepath.Join(tools, "direct")
	for link, to := range map[string]string{cur: "/bin/bash", via: cur, direct: "/bin/bash"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	chain := filepath.Join(tools, "chain")
	script(t, filepath.Join(b.Workspace, "inner"), "echo chain ${BAWN_TIER:-outside}")
	for name, first := range map[string]string{chain: "#!" + tools + "/between\n", tools + "/between": "#!" + b.Workspace + "/inner\n"} {
		sandboxtest.Write(t, name, first)
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	settings(t, b, "[sandbox]\nescape_hatch_binaries = [\""+via+"\", \""+direct+"\", \""+chain+"\"]\n")
	for _, name := range []string{via, chain} {
		out, _ := unasked(t, b, name, "-c", "echo ${BAWN_TIER:-outside}")
		if strings.Contains(out, "\noutside") || strings.Contains(out, "chain outside") || !strings.Contains(out, "can be changed by sandboxed commands") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
	s := onScreen(t, b, direct, "-c", "echo ${BAWN_TIER:-outside}")
	if code := s.Code(t); code != 0 || !strings.Contains(s.Text(), "\noutside") {
		t.Errorf("the twin: exit %d:\n%s", code, s.Text())
	}
}

// A program, or what runs it, that is also a file of a place which sandboxed
// commands write, as package managers link them, has been theirs. Two names in
// its own folder are no reason.
func TestNoHardLinkRunsOutside(t *testing.T) {
	b := box(t, excludes)
	tools := filepath.Join(filepath.Dir(b.Home), "tools")
	tool, interp, second := filepath.Join(tools, "mytool"), filepath.Join(tools, "interp"), filepath.Join(tools, "second")
	link := func(old, name string) {
		t.Helper()
		if err := os.Link(old, name); err != nil {
			t.Fatal(err)
		}
	}
	link(tool, second)
	if out, code := said(t, b, "mytool", "x"); code != 0 || !strings.Contains(out, "ran outside 1 x") {
		t.Errorf("the twin: exit %d:\n%s", code, out)
	}
	link(tool, filepath.Join(b.Workspace, "cached"))
	if out, code := unasked(t, b, "mytool", "x"); code != 125 || !strings.Contains(out, "a hard link") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if err := os.Remove(tool); err != nil {
		t.Fatal(err)
	}
	script(t, interp, "echo ran outside")
	link(interp, filepath.Join(b.Workspace, "cached2"))
	sandboxtest.Write(t, tool, "#!"+interp+"\n")
	if err := os.Chmod(tool, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, code := unasked(t, b, "mytool", "x"); code != 125 || !strings.Contains(out, "what runs it") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// While the question waits the program cannot become another one.
func TestToctou_ProgramReplacedDuringTheQuestion(t *testing.T) {
	b := box(t, excludes)
	tool := filepath.Join(filepath.Dir(b.Home), "tools/mytool")
	s := onScreen(t, b, "mytool", "x")
	s.Wait(t, choices)
	script(t, tool+".new", "echo ran other")
	if err := os.Rename(tool+".new", tool); err != nil {
		t.Fatal(err)
	}
	s.Send(t, "y\r")
	if code := s.Code(t); code == 0 || strings.Contains(s.Text(), "ran other") || !strings.Contains(s.Text(), "it was changed while bawn looked at it") {
		t.Errorf("exit %d:\n%s", code, s.Text())
	}
}

// A program that is no script runs too, by the name it was called by.
func TestOutsideRunsBinaries(t *testing.T) {
	b := box(t, "[sandbox]\nexclude = [\"sleep *\", \"readlink *\"]\nescape_hatch_binaries = [\"/usr/bin/readlink\"]\n")
	if out, code := said(t, b, "readlink", "/proc/self/exe"); code != 0 || !strings.Contains(out, "/readlink\r\n") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if out, code := said(t, b, "sleep", "x"); code != 1 || !strings.Contains(out, "sleep: invalid time interval") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// C4: an escape hatch does not ask; it is ignored in airlock, with a fixed mode
// and headless, and its program must not be one that can be written inside.
func TestC4_EscapeHatch(t *testing.T) {
	b := box(t, "")
	tool := filepath.Join(filepath.Dir(b.Home), "tools/mytool")
	shared := filepath.Join(filepath.Dir(b.Home), "shared")
	planted := filepath.Join(shared, "planted")
	script(t, planted, "echo ran ${BAWN_TIER:-outside}")
	settings(t, b, "[sandbox]\nescape_hatch_binaries = [\""+tool+"\", \""+planted+"\"]\n")
	s := onScreen(t, b, tool, "x")
	if code := s.Code(t); code != 0 || !strings.Contains(s.Text(), "outside the sandbox (escape hatch, hatch:"+tool) || !strings.Contains(s.Text(), "ran outside 1 x") || strings.Contains(s.Text(), "Answer") {
		t.Errorf("exit %d:\n%s", code, s.Text())
	}
	for _, c := range []struct {
		flags, args []string
		tier        string
	}{
		{[]string{"--tier", "airlock"}, []string{tool}, "airlock"}, {[]string{"--sandbox", "workspace-write"}, []string{tool}, "workspace-write"},
		{[]string{"--no-prompt"}, []string{tool}, "guarded"}, {[]string{"--add-dir", shared}, []string{planted}, "guarded"}, {nil, []string{"mytool"}, "guarded"},
		{[]string{"-c", tool + " ; true"}, nil, "guarded"},
	} {
		a := *b
		a.Flags = c.flags
		if out, _ := unasked(t, &a, c.args...); !strings.Contains(out, "ran "+c.tier) {
			t.Errorf("%q %q:\n%s", c.flags, c.args, out)
		}
	}
	if r := b.Run(t, tool); !strings.Contains(r.Stdout, "ran guarded") {
		t.Errorf("headless: %s%s", r.Stdout, r.Stderr)
	}
}

// C6, A76: a project's own file lets nothing out, whatever it says.
func TestA76_ProjectLetsNothingOut(t *testing.T) {
	b := box(t, "")
	sandboxtest.Write(t, filepath.Join(b.Workspace, ".bawn/config.toml"), "[sandbox]\nexclude = [\"mytool *\"]\nescape_hatch_binaries = [\"/usr/bin/id\"]\n")
	for _, args := range [][]string{{"mytool", "x"}, {"/usr/bin/id"}} {
		if out, _ := unasked(t, b, args...); strings.Contains(out, "ran outside") {
			t.Errorf("%q ran outside:\n%s", args, out)
		}
	}
	r := b.Bawn(t, "check", "run", "--", "mytool", "x")
	if r.Code != 0 || !strings.Contains(r.Stdout, "in the sandbox") {
		t.Errorf("check: exit %d: %s", r.Code, r.Stdout)
	}
}

// A147: there is no word by which a command, or whoever writes it, leaves the
// sandbox: flags after the command are data, and inside nothing leaves either.
func TestA147_NoWordLeavesTheSandbox(t *testing.T) {
	b := box(t, excludes)
	for _, args := range [][]string{
		{"sh", "-c", "echo ran ${BAWN_TIER:-outside}", "--tier", "open"}, {"env", "--", "sh", "-c", "echo ran ${BAWN_TIER:-outside}"},
	} {
		if out, _ := unasked(t, b, args...); !strings.Contains(out, "ran guarded") {
			t.Errorf("%q:\n%s", args, out)
		}
	}
	script(t, filepath.Join(b.Workspace, "inner"), "exec "+sandboxtest.Binary()+" run --tier open -- mytool x")
	if out, code := unasked(t, b, "./inner"); code != 125 || strings.Contains(out, "ran outside") || !strings.Contains(out, "a sandbox inside a sandbox") {
		t.Errorf("from inside: exit %d\n%s", code, out)
	}
}

// A125: programs that read, but for an option, write no further than the
// sandbox lets them; an exclusion of one for other arguments lets none out.
func TestA125_ReadersWriteInsideAlone(t *testing.T) {
	b := box(t, "[sandbox]\nexclude = [\"sort in\", \"find in\"]\n")
	sandboxtest.Write(t, filepath.Join(b.Workspace, "in"), "line\n")
	out := filepath.Join(b.Home, "x")
	for _, args := range [][]string{
		{"sed", "w OUT", "in"}, {"sort", "-o", "OUT", "in"}, {"find", "in", "-fprintf", "OUT", "x"}, {"find", "in", "-exec", "cp", "in", "OUT", ";"},
		{"git", "--no-pager", "diff", "--no-index", "--output=OUT", "in", "/dev/null"}, {"tar", "cf", "t.tar", "in", "--checkpoint=1", "--checkpoint-action=exec=cp in OUT"},
	} {
		for _, to := range []string{out, "out"} {
			words := make([]string, len(args))
			for i, a := range args {
				words[i] = strings.ReplaceAll(a, "OUT", to)
			}
			text, _ := unasked(t, b, words...)
			if written := exists(filepath.Join(b.Workspace, "out")); written != (to == "out") || exists(out) {
				t.Errorf("%q wrote %v in the workspace, %v in the home:\n%s", words, written, exists(out), text)
			}
			os.Remove(filepath.Join(b.Workspace, "out"))
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
