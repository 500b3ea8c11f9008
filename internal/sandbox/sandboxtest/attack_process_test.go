//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A70: descriptors that the caller left open do not reach the command, and a
// folder as a standard stream is refused.
func TestA70_InheritedDescriptors(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Home+"/.ssh/id", "SECRET")
		Write(t, b.Workspace+"/in", "INPUT")
		var files []*os.File
		for _, f := range []string{b.Home + "/.ssh", b.Home + "/.ssh/id", "/", b.Home} {
			h, err := os.Open(f)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			files = append(files, h)
		}
		text := `for fd in 3 4 5 6 7 8 9 20 250; do cat /proc/self/fd/$fd/id /proc/self/fd/$fd /proc/self/fd/$fd` + b.Home + `/.ssh/id 2>/dev/null; done
ls /proc/self/fd | tr '\n' ' '`
		start := func(argv ...string) *exec.Cmd {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = b.Workspace, b.Environ()
			for i := range 20 { // descriptors 3 to 22
				cmd.ExtraFiles = append(cmd.ExtraFiles, files[i%len(files)])
			}
			return cmd
		}
		out, err := start(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", text).Output()
		// ls has the folder it reads as descriptor 3.
		if err != nil || strings.TrimSpace(string(out)) != "0 1 2 3" {
			t.Errorf("inside: %.200q, %v", out, err)
		}
		if out, _ := start("sh", "-c", text).Output(); !strings.Contains(string(out), "SECRET") {
			t.Errorf("control: %.200q", out)
		}
		for _, dir := range []*os.File{files[0], files[2]} {
			cmd := start(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", "echo RAN; cat /dev/stdin/id /proc/self/fd/0/id")
			cmd.Stdin = dir
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != 125 || strings.Contains(string(out), "RAN") {
				t.Errorf("a folder as stdin: %q, %v", out, err)
			}
		}
		in, err := os.Open(b.Workspace + "/in")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd := start(Binary(), "run", "-q", "--launcher", l, "--", "cat")
		cmd.Stdin = in
		if out, err := cmd.Output(); err != nil || string(out) != "INPUT" {
			t.Errorf("a file as stdin: %q, %v", out, err)
		}
	})
}

// A99, F12: neither the command line nor the environment nor the list of
// processes, inside or outside, shows what is not the command's own.
func TestA99_CommandLines(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Home+"/.ssh/id", "SECRET")
		mark := "atk" + strconv.Itoa(os.Getpid()) + l
		b.Env = []string{"MY_TOKEN=secret-" + mark, "KEEP=kept-" + mark}
		p := probeIn(t, b)
		for pid := range strings.FieldsSeq(p.text("list", "/proc")) {
			if _, err := strconv.Atoi(pid); err != nil {
				continue
			}
			if n, _ := strconv.Atoi(pid); n > 20 {
				t.Errorf("process %s is to be seen inside", pid)
			}
			line := p.text("read", "/proc/"+pid+"/cmdline")
			for _, bad := range []string{b.Home, b.Workspace, "secret-", ".ssh", "--launcher"} {
				if strings.Contains(line, bad) && !strings.HasPrefix(line, tool(t, "probe")) {
					t.Errorf("process %s: %s", pid, line)
				}
			}
			if env := p.do("read", "/proc/"+pid+"/environ"); strings.Contains(env, "secret-"+mark) {
				t.Errorf("the environment of %s inside: %s", pid, env)
			}
		}
		if env := p.text("read", "/proc/self/environ"); !strings.Contains(env, "kept-"+mark) {
			t.Errorf("own environment: %s", env)
		}
		// Outside, every user may read command lines: nothing but what the
		// caller typed, and no process below it repeats it.
		out, err := exec.Command("ps", "-eww", "-o", "pid=,ppid=,args=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, b.Home) || strings.Contains(line, "secret-"+mark) {
				t.Errorf("in a command line: %s", line)
			}
		}
		p.end()
	})
}

// A100: processes outside cannot be seen, killed, traced or read; the
// command's own children can.
func TestA100_OtherProcesses(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		host := probeOut(t, b)
		victim := host.text("fork")
		host.want("ok", "trace", victim)
		host.want("ok", "peek", victim)
		host.flush()
		p := probeIn(t, b)
		for _, pid := range []string{victim, strconv.Itoa(os.Getpid()), strconv.Itoa(host.cmd.Process.Pid)} {
			p.want("ESRCH", "kill", pid)
			p.want("ESRCH", "trace", pid)
			p.want("EPERM|ESRCH", "peek", pid)
			p.want("ENOENT", "read", "/proc/"+pid+"/cmdline")
		}
		p.want("EPERM", "trace", "1")
		p.want("EPERM", "peek", "1")
		p.want("ok|EPERM", "kill", "1") // no effect: the run goes on
		own := p.text("fork")
		p.want("ok", "trace", own)
		p.want("ok", "kill", own)
		if got := p.text("reap", own); got != "9" {
			t.Errorf("own child ended by %s", got)
		}
		p.want("ESRCH|EPERM", "kill", "-1")
		p.do("getenv", "HOME")
		p.end()
		host.want("ok", "kill", victim) // it was alive
		if got := host.text("reap", victim); got != "9" {
			t.Errorf("the victim ended by %s", got)
		}
	})
}

