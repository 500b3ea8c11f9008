//go:build linux

package sandboxtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/tools/listen"
)

// There is no way off the machine or to a service on it, and none to other
// processes: sockets of every kind, System V memory, queues. Each attempt
// succeeds outside.
func TestA16_WeakerNoNetwork(t *testing.T) {
	tcp := listen.On(t, "127.0.0.1", func(net.Conn) {})
	abstract := fmt.Sprintf("bawn-weaker-%d", os.Getpid())
	b := New(t, "auto")
	for _, name := range []string{b.Workspace + "/socket", "@" + abstract} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	port := strconv.Itoa(int(tcp.Port()))
	cases := []struct {
		name, text string
		allowed    bool
	}{
		{"connect", "socket.create_connection(('127.0.0.1'," + port + "))", false},
		{"listen", "socket.socket().bind(('127.0.0.1',0))", false},
		{"udp", "socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b'x',('127.0.0.1',9))", false},
		{"udp6", "socket.socket(socket.AF_INET6,socket.SOCK_DGRAM)", false},
		{"unix by path", "socket.socket(socket.AF_UNIX).connect('socket')", false},
		{"unix abstract", "socket.socket(socket.AF_UNIX).connect('\\0" + abstract + "')", false},
		{"netlink", "socket.socket(socket.AF_NETLINK,socket.SOCK_RAW,0)", false},
		{"pair", "a,b=socket.socketpair();a.send(b'x');assert b.recv(1)==b'x'", true},
		{"pipe", "a,b=os.pipe();os.write(b,b'x');assert os.read(a,1)==b'x'", true},
		{"shared memory", "i=ok(c.shmget(0,4096,0o1600));c.shmctl(i,0,0)", false},
		{"semaphores", "i=ok(c.semget(0,1,0o1600));c.semctl(i,0,0)", false},
		{"messages", "i=ok(c.msgget(0,0o1600));c.msgctl(i,0,0)", false},
		{"queue", "n=b'/bawn-%d'%os.getpid();ok(c.mq_open(n,0o102,0o600,None));c.mq_unlink(n)", false},
		{"mapped memory", "m=mmap.mmap(-1,4096);m[0]=1", true},
	}
	script := `import socket,sys,ctypes,os,mmap
c=ctypes.CDLL(None,use_errno=True)
def ok(r):
  if r<0: raise OSError(ctypes.get_errno(),'')
  return r
`
	for _, c := range cases {
		script += "try:\n  " + c.text + "\n  print('fine')\nexcept Exception as e: print(type(e).__name__)\n"
	}
	Write(t, b.Workspace+"/try.py", script)
	check := func(t *testing.T, out string, inside bool) {
		t.Helper()
		lines := strings.Split(out, "\n")
		if len(lines) != len(cases)+1 {
			t.Fatalf("%q", out)
		}
		for i, c := range cases {
			want := "fine"
			if inside && !c.allowed {
				want = "PermissionError"
			}
			if lines[i] != want {
				t.Errorf("%s: %s, want %s", c.name, lines[i], want)
			}
		}
	}
	cmd := exec.Command("python3", "try.py")
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	check(t, string(out), false)
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		check(t, m.weaker(t, b, "python3", "try.py").OK(t).Stdout, true)
	})
}

// Privileges: no way to more of them, not even for the real root.
func TestA104_WeakerPrivileges(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := New(t, "auto")
		if os.Getuid() == 0 && m.prefix == nil {
			// Root as containers have it, which may not shrink the bounding set.
			m.prefix = []string{"setpriv", "--bounding-set=-setpcap", "--inh-caps=-setpcap"}
		}
		r := m.sh(t, b, "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):' /proc/self/status").OK(t)
		for line := range strings.Lines(r.Stdout) {
			f := strings.Fields(line)
			want := map[string]string{"NoNewPrivs:": "1", "Seccomp:": "2"}[f[0]]
			if want == "" {
				want = "0000000000000000"
			}
			if f[1] != want {
				t.Errorf("%s", line)
			}
		}
		for text, allowed := range map[string]bool{
			"unshare -Ur true": false, "mount -t tmpfs none .": false, "chroot / true": false, "true": true,
			"mknod x c 1 3": false, "mknod x p": true,
		} {
			if r := m.sh(t, b, text); (r.Code == 0) != allowed {
				t.Errorf("%q: exit %d: %s", text, r.Code, r.Stderr)
			}
		}
	})
}

// A terminal of the command's own works; those of the user stay shut.
func TestWeaker_Terminal(t *testing.T) {
	b := New(t, "auto")
	inner := strings.Join([]string{
		`tty`, `stty size`, `[ -t 0 ] && [ -t 1 ] && echo three`, `echo typed >/dev/tty`,
		`for p in /dev/pts/[0-9]* $OUTER; do [ $p = $(tty) ] || (: <$p) 2>/dev/null && [ $p != $(tty) ] && echo "open $p"; done; exit 3`,
	}, "; ")
	text := fmt.Sprintf(`stty rows 41 cols 97; OUTER=$(tty); export OUTER; %s run -q --allow-weaker -- sh -c '%s'`, Binary(), inner)
	m := setupNoNamespaces()[2]
	cmd := exec.Command("script", "-qec", text, "/dev/null")
	cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "TERM=xterm", "SHELL=/bin/sh")
	var out weakerBuffer
	cmd.Stdout = &out
	in, err := cmd.StdinPipe() // open to the end: script would type ^D, which echoes
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	m.start(t, cmd)
	err = cmd.Wait()
	s := strings.ReplaceAll(out.String(), "\r", "")
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(s, "/dev/pts/") || !strings.HasSuffix(s, "\n41 97\nthree\ntyped\n") {
		t.Errorf("%v: %q", err, s)
	}
}

