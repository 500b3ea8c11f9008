//go:build linux

package egresstest

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// A14: it is not the usual ports alone that lead through the decision.
func TestA14_EveryPort(t *testing.T) {
	w := NewWorld(t)
	ports := []string{"5432", "7", "80", "3129", "8443"}
	b := newBox(t, w, "--allow-domain", "allowed.test:18080")
	for _, port := range ports {
		for _, host := range []string{"11.0.0.10", "allowed.test"} {
			denied(t, w, "11.0.0.10:"+port, host+":"+port, func() sandboxtest.Result {
				return b.Sh(t, "exec 3<>/dev/tcp/%s/%s && echo x >&3 && read -t 20 y <&3", host, port)
			})
		}
	}
	b.Flags = append(b.Flags, "--allow-domain", "allowed.test:7")
	b.Sh(t, "exec 3<>/dev/tcp/allowed.test/7 && echo x >&3 && read -t 20 y <&3 && test $y = x").OK(t)
}

// A19: no resolver of the host can be asked over a socket of its own.
func TestA19_NoResolverOfTheHost(t *testing.T) {
	w := NewWorld(t)
	sandboxtest.Write(t, w.Dir+"/resolvers.py", resolvers)
	ctx, cancel := context.WithTimeout(t.Context(), sandboxtest.Limit)
	defer cancel()
	argv := w.inside(w.Dir, "python3", w.Dir+"/resolvers.py", "serve")
	r := start(t, exec.CommandContext(ctx, argv[0], argv[1:]...))
	if out := w.Outside(t, "python3", w.Dir+"/resolvers.py"); strings.Count(out, "connected") != 5 {
		t.Fatalf("outside: %q: the test proves nothing", out)
	}
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = append(b.Flags, "--allow-domain", "*")
		b.Python(t, resolvers)
		got := b.Run(t, "python3", "script.py").OK(t)
		if strings.Count(got.Stdout, "\n") != 5 || strings.Contains(got.Stdout, "connected") {
			t.Errorf("%s: %q", l, got.Stdout)
		}
	}
	r.end(t, 0)
}

// resolvers serves on, or tries to connect to, where resolvers of the host
// listen.
const resolvers = `import os, socket, sys
paths = ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/run/avahi-daemon/socket",
         "/run/dbus/system_bus_socket", "/run/systemd/resolve/io.systemd.Resolve.Monitor"]
keep = []
for p in paths:
    s = socket.socket(socket.AF_UNIX)
    if len(sys.argv) > 1:
        os.makedirs(os.path.dirname(p), exist_ok=True)
        s.bind(p); os.chmod(p, 0o777); s.listen(); keep.append(s)
        continue
    try: s.connect(p); print("connected", p)
    except OSError as e: print(e.strerror, p)
if keep: print("up", flush=True); sys.stdin.readline()
`

// A46: there is no secret that could be guessed or seen: the listener is out
// of others' reach, a password is neither asked for nor passed on, and that
// of the host's own proxy is in no process's arguments.
func TestA46_NoPasswordAnywhere(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = append(b.Flags, "--allow-domain", "allowed.test")
		b.Env = append(b.Env, "HTTPS_PROXY=http://user:s3cret@11.0.0.10:3129/")
		wantStatus(t, b, map[string]string{
			`CONNECT allowed.test:18080 HTTP/1.1\r\nHost: x\r\n\r\n`:                                                "200",
			`CONNECT allowed.test:18080 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic d3Jvbmc6cGFzcw==\r\n\r\n`: "200",
		})
		if r := b.Sh(t, "env | grep -i _proxy | grep -v -i no_proxy").OK(t); strings.Contains(r.Stdout, "@") || !strings.Contains(r.Stdout, "127.0.0.1:3128") {
			t.Errorf("%s: %q", l, r.Stdout)
		}
		all := "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; true"
		r := b.start(t, "sh", "-c", "echo up; read line; true")
		if out := w.Outside(t, "sh", "-c", all); strings.Contains(out, "s3cret") || !strings.Contains(out, "--allow-domain") {
			t.Errorf("%s: arguments outside: %q", l, out)
		}
		r.end(t, 0)
		if out := b.Sh(t, "%s", all).OK(t).Stdout; strings.Contains(out, "s3cret") {
			t.Errorf("%s: arguments inside: %q", l, out)
		}
	}
}

