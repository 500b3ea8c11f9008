// Package egress is the only way out of a sandbox: one listener that speaks
// HTTP CONNECT, plain HTTP and SOCKS5, told apart by the first byte, and a
// Dial for connections that arrive by other means.
//
// The order is always the same: read a host and a port in one canonical form;
// decide; only then resolve the name; check every address; connect to exactly
// the addresses that were checked, and check again on the socket itself. The
// bytes of HTTPS are never decrypted; what a client says in the clear about
// its destination (the server name of TLS, the Host of HTTP) must be the host
// that was decided.
//
// Everything a client can make grow is bounded (Limits). The parsers are
// written by hand and refuse what they do not know: net/http and crypto/tls
// would cost every command a millisecond or two before it starts.
package egress
