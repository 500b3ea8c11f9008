//go:build unix

package egress

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/tools/listen"
)

func status(answer string) string {
	if len(answer) < 12 || !strings.HasPrefix(answer, "HTTP/1.1 ") {
		return "none"
	}
	return answer[9:12]
}

// hello is an origin that says which host and path it was asked for.
func hello(t testing.TB) uint16 {
	return origin(t, false, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "host=%s path=%s", r.Host, r.URL.RequestURI())
	})
}

type rawCase struct{ send, want string } // want: one of these statuses

func (w *world) cases(cases []rawCase) {
	w.t.Helper()
	for _, c := range cases {
		before := len(w.resolved())
		got := w.raw(c.send)
		if !slices.Contains(strings.Fields(c.want), status(got)) {
			w.t.Errorf("%.80q: %.200q, want %s", c.send, got, c.want)
		}
		if now := w.resolved(); c.want != "200" && len(now) != before {
			w.t.Errorf("%.80q: resolved %q", c.send, now[before:])
		}
	}
}

func connectLine(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
}

// echoed is a CONNECT whose tunnel ends at once.
func (w *world) tunnelWorks(target string) {
	w.t.Helper()
	c, r := w.connect(target)
	io.WriteString(c, "\x00ping")
	c.CloseWrite()
	if b, err := io.ReadAll(r); string(b) != "\x00ping" || err != nil {
		w.t.Errorf("%s: %q, %v", target, b, err)
	}
}

func TestA04_ControlBytesAndEscapes(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "*")})
	var cases []rawCase
	for _, host := range []string{
		"evil.test%00.allowed.test", "evil.test%2eallowed.test", "evil.test\x00.allowed.test", "evil.test\r.allowed.test",
		"evil.test\x7f", "evil test", "evil.test\t", "e\x1bvil.test", "ev\u0456l.test", "evil.test\\", "evil..test", "fe80::1%25eth0",
	} {
		cases = append(cases, rawCase{connectLine(host + ":443"), "400"}, rawCase{"GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\n\r\n", "400"})
	}
	w.cases(cases)
	w.tunnelWorks(fmt.Sprintf("evil.test:%d", echo(t)))
}

func TestA05_RootDot(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "*"), Deny: rules(t, "evil.test", "metadata.google.internal")})
	w.cases([]rawCase{
		{connectLine("evil.test.:443"), "403"}, {connectLine("EVIL.test:443"), "403"},
		{connectLine("metadata.google.internal.:80"), "403"}, {connectLine("evil.test..:443"), "400"},
	})
	w.tunnelWorks(fmt.Sprintf("allowed.test.:%d", echo(t)))
}

func TestA07_DenyWithPort(t *testing.T) {
	port := echo(t)
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "*"), Deny: rules(t, "evil.test:443")})
	w.cases([]rawCase{{connectLine("evil.test:443"), "403"}, {connectLine("evil.test.:443"), "403"}})
	w.tunnelWorks(fmt.Sprintf("evil.test:%d", port))
}

func TestB67_PortInRule(t *testing.T) {
	open, other := hello(t), hello(t)
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, fmt.Sprintf("allowed.test:%d", open))})
	if out, err := w.curl(fmt.Sprintf("http://allowed.test:%d/", open)); err != nil || !strings.Contains(out, "path=/") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := w.curl("-w", "%{http_code}", fmt.Sprintf("http://allowed.test:%d/", other)); err != nil || !strings.HasSuffix(out, "403") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestA18_NothingIsResolvedBeforeTheDecision(t *testing.T) {
	ask := make(chan chan policy.Decision)
	w := newWorld(t, policy.NetworkConfig{}, func(o *Options) {
		o.Decide = func(ctx context.Context, r Request) policy.Decision {
			if r.Connect.Host.String() != "allowed.test" {
				return policy.Decision{}
			}
			answer := make(chan policy.Decision)
			select {
			case ask <- answer:
				return <-answer
			case <-ctx.Done():
				return policy.Decision{}
			}
		}
	})
	w.cases([]rawCase{
		{connectLine("s3cr3t.evil.test:443"), "403"},
		{"GET http://s3cr3t.evil.test/ HTTP/1.1\r\nHost: s3cr3t.evil.test\r\n\r\n", "403"},
	})
	c := w.dial()
	fmt.Fprintf(c, "CONNECT allowed.test:%d HTTP/1.1\r\nHost: a\r\n\r\n", echo(t))
	held := <-ask
	if now := w.resolved(); len(now) != 0 {
		t.Errorf("resolved %q while the question was open", now)
	}
	held <- policy.Decision{Verdict: policy.Allow}
	b := make([]byte, 12)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "HTTP/1.1 200" {
		t.Errorf("%q, %v", b, err)
	}
	if now := w.resolved(); !slices.Equal(now, []string{"allowed.test"}) {
		t.Errorf("resolved %q", now)
	}
}

