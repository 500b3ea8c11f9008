//go:build !race

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
)

// opened is a session in which bawn run of other processes runs.
func opened(t *testing.T) (*sandboxtest.Box, *session.Session) {
	t.Helper()
	b := room(t)
	s, end, err := new(runFlags).openSession(func(line string) { t.Log("notice: " + line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bawn"))
		if err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return b, s
}

func tasks(s *session.Session) int { return len(s.State().Tasks) }

// run is bawn run with flags of its own; --launcher would be one of policy.
func run(t *testing.T, b *sandboxtest.Box, args ...string) sandboxtest.Result {
	t.Helper()
	return b.Bawn(t, append([]string{"run"}, args...)...)
}

// bawn run in another terminal runs in the session: its exit code, streams,
// folder and environment are those of the command.
func TestAttachedRun(t *testing.T) {
	b, s := opened(t)
	sub := filepath.Join(b.Workspace, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	b.Env = append(b.Env, "COLOUR=green", "MY_API_KEY=x")
	b.Stdin = "typed\n"
	r := run(t, b, "-C", sub, "-c", `read x; echo "$x $COLOUR $MY_API_KEY $1 $BAWN_TIER"; pwd; echo err >&2; exit 7`, "zero", "one")
	if r.Code != 7 || r.Stdout != "typed green  one guarded\n"+sub+"\n" || r.Stderr != "err\n" {
		t.Errorf("%+v", r)
	}
	st := s.State()
	if len(st.Tasks) != 1 || st.Tasks[0].Kind != session.Attached || st.Tasks[0].Code != 7 || st.Tasks[0].Dir != sub {
		t.Errorf("%+v", st.Tasks)
	}
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{0, []string{"--", "true"}, ""}, {128 + 9, []string{"-c", "kill -9 $$"}, ""}, {exitNotFound, []string{"--", "no-such"}, "no-such"},
		{0, []string{"--tier", "airlock", "-c", "test $BAWN_TIER = airlock"}, ""}, {0, []string{"--session", s.ID(), "--", "true"}, ""},
	} {
		n := tasks(s)
		if r := run(t, b, c.args...); r.Code != c.code || !strings.Contains(r.Stderr, c.says) || tasks(s) != n+1 {
			t.Errorf("%q: %+v, %d commands", c.args, r, tasks(s)-n)
		}
	}
	if _, err := s.SetTier(policy.Open); err != nil {
		t.Fatal(err)
	}
	if r := run(t, b, "-c", "echo $BAWN_TIER"); r.Stdout != "guarded\n" {
		t.Errorf("bawn run means guarded: %+v", r)
	}
}

// N9: bawn watch, and whatever is started with --no-egress, runs in the tier of
// the session beside it, without its network.
func TestN9_WatchBesideASession(t *testing.T) {
	behindProxy(t)
	b, s := opened(t)
	if err := s.AllowHost("new.test", approval.Session); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"--no-egress": "in-guarded 403\n", "-q": "in-guarded hello\n"} {
		n := tasks(s)
		if r := run(t, b, flag, "-c", `echo in-$BAWN_TIER $(`+fetch+` 2>&1 | grep -o '403\|hello')`); r.Stdout != want || tasks(s) != n+1 {
			t.Errorf("%s: %+v, %d commands", flag, r, tasks(s)-n)
		}
	}
	if _, err := s.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	n := tasks(s)
	cmd := exec.Command(sandboxtest.Binary(), "watch", "-c", `echo in-$BAWN_TIER`)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "in-airlock\n" || tasks(s) != n+1 {
		t.Errorf("%q, %v, %d commands", line, err, tasks(s)-n)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := quits(t, cmd); code != 143 {
		t.Errorf("exit %d", code)
	}
}

// What has a policy of its own, or another folder, runs beside the session.
func TestRunBesideTheSession(t *testing.T) {
	b, s := opened(t)
	elsewhere := sandboxtest.New(t, "native")
	elsewhere.Home, elsewhere.Env = b.Home, b.Env
	for _, c := range []struct {
		b    *sandboxtest.Box
		code int
		args []string
		says string
	}{
		{b, 0, []string{"--session", "none", "--", "true"}, ""},
		{b, 0, []string{"--allow-domain", "x.test", "--", "true"}, "--allow-domain is not the policy of session " + s.ID()},
		{b, 0, []string{"--sandbox", "read-only", "--", "true"}, "--sandbox is not the policy"},
		{b, 0, []string{"--no-prompt", "--", "true"}, "runs beside it"},
		{b, 0, []string{"-q", "--no-prompt", "--", "true"}, ""},
		{b, 0, []string{"--tier", "open", "--", "true"}, ""},
		{elsewhere, 0, []string{"--", "true"}, ""},
		{elsewhere, exitRefused, []string{"--session", s.ID(), "--", "true"}, "there is none with this id whose workspace holds"},
		{b, exitRefused, []string{"--session", "zzz", "--", "true"}, "session zzz"},
		{b, exitRefused, []string{"--session", "../x", "--", "true"}, "is not the id of a session"},
		{b, exitRefused, []string{"--session", s.ID(), "--publish", "8080", "--", "true"}, "--publish"},
	} {
		r := run(t, c.b, c.args...)
		if r.Code != c.code || c.says == "" && r.Stderr != "" || !strings.Contains(r.Stderr, c.says) {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
	if tasks(s) != 0 {
		t.Errorf("%+v", s.State().Tasks)
	}
}

// N7: a question of an attached run appears in the session, and its denials
// are told where it was started.
func TestN7_QuestionOfAnAttachedRun(t *testing.T) {
	b := room(t)
	behindProxy(t)
	s, end, err := new(runFlags).openSession(func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end() }()
	answered := make(chan struct{})
	answer := func(scope approval.Scope) {
		go func() {
			defer func() { answered <- struct{}{} }()
			q := until(t, s, "question", func(st session.State) bool { return len(st.Questions) == 1 }).Questions[0]
			if q.Prompt.Object != "new.test:80" || q.Command != "'"+fetch+"'" {
				t.Errorf("%+v", q)
			}
			s.Answer(q.ID, scope)
		}()
	}
	answer(approval.No)
	r := run(t, b, "-c", fetch)
	if <-answered; r.Code == 0 || !strings.Contains(r.Stderr, "bawn: denied new.test:80 to curl: new.test was denied when bawn asked") {
		t.Errorf("%+v", r)
	}
	if err := s.AllowHost("new.test", approval.Session); err != nil {
		t.Fatal(err)
	}
	if r := run(t, b, "-c", fetch); r.Code != 0 || r.Stdout != "hello\n" {
		t.Errorf("%+v", r)
	}
}

// client starts bawn run in the session and waits until its command runs.
func client(t *testing.T, b *sandboxtest.Box, text string) (*exec.Cmd, string) {
	t.Helper()
	up := filepath.Join(b.Workspace, "up")
	_ = os.Remove(up)
	cmd := exec.Command(sandboxtest.Binary(), "run", "-c", text)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	sandboxtest.Until(t, up)
	return cmd, up
}

// Signals reach the command, and it ends with whoever it is for.
func TestAttachedSignals(t *testing.T) {
	b, s := opened(t)
	cmd, _ := client(t, b, `trap 'exit 33' USR1; echo x >up; while :; do sleep 0.05; done`)
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 33 {
		t.Errorf("%v", cmd.ProcessState)
	}
	cmd, _ = client(t, b, `echo x >up; exec sleep 600`)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	st := until(t, s, "end", func(st session.State) bool { return !st.Tasks[1].Ended.IsZero() })
	if st.Tasks[1].Code != 128+9 {
		t.Errorf("%+v", st.Tasks[1])
	}
}

// A terminal is relayed: size, keys, ^C.
func TestAttachedTerminal(t *testing.T) {
	b, s := opened(t)
	screen := sandboxtest.OpenScreen(t)
	cmd := exec.Command(sandboxtest.Binary(), "run", "-c", `test -t 0 && echo tty; stty size; exec sed -u 's/^/got /'`) // a shell's read may miss a SIGINT that comes just before it
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	screen.Start(t, cmd)
	screen.Wait(t, "tty\r\n24 80\r\n")
	screen.Send(t, "word\r")
	screen.Wait(t, "got word")
	screen.Send(t, "\x03")
	if code := screen.Code(t); code != 130 {
		t.Errorf("%d: %q", code, screen.Text())
	}
	if m := screen.Modes(t); m.Lflag&unix.ICANON == 0 || m.Lflag&unix.ECHO == 0 {
		t.Errorf("modes %+v", m)
	}
	if tasks(s) != 1 {
		t.Error("it ran beside the session")
	}
}

// Another user's process gets no answer of a session, even where the socket can be
// reached: who is at the other end decides, not the modes of files.
func TestSessionSocketOfAnotherUser(t *testing.T) {
	b, s := opened(t)
	if os.Getuid() != 0 {
		return // it takes two users
	}
	dir := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bawn")
	for path, mode := range map[string]os.FileMode{dir: 0o755, filepath.Join(dir, s.ID()+".sock"): 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	const ask = `import socket,struct,sys,os
s=socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect("/proc/self/fd/3/"+sys.argv[1])
where=b"w"+sys.argv[2].encode()
try:
    s.sendall(struct.pack(">I",len(where))+where)
    got=s.recv(5)
except (ConnectionResetError, BrokenPipeError): got=b"" # it has hung up already
print(os.getuid(), got)`
	for uid, want := range map[uint32]string{0: "0 b'\\x00\\x00\\x00\\x01k'\n", 65534: "65534 b''\n"} {
		folder, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/usr/bin/python3", "-c", ask, s.ID()+".sock", b.Workspace)
		cmd.Dir, cmd.ExtraFiles = "/", []*os.File{folder}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		folder.Close()
		if err != nil || string(out) != want {
			t.Errorf("%d: %q, %v, want %q", uid, out, err, want)
		}
	}
}

// The socket is out of reach from inside, and a dead one is taken away.
func TestSessionSocket(t *testing.T) {
	b, s := opened(t)
	sock := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bawn", s.ID()+".sock")
	for path, mode := range map[string]os.FileMode{sock: 0o600, filepath.Dir(sock): 0o700} {
		if st, err := os.Lstat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, st, err)
		}
	}
	try := `import socket,sys
s=socket.socket(socket.AF_UNIX)
try: s.connect(sys.argv[1])
except OSError as e: sys.exit(3)`
	if r := run(t, b, "--", "python3", "-c", try, sock); r.Code != 3 {
		t.Errorf("a command reaches the session's socket: %+v", r)
	}
	if out, err := exec.Command("python3", "-c", try, sock).CombinedOutput(); err != nil { // the twin
		t.Errorf("%v: %s", err, out)
	}
	dead := filepath.Join(filepath.Dir(sock), "deadbeef.sock")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: dead}); err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	n := tasks(s)
	if r := run(t, b, "--", "true"); r.Code != 0 || tasks(s) != n+1 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Lstat(dead); err == nil {
		t.Error("a dead session's socket stays")
	}
	// A folder that others may enter is none of ours.
	if err := os.Chmod(filepath.Dir(sock), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := run(t, b, "--", "true"); r.Code != 0 || tasks(s) != n+1 {
		t.Errorf("a folder of mode 0755 was trusted: %+v", r)
	}
	if err := os.Chmod(filepath.Dir(sock), 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return
	}
	// Nor is one of another user's, for root: there anybody may wait.
	if err := os.Chown(filepath.Dir(sock), 1, 1); err != nil {
		t.Fatal(err)
	}
	if r := run(t, b, "--", "true"); r.Code != 0 || tasks(s) != n+1 {
		t.Errorf("another user's folder was trusted: %+v", r)
	}
	if err := os.Chown(filepath.Dir(sock), 0, 0); err != nil {
		t.Fatal(err)
	}
	// And the session serves nobody but its own user.
	other, err := sandboxtest.EnsureUser()
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(other.Uid)
	for p := sock; p != os.Getenv("TMPDIR") && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	ask := `import socket,sys,struct
s=socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(sys.argv[1])
d=sys.argv[2].encode(); s.sendall(struct.pack(">I",1+len(d))+b"w"+d)
print(s.recv(10))`
	cmd := exec.Command("/usr/bin/python3", "-c", ask, sock, b.Workspace)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "b'\\x00\\x00\\x00\\x01k'\n" {
		t.Errorf("the twin: %v, %s", err, out)
	}
	cmd = exec.Command("/usr/bin/python3", "-c", ask, sock, b.Workspace)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	cmd.Dir = "/"
	out, _ := cmd.CombinedOutput() // it got as far as a connection
	if text := string(out); text != "b''\n" && !strings.Contains(text, "BrokenPipe") && !strings.Contains(text, "ConnectionReset") {
		t.Errorf("another user was served: %s", out)
	}
}
