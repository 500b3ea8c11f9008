//go:build linux

package sandboxtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// logged is one record, as bawn log prints it.
type logged struct {
	Kind, Run, Verdict, Action, Target, Command, Place, Tier, Trace string
	Code                                                            int
	Rule                                                            struct {
		ID, File string
		Line     int
	}
}

// log reads the records that the flags let through.
func (b *Box) log(t *testing.T, flags ...string) (out []logged) {
	t.Helper()
	r := b.Bawn(t, append([]string{"log", "--json"}, flags...)...).OK(t)
	for line := range strings.Lines(r.Stdout) {
		var l logged
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if l.Kind != "process" {
			out = append(out, l)
		}
	}
	return out
}

// logText is every byte of the log.
func (b *Box) logText(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(b.State + "/bawn/log/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no log: %v", err)
	}
	text := ""
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, st.Mode(), err)
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	return text
}

// A run is in the log with what was denied, by whom and by which rule, and no
// secret of its command line is.
func TestC5_RunsAreRecorded(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.settings(t, "[sandbox]\nprotect = ['deploy']\n")
		b.Env = []string{"TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
		token := "ghp_" + strings.Repeat("a1B2", 9)
		b.Run(t, "true").OK(t)
		r := b.Sh(t, `: `+token+`; : X_PASSWORD='hunter2' --token hunter3; echo x >deploy; echo y >.envrc; exit 3`)
		if r.Code != 3 {
			t.Fatalf("%+v", r)
		}
		got := b.log(t)
		if len(got) != 7 {
			t.Fatalf("%+v", got)
		}
		start, deny, wrote, end := got[3], got[4], got[5], got[6]
		if start.Kind != "run" || start.Place != "sandbox" || start.Tier != "guarded" || !strings.Contains(start.Command, "exit 3") || start.Trace == "" {
			t.Errorf("%+v", start)
		}
		if deny.Verdict != "deny" || deny.Action != "write" || deny.Target != b.Workspace+"/deploy" || deny.Command != "sh" ||
			deny.Rule.File != b.Home+"/.config/bawn/config.toml" || deny.Rule.Line != 2 {
			t.Errorf("%+v", deny)
		}
		if wrote.Kind != "written" || wrote.Target != b.Workspace+"/.envrc" || end.Kind != "end" || end.Code != 3 || end.Run != start.Run {
			t.Errorf("%+v %+v", wrote, end)
		}
		text := b.logText(t)
		for _, secret := range []string{token, "hunter2", "hunter3"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in the log", secret)
			}
		}
		if n := len(b.log(t, "--verdict", "deny")); n != 1 {
			t.Errorf("%d denials", n)
		}
		if n := len(b.log(t, "--path", "deploy")); n != 1 {
			t.Errorf("%d records about a path", n)
		}
		show := b.Bawn(t, "log", "show").OK(t).Stdout
		_, tree, _ := strings.Cut(show, "processes\n")
		if !strings.Contains(show, "outcome  exit 3") || !strings.Contains(show, "deny write") || !strings.Contains(tree, "  sh  +") {
			t.Errorf("%s", show)
		}
		if v := b.Bawn(t, "log", "verify").OK(t); !strings.Contains(v.Stdout, "every record fits") {
			t.Errorf("%+v", v)
		}
		// What runs without a sandbox is recorded before it runs.
		b.Flags = []string{"--tier", "open"}
		b.Run(t, "true").OK(t)
		if last := b.log(t, "-n", "1"); last[0].Kind != "run" || last[0].Place != "open" {
			t.Errorf("%+v", last)
		}
		// An edit shows.
		file := b.State + "/bawn/log/000001.jsonl"
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(data), `"verdict":"deny"`, `"verdict":"allow"`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if v := b.Bawn(t, "log", "verify"); v.Code != 1 || !strings.Contains(v.Stderr, "000001.jsonl:7: ") {
			t.Errorf("%+v", v)
		}
	})
}

// The tree of a run has what made names, equal ones as one, and what the command
// left behind, each below the one that started it as long as that lives; the list is not full of them.
func TestC5_ProcessTree(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		report := filepath.Join(b.Workspace, "report")
		b.Flags = append(b.Flags, "--report", report)
		b.Sh(t, `for i in 1 2 3; do touch f$i; done; sh -c 'mkdir d; :'; sleep 60 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; exit 0`).OK(t)
		show := b.Bawn(t, "log", "show").OK(t).Stdout
		for _, want := range []string{`\n  \d+  sh  \+`, `\n    \d+  touch \(3 times\)  \+`, `\n    \d+  sh  \+\S+\n      \d+  mkdir  \+`, `\n(  )?  \d+  (sh → )?sleep  \+`} {
			if !regexp.MustCompile(want).MatchString(show) {
				t.Errorf("no %q in\n%s", want, show)
			}
		}
		if text, err := os.ReadFile(report); err != nil || !regexp.MustCompile(`\{"pid":\d+,"parent":\d+,"command":"touch","count":3\}`).Match(text) {
			t.Errorf("%s, %v", text, err)
		}
		if r := b.Bawn(t, "log").OK(t); strings.Contains(r.Stdout, "touch  ") || strings.Contains(r.Stdout, "  process ") {
			t.Errorf("%s", r.Stdout)
		}
		if r := b.Bawn(t, "log", "export", "html").OK(t); !strings.Contains(r.Stdout, "touch (3 times)") {
			t.Error("the page has no tree")
		}
		b.Bawn(t, "log", "verify").OK(t)
	})
}

