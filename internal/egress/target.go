package egress

import (
	"strconv"
	"strings"

	"bawn/internal/policy"
)

// parseTarget reads the absolute form of a request target: what to connect
// to, and the path and query as the origin server wants them. The authority
// is taken by the rules of RFC 3986 from the one field that also decides; a
// target that other parsers might read as another host is refused.
func parseTarget(method, target string) (policy.Connect, string, error) {
	scheme, rest, ok := strings.Cut(target, "://")
	switch {
	case strings.HasPrefix(target, "/") || target == "*" || !ok:
		return policy.Connect{}, "", bad("this is a proxy: it wants the whole address, http://host/path")
	case !strings.EqualFold(scheme, "http"):
		return policy.Connect{}, "", &fault{501, "only http:// addresses are fetched; https goes through CONNECT"}
	case strings.ContainsAny(target, "\\#\t"):
		return policy.Connect{}, "", bad("a backslash, a tab or a fragment in the address")
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(authority, "@") {
		return policy.Connect{}, "", bad("user information in the address")
	}
	switch {
	case path == "" && method == "OPTIONS":
		path = "*"
	case path == "" || path[0] == '?':
		path = "/" + path
	}
	c, err := parseAuthority(authority, 80)
	return c, path, err
}

// parseAuthority reads host or host:port. A port of 0 as the default means
// that one must be given.
func parseAuthority(s string, port uint16) (policy.Connect, error) {
	if port != 0 && !hasPort(s) {
		s += ":" + strconv.Itoa(int(port))
	}
	h, p, err := policy.SplitHostPort(s)
	if err != nil {
		return policy.Connect{}, bad("no host and port: " + err.Error())
	}
	return policy.Connect{Host: h, Port: p}, nil
}

func hasPort(s string) bool {
	return strings.LastIndexByte(s, ':') > strings.LastIndexByte(s, ']')
}

// hostField is the Host that a server is told: the one decided, never what
// the client wrote.
func hostField(c policy.Connect) string {
	if c.Port == 80 {
		return bracketed(c.Host)
	}
	return hostPort(c)
}

func hostPort(c policy.Connect) string {
	return bracketed(c.Host) + ":" + strconv.Itoa(int(c.Port))
}

func bracketed(h policy.Host) string {
	if a, ok := h.Addr(); ok && a.Is6() {
		return "[" + a.String() + "]"
	}
	return h.String()
}
