package egress

import "net/netip"

// Env gives the variables that lead programs inside to the proxy at addr, as
// "NAME=value". They are a convenience and no boundary: without them there is
// no way out, and where transparent mode works most programs need none of
// them; but only a proxy's answer tells npm and others at once why not.
//
// All of them name the HTTP proxy: clients that know SOCKS by an extra alone
// (Python's httpx) fail at start when a variable has a SOCKS address. Java
// reads no variable but JAVA_TOOL_OPTIONS, and then says so on standard error
// each time: it is left to transparent mode.
//
// A secret that is not empty is Options.Secret, in the form that clients send
// without being asked.
func Env(addr netip.AddrPort, secret string) []string {
	const direct = "localhost,127.0.0.1,::1"
	http := "http://" + addr.String()
	if secret != "" {
		http = "http://" + secretUser + ":" + secret + "@" + addr.String()
	}
	env := make([]string, 0, 13)
	for _, v := range [][3]string{
		{"HTTP_PROXY", "http_proxy", http},
		{"HTTPS_PROXY", "https_proxy", http},
		{"ALL_PROXY", "all_proxy", http},
		{"NO_PROXY", "no_proxy", direct},
		{"GRPC_PROXY", "grpc_proxy", http},
		{"NO_GRPC_PROXY", "no_grpc_proxy", direct},
	} {
		env = append(env, v[0]+"="+v[2], v[1]+"="+v[2])
	}
	return append(env, "NODE_USE_ENV_PROXY=1")
}