// A command that a rule refuses is in the log too.
func TestC5_RefusalsAreRecorded(t *testing.T) {
	b := New(t, "native")
	b.settings(t, "[permissions]\ndeny = ['rm *']\n")
	if r := b.Run(t, "rm", "x"); r.Code != 125 {
		t.Fatalf("%+v", r)
	}
	got := b.log(t, "--verdict", "deny")
	if len(got) != 1 || got[0].Action != "run" || got[0].Target != "rm x" || got[0].Rule.Line != 2 {
		t.Errorf("%+v", got)
	}
}

// Without a record nothing runs; the way out is said, and works.
func TestC5_NoRecordNoRun(t *testing.T) {
	b := New(t, "native")
	Write(t, b.State, "a file where the folder would be")
	b.Sh(t, "echo RAN").refused(t, "cannot be recorded", "XDG_STATE_HOME", "BAWN_LOG=off")
	b.Env = []string{"BAWN_LOG=no"}
	b.Sh(t, "echo RAN").refused(t, `BAWN_LOG is "no"`)
	b.Env = []string{"BAWN_LOG=off"}
	if r := b.Sh(t, "echo RAN").OK(t); r.Stdout != "RAN\n" {
		t.Errorf("%+v", r)
	}
}

// A disk that fills up during a run is told; before it, nothing runs.
func TestC5_FullDisk(t *testing.T) {
	b := New(t, "native")
	mkdir(t, b.State)
	on := func(fill, text string) Result {
		m := setupMachine{prefix: []string{"unshare", "-Urm", "sh", "-c", `mount -t tmpfs -o size=24k none "$XDG_STATE_HOME"; ` + fill + `; cd "$PWD"; exec "$@"`, "sh"}}
		return m.bawn(t, b, "run", "--", "sh", "-c", text)
	}
	full := `cat /dev/zero >"$XDG_STATE_HOME/full" 2>/dev/null`
	on(full, "echo RAN").refused(t, "cannot be recorded", "no space left")
	r := on("true", `for i in $(seq 60); do mkdir -p d$i; echo x >d$i/.bashrc; done 2>/dev/null; echo RAN; exit 4`)
	if r.Code != 4 || r.Stdout != "RAN\n" || !strings.Contains(r.Stderr, "not all of this run could be recorded") || !strings.Contains(r.Stderr, "no space left") {
		t.Errorf("%+v", r)
	}
	if r := on("true", "echo RAN").OK(t); strings.Contains(r.Stderr, "recorded") { // the twin
		t.Errorf("%+v", r)
	}
}

// kill -9 of bawn leaves a whole log, in which the run has no end.
func TestC5_KilledRun(t *testing.T) {
	b := New(t, "native")
	run := b.startWork(t, "sh", "-c", "echo x >.bashrc; echo up; exec sleep 600")
	if line := run.line(t); line != "up" {
		t.Fatalf("%q", line)
	}
	run.kill(t)
	b.Bawn(t, "log", "verify").OK(t)
	if r := b.Bawn(t, "log", "runs").OK(t); !strings.Contains(r.Stdout, "no end") {
		t.Errorf("%+v", r)
	}
	b.Run(t, "true").OK(t)
	b.Bawn(t, "log", "verify").OK(t)
}

// reported is what --report writes.
type reported struct {
	Version int
	Run     string
	Code    *int
	Denials []struct {
		Kind, Target, Command, Lift string
		PID, Count                  int
		Rule                        struct {
			ID, Text, File string
			Line           int
		}
	}
	More    int
	Written []string
}

func parseReport(t *testing.T, text string) (r reported) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Version != 1 {
		t.Fatalf("%q: %v", text, err)
	}
	return r
}

