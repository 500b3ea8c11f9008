package gitdir

import (
	"slices"
	"strings"
	"testing"
)

// What the user's and the machine's settings name in the folder is held, whether
// it is a repository yet or not.
func TestTargetsOfTheUser(t *testing.T) {
	base := tempDir(t)
	w := repository(t, base+"/w")
	plain := mkdir(t, base+"/plain")
	sub := w + "/.git/modules/s"
	git(t, base, "init", "-q", "--bare", sub)
	git(t, base, "config", "-f", sub+"/config", "core.worktree", "../../../s")
	write(t, w+"/s/.git", "gitdir: ../.git/modules/s\n")
	for _, d := range []string{w, plain} {
		write(t, d+"/h/pre-commit", "")
		write(t, d+"/tools/x.sh", "")
		write(t, d+"/README", "")
	}
	write(t, w+"/s/h/pre-commit", "")
	t.Setenv("HOME", base+"/home")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	t.Setenv("GIT_CONFIG_SYSTEM", base+"/system")
	files := map[string]string{
		"GIT_CONFIG_SYSTEM": base + "/system", "HOME": base + "/home/.gitconfig", "": base + "/home/.config/git/config",
		"XDG_CONFIG_HOME": base + "/xdg/git/config", "GIT_CONFIG_GLOBAL": base + "/global",
	}
	values := map[string]string{"XDG_CONFIG_HOME": base + "/xdg", "GIT_CONFIG_GLOBAL": base + "/global"}
	for env, file := range files {
		t.Run(env, func(t *testing.T) {
			if values[env] != "" {
				t.Setenv(env, values[env])
			}
			text := "[core]\n\thooksPath = h\n[alias]\n\tx = !cat README && tools/x.sh\n[include]\n\tpath = more\n\tpath = " + w + "/absent\n"
			write(t, file, text)
			if env == "HOME" { // as in a folder of dotfiles
				write(t, base+"/dotfiles/gitconfig", text)
				remove(t, file)
				symlink(t, base+"/dotfiles/gitconfig", file)
			}
			write(t, strings.TrimSuffix(file, file[strings.LastIndex(file, "/"):])+"/more", "[core]\n\tpager = "+w+"/tools/p\n")
			r := discover(t, w)
			has(t, "ReadOnly", r.ReadOnly, w+"/h", w+"/s/h", w+"/tools/x.sh", w+"/.git/config")
			hasNot(t, "ReadOnly", r.ReadOnly, w+"/README")
			has(t, "Names", r.Names, w+"/tools/p", w+"/absent")
			r = discover(t, plain)
			has(t, "ReadOnly", r.ReadOnly, plain+"/h", plain+"/tools/x.sh")
			// Settings that git does not read, or ends at, hold nothing up.
			remove(t, file)
			for _, text := range []string{"[core\n", "[include]\n\tpath = " + base + "\n"} {
				write(t, file, text)
				discover(t, w)
			}
			remove(t, file)
			r = discover(t, w)
			hasNot(t, "ReadOnly", r.ReadOnly, w+"/h", w+"/s/h", w+"/tools/x.sh")
		})
	}
}

// The files of credentials that settings name, by each form and with what they
// include; not what only looks like one.
func TestF4_SecretsThatSettingsName(t *testing.T) {
	base := tempDir(t)
	w, home := repository(t, base+"/w"), mkdir(t, base+"/home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	t.Setenv("GIT_CONFIG_SYSTEM", base+"/system")
	write(t, home+"/.gitconfig", `[credential]
	helper = store --file=~/one
	helper = "store --file '/n/two words'"
	helper = "!git credential-store --file $HOME/three get"
	helper = netrc -f /n/four
	helper = cache --filer=/n/no --files /n/no
	helper = store
[credential "https://x.example"]
	helper = store --file /n/five
[core]
	sshCommand = ssh -F /n/no -i /n/six -o X=/n/no -o IdentityFile=~/twelve -oIdentityFile=/n/thirteen
[http "https://y.example"]
	sslKey = ~/seven
	sslCAInfo = /n/no
[user]
	signingKey = ~/eight.pub
[includeIf "gitdir:/nowhere/"]
	path = more
`)
	write(t, home+"/more", "[http]\n\tcookieFile = /n/nine/../ten\n\tproxySSLKey = relative\n[user]\n\tsigningKey = ABCDEF\n")
	write(t, w+"/.git/config", "[core]\n\tbare = false\n[http]\n\tsslCert = "+w+"/eleven\n")
	want := []string{home + "/eight", home + "/one", home + "/seven", home + "/three", "/n/two words", w + "/eleven", "/n/five", "/n/four", "/n/six", "/n/ten", home + "/twelve", "/n/thirteen"}
	slices.Sort(want)
	if got := discover(t, w).Secrets; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
