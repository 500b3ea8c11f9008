//go:build linux

package egresstest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// noProxy is shell text that forgets the proxy: what follows must find its
// way by itself.
const noProxy = "unset $(env | sed -n 's/^\\([A-Za-z_]*_\\(proxy\\|PROXY\\)\\)=.*/\\1/p') NODE_USE_ENV_PROXY JAVA_TOOL_OPTIONS; "

// ways are the two ways out: a client that knows the proxy, and one that does
// not. Bubblewrap's sandbox has the first only.
var ways = []struct {
	name, launcher, pre string
}{
	{"native/proxy", "native", ""},
	{"native/transparent", "native", noProxy},
	{"bwrap/proxy", "bwrap", ""},
}

func eachWay(t *testing.T, w *World, f func(t *testing.T, b *Box, pre string)) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			b := NewBox(t, w, way.launcher)
			b.Flags = []string{"--allow-domain", "allowed.test"}
			f(t, b, way.pre)
		})
	}
}

// denied fails unless the run failed and the servers of the world saw nothing.
func denied(t *testing.T, w *World, addr string, what string, run func() sandboxtest.Result) sandboxtest.Result {
	t.Helper()
	before := w.Hits(t, addr)
	r := run()
	if r.Code == 0 {
		t.Errorf("%s: exit 0: %s", what, r.Stdout)
	}
	if n := w.Hits(t, addr); n != before {
		t.Errorf("%s: the server saw %d connections", what, n-before)
	}
	return r
}

// N1, N3: real clients reach an allowed host by name, with and without the
// proxy, and an unlisted one in no way.
func TestN1_Clients(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	sandboxtest.Write(t, filepath.Join(w.Dir, "Get.java"), javaGet)
	if out, err := exec.Command("javac", "-d", w.Dir, filepath.Join(w.Dir, "Get.java")).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	clients := []struct {
		name, text string // HOST stands for the host
	}{
		{"curl", `curl -sS --fail http://HOST:18080/`},
		{"curl-tls", `curl -sS --fail --cacert ca.pem https://HOST:18443/`},
		{"python", `python3 -c 'import urllib.request as u; print(u.urlopen("http://HOST:18080/").read().decode())'`},
		{"python-tls", `python3 -c 'import ssl, urllib.request as u; print(u.urlopen("https://HOST:18443/", context=ssl.create_default_context(cafile="ca.pem")).read().decode())'`},
		{"node", `node -e 'fetch("http://HOST:18080/").then(r=>r.text()).then(console.log).catch(e=>{console.error(e.cause||e);process.exit(1)})'`},
		{"java", `java -cp . Get http://HOST:18080/`},
		{"bash", `exec 3<>/dev/tcp/HOST/18080; printf 'GET / HTTP/1.0\r\nHost: HOST\r\n\r\n' >&3; grep hello <&3`},
		{"git", `git ls-remote http://HOST:18080/files/r.git | grep refs/heads`},
	}
	w.repository(t)
	eachWay(t, w, func(t *testing.T, b *Box, pre string) {
		for _, f := range []string{"ca.pem", "Get.class"} {
			copyFile(t, filepath.Join(w.Dir, f), filepath.Join(b.Workspace, f))
		}
		for _, c := range clients {
			if pre == "" && c.name == "bash" {
				continue // knows no proxy
			}
			if pre == "" && c.name == "java" && b.Launcher == "native" {
				continue // slow: once under each launcher, with the proxy under the other
			}
			if pre == "" && c.name == "node" && !nodeKnowsProxy(t) {
				continue
			}
			text := pre + c.text
			r := b.Sh(t, "%s", strings.ReplaceAll(text, "HOST", "allowed.test"))
			if r.Code != 0 || !strings.Contains(r.Stdout, "hello allowed.test") && c.name != "git" {
				t.Errorf("%s, allowed: exit %d\n%s%s", c.name, r.Code, r.Stdout, r.Stderr)
			}
			denied(t, w, "11.0.0.10:18080", c.name+", unlisted", func() sandboxtest.Result {
				return b.Sh(t, "%s", strings.ReplaceAll(text, "HOST", "evil.test"))
			})
		}
	})
	if q := w.Queries(t); strings.Contains(q, "evil") {
		t.Errorf("a name that is not allowed was looked up: %s", q)
	}
}

const javaGet = `import java.net.URI; import java.net.http.*;
public class Get { public static void main(String[] a) throws Exception {
  var b = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
  if (System.getenv("http_proxy") != null) {
    var u = URI.create(System.getenv("http_proxy"));
    b.proxy(java.net.ProxySelector.of(new java.net.InetSocketAddress(u.getHost(), u.getPort())));
  }
  var r = b.build().send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString());
  System.out.println(r.body()); if (r.statusCode() != 200) System.exit(1);
} }
`
