//go:build darwin

package seatbelt_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/seatbelt"
	"bawn/internal/session"
)

// These tests need a Mac, and are run by scripts/verify-macos.sh: the profile
// in the real kernel, with real programs. Each tries a thing that is refused
// and its twin that is not.

// mac is a home and a repository under a policy.
type mac struct {
	t        *testing.T
	home, ws string
	request  sandbox.Request
}

func newMac(t *testing.T, tier policy.Tier) *mac {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &mac{t: t, home: root + "/home", ws: root + "/home/proj"}
	for _, d := range []string{m.ws, m.home + "/.ssh", m.home + "/.npm", m.home + "/Library/Keychains"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.put(m.home+"/.ssh/id", "secret\n")
	m.host("git init -q && git config user.email a@b.c && git config user.name n && echo x > f && git add f && git commit -qm one")
	m.request = sandbox.Request{
		Tier: tier, Workspace: m.ws, Guard: true, Caches: policy.SharedCaches,
		Environ: []string{"HOME=" + m.home, "PATH=" + m.home + "/.docker/bin:/usr/bin:/bin:/usr/sbin:/sbin", "USER=" + os.Getenv("USER"), "TMPDIR=" + os.Getenv("TMPDIR")},
	}
	return m
}

func (m *mac) put(path, text string) {
	m.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// host runs text outside the sandbox.
func (m *mac) host(text string) {
	m.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", text)
	cmd.Dir, cmd.Env = m.ws, []string{"HOME=" + m.home, "PATH=/usr/bin:/bin"}
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// run runs a command inside and gives its exit code and what it wrote.
func (m *mac) run(args ...string) (int, string) {
	m.t.Helper()
	config, host, err := sandbox.Inspect(m.request)
	if err != nil {
		m.t.Fatal(err)
	}
	p, err := policy.New(config)
	if err != nil {
		m.t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		m.t.Fatal(err)
	}
	defer null.Close()
	out, err := os.CreateTemp(m.t.TempDir(), "out")
	if err != nil {
		m.t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	res, err := session.Run(ctx, session.Options{
		Policy: p, Host: host, Command: sandbox.Command{Args: args, Environ: m.request.Environ},
		Backend: seatbelt.Backend{Policy: p, Host: host}, Egress: &session.Egress{Secret: "s3cret"},
		Stdio: sandbox.Stdio{In: null, Out: out, Err: out},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		m.t.Fatal(err)
	}
	return res.Code, string(text) + res.Reason
}

// try runs shell text and checks whether it succeeds.
func (m *mac) try(want bool, text string) {
	m.t.Helper()
	if code, out := m.run("/bin/sh", "-c", text); (code == 0) != want {
		m.t.Errorf("%s: exit %d, want success %v\n%s", text, code, want, out)
	}
}

func TestMacFiles(t *testing.T) {
	m := newMac(t, policy.Guarded)
	m.try(true, "echo x > new && cat new && rm new && mkdir d && mv d e && rmdir e")
	m.try(true, "echo x > $HOME/.npm/x")
	m.try(true, "echo x > $TMPDIR/x && ls -la $HOME > /dev/null")
	m.try(true, `f=$(mktemp) && echo x > "$f" && rm "$f"`)
	m.try(true, "cat <<E | grep -q x\nx\nE")
	m.try(false, "echo x > $HOME/x")
	m.try(false, "echo x > /private/tmp/bawn-verify")
	m.try(false, "echo x > $(dirname $TMPDIR)/bawn-verify")
	m.try(false, "mv $HOME/proj $TMPDIR/p")
	for _, path := range []string{".ssh/id", ".SSH/id", ".ssh/../.ssh/ID"} {
		m.try(false, "cat $HOME/"+path)
	}
	m.try(false, "cat /System/Volumes/Data$HOME/.ssh/id")
	m.try(false, "mv $HOME/.ssh s")
	m.try(false, "ln $HOME/.ssh/id l && cat l")
	m.try(false, "cp -c $HOME/.ssh/id l && cat l")
	m.try(true, "ls -d $HOME/.ssh")
}

// A path that is longer than 255 bytes in a rule is held like any other.
func TestMacLongNames(t *testing.T) {
	m := newMac(t, policy.Guarded)
	long := strings.Repeat("d", 120) + "/" + strings.Repeat("x", 120) + "/" + strings.Repeat("y", 120)
	for _, dir := range []string{m.ws + "/" + long, m.home + "/" + long} {
		for _, end := range []string{"", "z"} {
			if err := os.MkdirAll(dir+end, 0o755); err != nil {
				t.Fatal(err)
			}
			m.put(dir+end+"/key", "secret\n")
		}
		m.request.Settings = append(m.request.Settings, policy.SettingRule(dir, policy.Hidden, policy.Origin{}))
	}
	for _, dir := range []string{"$HOME/proj/" + long, "$HOME/" + long} {
		m.try(false, "cat "+dir+"/key")
		m.try(true, "cat "+dir+"z/key")
	}
}

// A socket of the host in the workspace is out of reach where it is.
func TestMacHostSocket(t *testing.T) {
	m := newMac(t, policy.Guarded)
	t.Chdir(m.ws) // the address has room for 104 bytes
	server, err := net.Listen("unix", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	m.host("nc -z -U s")
	m.try(false, "nc -z -U s")
}

func TestMacGit(t *testing.T) {
	m := newMac(t, policy.Guarded)
	m.try(true, "git status && echo y >> f && git add f && git commit -qm two && git branch b && git checkout -q b && git merge -q main 2>/dev/null || git merge -q master")
	m.try(true, "echo z >> f && git stash -q && git stash pop -q && git tag t && git gc -q")
	for _, text := range []string{
		"echo x > .git/hooks/pre-commit", "echo x > .GIT/HOOKS/pre-commit", "echo '[core]' >> .git/config", "git config core.fsmonitor /bin/ls", "echo x > .git/commondir",
		"mv .git/hooks h", "mv .git g", "ln -s h .git/hooks/x", "mkdir -p n && mkdir n/.git", "git init n", "mkdir p && cd p && echo 'gitdir: ../e' > .git",
		"mkdir b && cd b && mkdir objects refs && echo 'ref: refs/heads/x' > HEAD", "mkdir -p $TMPDIR/e/.git/hooks", "echo x > .bashrc", "echo x > .BASHRC", "mkdir .bawn", "mkdir -p .claude && echo x > .claude/settings.json",
		"printf x > .g$(printf '\\342\\200\\214')it",
	} {
		m.try(false, text)
	}
}

func TestMacReach(t *testing.T) {
	for tier, open := range map[policy.Tier]bool{policy.Guarded: true, policy.Airlock: false} {
		m := newMac(t, tier)
		server := httptest.NewServer(nil)
		defer server.Close()
		m.try(open, "curl -sS -m 5 --noproxy '*' "+server.URL)
		if code, out := m.run("/usr/bin/curl", "-sS", "-m", "5", "http://bawn.invalid/"); open != strings.Contains(out, "blocked by bawn") || code == 0 && !open {
			t.Errorf("%v, a host that is not allowed: %d %q", tier, code, out)
		}
		m.try(false, "curl -sS -m 5 --noproxy '*' http://192.0.2.1/")
		m.try(false, "nslookup -timeout=2 bawn.invalid 192.0.2.1")
		m.try(false, "dscacheutil -q host -a name example.com | grep -q ip_address")
		m.try(false, "osascript -e 'tell application \"Finder\" to get name of startup disk'")
		m.try(false, "open -g -a TextEdit")
		m.try(false, "security list-keychains | grep -q login")
		m.try(false, "launchctl submit -l bawn.verify -- /usr/bin/true")
		m.try(false, "kill -0 "+strconv.Itoa(os.Getpid()))
		m.try(true, "sysctl -n hw.ncpu && id -un && uname -a && date")
	}
}

func TestMacProcess(t *testing.T) {
	m := newMac(t, policy.Guarded)
	for text, want := range map[string]int{"exit 3": 3, "kill -9 $$": 137, "kill -TERM $$": 143, "true": 0} {
		if code, out := m.run("/bin/sh", "-c", text); code != want {
			t.Errorf("%s: %d %s", text, code, out)
		}
	}
	if code, out := m.run("no-such-program"); code != 127 {
		t.Errorf("no such program: %d %s", code, out)
	}
	m.put(m.ws+"/plain", "x\n")
	if code, out := m.run("./plain"); code != 126 {
		t.Errorf("not executable: %d %s", code, out)
	}
	// What is left behind in the session ends with the command.
	m.try(true, "(trap '' HUP TERM; sleep 600) & echo $! > pid; set -m; sleep 600 & echo $! >> pid")
	pids, err := os.ReadFile(m.ws + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(pids)) {
		if exec.Command("/bin/kill", "-0", f).Run() == nil {
			t.Errorf("process %s is left", f)
		}
	}
	for _, pattern := range []string{"bawn-run-*", "bawn-profile-*"} {
		if left, _ := filepath.Glob(filepath.Dir(strings.TrimSuffix(os.Getenv("TMPDIR"), "/")) + "/*/" + pattern); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

func TestMacTerminal(t *testing.T) {
	m := newMac(t, policy.Guarded)
	config, host, err := sandbox.Inspect(m.request)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(config)
	if err != nil {
		t.Fatal(err)
	}
	spec := sandbox.Plan(p, host, sandbox.Command{Args: []string{"/bin/sh", "-c", "tty && stty size && kill -STOP $$ && echo on"}, Environ: m.request.Environ, TTY: true})
	run, err := seatbelt.Backend{Policy: p, Host: host}.Start(spec, sandbox.Stdio{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var out bytes.Buffer
	read := make(chan struct{})
	for stops := 0; ; {
		ev, err := run.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind {
		case sandbox.EventTTY:
			go func() { defer close(read); _, _ = out.ReadFrom(ev.TTY) }()
			if err := run.Ack(); err != nil {
				t.Fatal(err)
			}
		case sandbox.EventStopped:
			if stops++; stops == 1 && ev.Code == int(syscall.SIGSTOP) {
				_ = run.Signal(0)
				continue
			}
			_ = run.Signal(int(syscall.SIGCONT))
		case sandbox.EventFailed:
			t.Fatal(ev.Reason)
		case sandbox.EventExited:
			<-read
			if got := out.String(); ev.Code != 0 || !strings.Contains(got, "/dev/ttys") || !strings.Contains(got, "on") || stops != 2 {
				t.Errorf("exit %d, %d stops: %q", ev.Code, stops, got)
			}
			return
		}
	}
}

// Go asks the system about certificates: without that service every one is an
// internal error.
func TestMacCertificates(t *testing.T) {
	if os.Getenv("BAWN_VERIFY_CERTIFICATE") != "" {
		server := httptest.NewTLSServer(nil)
		defer server.Close()
		_, err := server.Certificate().Verify(x509.VerifyOptions{DNSName: "example.com"})
		if err == nil || strings.Contains(err.Error(), "OSStatus") {
			t.Fatalf("got %v", err)
		}
		return
	}
	m := newMac(t, policy.Guarded)
	m.request.Environ = append(m.request.Environ, "BAWN_VERIFY_CERTIFICATE=1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if code, out := m.run(self, "-test.run=^TestMacCertificates$"); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestMacProbe(t *testing.T) {
	if err := seatbelt.Probe(); err != nil {
		t.Error(err)
	}
}
