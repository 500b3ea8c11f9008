//go:build linux

package sandboxtest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// One file of secrets that a variable names is hidden wherever it lies, what
// bawn env says of the variable is so, and its neighbours stay.
func TestF4_FilesThatVariablesName(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, m := range sandboxed {
			t.Run(m.name, func(t *testing.T) {
				b := New(t, l)
				b.Flags = m.flags
				beside := filepath.Dir(b.Home) + "/etc"
				secrets := map[string]string{ // the variable and what stands before the path
					b.Home + "/tf/cli.tfrc":          "TF_CLI_CONFIG_FILE=",
					beside + "/kube":                 "KUBE_CONFIG_PATH=",
					beside + "/web-identity":         "AWS_WEB_IDENTITY_TOKEN_FILE=",
					beside + "/krb5cc":               "KRB5CCNAME=FILE:",
					b.Home + "/restic":               "RESTIC_PASSWORD_FILE=",
					b.Workspace + "/secrets/db.txt":  "DB_PASSWORD_FILE=",
					b.Workspace + "/kubeconfig.yaml": "KUBECONFIG=" + b.Home + "/absent:",
				}
				for path, variable := range secrets {
					Write(t, path, "SECRET")
					Write(t, path+"-twin", "TWIN")
					b.Env = append(b.Env, variable+path)
				}
				Write(t, b.Home+"/folder/x", "TWIN")
				b.Env = append(b.Env, "X_TOKEN_FILE="+b.Home+"/folder") // no file: it may hold anything
				p := probeIn(t, b)
				for path := range secrets {
					p.want("EACCES", "read", path)
					p.want(denied, "write", path)
					p.want(denied, "unlink", path)
					p.want(denied, "rename", path, path+"-moved")
					p.want(denied, "rename", path+"-twin", path)
					p.want(denied, "link", path, path+"-link")
					p.want("ok", "read", path+"-twin")
				}
				p.want(denied, "rename", b.Workspace+"/secrets", b.Workspace+"/moved")
				p.want("ENOENT", "stat", b.Home+"/absent")
				p.want("ok", "read", b.Home+"/folder/x")
				p.end()
				said := b.Bawn(t, "env").Stdout
				for path, variable := range secrets {
					name, _, _ := strings.Cut(variable, "=")
					if !strings.Contains(said, name+" ") {
						t.Errorf("bawn env does not remove %s:\n%s", name, said)
					}
					check := slices.Concat([]string{"check"}, m.flags, []string{"read", path})
					if r := b.Bawn(t, check...); r.Code == 0 || !strings.Contains(r.Stdout, "hidden from sandboxed commands") {
						t.Errorf("check read %s: %d %s", path, r.Code, r.Stdout)
					}
				}
			})
		}
	})
}

// What a person keeps for commands by env_keep they can read; a link or a folder
// in the workspace, which no mount hides, still refuses it.
func TestF4_FilesThatVariablesNameKept(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		file := b.Workspace + "/db.txt"
		Write(t, file, "KEPT")
		b.Env = []string{"DB_PASSWORD_FILE=" + file, "BAWN_ENV_KEEP=DB_PASSWORD_FILE"}
		if r := b.Run(t, "sh", "-c", `cat "$DB_PASSWORD_FILE"`).OK(t); r.Stdout != "KEPT" {
			t.Errorf("kept: %q", r.Stdout)
		}
		b.Env = b.Env[:1]
		if r := b.Run(t, "cat", file); r.Code != 1 || !strings.Contains(r.Stderr, "Permission denied") {
			t.Errorf("hidden: %d %q", r.Code, r.Stderr)
		}
		symlink(t, file, b.Workspace+"/link")
		b.Env = []string{"DB_PASSWORD_FILE=" + b.Workspace + "/link"}
		if r := b.Run(t, "true"); r.Code != 125 || !strings.Contains(r.Stderr, "it contains "+b.Workspace+"/link: credentials that DB_PASSWORD_FILE names") {
			t.Errorf("a link: %d %q", r.Code, r.Stderr)
		}
	})
}

// Files of credentials that the settings of git and ssh name are hidden, and
// their neighbours are not; what is no file, or the system's, stays as it is.
func TestF4_FilesThatSettingsName(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Home+"/.ssh/config", "Host *\n  IdentityFile ~/keys/box.pem\n  identityfile=\"%d/keys/two words\"\n  IdentityFile ~/keys/half.pub\n"+
			"  IdentityFile ~/keys/%r\n  IdentityFile "+b.Home+"/folder\n  IdentityFile /usr/bin/env\nInclude more/*.conf\n")
		Write(t, b.Home+"/.ssh/more/a.conf", "IdentityFile "+b.Home+"/linked\n")
		Write(t, b.Home+"/.gitconfig", "[credential]\n\thelper = store --file ~/private/git\n[http]\n\tsslKey = "+b.Workspace+"/tls/key\n\tcookieFile = "+b.Workspace+"/cookies\n[include]\n\tpath = ~/more\n")
		Write(t, b.Home+"/more", "[user]\n\tsigningKey = ~/sign/id.pub\n")
		secrets := []string{b.Home + "/private/git", b.Workspace + "/tls/key", b.Home + "/sign/id",
			b.Home + "/keys/box.pem", b.Home + "/keys/two words", b.Home + "/keys/half", b.Home + "/real/key", b.Home + "/by variable", b.Home + "/pip.pem"}
		symlink(t, "real/key", b.Home+"/linked")
		b.Env = []string{"GIT_SSH_COMMAND=ssh -p 22 -i '" + b.Home + "/by variable'", "PIP_CLIENT_CERT=" + b.Home + "/pip.pem"}
		for _, path := range secrets {
			Write(t, path, "SECRET")
			Write(t, path+"-twin", "TWIN")
		}
		free := []string{b.Home + "/keys/half.pub", b.Home + "/sign/id.pub", b.Home + "/folder/x", b.Home + "/out"}
		for _, path := range free {
			Write(t, path, "TWIN")
		}
		symlink(t, b.Home+"/out", b.Workspace+"/cookies") // a command could have made it
		p := probeIn(t, b)
		for _, path := range secrets {
			p.want("EACCES", "read", path)
			p.want(denied, "write", path)
			p.want(denied, "rename", path, path+"-moved")
			p.want(denied, "link", path, path+"-link")
			p.want("ok", "read", path+"-twin")
		}
		for _, path := range free {
			p.want("ok", "read", path)
		}
		p.end()
		b.Run(t, "/usr/bin/env").OK(t)
		for _, path := range secrets {
			if r := b.Bawn(t, "check", "read", path); r.Code == 0 || !strings.Contains(r.Stdout, "are hidden from sandboxed commands") {
				t.Errorf("check read %s: %d %s", path, r.Code, r.Stdout)
			}
		}
		if r := b.Bawn(t, "check", "read", free[0]); r.Code != 0 {
			t.Errorf("check read %s: %d %s", free[0], r.Code, r.Stdout)
		}
	})
}
