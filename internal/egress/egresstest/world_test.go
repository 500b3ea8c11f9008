//go:build linux

package egresstest

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"bawn/internal/tools/listen"
)

// world is the process that holds a World: its servers and what they saw.
type world struct {
	dir      string
	mu       sync.Mutex
	queries  []string
	hits     map[string]int
	headers  string   // of the last request
	connects []string // what the corporate proxy was asked
	names    map[string][]netip.Addr
	turn     int           // of rebind.test
	release  chan struct{} // closed when a server that waits may go on
}

// zone is what the name server knows.
func zone() map[string][]netip.Addr {
	a := func(s ...string) (out []netip.Addr) {
		for _, v := range s {
			out = append(out, netip.MustParseAddr(v))
		}
		return out
	}
	return map[string][]netip.Addr{
		"allowed.test": a(upstream), "sub.allowed.test": a(upstream), "evil.test": a(upstream), "other.test": a("11.0.0.11"),
		"intra.test": a("10.1.2.3"), "meta.test": a("169.254.169.254"), "loop.test": a("127.0.0.1"), "six.test": a("::1"),
		"mix.test": a("11.0.0.99", "127.0.0.1"), "dead.test": a("11.0.0.98"), "db.example.org": a(upstream),
		// Hosts that are allowed without a rule.
		"packages.npmjs.org": a(upstream), "github.com": a(upstream), "codeload.github.com": a(upstream), "raw.githubusercontent.com": a(upstream),
		"gitlab.com": a(upstream), "bitbucket.org": a(upstream), "huggingface.co": a(upstream),
	}
}

func runWorld() {
	w := &world{dir: os.Getenv(worldEnv), hits: map[string]int{}, names: zone(), release: make(chan struct{})}
	if err := w.start(); err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Println(strconv.Quote(w.answer(strings.Fields(in.Text()))))
	}
}

func (w *world) start() error {
	for _, c := range []string{
		"ip link set lo up", "ip addr add 11.0.0.10/32 dev lo", "ip addr add 11.0.0.11/32 dev lo", "ip addr add 11.0.0.53/32 dev lo",
		"ip addr add 10.1.2.3/32 dev lo", "ip addr add 169.254.169.254/32 dev lo", "ip addr add 100.64.0.1/32 dev lo",
		"ip route add blackhole 11.0.0.99/32",
	} {
		f := strings.Fields(c)
		if out, err := exec.Command(f[0], f[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, out)
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	// sshd insists on its folder there, which only an installed service has.
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("private /run: %w", err)
	}
	if err := os.Mkdir("/run/sshd", 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"/etc/resolv.conf": "nameserver " + nameSrv + "\noptions timeout:1 attempts:1\n",
		"/etc/hosts":       "127.0.0.1 localhost\n11.0.0.10 hostfile.test\n",
	} {
		file := filepath.Join(w.dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", name, err)
		}
	}
	if err := w.serveNames(); err != nil {
		return err
	}
	cert, err := w.certificate()
	if err != nil {
		return err
	}
	mux := w.web()
	for _, addr := range []string{
		"11.0.0.10:18080", "11.0.0.10:80", "11.0.0.10:8443", "11.0.0.11:18080", "10.1.2.3:18080", "169.254.169.254:80", "169.254.169.254:18080",
		"100.64.0.1:18080", "127.0.0.1:18080", "127.0.0.1:18081", "[::1]:18080",
	} {
		if err := w.serve(addr, func(l net.Listener) { _ = (&http.Server{Handler: mux}).Serve(l) }); err != nil {
			return err
		}
	}
	if err := w.serve("11.0.0.10:18443", func(l net.Listener) {
		_ = (&http.Server{Handler: mux}).Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}}))
	}); err != nil {
		return err
	}
	if err := w.serve("11.0.0.10:3129", w.corporateProxy); err != nil {
		return err
	}
	for _, addr := range []string{"11.0.0.10:5432", "127.0.0.1:5432"} {
		if err := w.serve(addr, postgres); err != nil {
			return err
		}
	}
	// echo sends back what it gets until the client's half closes.
	return w.serve("11.0.0.10:7", func(l net.Listener) {
		listen.Each(l, func(c net.Conn) {
			_, _ = io.Copy(c, c)
			_ = c.(*counted).Conn.(*net.TCPConn).CloseWrite()
		})
	})
}

