//go:build linux

package egresstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// B23, N3: plain ssh, and git over it, reach an allowed host by name.
func TestB23_SSH(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	w.repository(t)
	dir := filepath.Join(w.Dir, "ssh")
	w.Outside(t, "sh", "-c", "mkdir -m 700 ssh && ssh-keygen -q -t ed25519 -N '' -f ssh/host && ssh-keygen -q -t ed25519 -N '' -f ssh/id")
	pub, err := os.ReadFile(filepath.Join(dir, "id.pub"))
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Write(t, filepath.Join(dir, "keys"), string(pub))
	sandboxtest.Write(t, filepath.Join(dir, "config"), "Port 2222\nListenAddress 11.0.0.10\nHostKey "+dir+"/host\nAuthorizedKeysFile "+dir+
		"/keys\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nLogLevel ERROR\n")
	// Root's sshd changes to another user: it stays in the host's user
	// namespace, where there is one.
	argv := slices.DeleteFunc(w.inside(w.Dir, "/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "config")), func(a string) bool { return a == "-U" && os.Getuid() == 0 })
	sshd := exec.Command(argv[0], argv[1:]...)
	sshd.Stderr = os.Stderr
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sshd.Process.Kill(); _ = sshd.Wait() })
	w.Outside(t, "timeout", "30", "bash", "-c", "until (exec 3<>/dev/tcp/11.0.0.10/2222) 2>/dev/null; do sleep 0.05; done")
	b := newBox(t, w, "--allow-domain", "allowed.test:2222")
	copyFile(t, filepath.Join(dir, "id"), filepath.Join(b.Workspace, "id"))
	if err := os.Chmod(filepath.Join(b.Workspace, "id"), 0o600); err != nil {
		t.Fatal(err)
	}
	ssh := "ssh -F none -p 2222 -i id -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=hosts -o ConnectTimeout=20 "
	r := b.Sh(t, "%s", ssh+"allowed.test echo over ssh").OK(t)
	if strings.TrimSpace(r.Stdout) != "over ssh" {
		t.Errorf("%q", r.Stdout)
	}
	r = b.Sh(t, "GIT_SSH_COMMAND='%s' git ls-remote ssh://allowed.test%s/files/r.git", ssh, w.Dir).OK(t)
	if !strings.Contains(r.Stdout, "refs/heads/main") {
		t.Errorf("%q", r.Stdout)
	}
	r = b.Sh(t, "%s", ssh+"evil.test echo over ssh")
	if r.Code == 0 || !strings.Contains(r.Stderr, "not known") || strings.Contains(r.Stderr, "Temporary") {
		t.Errorf("an unlisted host: exit %d, %q", r.Code, r.Stderr)
	}
}

// N3: a database client, which knows no proxy, with a server that waits for
// the client and one that a rule does not name.
func TestN3_Postgres(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test:5432")
	psql := "PGCONNECT_TIMEOUT=20 psql -At 'host=%s port=5432 user=me dbname=x sslmode=disable' -c 'select 1'"
	r := b.Sh(t, psql, "allowed.test").OK(t)
	if strings.TrimSpace(r.Stdout) != "42" {
		t.Errorf("%q", r.Stdout)
	}
	if r := b.Sh(t, psql, "evil.test"); r.Code == 0 {
		t.Error("an unlisted host")
	}
}
