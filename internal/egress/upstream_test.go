//go:build unix

package egress

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

func env(list ...string) func(string) string {
	return func(name string) string {
		for _, e := range list {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return v
			}
		}
		return ""
	}
}

// outer is a corporate proxy: it writes down what it is asked and then plays
// the host itself.
func outer(t *testing.T, seen chan<- string) string {
	port := served(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		auth := req.Header.Get("Proxy-Authorization")
		seen <- fmt.Sprintf("%s %s host=%s auth=%s", req.Method, req.RequestURI, req.Host, auth)
		switch {
		case strings.Contains(req.RequestURI, "refused"):
			io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
		case req.Method == "CONNECT":
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Proxy: 1\r\n\r\n220 first\r\n")
			io.Copy(c, r)
		default:
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nouter")
		}
	})
	return netip.AddrPortFrom(public, port).String()
}

func TestB84_UpstreamForms(t *testing.T) {
	seen := make(chan string, 1)
	proxy := outer(t, seen)
	for _, value := range []string{proxy, "http://" + proxy, "http://" + proxy + "/", "HTTP://" + proxy, "http://us%40er:p%3Ass%2F@" + proxy + "/"} {
		u, err := UpstreamFromEnv(env("https_proxy="+value, "HTTP_PROXY="+value))
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, allowed(t), func(o *Options) { o.Upstream = u })
		auth := ""
		if strings.Contains(value, "@") {
			auth = "Basic " + base64.StdEncoding.EncodeToString([]byte("us@er:p:ss/"))
		}
		c, r := w.connect("allowed.test.:18443")
		if got, want := <-seen, "CONNECT allowed.test:18443 host=allowed.test:18443 auth="+auth; got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
		if line, _ := r.ReadString('\n'); line != "220 first\r\n" { // came with the answer of the proxy
			t.Errorf("%q", line)
		}
		c.Close()
		got := w.raw("GET http://allowed.test:18080/x HTTP/1.1\r\nHost: a\r\nProxy-Authorization: mine\r\nConnection: close\r\n\r\n")
		if got2, want := <-seen, "GET http://allowed.test:18080/x host=allowed.test:18080 auth="+auth; got2 != want || !strings.HasSuffix(got, "outer") {
			t.Errorf("%s: %q, want %q; %q", value, got2, want, got)
		}
		if n := w.resolved(); len(n) > 0 {
			t.Errorf("%s: resolved %q, which is the proxy's part", value, n)
		}
		// What may not go out does not go out by this way either.
		w.cases([]rawCase{{connectLine("evil.test:443"), "403"}, {connectLine("10.0.0.1:443"), "403"}, {"GET http://evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "403"}})
		for _, e := range w.all() {
			if strings.Contains(fmt.Sprintf("%+v", e), "p:ss") {
				t.Errorf("the record holds the password: %+v", e)
			}
		}
	}
}

func TestUpstreamPasswordIsNeverShown(t *testing.T) {
	seen := make(chan string, 4)
	proxy := outer(t, seen)
	u, err := UpstreamFromEnv(env("ALL_PROXY=http://user:secret@" + proxy))
	if err != nil {
		t.Fatal(err)
	}
	config := policy.NetworkConfig{Allow: rules(t, "refused.test")}
	w := newWorld(t, config, func(o *Options) { o.Upstream = u })
	shown := fmt.Sprintf("%v %+v %#v %s", u, u, u, u)
	for _, send := range []string{connectLine("refused.test:443"), "GET http://refused.test/ HTTP/1.1\r\nHost: a\r\n\r\n"} {
		got := w.raw(send)
		if status(got) != "502" || !strings.Contains(<-seen, "auth=Basic ") {
			t.Errorf("%q", got)
		}
		shown += got
	}
	for _, e := range w.all() {
		shown += fmt.Sprintf("%+v", e)
	}
	for _, v := range []string{"ftp://user:secret@h:1", "socks5://user:secret@h:1", "http://user:secret@h:port", "user:secret@", "https://user:secret@h:1"} {
		u, err := UpstreamFromEnv(env("HTTPS_PROXY=" + v))
		if err == nil || u != nil || !strings.HasPrefix(err.Error(), "HTTPS_PROXY: ") {
			t.Errorf("%s: %v, %v", v, u, err)
		}
		shown += fmt.Sprint(err)
	}
	if strings.Contains(shown, "secret") || strings.Contains(shown, "c2VjcmV0") || strings.Contains(shown, "dXNlcjpz") || !strings.Contains(shown, proxy) {
		t.Error(shown)
	}
}

func TestB85_NoProxyOfTheHost(t *testing.T) {
	get := func(via Via, host string, port uint16, vars ...string) string {
		u, err := UpstreamFromEnv(env(vars...))
		if err != nil {
			t.Fatal(err)
		}
		h, err := policy.ParseHost(host)
		if err != nil {
			t.Fatal(err)
		}
		if r := u.route(Request{Connect: policy.Connect{Host: h, Port: port}, Via: via}); r != nil {
			return r.address()
		}
		return "direct"
	}
	all := []string{"HTTP_PROXY=plain:1", "https_proxy=tunnel:2", "HTTPS_PROXY=ignored:3", "NO_PROXY=svc.local.test, .dot.test,*.star.test 10.1.0.0/16,192.0.2.7,port.test:8443,[2001:db8::1]:443,,bad host%,"}
	for _, c := range []struct {
		via  Via
		host string
		port uint16
		vars []string
		want string
	}{
		{ViaConnect, "a.test", 443, all, "tunnel:2"}, {ViaSOCKS, "a.test", 80, all, "tunnel:2"}, {ViaTCP, "a.test", 22, all, "tunnel:2"},
		{ViaHTTP, "a.test", 80, all, "plain:1"},
		{ViaHTTP, "svc.local.test", 80, all, "direct"}, {ViaConnect, "x.svc.local.test", 443, all, "direct"}, {ViaConnect, "xsvc.local.test", 443, all, "tunnel:2"},
		{ViaConnect, "dot.test", 443, all, "direct"}, {ViaConnect, "a.dot.test", 443, all, "direct"}, {ViaConnect, "a.star.test", 443, all, "direct"},
		{ViaConnect, "10.1.2.3", 443, all, "direct"}, {ViaConnect, "10.2.2.3", 443, all, "tunnel:2"}, {ViaConnect, "192.0.2.7", 443, all, "direct"},
		{ViaConnect, "port.test", 8443, all, "direct"}, {ViaConnect, "port.test", 443, all, "tunnel:2"},
		{ViaConnect, "2001:db8::1", 443, all, "direct"}, {ViaConnect, "2001:db8::1", 444, all, "tunnel:2"},
		{ViaConnect, "127.0.0.1", 443, all, "direct"}, {ViaConnect, "localhost", 443, all, "direct"},
		{ViaConnect, "a.test", 443, []string{"HTTP_PROXY=plain:1"}, "direct"}, {ViaHTTP, "a.test", 80, []string{"HTTPS_PROXY=tunnel:2"}, "direct"},
		{ViaHTTP, "a.test", 80, []string{"all_proxy=both"}, "both:80"}, {ViaTCP, "a.test", 80, []string{"all_proxy=both:9"}, "both:9"},
		{ViaHTTP, "a.test", 80, []string{"HTTP_PROXY=header:1", "REQUEST_METHOD=GET"}, "direct"},
		{ViaHTTP, "a.test", 80, []string{"HTTP_PROXY=plain:1", "no_proxy=*"}, "direct"},
		{ViaHTTP, "a.test", 80, nil, "direct"},
	} {
		if got := get(c.via, c.host, c.port, c.vars...); got != c.want {
			t.Errorf("%v %s:%d %q: %s, want %s", c.via, c.host, c.port, c.vars, got, c.want)
		}
	}
}

// A49: the variables of the process that runs the egress are never read
// behind the caller's back; those inside have no way to it at all.
func TestA49_OnlyTheGivenEnvironmentCounts(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:1")
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	t.Setenv("ALL_PROXY", "http://192.0.2.1:1")
	t.Setenv("NO_PROXY", "*")
	u, err := UpstreamFromEnv(env())
	if u != nil || err != nil {
		t.Errorf("%v, %v", u, err)
	}
	w := newWorld(t, allowed(t))
	w.tunnelWorks(fmt.Sprintf("allowed.test:%d", echo(t)))
	if got := w.raw(fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", hello(t))); status(got) != "200" {
		t.Errorf("%q", got)
	}
}

func TestUpstreamThatHangs(t *testing.T) {
	asked := make(chan struct{})
	port := served(t, func(c net.Conn) {
		close(asked)
		io.Copy(io.Discard, c)
	})
	u, _ := UpstreamFromEnv(env("ALL_PROXY=" + netip.AddrPortFrom(public, port).String()))
	w := newWorld(t, allowed(t), func(o *Options) { o.Upstream = u })
	h, _ := policy.ParseHost("allowed.test")
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-asked; cancel() }()
	if _, err := w.Dial(ctx, Request{Connect: policy.Connect{Host: h, Port: 443}}); err == nil || statusOf(err) != 0 {
		t.Errorf("%v", err)
	}
	w.ended()
}

func TestEnv(t *testing.T) {
	got := Env(netip.MustParseAddrPort("127.0.0.1:3128"), "")
	for _, want := range []string{
		"HTTP_PROXY=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128", "HTTPS_PROXY=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128",
		"ALL_PROXY=http://127.0.0.1:3128", "all_proxy=http://127.0.0.1:3128", "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
		"NODE_USE_ENV_PROXY=1", "grpc_proxy=http://127.0.0.1:3128",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing: %q", want, got)
		}
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "JAVA_") }) {
		t.Errorf("%q", got)
	}
}