// counting counts the connections of a listener.
type counting struct {
	net.Listener
	w    *world
	addr string
}

type counted struct{ net.Conn }

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.w.mu.Lock()
	l.w.hits[l.addr]++
	l.w.mu.Unlock()
	return &counted{c}, nil
}

func (w *world) serve(addr string, f func(net.Listener)) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	go f(counting{l, w, addr})
	return nil
}

// web is what every HTTP server of the world answers.
func (w *world) web() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.headers = fmt.Sprintf("%s %s Host=%s %v", r.Method, r.RequestURI, r.Host, r.Header)
		w.mu.Unlock()
		fmt.Fprintf(rw, "hello %s %s %d\n", r.Host, r.URL.Path, len(body))
	})
	mux.HandleFunc("/sse", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(rw, "data: one\n\n")
		rw.(http.Flusher).Flush()
		pause, _ := time.ParseDuration(r.URL.Query().Get("pause"))
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
		}
		fmt.Fprint(rw, "data: two\n\n")
	})
	mux.HandleFunc("/ws", websocketEcho)
	mux.HandleFunc("/go", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	mux.HandleFunc("/search", func(rw http.ResponseWriter, r *http.Request) {
		if r.FormValue("format") != "json" || r.FormValue("q") == "form" {
			rw.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(rw, "<p>a form</p>")
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]any{"query": r.FormValue("q"), "results": []map[string]any{
			{"title": "One\n about " + r.FormValue("q"), "url": "https://one.example/x", "content": "first \x1b[31mred"},
			{"title": "Bad", "url": "javascript:alert(1)", "content": "none"},
			{"title": "Two", "url": "https://two.example/", "content": ""},
		}})
	})
	mux.HandleFunc("/page", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(rw, "<html><script>alert('<p>no</p>')</script><h1>Title</h1><p>One <a href=/three>two</a>\n four</p><ul><li>item</li></ul>")
	})
	mux.HandleFunc("/endless", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		for line := bytes.Repeat([]byte("endless\n"), 4096); ; {
			if _, err := rw.Write(line); err != nil {
				return
			}
		}
	})
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir(filepath.Join(w.dir, "files")))))
	return mux
}

// websocketEcho accepts the upgrade (RFC 6455) and echoes raw bytes; frames
// are the client's business.
func websocketEcho(rw http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		http.Error(rw, "no upgrade: "+r.Header.Get("Upgrade"), http.StatusBadRequest)
		return
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	c, buf, err := rw.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	for { // one small masked text frame in, the same unmasked out
		head := make([]byte, 6)
		if _, err := io.ReadFull(buf, head); err != nil {
			return
		}
		n := int(head[1] & 0x7f)
		data := make([]byte, n)
		if _, err := io.ReadFull(buf, data); err != nil {
			return
		}
		for i := range data {
			data[i] ^= head[2+i%4]
		}
		if head[0]&0xf == 8 {
			_, _ = c.Write(append([]byte{0x88, byte(n)}, data...))
			return
		}
		_, _ = c.Write(append([]byte{head[0], byte(n)}, data...))
	}
}

func (w *world) certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "world"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"allowed.test", "*.allowed.test", "evil.test", "other.test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(filepath.Join(w.dir, "ca.pem"), text, 0o644)
}

// serveNames answers A queries from the zone and notes every question.
func (w *world) serveNames() error {
	pc, err := net.ListenPacket("udp", nameSrv+":53")
	if err != nil {
		return err
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			if out, err := w.reply(m); err == nil {
				_, _ = pc.WriteTo(out, from)
			}
		}
	}()
	return nil
}

