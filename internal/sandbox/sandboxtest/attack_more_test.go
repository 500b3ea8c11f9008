//go:build linux

package sandboxtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A60 as a race: whoever writes above the workspace (a sandbox of an outer
// folder) flips it with a link to the home while the mounts are made. No run
// shows the home by that way or over its skeleton: what would ends with 125.
func TestA60_WorkspaceFlippedUnderTheMounts(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		outer := b.Workspace
		sub, lnk := outer+"/sub", outer+"/lnk"
		mkdir(t, sub)
		mkdir(t, b.Home+"/.config")
		Write(t, b.Home+"/.ssh/id", "SECRET")
		symlink(t, "../home", lnk)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-stop:
					if i%2 == 1 { // back to how it was
						_ = unix.Renameat2(unix.AT_FDCWD, sub, unix.AT_FDCWD, lnk, unix.RENAME_EXCHANGE)
					}
					return
				case <-time.After(200 * time.Microsecond):
					_ = unix.Renameat2(unix.AT_FDCWD, sub, unix.AT_FDCWD, lnk, unix.RENAME_EXCHANGE)
				}
			}
		}()
		const attack = `cat "$1/.ssh/id" "$2/.ssh/id" 2>/dev/null; touch "$1/.config/evil" "$2/.config/evil" 2>/dev/null; echo ran`
		ran, refused := 0, 0
		for range 40 {
			r := b.Bawn(t, "run", "-q", "--launcher", l, "-C", sub, "--", "sh", "-c", attack, "sh", b.Home, sub)
			switch {
			case strings.Contains(r.Stdout, "SECRET"):
				t.Errorf("the key was read: %q", r.Stdout)
			case r.Code == 125 && r.Stdout == "":
				refused++
			case r.Stdout == "ran\n":
				ran++
			default:
				t.Errorf("exit %d, %q, %q", r.Code, r.Stdout, r.Stderr)
			}
		}
		close(stop)
		<-done
		if exists(b.Home + "/.config/evil") {
			t.Error("a file was made in ~/.config")
		}
		if refused == 0 {
			t.Errorf("the race was never met: %d ran, %d refused", ran, refused)
		}
		// Left alone, the same folder works.
		b.Bawn(t, "run", "-q", "--launcher", l, "-C", sub, "--", "sh", "-c", "echo x >x").OK(t)
		if !exists(sub + "/x") {
			t.Error("the workspace is not writable")
		}
	})
}

// A60 in two steps: a command replaces the added folder that its caller names
// on every run by a link; the next run does not open where that leads.
func TestA60_PlantedAddedFolder(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		auto := b.Home + "/.config/autostart"
		mkdir(t, auto)
		mkdir(t, b.Workspace+"/build")
		mkdir(t, b.Home+"/.cache/tool")
		for _, dir := range []string{b.Workspace + "/build", b.Home + "/.cache/tool"} {
			b.Flags = nil // inside a writable place already, with the flag or without
			b.Run(t, "sh", "-c", `rmdir "$1" && ln -s "$2" "$1"`, "sh", dir, auto).OK(t)
			b.Flags = []string{"--add-dir", dir}
			r := b.Sh(t, "touch ~/.config/autostart/evil; echo ran")
			if r.Code != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, auto) || exists(auto+"/evil") {
				t.Errorf("%s: exit %d, %q, %q", dir, r.Code, r.Stdout, r.Stderr)
			}
		}
		// By its own name it may be added, and a link to a writable place too.
		b.Flags = []string{"--add-dir", auto}
		b.Run(t, "touch", auto+"/mine").OK(t)
		symlink(t, "target", b.Workspace+"/inner")
		mkdir(t, b.Workspace+"/target")
		b.Flags = []string{"--add-dir", b.Workspace + "/inner"}
		b.Sh(t, "touch inner/x").OK(t)
	})
}

// A149: where the workspace is a cache, the folder above a secret in it is not
// renamed, in no tier, so the next run does not find the secret elsewhere.
func TestA149_WorkspaceIsACache(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Workspace = b.Home + "/.cache"
		Write(t, b.Workspace+"/huggingface/token", "SECRET")
		mkdir(t, b.Workspace+"/other")
		for _, tier := range []string{"guarded", "airlock"} {
			b.Flags = []string{"--tier", tier}
			p := probeIn(t, b)
			p.want("EACCES", "read", b.Workspace+"/huggingface/token")
			p.want("EBUSY", "rename", b.Workspace+"/huggingface", b.Workspace+"/moved")
			p.want("EBUSY", "exchange", b.Workspace+"/huggingface", b.Workspace+"/other")
			p.want("ok", "rename", b.Workspace+"/other", b.Workspace+"/other2")
			p.want("ok", "rename", b.Workspace+"/other2", b.Workspace+"/other")
			p.want("ok", "creat", b.Workspace+"/huggingface/"+tier)
			p.end()
			p = probeIn(t, b)
			p.want("EACCES", "read", b.Workspace+"/huggingface/token")
			p.want("ENOENT", "read", b.Workspace+"/moved/token")
			p.end()
		}
	})
}

