package gitdir

import (
	"os"
	"path/filepath"
	"strings"
)

// secretFiles are the variables that name a file of credentials.
var secretFiles = [...]struct{ section, key string }{
	{"http", "cookiefile"},
	{"http", "sslkey"},
	{"http", "sslcert"}, // it may hold the key
	{"http", "proxysslkey"},
	{"http", "proxysslcert"},
	{"user", "signingkey"}, // of SSH; else it is a name
}

// secret records the files of credentials that a variable names.
func (f *finder) secret(v *variable) {
	add := func(path string) {
		if path = expand(path); filepath.IsAbs(path) {
			f.secrets.add(filepath.Clean(strings.TrimSuffix(path, ".pub"))) // git finds the key by its public half
		}
	}
	switch {
	case v.Section == "credential" && v.Key == "helper":
		options(v.Value, add, "--file", "-f") // of git-credential-store, -netrc
	case v.Section == "core" && v.Key == "sshcommand":
		SSHKeys(v.Value, add)
	}
	for _, s := range secretFiles {
		if s.section == v.Section && s.key == v.Key {
			add(v.Value)
		}
	}
}

// SSHKeys calls found with each key that a command line of ssh names.
func SSHKeys(line string, found func(path string)) {
	options(line, func(path string) { found(expand(path)) }, "-i", "IdentityFile", "-oIdentityFile")
}

// options calls found with the value of each option in a command line that has
// one of these names: "--file X", "--file=X", "-f X", "-fX".
func options(line string, found func(value string), names ...string) {
	home := os.Getenv("HOME")
	all := split(line, nil) // at "=" too
	for i, w := range all {
		for _, name := range names {
			value, ok := strings.CutPrefix(w, name)
			switch {
			case !ok:
				continue
			case value == "" && i+1 < len(all):
				value = all[i+1]
			case value == "" || len(name) > len("-f"):
				continue // another option that begins so
			}
			for _, v := range [...]string{"$HOME/", "${HOME}/"} {
				if rest, ok := strings.CutPrefix(value, v); ok && home != "" {
					value = home + "/" + rest
				}
			}
			found(value)
		}
	}
}