// B63: the switch for the host's loopback works here, for clients that know
// no proxy, and for that port only.
func TestB63_LocalPortWithoutProxy(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = append(b.Flags, "--allow-local-port", "18081")
		b.Sh(t, hello, "127.0.0.1/18081").OK(t)
		if r := b.Sh(t, hello, "127.0.0.1/18080"); r.Code == 0 {
			t.Errorf("%s: another port is open", l)
		}
	}
}

// B81: Java's own client gets through CONNECT: nothing asks it for a password,
// which it would not send.
func TestB81_JavaByCONNECT(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = append(b.Flags, "--allow-domain", "allowed.test")
		sandboxtest.Write(t, filepath.Join(b.Workspace, "Get.java"), javaTLS)
		r := b.Sh(t, "java Get.java https://allowed.test:18443/")
		if r.Code != 0 || !strings.Contains(r.Stdout, "200 hello allowed.test") {
			t.Errorf("%s: exit %d, %q %q", l, r.Code, r.Stdout, r.Stderr)
		}
		r = denied(t, w, "11.0.0.10:18443", "unlisted", func() sandboxtest.Result { return b.Sh(t, "java Get.java https://evil.test:18443/") })
		if strings.Contains(r.Stdout+r.Stderr, "407") {
			t.Errorf("%s: %q", l, r.Stderr)
		}
	}
}

const javaTLS = `import java.net.*; import java.security.cert.X509Certificate; import javax.net.ssl.*;
public class Get { public static void main(String[] a) throws Exception {
  var c = SSLContext.getInstance("TLS");
  c.init(null, new TrustManager[]{new X509ExtendedTrustManager() {
    public void checkClientTrusted(X509Certificate[] x, String s) {} public void checkServerTrusted(X509Certificate[] x, String s) {}
    public void checkClientTrusted(X509Certificate[] x, String s, Socket k) {} public void checkServerTrusted(X509Certificate[] x, String s, Socket k) {}
    public void checkClientTrusted(X509Certificate[] x, String s, SSLEngine k) {} public void checkServerTrusted(X509Certificate[] x, String s, SSLEngine k) {}
    public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; } }}, null);
  var u = URI.create(System.getenv("https_proxy"));
  var h = (HttpsURLConnection) URI.create(a[0]).toURL().openConnection(new Proxy(Proxy.Type.HTTP, new InetSocketAddress(u.getHost(), u.getPort())));
  h.setSSLSocketFactory(c.getSocketFactory());
  System.out.println(h.getResponseCode() + " " + new String(h.getInputStream().readAllBytes()));
} }
`

// B89: TLS ends at the server, not before, so that no client needs another
// authority, with whatever environment it runs.
func TestB89_NoInterception(t *testing.T) {
	w := NewWorld(t)
	eachWay(t, w, func(t *testing.T, b *Box, pre string) {
		copyFile(t, filepath.Join(w.Dir, "ca.pem"), filepath.Join(b.Workspace, "ca.pem"))
		proxy := "-x http://127.0.0.1:3128"
		if pre != "" {
			proxy = ""
		}
		b.Sh(t, "env -i /usr/bin/curl -sS --fail --cacert ca.pem %s https://allowed.test:18443/", proxy).OK(t)
		if r := b.Sh(t, "env -i /usr/bin/curl -sS --fail %s https://allowed.test:18443/", proxy); r.Code != 60 {
			t.Errorf("without the server's authority: exit %d, %q", r.Code, r.Stderr)
		}
	})
}