// F12 in two steps: a masked socket's folder is not renamed, which would take
// the socket out of the path by which the next run finds it.
func TestF12_SocketFolderRenamed(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		host := probeOut(t, b)
		for _, d := range []string{b.Workspace + "/var/run", b.Home + "/.cache/tool"} {
			mkdir(t, d)
			host.want("ok", "listen", d+"/s")
			host.want("ok", "connect", d+"/s") // the control
		}
		mkdir(t, b.Workspace+"/other")
		host.flush()
		p := probeIn(t, b)
		p.want("EBUSY", "rename", b.Workspace+"/var/run", b.Workspace+"/var/run2")
		p.want("EBUSY", "rename", b.Workspace+"/var", b.Workspace+"/var2")
		p.want("EBUSY", "exchange", b.Workspace+"/var", b.Workspace+"/other")
		p.want("EBUSY", "rename", b.Home+"/.cache/tool", b.Home+"/.cache/tool2")
		p.want("ok", "rename", b.Workspace+"/other", b.Workspace+"/other2")
		p.want("ok", "creat", b.Workspace+"/var/run/own")
		p.want("ok", "creat", b.Home+"/.cache/tool/own")
		p.end()
		p = probeIn(t, b)
		p.want("EACCES|ECONNREFUSED", "connect", b.Workspace+"/var/run/s")
		p.want("EACCES|ECONNREFUSED", "connect", b.Home+"/.cache/tool/s")
		p.end()
	})
}

// F11: bawn killed while the stage ties itself to bubblewrap leaves nothing, nor
// does bubblewrap killed before that, of which bawn hears when the stage has left
// bubblewrap's process group.
func TestF11_KilledWhileBubblewrapStarts(t *testing.T) {
	for name, kill := range map[string]func(t *testing.T, until func(call string) (caller int)){
		"bawn": func(t *testing.T, until func(string) int) {
			stage := until("prctl(PR_SET_PDEATHSIG, SIGKILL")
			signal(t, parentOf(t, parentOf(t, stage)), unix.SIGKILL)
		},
		"bubblewrap": func(t *testing.T, until func(string) int) {
			launcher := parentOf(t, until("prctl(PR_SET_DUMPABLE, SUID_DUMP_DISABLE"))
			bawn := parentOf(t, launcher)
			signal(t, bawn, unix.SIGSTOP)
			signal(t, launcher, unix.SIGKILL)
			until("setsid(")
			signal(t, bawn, unix.SIGCONT)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			killedWhileStarting(t, kill)
		})
	}
}

// killedWhileStarting has strace hold each prctl, so that bubblewrap's start can
// be met. strace ends after the last process.
func killedWhileStarting(t *testing.T, kill func(t *testing.T, until func(call string) (caller int))) {
	b := New(t, "bwrap")
	run := []string{Binary(), "run", "-q", "--launcher", "bwrap", "--", "touch", "ran"}
	trace := filepath.Join(filepath.Dir(b.Home), "trace")
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "strace", append([]string{
		"-f", "-o", trace, "-e", "trace=prctl,setsid", "-e", "signal=none", "-e", "inject=prctl:delay_exit=300000",
	}, run...)...)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen := 0 // lines of the trace
	kill(t, func(call string) int {
		for deadline := time.Now().Add(Limit); ; time.Sleep(time.Millisecond) {
			data, _ := os.ReadFile(trace)
			lines := strings.SplitAfter(string(data), "\n")
			for ; seen < len(lines)-1; seen++ {
				caller, rest, _ := strings.Cut(lines[seen], " ")
				if pid, err := strconv.Atoi(caller); err == nil && strings.HasPrefix(strings.TrimSpace(rest), call) && caller != strconv.Itoa(cmd.Process.Pid) {
					return pid
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("nobody called %s:\n%s", call, data)
			}
		}
	})
	select {
	case <-ended:
	case <-time.After(Limit / 2):
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		left, _ := exec.Command("ps", "-eo", "pid,ppid,args").Output()
		t.Fatalf("a process is left:\n%s", left)
	}
	if exists(b.Workspace + "/ran") {
		t.Error("the command ran after the end")
	}
	b.Run(t, "touch", "ran").OK(t)
	if !exists(b.Workspace + "/ran") {
		t.Error("the command did not run")
	}
}

func signal(t *testing.T, pid int, sig unix.Signal) {
	t.Helper()
	if err := unix.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "PPid:"); ok {
			parent, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				t.Fatal(err)
			}
			return parent
		}
	}
	t.Fatalf("no parent in %q", data)
	return 0
}