// Each sentence of the notice about what is not covered is true.
func TestWeaker_NotCovered(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := weakerBox(t)
		Write(t, b.Workspace+"/.git/HEAD", "ref: refs/heads/main\n")
		Write(t, b.Workspace+"/.git/config", "[core]\n")
		if err := os.MkdirAll(b.Workspace+"/.git/hooks", 0o755); err != nil {
			t.Fatal(err)
		}
		Write(t, b.Workspace+"/.bawn/config.toml", "")
		pid, mark := weakerSleeper(t)
		notice := m.sh(t, b, "true").OK(t).Stderr
		for _, c := range []struct{ says, text string }{
			{"names, sizes and dates of hidden files can be seen", "[ $(stat -c %s ~/.ssh/key) = 7 ]"},
			{"modes and dates of your files can be changed", "chmod 640 ~/.ssh/key && touch -d 2001-02-03 ~/visible"},
			{"command lines can be seen", fmt.Sprintf("grep -q %s /proc/%d/cmdline", mark, pid)},
			{"those without privileges slowed down", fmt.Sprintf("renice -n 19 -p %d", pid)},
			{"no network (not even loopback)", "! bash -c ': >/dev/tcp/127.0.0.1/1' 2>e && grep -qi 'permission denied' e"},
			{"no sockets", "! python3 -c 'import socket;socket.socket(socket.AF_UNIX)' 2>e && grep -q PermissionError e"},
			{"no /tmp", "! ls /tmp 2>/dev/null && ! (echo >/tmp/bawn-x) 2>/dev/null"},
			{"TMPDIR is a private folder", `[ $(stat -c %a "$TMPDIR") = 700 ] && echo >"$TMPDIR/x"`},
		} {
			if !strings.Contains(notice, c.says) {
				t.Errorf("%q is not said in:\n%s", c.says, notice)
			}
			m.sh(t, b, c.text).OK(t)
		}
		// Protected names, without the guard, and not with it.
		const protected = "protected names in the workspace"
		if strings.Contains(notice, protected) {
			t.Errorf("%q is said with the guard:\n%s", protected, notice)
		}
		for _, text := range []string{"echo '[x]' >>.git/config", "echo x >.git/hooks/pre-commit", "echo '#' >.bawn/config.toml"} {
			b.Flags = nil
			wantRefused(t, text, m.sh(t, b, text))
			b.Flags = byMounts
			if r := m.sh(t, b, text).OK(t); !strings.Contains(r.Stderr, protected) {
				t.Errorf("%q is not said without the guard:\n%s", protected, r.Stderr)
			}
		}
		if st, err := os.Stat(b.Home + "/.ssh/key"); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("chmod: %v %v", st, err)
		}
		if n, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err != nil || 20-n != 19 {
			t.Errorf("priority %d, %v", 20-n, err)
		}
		if strings.Contains(notice, "can be signalled") {
			t.Errorf("this kernel keeps signals inside: %s", notice)
		}
		if quiet := m.bawn(t, b, "run", "-q", "--allow-weaker", "--", "true").OK(t); quiet.Stderr != "" {
			t.Errorf("-q: %s", quiet.Stderr)
		}
	})
}

// The last sentence: with bawn's processes killed the command goes on, and is
// confined as before. With the guard there is one more (TestF2_WeakerGuardEnds).
func TestWeaker_NotCoveredKilled(t *testing.T) {
	m := setupNoNamespaces()[2]
	b, mark := weakerBox(t), weakerMark()
	fifo := b.Workspace + "/fifo"
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	temp := Dir(t)
	b.Env = append(b.Env, "TMPDIR="+temp)
	b.Flags = byMounts
	w := weakerTo(t, m, b, b.Home+"/log", `echo $PPID >stage; read -r go <fifo; echo x >../out; cat ~/.ssh/key >copy; echo >after; : `+mark)
	w.ready(t)
	until(t, "the stage is known", func() bool { s, _ := os.ReadFile(b.Workspace + "/stage"); return len(s) > 1 })
	s, _ := os.ReadFile(b.Workspace + "/stage")
	stage, err := strconv.Atoi(strings.TrimSpace(string(s)))
	if err != nil {
		t.Fatal(err)
	}
	// The supervisor is stopped first, so that it cannot tell the stage.
	_ = w.cmd.Process.Signal(unix.SIGSTOP)
	if err := unix.Kill(stage, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Process.Kill()
	w.wait(t)
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	until(t, "the command went on", func() bool { _, err := os.Stat(b.Workspace + "/after"); return err == nil })
	if _, err := os.Stat(filepath.Dir(b.Workspace) + "/out"); err == nil {
		t.Error("it wrote outside")
	}
	if data, _ := os.ReadFile(b.Workspace + "/copy"); len(data) > 0 {
		t.Error("it read what is hidden")
	}
}
