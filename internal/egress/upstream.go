package egress

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bawn/internal/policy"
)

// Upstream is how the host itself reaches the world: the proxies of its own
// environment. It knows passwords and shows none.
type Upstream struct {
	plain  *hop // for plain HTTP requests
	tunnel *hop // for everything else
	direct []bypass
	all    bool // NO_PROXY=*
}

// hop is one proxy.
type hop struct {
	host     policy.Host
	port     uint16
	user     string // "user:password"
	hasUser  bool
	variable string
}

// bypass is one entry of NO_PROXY.
type bypass struct {
	name   string // a domain and everything below it
	prefix netip.Prefix
	port   uint16 // 0 for every
}

// String names the proxies without their passwords.
func (u *Upstream) String() string {
	if u == nil {
		return "no upstream proxy"
	}
	var out []string
	for _, h := range []*hop{u.plain, u.tunnel} {
		if h != nil {
			out = append(out, h.variable+"="+h.address())
		}
	}
	return strings.Join(out, " ")
}

// GoString is String: the password must not show with %#v either.
func (u *Upstream) GoString() string { return u.String() }

// UpstreamFromEnv reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, of
// which the lower case wins, from the environment of the host: never from one
// that anything inside a sandbox or a workspace can set. nil means that there
// is no proxy. As with other programs, a variable that is not set means that
// the traffic it is about goes out directly; everything but plain HTTP is
// about HTTPS_PROXY. Values with and without http:// are the same. Errors
// name the variable and show no password.
func UpstreamFromEnv(getenv func(string) string) (*Upstream, error) {
	get := func(name string) (variable, value string) {
		for _, n := range []string{strings.ToLower(name), name} {
			if n == "HTTP_PROXY" && getenv("REQUEST_METHOD") != "" {
				continue // in a CGI program that one is a header of a request
			}
			if v := strings.TrimSpace(getenv(n)); v != "" {
				return n, v
			}
		}
		return "", ""
	}
	read := func(name string) (*hop, error) {
		variable, value := get(name)
		if value == "" {
			variable, value = get("ALL_PROXY")
		}
		if value == "" {
			return nil, nil
		}
		h, err := parseHop(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		h.variable = variable
		return h, nil
	}
	var u Upstream
	var err error
	if u.plain, err = read("HTTP_PROXY"); err != nil {
		return nil, err
	}
	if u.tunnel, err = read("HTTPS_PROXY"); err != nil {
		return nil, err
	}
	if u.plain == nil && u.tunnel == nil {
		return nil, nil
	}
	_, no := get("NO_PROXY")
	for _, entry := range strings.FieldsFunc(no, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if entry == "*" {
			u.all = true
		} else if b, ok := parseBypass(entry); ok {
			u.direct = append(u.direct, b)
		}
	}
	return &u, nil
}

// UpstreamAt is one proxy for everything, as settings name it:
// http://[user:password@]host:port. origin is where, for errors.
func UpstreamAt(value, origin string) (*Upstream, error) {
	h, err := parseHop(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	h.variable = origin
	return &Upstream{plain: h, tunnel: h}, nil
}

func parseHop(value string) (*hop, error) {
	rest := value
	if scheme, after, ok := strings.Cut(value, "://"); ok {
		if !strings.EqualFold(scheme, "http") {
			return nil, fmt.Errorf("a proxy of the kind %q is not supported, only http://", Line(scheme, 20))
		}
		rest = after
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	h := &hop{}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, password, _ := strings.Cut(rest[:i], ":")
		rest = rest[i+1:]
		h.hasUser = true
		h.user = unescape(user) + ":" + unescape(password)
	}
	c, err := parseAuthority(rest, 80)
	if err != nil {
		return nil, errors.New("no host and port")
	}
	h.host, h.port = c.Host, c.Port
	return h, nil
}

// unescape undoes percent-encoding; a password with a bare % is taken as it
// is.
func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

func parseBypass(s string) (bypass, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return bypass{prefix: p.Masked()}, true
	}
	var b bypass
	if i := strings.LastIndexByte(s, ':'); i >= 0 && (strings.Count(s, ":") == 1 || s[0] == '[') && i > strings.LastIndexByte(s, ']') {
		port, err := strconv.ParseUint(s[i+1:], 10, 16)
		if err != nil {
			return bypass{}, false
		}
		b.port, s = uint16(port), s[:i]
	}
	h, err := policy.ParseHost(strings.TrimPrefix(strings.TrimPrefix(s, "*"), "."))
	if err != nil {
		return bypass{}, false
	}
	if a, ok := h.Addr(); ok {
		b.prefix = netip.PrefixFrom(a, a.BitLen())
	} else {
		b.name = h.String()
	}
	return b, true
}

func (b bypass) covers(c policy.Connect) bool {
	if b.port != 0 && b.port != c.Port {
		return false
	}
	if a, ok := c.Host.Addr(); ok {
		return b.prefix.IsValid() && b.prefix.Contains(a)
	}
	name := c.Host.String()
	return b.name != "" && (name == b.name || strings.HasSuffix(name, "."+b.name))
}

// route gives the proxy for a request; nil is the direct way. The host's own
// loopback is never behind a proxy.
func (u *Upstream) route(r Request) *hop {
	if u == nil || u.all {
		return nil
	}
	if a, ok := r.Connect.Host.Addr(); ok && a.IsLoopback() || r.Connect.Host.String() == "localhost" {
		return nil
	}
	for _, b := range u.direct {
		if b.covers(r.Connect) {
			return nil
		}
	}
	if r.Via == ViaHTTP {
		return u.plain
	}
	return u.tunnel
}

func (h *hop) address() string { return hostPort(policy.Connect{Host: h.host, Port: h.port}) }

// authorization is the header line with the password, "" without one.
func (h *hop) authorization() string {
	if !h.hasUser {
		return ""
	}
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(h.user)) + "\r\n"
}

// dialUpstream connects through a proxy: a tunnel, or for plain HTTP the
// proxy itself, which takes the whole address in each request.
func (p *Proxy) dialUpstream(ctx context.Context, via *hop, r Request) (*reader, error) {
	d := net.Dialer{Timeout: addressTime}
	conn, err := d.DialContext(ctx, "tcp", via.address())
	if err != nil {
		return nil, &hopError{via, err}
	}
	c := &reader{Conn: conn, p: p}
	if r.Via == ViaHTTP {
		return c, nil
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err = c.askTunnel(via, hostPort(r.Connect))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.release()
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, &hopError{via, err}
	}
	return c, nil
}

// askTunnel makes a tunnel of a connection to a proxy. What the other end
// says first stays in the buffer.
func (c *reader) askTunnel(via *hop, target string) error {
	if _, err := c.Conn.Write([]byte("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + via.authorization() + "\r\n")); err != nil {
		return err
	}
	h, err := c.readHead()
	if err != nil {
		return asServer(err)
	}
	_, status, reason, err := statusLine(h.line)
	switch {
	case err != nil:
		return err
	case status == 407:
		return errors.New("it wants other credentials (407)")
	case status < 200 || status > 299:
		return fmt.Errorf("it answered %d %s", status, Line(reason, 80))
	}
	return nil
}
