package egress

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// secretUser is the user name that goes with Options.Secret.
const secretUser = "bawn"

// errSecret is what a client hears that does not know the secret. Its request
// is not looked at: who asks may be another user of the machine.
var errSecret = &fault{407, "this proxy belongs to a sandbox, and asks for its password"}

// knows reports whether a request carries Options.Secret, in a time that does
// not depend on where it differs.
func (k *client) knows(h head) bool {
	if k.p.o.Secret == "" {
		return true
	}
	value, _, err := h.one("Proxy-Authorization")
	scheme, code, _ := strings.Cut(value, " ")
	if err != nil || !strings.EqualFold(scheme, "Basic") {
		return false
	}
	said, err := base64.StdEncoding.DecodeString(code)
	return err == nil && k.p.isSecret(said)
}

// isSecret compares user:password.
func (p *Proxy) isSecret(said []byte) bool {
	return subtle.ConstantTimeCompare(said, []byte(secretUser+":"+p.o.Secret)) == 1
}

// socksLogin finds the end of a user name and password (RFC 1929, 2).
func socksLogin(b []byte) (int, error) {
	if len(b) < 2 || len(b) < 3+int(b[1]) {
		return 0, nil
	}
	n := 3 + int(b[1])
	if n += int(b[n-1]); len(b) < n {
		return 0, nil
	}
	return n, nil
}

// login asks a SOCKS5 client for the secret, if there is one.
func (k *client) login(methods []byte) bool {
	method := byte(0)
	if k.p.o.Secret != "" {
		method = 2
	}
	if bytes.IndexByte(methods, method) < 0 {
		k.answerSOCKS("\x05\xff")
		return false
	}
	if _, err := k.Conn.Write([]byte{5, method}); err != nil {
		return false
	}
	if method == 0 {
		return true
	}
	n, err := k.until(socksLogin)
	if err != nil {
		return false
	}
	b := k.buffered()[:n]
	user, password := b[2:2+b[1]], b[3+b[1]:]
	good := b[0] == 1 && k.p.isSecret(append(append(bytes.Clone(user), ':'), password...))
	k.take(n)
	if !good {
		k.record(errSecret)
		k.answerSOCKS("\x01\x01")
		return false
	}
	_, err = k.Conn.Write([]byte{1, 0})
	return err == nil
}
