package policy

import "strings"

// envFinding says what a value holds; the zero value: nothing. It never
// carries a part of the value.
type envFinding struct {
	rule string // env:value:…
	text string
}

func (f envFinding) reason() string { return "value holds " + f.text }

func envFound(id, text string) envFinding { return envFinding{"env:value:" + id, text} }

// envBase64Limit bounds what envFindBase64 decodes.
const envBase64Limit = 64 << 10

// envFindSecret looks for a credential anywhere in a value and reports the
// first. It is one pass; at each point of interest it looks a bounded distance
// around, or over text that no other point covers, so its time is linear.
func envFindSecret(v string) envFinding {
	if len(v) < 9 { // the shortest: x://u:p@h
		return envFinding{}
	}
	if strings.HasPrefix(v, "PuTTY-User-Key-File-") {
		return envFound("private-key", "a private key")
	}
	var prev, kind uint8
	for i := 0; i < len(v); i++ {
		prev, kind = kind, envBytes[v[i]]
		if kind <= envByteAlnum { // most bytes
			continue
		}
		var f envFinding
		switch {
		case kind&envByteAlnum != 0: // the first letter of some prefix
			if prev&envByteAlnum != 0 {
				continue
			}
			if what, id := envFindToken(v, i); id != "" {
				f = envFound("token:"+id, "a credential ("+what+")")
			}
		case v[i] == ':' && i+2 < len(v) && v[i+1] == '/' && v[i+2] == '/':
			f = envFindUserinfo(v[i+3:])
		case v[i] == ':', v[i] == '=':
			f = envFindField(v, i)
		case v[i] == '-':
			if envPrivateKeyAt(v[i+1:]) {
				f = envFound("private-key", "a private key")
			}
		case v[i] == '.':
			if envTerraformTokenAt(v, i) {
				f = envFound("token:atlasv1", "a credential (Terraform token)")
			}
		}
		if f.rule != "" {
			return f
		}
	}
	return envFinding{}
}

// envPrivateKeyAt finds the head of a PEM block, after its first dashes.
// Certificates and public keys are no secrets.
func envPrivateKeyAt(s string) bool {
	if !strings.HasPrefix(s, "BEGIN ") {
		return false
	}
	label, _, ok := strings.Cut(s[:min(len(s), 100)], "-----")
	return ok && strings.Contains(label, "PRIVATE KEY")
}

// envTerraformTokenAt finds xxxxxxxxxxxxxx.atlasv1.xxxx around its first dot.
func envTerraformTokenAt(v string, dot int) bool {
	const mark = ".atlasv1."
	return dot >= 14 && strings.HasPrefix(v[dot:], mark) &&
		envRun(v[dot-14:dot], envAlnum, 14) == 14 && envRun(v[dot+len(mark):], envWord, 40) == 40
}

// envURLLimit is how far the userinfo of a URL is looked for. Each URL costs at
// most this much, so that a long row of :// stays linear.
const envURLLimit = 4 << 10

// envFindUserinfo judges what follows a scheme's //.
func envFindUserinfo(s string) envFinding {
	s = s[:min(len(s), envURLLimit)]
	if i := strings.Index(s, "://"); i >= 0 {
		s = s[:i] // the next URL of a list is judged on its own
	}
	if i := strings.IndexAny(s, " \t\r\n\"'`<>\\"); i >= 0 {
		s = s[:i]
	}
	authority := s
	if i := strings.IndexAny(s, "/?#,;|"); i >= 0 {
		authority = s[:i]
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		switch {
		case strings.HasPrefix(authority[at+1:], "sha256:"): // docker://image:tag@sha256:…
		case !envIsPlaceholder(password):
			return envFound("url-password", "a password in a URL")
		case envLooksLikeToken(user):
			return envFound("url-token", "a token in a URL")
		}
		return envFinding{}
	}
	// A password with a raw / ? # , in it: user:p/w@host. A port (digits alone)
	// with a later @ is a path: http://localhost:3000/@vite/client.
	_, port, ok := strings.Cut(authority, ":")
	if !ok || authority[0] == '[' || strings.IndexByte(s[len(authority):], '@') < 0 {
		return envFinding{}
	}
	if port == "" || port[0] == '$' || port[0] == '{' || port[0] == '<' || port[0] == '%' {
		return envFinding{}
	}
	for i := 0; i < len(port); i++ {
		if port[i] < '0' || port[i] > '9' {
			return envFound("url-password", "a password in a URL")
		}
	}
	return envFinding{}
}

