package policy

import "strings"

// envField is the name of a setting inside a value that holds a credential:
// the password in "host=h password=x", -Dhttp.proxyPassword=x,
// {"password": "x"}, Authorization: Bearer x.
type envField struct {
	name string // lower case, without - _ and .
	min  int    // shortest body worth removing
	how  envFieldHow
}

type envFieldHow uint8

const (
	envAssign envFieldHow = 1 << iota // name=body
	envQuoted                         // "name": "body"
	envHeader                         // name: body
	envWhole                          // the name is the whole word, else it may end one
)

// envFields is judged from the end of the word before = or :.
var envFields = [...]envField{
	{"password", 1, envAssign | envQuoted},
	{"passwd", 1, envAssign | envQuoted},
	{"passphrase", 1, envAssign | envQuoted},
	{"accountkey", 16, envAssign | envQuoted},
	{"sharedaccesskey", 16, envAssign | envQuoted},
	{"sharedaccesssignature", 16, envAssign | envQuoted},
	{"secretaccesskey", 16, envAssign | envQuoted},
	{"secretkey", 8, envAssign | envQuoted},
	{"clientsecret", 8, envAssign | envQuoted},
	{"accesstoken", 8, envAssign | envQuoted},
	{"refreshtoken", 8, envAssign | envQuoted},
	{"authtoken", 8, envAssign | envQuoted | envHeader},
	{"privatetoken", 8, envAssign | envQuoted | envHeader},
	{"apikey", 8, envAssign | envQuoted | envHeader},
	{"amzsignature", 16, envAssign},
	{"authorization", 8, envAssign | envQuoted | envHeader},
	{"sig", 20, envAssign | envWhole},
	{"token", 8, envQuoted},
	{"secret", 8, envQuoted},
	{"auth", 8, envQuoted | envWhole},
}

// envFieldWord is the longest word looked at before a = or :.
const envFieldWord = 40

// envFindField judges the setting whose = or : stands at v[at].
func envFindField(v string, at int) envFinding {
	end := at
	for end > 0 && at-end < 2 && v[end-1] == ' ' {
		end--
	}
	how := envAssign
	quoted := end > 0 && (v[end-1] == '"' || v[end-1] == '\'')
	switch {
	case quoted:
		end--
		how = envQuoted
		if end > 0 && v[end-1] == '\\' { // JSON inside JSON
			end--
		}
	case v[at] == ':':
		if at+1 < len(v) && v[at+1] == '/' {
			return envFinding{} // a list of folders
		}
		how = envHeader
	}
	if end == 0 {
		return envFinding{}
	}
	switch v[end-1] | 0x20 { // the last letters of envFields: most words end here
	case 'd', 'e', 'g', 'h', 'n', 't', 'y':
	default:
		return envFinding{}
	}
	// The word backwards, folded, without its separators.
	var buf [envFieldWord]byte
	n, i := len(buf), end
	for i > 0 && n > 0 {
		c := v[i-1]
		if c == '-' || c == '_' || c == '.' {
			i--
			continue
		}
		if !envAlnum.has(c) {
			break
		}
		n--
		i--
		buf[n] = c | 0x20 // letters to lower case; digits have the bit already
		if end-i >= envFieldWord {
			break
		}
	}
	word := buf[n:]
	for k := range envFields {
		f := &envFields[k]
		if f.how&how == 0 || f.name[len(f.name)-1] != v[end-1]|0x20 || len(word) < len(f.name) || string(word[len(word)-len(f.name):]) != f.name {
			continue
		}
		if f.how&envWhole != 0 && len(word) != len(f.name) {
			continue
		}
		if envFieldBody(v[at+1:], f.min) {
			if f.name == "authorization" {
				return envFound("auth-header", "an authorization header")
			}
			return envFound("field", "a password or key setting")
		}
	}
	return envFinding{}
}

// envFieldBody reports whether a credential of at least n bytes follows. Not
// one: nothing, a reference to fill in later, stars, and the password of every
// Java trust store in the world.
func envFieldBody(s string, n int) bool {
	for i := 0; i < 4 && s != "" && (s[0] == ' ' || s[0] == '\\' || s[0] == '"' || s[0] == '\''); i++ {
		s = s[1:]
	}
	s = s[:min(len(s), 128)]
	for _, scheme := range [...]string{"bearer", "basic", "token"} {
		if len(s) > len(scheme) && (s[len(scheme)] == ' ' || s[len(scheme)] == '%') && envUpper(s[:len(scheme)]) == envUpper(scheme) {
			s = strings.TrimPrefix(strings.TrimLeft(s[len(scheme):], " "), "%20")
			break
		}
	}
	if i := strings.IndexAny(s, " \t\r\n\"'\\,;&"); i >= 0 {
		s = s[:i]
	}
	switch {
	case len(s) < n, s[0] == '$', s[0] == '<', strings.HasPrefix(s, "{{"), strings.HasPrefix(s, "%("), s == "%s":
		return false
	}
	switch strings.TrimRight(s, "}])") {
	case "changeit", "null", "none", "None", "true", "false", "yes", "no":
		return false
	}
	return strings.Trim(s, "*") != ""
}