func (w *world) reply(m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queries = append(w.queries, name)
	addrs, known := w.names[name]
	if name == "rebind.test" {
		known = true
		if q.Type == dnsmessage.TypeA {
			w.turn++
			addrs = []netip.Addr{netip.MustParseAddr([...]string{upstream, "127.0.0.1"}[w.turn%2])}
		}
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m.Pack()
}

func (w *world) answer(f []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(f) == 1 && f[0] == "queries":
		return strings.Join(w.queries, " ")
	case len(f) == 2 && f[0] == "hits":
		return strconv.Itoa(w.hits[f[1]])
	case len(f) == 1 && f[0] == "headers":
		return w.headers
	case len(f) == 1 && f[0] == "connects":
		return strings.Join(w.connects, "; ")
	case len(f) == 2 && f[0] == "resolv":
		return w.linkResolvConf(f[1])
	case len(f) == 1 && f[0] == "clear":
		w.connects = nil
		return ""
	}
	return "unknown command"
}

// corporateProxy is a proxy of the host's network: it does CONNECT alone.
func (w *world) corporateProxy(l net.Listener) {
	listen.Each(l, func(c net.Conn) {
		buf := bufio.NewReader(c)
		r, err := http.ReadRequest(buf)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.connects = append(w.connects, fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, r.Header.Get("Proxy-Authorization")))
		w.mu.Unlock()
		_, port, err := net.SplitHostPort(r.RequestURI)
		if r.Method != http.MethodConnect || err != nil {
			fmt.Fprint(c, "HTTP/1.1 405 Only CONNECT\r\nContent-Length: 0\r\n\r\n")
			return
		}
		s, err := net.Dial("tcp", net.JoinHostPort(upstream, port))
		if err != nil {
			fmt.Fprint(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
			return
		}
		defer s.Close()
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(s, buf); _ = s.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(c, s)
	})
}

// postgres is as much of a PostgreSQL server (protocol 3.0) as one query of
// one row needs: every query's answer is 42.
func postgres(l net.Listener) {
	message := func(kind byte, body ...byte) []byte {
		return append([]byte{kind, 0, 0, 0, byte(len(body) + 4)}, body...)
	}
	listen.Each(l, func(c net.Conn) {
		buf := make([]byte, 4096)
		if _, err := c.Read(buf); err != nil {
			return
		}
		ready := message('Z', 'I')
		_, _ = c.Write(append(message('R', 0, 0, 0, 0), ready...))
		for {
			n, err := c.Read(buf)
			if err != nil || n == 0 || buf[0] != 'Q' {
				return
			}
			row := message('T', append(append([]byte{0, 1, 'n', 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 23, 0, 4, 0xff, 0xff, 0xff, 0xff), 0, 0)...)
			row = append(row, message('D', 0, 1, 0, 0, 0, 2, '4', '2')...)
			row = append(row, message('C', []byte("SELECT 1\x00")...)...)
			_, _ = c.Write(append(row, ready...))
		}
	})
}

// linkResolvConf shows a copy of /etc in which resolv.conf is a link. The
// egress asks /etc/hosts only then.
func (w *world) linkResolvConf(target string) string {
	etc := filepath.Join(w.dir, "etc"+strconv.Itoa(len(w.connects))+strings.ReplaceAll(target, "/", "-"))
	// What this user may not read is left out.
	_ = exec.Command("cp", "-r", "--preserve=mode,links", "/etc", etc).Run()
	_ = os.Remove(filepath.Join(etc, "resolv.conf"))
	if err := os.Symlink(target, filepath.Join(etc, "resolv.conf")); err != nil {
		return err.Error()
	}
	if err := unix.Mount(etc, "/etc", "", unix.MS_BIND, ""); err != nil {
		return err.Error()
	}
	return ""
}