func TestA21_UnspecifiedAddress(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "*")})
	var cases []rawCase
	for _, h := range []string{"0.0.0.0", "[::]", "0", "[0:0:0:0:0:0:0:0]", "127.0.0.1", "127.1", "0x7f000001", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "[64:ff9b::7f00:1]"} {
		cases = append(cases, rawCase{connectLine(h + ":18080"), "403"}, rawCase{"GET http://" + h + ":18080/ HTTP/1.1\r\nHost: a\r\n\r\n", "403"})
	}
	w.cases(cases)
}

func TestA22_EmptyHost(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "*")})
	w.cases([]rawCase{
		{connectLine(":18080"), "400"}, {"GET http://:18080/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"}, {"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		{connectLine("[]:18080"), "400"}, {connectLine(".:18080"), "400"},
	})
	if got := w.raw("\x05\x01\x00\x05\x01\x00\x03\x00\x46\xa0"); got != "\x05\x00"+socksReply(socksFailure) {
		t.Errorf("SOCKS5 with an empty name: %q", got)
	}
}

func TestA26_Rebinding(t *testing.T) {
	var reached atomic.Int32
	port := listen.On(t, "127.0.0.1", func(net.Conn) { reached.Add(1) }).Port()
	var n atomic.Int32
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "rebind.test")}, func(o *Options) {
		o.Resolve = func(context.Context, policy.Host) ([]netip.Addr, error) {
			if n.Add(1)%2 == 1 {
				return []netip.Addr{public}, nil
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
	})
	var denied int
	for range 50 {
		switch got := status(w.raw(connectLine(fmt.Sprintf("rebind.test:%d", port)))); got {
		case "403":
			denied++
		case "502": // nobody listens at the public address
		default:
			t.Fatalf("status %s", got)
		}
	}
	if denied != 25 || reached.Load() != 0 || n.Load() != 50 {
		t.Errorf("%d denials, want 25; %d connections inside, want 0; %d resolutions, want 50", denied, reached.Load(), n.Load())
	}
}

// The check on the socket holds even if everything before it was fooled.
func TestA26_CheckedOnTheSocket(t *testing.T) {
	p := New(Options{})
	var seen netip.AddrPort
	_, err := p.dialOne(context.Background(), netip.MustParseAddrPort("[::ffff:127.0.0.1]:9"), func(a netip.AddrPort) error {
		seen = a
		return &DeniedError{}
	})
	if statusOf(err) != 403 || seen != netip.MustParseAddrPort("127.0.0.1:9") {
		t.Errorf("%v, checked %v", err, seen)
	}
	// A verdict that changes between the first look and the socket.
	looks := 0
	p = New(Options{
		Decide: func(context.Context, Request) policy.Decision { return policy.Decision{Verdict: policy.Allow} },
		CheckAddr: func(policy.Host, netip.AddrPort) policy.Decision {
			if looks++; looks == 1 {
				return policy.Decision{Verdict: policy.Allow}
			}
			return policy.Decision{}
		},
	})
	_, err = p.Dial(context.Background(), Request{Connect: policy.Connect{Host: policy.HostAddr(public), Port: echo(t)}})
	if statusOf(err) != 403 || looks != 2 {
		t.Errorf("%v after %d looks", err, looks)
	}
}

