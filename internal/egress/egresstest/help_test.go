//go:build linux

package egresstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// repository makes files/r.git, which git reads over plain HTTP.
func (w *World) repository(t *testing.T) {
	t.Helper()
	dir := filepath.Join(w.Dir, "files")
	text := `set -e; git init -q -b main src; cd src; echo one >f; git add f
git -c user.name=t -c user.email=t@t commit -qm one; cd ..; git clone -q --bare src r.git; cd r.git; git update-server-info`
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", text)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// nodeKnowsProxy reports whether this node heeds NODE_USE_ENV_PROXY (22.21, 24).
func nodeKnowsProxy(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command("node", "-p", "process.versions.node").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Split(strings.TrimSpace(string(out)), ".")
	major, _ := strconv.Atoi(f[0])
	minor, _ := strconv.Atoi(f[1])
	return major >= 24 || major == 22 && minor >= 21
}

// rawClient sends each argument, Python escapes read, to the proxy and prints
// what comes first: the status line, or what else it was.
const rawClient = `import socket, sys
for text in sys.argv[1:]:
    s = socket.create_connection(("127.0.0.1", 3128), 10)
    try:
        s.sendall(text.encode("utf-8").decode("unicode_escape").encode("latin-1"))
        s.settimeout(20)
        data = b""
        while b"\r\n" not in data and len(data) < 65536:
            more = s.recv(65536)
            if not more: break
            data += more
        print(data.split(b"\r\n")[0].decode("latin-1") or "closed")
    except OSError as e:
        print("error", e)
    s.close()
`

// raw sends requests to the proxy from inside and returns the status codes.
func raw(t *testing.T, b *Box, requests ...string) []string {
	t.Helper()
	name := b.Python(t, rawClient)
	requests = slices.Clone(requests)
	for i, q := range requests { // HTTP/1.1 asks for the field
		requests[i] = strings.Replace(q, ` HTTP/1.1\r\n\r\n`, ` HTTP/1.1\r\nHost: x\r\n\r\n`, 1)
	}
	r := b.Run(t, append([]string{"python3", name}, requests...)...)
	lines := strings.Split(strings.TrimSuffix(r.Stdout, "\n"), "\n")
	if r.Code != 0 || len(lines) != len(requests) {
		t.Fatalf("exit %d, %d answers to %d requests\n%s%s", r.Code, len(lines), len(requests), r.Stdout, r.Stderr)
	}
	for i, l := range lines {
		if f := strings.Fields(l); len(f) > 1 && strings.HasPrefix(f[0], "HTTP/") {
			lines[i] = f[1]
		}
	}
	return lines
}

// wantStatus compares the answer to each request with one of the codes in
// want, separated by "|".
func wantStatus(t *testing.T, b *Box, cases map[string]string) {
	t.Helper()
	var requests []string
	for q := range cases {
		requests = append(requests, q)
	}
	for i, got := range raw(t, b, requests...) {
		ok := false
		for _, w := range strings.Split(cases[requests[i]], "|") {
			ok = ok || got == w
		}
		if !ok {
			t.Errorf("%.100q: %s, want %s", requests[i], got, cases[requests[i]])
		}
	}
}

// hello is shell text that fails unless a server at ADDR/PORT answers. Where
// the kernel redirects connections, one that is refused is accepted first.
const hello = "exec 3<>/dev/tcp/%s && printf 'GET / HTTP/1.0\\r\\nX: hello\\r\\n\\r\\n' >&3 && grep -q hello <&3"

// hidden is curl in shell text that the check before a run cannot read, so that
// what holds at the connection is seen.
const hidden = "c=curl; $c "