// The report tells what was denied, with the rule's place and the way out.
func TestC5_Report(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.settings(t, "[sandbox]\nprotect = ['deploy']\n")
		b.Flags = []string{"-q", "--report", "../report.json"}
		file := filepath.Dir(b.Workspace) + "/report.json"
		read := func() reported {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			return parseReport(t, string(data))
		}
		b.Sh(t, "echo x >deploy; echo x >deploy; echo y >.envrc; exit 3")
		r := read()
		if r.Code == nil || *r.Code != 3 || len(r.Denials) != 1 || len(r.Run) != 16 || len(r.Written) != 1 {
			t.Fatalf("%+v", r)
		}
		d := r.Denials[0]
		if d.Kind != "write" || d.Target != b.Workspace+"/deploy" || d.Command != "sh" || d.PID == 0 || d.Rule.File != b.Home+"/.config/bawn/config.toml" || d.Rule.Line != 2 || d.Lift == "" {
			t.Errorf("%+v", d)
		}
		// Shorter than before, and of a run in which nothing was denied.
		b.Run(t, "true").OK(t)
		if r := read(); *r.Code != 0 || r.Denials == nil || len(r.Denials) != 0 {
			t.Errorf("%+v", r)
		}
		// A refusal before the start.
		b.Flags = append(b.Flags, "--no-prompt")
		if r := b.Run(t, "curl", "https://evil.example/"); r.Code != 125 {
			t.Errorf("%+v", r)
		}
		if r := read(); *r.Code != 125 || len(r.Denials) != 1 || r.Denials[0].Kind != "run" || r.Denials[0].Lift == "" {
			t.Errorf("%+v", r)
		}
		// By a descriptor that the command does not get.
		cmd := exec.Command("sh", "-c", `exec 7>../by-fd; exec "$@"`, "sh", Binary(), "run", "--launcher", l, "--report", "fd:7", "--", "sh", "-c", "ls /proc/self/fd; echo x >deploy")
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		out, _ := cmd.Output()
		if strings.Contains(string(out), "7") {
			t.Errorf("descriptors inside: %q", out)
		}
		data, _ := os.ReadFile(filepath.Dir(b.Workspace) + "/by-fd")
		if r := parseReport(t, string(data)); len(r.Denials) != 1 {
			t.Errorf("%+v", r)
		}
		b.Bawn(t, "run", "--report", "fd:9", "--", "echo", "RAN").refused(t, "fd:9")
		b.Bawn(t, "run", "--report", "none/x", "--", "echo", "RAN").refused(t, "--report")
	})
}

// A link that a command left in the workspace does not lead the report out of
// it, neither one that was there before nor one made meanwhile.
func TestC5_ReportByPlantedLink(t *testing.T) {
	b := New(t, "native")
	mkdir(t, b.Home+"/.ssh")
	Write(t, b.Home+"/victim", "precious")
	symlink(t, b.Home+"/victim", b.Workspace+"/file")
	symlink(t, b.Home+"/.ssh", b.Workspace+"/dir")
	for _, name := range []string{"file", "dir/new"} {
		b.Flags = []string{"--report", name}
		b.Sh(t, "echo RAN").refused(t, "links in a folder that sandboxed commands write")
	}
	b.Flags = []string{"--report", "later"}
	if r := b.Sh(t, "rm -f later; ln -s "+b.Home+"/victim later").OK(t); !strings.Contains(r.Stderr, "the report could not be written") {
		t.Errorf("%+v", r)
	}
	if data, _ := os.ReadFile(b.Home + "/victim"); string(data) != "precious" || exists(b.Home+"/.ssh/new") {
		t.Errorf("the report went out: %q", data)
	}
	// Twins: a file of the workspace, and a link that the user typed elsewhere.
	symlink(t, b.Home+"/victim", filepath.Dir(b.Workspace)+"/mine")
	for _, name := range []string{"inside.json", "../mine"} {
		b.Flags = []string{"--report", name}
		b.Sh(t, "true").OK(t)
		if data, _ := os.ReadFile(b.Workspace + "/" + name); !strings.HasPrefix(string(data), `{"version":1`) {
			t.Errorf("%s: %q", name, data)
		}
	}
}

// A write that the read-only mounts stop is told, with the policy's rule; one
// that would fail without a sandbox too is not called a denial.
func TestB139_DenialsAreExact(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		mkdir(t, b.Home+"/open")
		mkdir(t, b.Home+"/closed")
		mkdir(t, b.Home+"/.config/go/telemetry/local")
		if err := os.Chmod(b.Home+"/closed", 0o555); err != nil {
			t.Fatal(err)
		}
		r := b.Sh(t, `cd ~; echo x >open/a; echo x >open/a; mkdir -p ~/open/b; echo x >closed/a; mkdir -m 555 "$OLDPWD/own"; echo x >"$OLDPWD/own/a"; echo x >/etc/bawn-test-a; echo x >.config/go/telemetry/local/a; echo x >.config/go/a; exit 3`)
		root := os.Getuid() == 0
		for path, want := range map[string]bool{
			b.Home + "/open/a": true, b.Home + "/open/b": true, b.Home + "/closed/a": root, "/etc/bawn-test-a": root, b.Workspace + "/own/a": false,
			b.Home + "/.config/go/telemetry/local/a": false, b.Home + "/.config/go/a": true, // go counts with every command
		} {
			if got := strings.Contains(r.Stderr, "denied \""+path+"\" to "); got != want {
				t.Errorf("%s is told: %v, want %v in\n%s", path, got, want, r.Stderr)
			}
		}
		if strings.Count(r.Stderr, "/open/a\" to sh: the home folder is read-only") != 1 {
			t.Errorf("%s", r.Stderr)
		}
		if n := len(b.log(t, "--path", b.Home+"/open")); n != 2 {
			t.Errorf("%d denials are recorded", n)
		}
	})
}
