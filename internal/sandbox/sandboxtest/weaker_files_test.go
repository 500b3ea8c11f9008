//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// weakerBox is a box with a visible and a hidden file, and a secret in a cache.
func weakerBox(t *testing.T) *Box {
	t.Helper()
	b := New(t, "auto")
	Write(t, b.Home+"/.ssh/key", "secret\n")
	Write(t, b.Home+"/visible", "visible\n")
	Write(t, b.Home+"/project/file", "file\n")
	Write(t, b.Home+"/.cache/huggingface/token", "secret\n")
	Write(t, b.Home+"/.cache/pip/wheel", "wheel\n")
	return b
}

// weakerMachines are those on which the weaker mode is tested.
func weakerMachines(t *testing.T, f func(t *testing.T, m setupMachine)) {
	t.Helper()
	all := setupNoNamespaces()
	for _, m := range []setupMachine{all[0], all[2]} { // what [1] adds is only its uid
		t.Run(m.name, func(t *testing.T) { f(t, m) })
	}
}

// weakerCase is one text for sh and what must come of it; the allowed and
// the denied stand next to each other.
type weakerCase struct {
	name, text string
	allowed    bool
	flags      []string
}

// weakerCases has every case on each of weakerMachines, in the way each is met:
// namespaces are refused to root in a container, and switched off for a user.
func weakerCases(t *testing.T, cases []weakerCase) {
	t.Helper()
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		if (m.filter != nil) != (os.Getuid() == 0) {
			return
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				b := weakerBox(t)
				outside := filepath.Dir(b.Workspace) + "/outside"
				Write(t, outside+"/file", "old\n")
				b.Env = append(b.Env, "OUT="+outside)
				b.Flags = c.flags
				r := m.sh(t, b, "{ "+c.text+"\n} && echo passed")
				passed := r.Code == 0 && strings.HasSuffix(r.Stdout, "passed\n")
				if passed != c.allowed || strings.Contains(r.Stdout, "secret") {
					t.Errorf("allowed %v: exit %d\n%s%s", c.allowed, r.Code, r.Stdout, r.Stderr)
				}
				// Landlock's word for a link or move that would open a file up.
				if said := strings.ToLower(r.Stderr); !c.allowed && !strings.Contains(said, "permission denied") &&
					// The name guard's, where a mount would refuse.
					!strings.Contains(said, "read-only file system") && !strings.Contains(said, "device or resource busy") &&
					!(strings.Contains(c.name, "hard link") && strings.Contains(said, "invalid cross-device link")) {
					t.Errorf("it does not say permission denied: %s", r.Stderr)
				}
				if data, err := os.ReadFile(outside + "/file"); err != nil || string(data) != "old\n" {
					t.Errorf("outside: %q, %v", data, err)
				}
				if left, _ := os.ReadDir(outside); len(left) != 1 {
					t.Errorf("outside: %v", left)
				}
			})
		}
	})
}

func weakerPython(text string) string { return `python3 -c "import os;` + text + `"` }