func TestA28_MixedAnswer(t *testing.T) {
	port := echo(t)
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "mix.test", "inner.test")})
	inner := netip.MustParseAddr("127.0.0.1")
	w.host("mix.test", inner, public, netip.MustParseAddr("::1"))
	w.host("inner.test", inner)
	w.tunnelWorks(fmt.Sprintf("mix.test:%d", port))
	if e := w.ended(); e.Addr.Addr() != public {
		t.Errorf("connected to %v", e.Addr)
	}
	w.cases(nil)
	if got := w.raw(connectLine(fmt.Sprintf("inner.test:%d", port))); status(got) != "403" {
		t.Errorf("%q", got)
	}
}

func TestA30_ConnectWithPath(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "*")})
	w.cases([]rawCase{
		{"CONNECT /x HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", "400"},
		{"CONNECT evil.test:443/x HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", "400"},
		{"CONNECT http://evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", "400"},
		{"CONNECT * HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", "400"},
	})
}

func TestA31_UserInformation(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "allowed.test")})
	w.cases([]rawCase{
		{"GET http://allowed.test@evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400 403"},
		{"GET http://allowed.test:80@evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400 403"},
		{connectLine("allowed.test@evil.test:443"), "400 403"},
		{"GET http://evil.test#@allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400 403"},
		{"GET http://evil.test\\@allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400 403"},
		{"GET http://evil.test\\.allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400 403"},
		{"GET http://evil.test?.allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "403"},
	})
}

func TestA32_HostFieldIsTheDecidedOne(t *testing.T) {
	port := hello(t)
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "allowed.test")})
	got := w.raw(fmt.Sprintf("GET http://ALLOWED.test.:%d/a?b HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n", port))
	if want := fmt.Sprintf("host=allowed.test:%d path=/a?b", port); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	w.cases([]rawCase{
		{"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nHost: evil.test\r\n\r\n", "400"},
		{"GET http://allowed.test/ HTTP/1.1\r\n\r\n", "400"},
	})
}

func TestA33_NoWholeAddress(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "*")})
	w.cases([]rawCase{
		{"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "400"},
		{"GET //evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400"},
		{"OPTIONS * HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400"},
		{"GET ftp://evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "501"},
		{"GET https://evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "501"},
		{"GET file:///etc/passwd HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "501"},
		{"GET evil.test HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400"},
		{"GET http:/evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "400"},
	})
}

func TestA38_Ports(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "allowed.test:443")})
	w.cases([]rawCase{
		{connectLine("allowed.test:25"), "403"}, {connectLine("allowed.test:22"), "403"}, {connectLine("allowed.test:6379"), "403"},
		{connectLine("allowed.test:0"), "400"}, {connectLine("allowed.test:99999"), "400"}, {connectLine("allowed.test"), "400"},
		{connectLine("allowed.test:0x1bb"), "400"}, {connectLine("allowed.test:"), "400"}, {connectLine("allowed.test:+443"), "400"},
		{connectLine("allowed.test: 443"), "400"}, {connectLine("allowed.test:443:80"), "400"},
	})
}

func TestA40_OddMethodsAndVersions(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "*")})
	secret := "Proxy-Authorization: Basic c2VjcmV0\r\n"
	for _, c := range []rawCase{
		{"TRACE http://allowed.test/ HTTP/1.1\r\nHost: a\r\n" + secret + "\r\n", "405"},
		{"TRACK http://allowed.test/ HTTP/1.1\r\nHost: a\r\n" + secret + "\r\n", "405"},
		{"CONNECT allowed.test HTTP/1.0\r\n\r\n", "400"},
		{"CONNECT allowed.test:443 HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", "400"},
		{"CONNECT allowed.test:443 HTTP/0.9\r\n\r\n", "505"},
		{"GET http://allowed.test/\r\n\r\n", "400"},
		{"GET http://allowed.test/ HTTP/0.9\r\n\r\n", "505"},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"},
		{"get http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "405"},
		{"connect allowed.test:443 HTTP/1.1\r\nHost: a\r\n\r\n", "405"},
		{strings.Repeat("A", 70000) + " http://allowed.test/ HTTP/1.1\r\n\r\n", "431"},
		{strings.Repeat("A", 60000) + " http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "405"},
		{"GET http://allowed.test/ HTTP/1.1 \r\nHost: a\r\n\r\n", "400"},
		{"GET  http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		{"GET http://allowed.test/ HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 300) + "\r\n", "431"},
		{"\x16\x03\x01\x00\x05hello\r\n\r\n", "400"},
		{"\r\n\r\n", "400"},
	} {
		got := w.raw(c.send)
		if status(got) != c.want || strings.Contains(got, "c2VjcmV0") {
			t.Errorf("%.60q: %.200q, want %s", c.send, got, c.want)
		}
	}
	if n := w.resolved(); len(n) > 0 {
		t.Errorf("resolved %q", n)
	}
}

func TestA42_NothingOfTheRequestIsRawInAnswerOrRecord(t *testing.T) {
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "allowed.test")})
	w.cases([]rawCase{
		{"GET http://evil%0d%0aX:1.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		{"GET http://e\x1b[2Jvil.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		{"GET http://<script>.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		{"GET http://\u202evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		{"GET http://" + strings.Repeat("a", 20000) + ".test/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		{connectLine("evil.test:443"), "403"},
	})
	got := w.raw(connectLine("evil\x9b.test:443"))
	if !strings.Contains(got, "Content-Type: text/plain") {
		t.Errorf("%q", got)
	}
	got += w.raw("\x05\x01\x00\x05\x01\x00\x03\x05e\n\x1bil\x01\xbb")
	for _, e := range w.all() {
		line := e.Err + e.Decision.Rule.Text + e.Decision.Rule.Lift + e.Connect.Host.String()
		for i := range len(line) {
			if line[i] < ' ' || line[i] > '~' {
				t.Errorf("the record holds %q", line)
				break
			}
		}
		if len(e.Err) > maxErr {
			t.Errorf("%d bytes of error", len(e.Err))
		}
	}
	if len(w.all()) != 8 {
		t.Errorf("%d events, want one for each request", len(w.all()))
	}
}