// A109: what the command leaves in the background, detached or not, ends
// with it. The pipe it holds says when it is gone.
func TestA109_Daemons(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, how := range []string{"setsid -f sh loop", "sh loop &", "(setsid sh loop &) &", "nohup sh loop >/dev/null 2>&1 &"} {
			fifo := b.Workspace + "/fifo"
			os.Remove(fifo)
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			Write(t, b.Workspace+"/loop", "exec 8>fifo; echo up >&8; read x <never; echo x >late")
			if !exists(b.Workspace + "/never") {
				if err := syscall.Mkfifo(b.Workspace+"/never", 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// The command stays until the daemon is up: it reads the word.
			r := b.Sh(t, how+"\nread word <fifo; echo $word").OK(t)
			if strings.TrimSpace(r.Stdout) != "up" {
				t.Fatalf("%s: %+v", how, r)
			}
			// Nobody has the pipes open any more.
			for _, f := range []string{fifo, b.Workspace + "/never"} {
				if fd, err := syscall.Open(f, syscall.O_WRONLY|syscall.O_NONBLOCK, 0); err != syscall.ENXIO {
					t.Errorf("%s: somebody still reads %s: %d, %v", how, filepath.Base(f), fd, err)
				}
			}
			if exists(b.Workspace + "/late") {
				t.Errorf("%s: it wrote later", how)
			}
		}
	})
}

// A105: nothing can be scheduled to run outside.
func TestA105_Persistence(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, d := range []string{".config/systemd/user", ".config/autostart", ".local/share/applications", ".local/bin", "Library/LaunchAgents"} {
			mkdir(t, b.Home+"/"+d)
		}
		Write(t, b.Home+"/.bashrc", "x")
		before := listing(t, b.Home)
		for _, text := range []string{
			`echo 'touch /tmp/PWN' | at now`, `echo '* * * * * touch /tmp/PWN' | crontab -`, `crontab -l`,
			`echo x >/var/spool/cron/crontabs/$(id -un)`, `echo x >/var/spool/cron/atjobs/a0001`, `echo x >/etc/cron.d/x`,
			`echo x >/etc/crontab`, `echo x >/etc/profile.d/x.sh`, `systemctl --user daemon-reload`, `systemd-run --user true`,
		} {
			if r := b.Sh(t, text); r.Code == 0 {
				t.Errorf("%s: %+v", text, r)
			}
		}
		p := probeIn(t, b)
		for _, f := range []string{
			".config/systemd/user/x.service", ".config/autostart/x.desktop", ".local/bin/git", ".profile", ".bash_profile", ".zshenv",
			".config/fish/config.fish", ".config/environment.d/x.conf", "Library/LaunchAgents/x.plist", ".pam_environment", ".xprofile",
		} {
			p.want("EROFS|EACCES|ENOENT", "creat", b.Home+"/"+f)
		}
		p.want("EROFS|EACCES", "write", b.Home+"/.bashrc")
		p.want("ok", "creat", b.Workspace+"/x")
		p.end()
		sameListing(t, before, listing(t, b.Home))
		if out, _ := exec.Command("crontab", "-l").CombinedOutput(); strings.Contains(string(out), "PWN") {
			t.Errorf("crontab: %s", out)
		}
	})
}

// F11: kill -9, of bawn or of the sandbox's first process, at any moment from
// before the boundary stands to the middle of the command, leaves nothing: no
// process, no mount, no file.
func TestF11_KilledAtAnyMoment(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Home+"/.ssh/id", "x")
		mkdir(t, b.Home+"/.config")
		git(t, b, "init", "-q", ".")
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		before := listing(t, b.Workspace, b.Home)
		for i := range rounds(24) {
			depth := i % 3             // bawn; its child: pid 1, or bubblewrap; the one below
			delay := i * 1200 % 96_000 // µs
			args := []string{strconv.Itoa(delay), strconv.Itoa(depth), Binary(), "run", "-q", "--launcher", l, "--",
				"sh", "-c", "setsid sleep 300 & sleep 300 & wait"}
			ctx, cancel := context.WithTimeout(t.Context(), Limit)
			cmd := exec.CommandContext(ctx, tool(t, "reap"), args...)
			var out bytes.Buffer
			cmd.Dir, cmd.Env, cmd.Stderr = b.Workspace, b.Environ(), &out
			cmd.WaitDelay = 20 * time.Second // what lives on holds the pipe
			err := cmd.Run()
			cancel()
			if err != nil {
				t.Fatalf("after %d µs at depth %d: %v %s", delay, depth, err, out.String())
			}
		}
		sameListing(t, before, listing(t, b.Workspace, b.Home))
		if now, err := os.ReadFile("/proc/self/mountinfo"); err != nil || mountsOf(now, b) != mountsOf(mounts, b) {
			t.Errorf("mounts: %s, %v", mountsOf(now, b), err)
		}
		b.Sh(t, "echo x >x").OK(t) // and the place still works
	})
}

// mountsOf are the mounts at the test's own folders: other tests of the
// machine may mount elsewhere meanwhile.
func mountsOf(mountinfo []byte, b *Box) string {
	var out strings.Builder
	for line := range strings.Lines(string(mountinfo)) {
		if strings.Contains(line, filepath.Dir(b.Home)) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// F11: after kill -9 of bawn alone, the command's own end is seen by whoever
// shares a pipe with it.
func TestF11_PipeClosesAfterKill(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		cmd := exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", "echo up; exec sleep 300")
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if err := r.SetReadDeadline(time.Now().Add(Limit)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 16)
		if n, err := r.Read(buf); err != nil || string(buf[:n]) != "up\n" {
			t.Fatalf("%q, %v", buf[:n], err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if n, err := r.Read(buf); n != 0 || fmt.Sprint(err) != "EOF" {
			t.Errorf("the pipe after the kill: %q, %v", buf[:n], err)
		}
	})
}