func TestWeaker_Writes(t *testing.T) {
	guarded, airlock, readOnly := []string(nil), []string{"--tier", "airlock"}, []string{"--sandbox", "read-only"}
	weakerCases(t, []weakerCase{
		{"workspace", "echo x >in && mkdir d && mv in d/ && ln -s d l && ln d/in d/hard && rm -r d", true, guarded},
		{"workspace, to another folder", weakerPython("os.mkdir('d');open('x','w');os.link('x','d/l');os.rename('x','d/x')"), true, guarded},
		{"outside, new", "echo x >$OUT/new", false, guarded},
		{"outside, over", "echo x >$OUT/file", false, guarded},
		{"outside, append", "echo x >>$OUT/file", false, guarded},
		{"outside, cut", "truncate -s 0 $OUT/file", false, guarded},
		{"outside, cut by its name", weakerPython("os.truncate(os.environ['OUT']+'/file',0)"), false, guarded},
		{"outside, cut by a read", weakerPython("os.open(os.environ['OUT']+'/file',os.O_RDONLY|os.O_TRUNC)"), false, guarded},
		{"inside, cut", "echo x >in && " + weakerPython("os.truncate('in',0)") + " && [ ! -s in ]", true, guarded},
		{"outside, remove", "rm -f $OUT/file", false, guarded},
		{"outside, move in", "mv $OUT/file .", false, guarded},
		{"move out", "echo x >in && mv in $OUT/new", false, guarded},
		{"outside, folder", "mkdir $OUT/new", false, guarded},
		{"outside, link", "ln -s x $OUT/new", false, guarded},
		{"outside, fifo", "mkfifo $OUT/new", false, guarded},
		{"inside, fifo", "mkfifo new", true, guarded},
		{"by a link", "ln -s $OUT l && echo x >l/new", false, guarded},
		{"by /proc", "echo x >/proc/self/root$OUT/new", false, guarded},
		{"home", "echo x >~/new", false, guarded},
		{"cache, guarded", "echo x >~/.cache/pip/new && rm ~/.cache/pip/new", true, guarded},
		{"cache, airlock", "echo x >~/.cache/pip/new", false, airlock},
		{"added folder", "echo x >~/project/new", true, []string{"--add-dir", "../home/project"}},
		{"not added", "echo x >~/project/new", false, guarded},
		{"workspace, read-only", "echo x >in", false, readOnly},
		{"temp, read-only", `echo x >"$TMPDIR/x" && cat "$TMPDIR/x"`, true, readOnly},
		{"host temp", "echo x >/var/tmp/bawn-new", false, guarded},
		{"kernel setting", "cat /proc/sys/vm/swappiness >/proc/sys/vm/swappiness", false, guarded},
		{"kernel setting, read", "cat /proc/sys/vm/swappiness", true, guarded},
		{"null device", "echo x >/dev/null && head -c1 /dev/zero >in", true, guarded},
		{"shared memory", "echo x >/dev/shm/bawn-new", false, guarded},
	})
}

func TestWeaker_Reads(t *testing.T) {
	weakerCases(t, []weakerCase{
		{"visible", "grep visible ~/visible", true, nil},
		{"hidden", "cat ~/.ssh/key", false, nil},
		{"hidden, listed", "ls ~/.ssh", false, nil},
		{"hidden, by /proc", "cat /proc/self/root$HOME/.ssh/key", false, nil},
		{"hidden, by ..", "cd ~/project && cat ../.ssh/key", false, nil},
		{"hidden, by a link", "ln -s ~/.ssh l && cat l/key", false, nil},
		{"hidden, by a hard link", "ln ~/.ssh/key k", false, nil},
		{"visible, by a hard link", "echo x >in && ln in k && cat k", true, nil},
		{"hidden, moved away", "mv ~/.ssh ./ssh", false, nil},
		{"cache", "grep wheel ~/.cache/pip/wheel", true, nil},
		{"secret in a cache", "cat ~/.cache/huggingface/token", false, nil},
		{"secret in a cache, renamed", "mv ~/.cache/huggingface ~/.cache/pip/h", false, nil},
		{"secret in a cache, over", "echo x >~/.cache/huggingface/token", false, nil},
		{"shadow", "cat /etc/shadow", false, nil},
		{"passwd", "grep root /etc/passwd", true, nil},
		{"programs", "/usr/bin/env true && python3 -c 'print(1)'", true, nil},
		{"home, listed", "ls ~", false, nil},
		{"devices, listed", "ls /dev", false, nil},
		{"terminals", "ls /dev/pts", false, nil},
		{"run", "ls /run", false, nil},
		{"temp of others", "ls /tmp", false, nil},
	})
}

// A credential that the host makes while the command runs stays unreadable,
// and what the host makes in the workspace does not.
func TestWeaker_CreatedLater(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := weakerBox(t)
		w := weakerBegin(t, m, b, `read -r go; cat ~/.netrc; cat ../home/later; cat later; echo end`)
		w.ready(t)
		for _, f := range []string{b.Home + "/.netrc", b.Home + "/later"} {
			Write(t, f, "secret\n")
		}
		Write(t, b.Workspace+"/later", "public\n")
		w.send(t, "go")
		if out := w.wait(t); !strings.Contains(out, "public\nend\n") || strings.Contains(out, "secret") {
			t.Errorf("%s", out)
		}
	})
}

// A stream of the command's own can be opened again by name, in the direction
// in which it is open.
func TestWeaker_OwnStreams(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := weakerBox(t)
		log := b.Home + "/.ssh/log" // hidden but for the descriptor
		w := weakerTo(t, m, b, log, `echo one >>/dev/stdout; head -c1 </dev/stdout; echo two >>`+log+`.x`)
		w.wait(t)
		data, _ := os.ReadFile(log)
		if s := string(data); !strings.Contains(s, "one\n") || strings.Count(s, "ermission denied") != 2 {
			t.Errorf("%q", s)
		}
	})
}
