package gitdir

import (
	"strconv"
	"strings"
)

// address says why a remote may not be at this address, or "". git runs
// git-remote-X for "X::…" and for every scheme that it does not know itself.
func (v *Vetting) address(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return "holds a control character"
		}
	}
	end := 0
	for end < len(s) && (isKeyChar(s[end]) || end > 0 && (s[end] == '+' || s[end] == '.')) {
		end++
	}
	rest := s[end:]
	switch {
	case s == "":
		return "is empty"
	case s[0] == '-':
		return "begins like an option"
	case strings.HasPrefix(rest, "::"):
		return "names a program as transport"
	case strings.HasPrefix(rest, "://"):
		authority, path, _ := strings.Cut(rest[3:], "/")
		switch s[:end] {
		case "http", "https", "ftp", "ftps":
			return ""
		case "git", "ssh", "git+ssh", "ssh+git":
			return optionLike(authority, "/"+path)
		case "file":
			if strings.Contains(rest, "%") {
				return "is an encoded file address; write the path"
			}
			return v.local(strings.TrimSuffix("/"+authority, "/") + "/" + path)
		}
		return "names a program as transport"
	}
	if colon := strings.IndexByte(s, ':'); colon >= 0 && !strings.Contains(s[:colon], "/") {
		return optionLike(s[:colon], s[colon+1:]) // host:path
	}
	return v.local(s)
}

func (v *Vetting) local(path string) string {
	if path == "." || v.Local != nil && v.Local(path) {
		return ""
	}
	return "names a repository in a place whose git files are not guarded"
}

// shellMarks are what hosts and users have none of, and ssh's own settings
// (ProxyCommand, Match exec) would give to a shell.
const shellMarks = " \t\r\n\x00'`\"$;&<>|(){}*?!#"

// optionLike: a host or path that ssh or git would take for an option, or a
// shell for a command. git decodes %2d before it looks.
func optionLike(host, path string) string {
	host = unescape(host)
	if strings.ContainsAny(host, shellMarks) {
		return "has a host or user with characters of a shell"
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		if strings.HasPrefix(host, "-") {
			return "begins like an option"
		}
		host = host[i+1:]
	}
	if strings.Contains(host, `\`) { // of a user it may be the domain
		return "has a host or user with characters of a shell"
	}
	host = strings.TrimLeft(host, "[")
	for _, s := range [...]string{host, path, strings.TrimPrefix(path, "/")} {
		if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "%") {
			return "begins like an option"
		}
	}
	return ""
}

// unescape decodes %XX as git does; what is no such pair stays as it is.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