func TestSOCKS(t *testing.T) {
	port := echo(t)
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, "allowed.test")})
	p := string(binary.BigEndian.AppendUint16(nil, port))
	name := func(cmd byte, s string) string {
		return "\x05" + string([]byte{cmd}) + "\x00\x03" + string([]byte{byte(len(s))}) + s + p
	}
	for _, c := range []struct{ send, want string }{
		{"\x05\x01\x00" + name(1, "allowed.test") + "\x00x", "\x05\x00" + socksReply(0) + "\x00x"},
		{"\x05\x02\x02\x00" + name(1, "evil.test"), "\x05\x00" + socksReply(socksDenied)},
		{"\x05\x01\x00" + name(2, "allowed.test"), "\x05\x00" + socksReply(socksCommand)},
		{"\x05\x01\x00" + name(3, "allowed.test"), "\x05\x00" + socksReply(socksCommand)},
		{"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01" + p, "\x05\x00" + socksReply(socksDenied)},
		{"\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" + p, "\x05\x00" + socksReply(socksDenied)},
		{"\x05\x01\x00" + name(1, "127.0.0.1"), "\x05\x00" + socksReply(socksDenied)},
		{"\x05\x01\x00" + name(1, "evil.test\x00.allowed.test"), "\x05\x00" + socksReply(socksFailure)},
		{"\x05\x01\x00\x05\x01\x00\x07\x00\x00", "\x05\x00" + socksReply(socksAddress)},
		{"\x05\x01\x00\x05\x01\x01\x03\x01a\x00\x50", "\x05\x00" + socksReply(socksFailure)},
		{"\x05\x01\x00\x05\x01\x00\x03\x0callowed.test\x00\x00", "\x05\x00" + socksReply(socksFailure)},
		{"\x05\x01\x02", "\x05\xff"},
		{"\x05\x00", "\x05\xff"},
		{"\x04\x01\x00\x50\x01\x02\x03\x04\x00", "\x00\x5b\x00\x00\x00\x00\x00\x00"},
	} {
		c2 := w.dial()
		io.WriteString(c2, c.send)
		c2.CloseWrite()
		if got, _ := io.ReadAll(c2); string(got) != c.want {
			t.Errorf("%q: %q, want %q", c.send, got, c.want)
		}
	}
}