// envFindProxyPassword judges the value of a *_PROXY variable, in which the
// scheme is optional: user:password@proxy:3128.
func envFindProxyPassword(v string) envFinding {
	if at := strings.LastIndexByte(v, '@'); at > 0 {
		if _, password, ok := strings.Cut(v[:at], ":"); ok && password != "" && !strings.HasPrefix(password, "//") {
			return envFound("url-password", "a password in a URL")
		}
	}
	return envFinding{}
}

// envIsPlaceholder reports whether a password is empty, stars, or one that a
// program will fill in: ${X} is one, $X may be a password.
func envIsPlaceholder(p string) bool {
	switch {
	case strings.HasPrefix(p, "${") && strings.HasSuffix(p, "}"),
		strings.HasPrefix(p, "{{") && strings.HasSuffix(p, "}}"),
		p == "%s":
		return true
	}
	return strings.Trim(p, "*") == ""
}

// envLooksLikeToken tells a token in the user's place from a user's name: it
// has a known prefix, or is long, without dots, and has digits.
func envLooksLikeToken(user string) bool {
	for i := range envTokens {
		p := envTokens[i].prefix
		if end := p[len(p)-1]; (end == '_' || end == '-' || end == '.') && len(user) > len(p) && user[:len(p)] == p {
			return true
		}
	}
	if len(user) < 20 || envRun(user, envWord, len(user)) < len(user) {
		return false
	}
	return strings.ContainsAny(user, "0123456789")
}

// envFindBase64 decodes a value that is base64 as a whole, once, and looks
// into the text.
func envFindBase64(v string) envFinding {
	v = strings.Trim(v, " \t\r\n")
	if len(v) < 24 || len(v) > envBase64Limit {
		return envFinding{}
	}
	text, ok := envDecodeBase64(v)
	if !ok {
		return envFinding{}
	}
	f := envFindSecret(text)
	if f.rule == "" {
		return f
	}
	return envFound("base64", "base64 of "+f.text)
}

// envDecodeBase64 reads both alphabets, with or without padding, and line
// breaks. Written out here because encoding/base64 builds its tables at start.
func envDecodeBase64(s string) (string, bool) {
	body := strings.TrimRight(s, "=")
	if len(s)-len(body) > 2 {
		return "", false
	}
	for i := 0; i < len(body); i++ { // before anything is allocated
		if c := body[i]; !envBase64.has(c) && c != '\n' && c != '\r' || c == '=' {
			return "", false
		}
	}
	out := make([]byte, 0, len(body)/4*3+3)
	var acc uint32
	n := 0
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c -= 'A'
		case 'a' <= c && c <= 'z':
			c = c - 'a' + 26
		case '0' <= c && c <= '9':
			c = c - '0' + 52
		case c == '+' || c == '-':
			c = 62
		case c == '/' || c == '_':
			c = 63
		default: // a line break
			continue
		}
		acc = acc<<6 | uint32(c)
		if n++; n == 4 {
			out = append(out, byte(acc>>16), byte(acc>>8), byte(acc))
			acc, n = 0, 0
		}
	}
	switch n {
	case 1:
		return "", false
	case 2:
		out = append(out, byte(acc>>4))
	case 3:
		out = append(out, byte(acc>>10), byte(acc>>2))
	}
	return string(out), true
}
