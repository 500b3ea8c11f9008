//go:build unix

package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/gitdir"
	"bawn/internal/policy"
)

// keys hides the files of credentials that settings of git and of ssh name, and
// variables in their place, as far as they lie outside the places that are hidden already: files anywhere but
// in the system's folders. A link in the workspace says nothing, since a command
// could have made it.
func (in *inspector) keys(homes []string, r Request) (out []policy.PathRule) {
	hide := func(path, by string) {
		real, err := RealPath(path)
		if err != nil || systemPath(real) || policy.Inside(path, in.workspace) != policy.Inside(real, in.workspace) {
			return
		}
		if k := in.kind(real); k == KindFile || k == KindNone {
			out = append(out, policy.NamedSecret(real, "credentials that "+by+" names"))
		}
	}
	if repo, err := in.repo(in.workspace); err == nil { // else protect refuses it
		for _, path := range repo.Secrets {
			hide(path, "git's settings")
		}
	}
	for _, name := range [...]string{"GIT_SSH_COMMAND", "RSYNC_RSH"} {
		for _, environ := range [...][]string{r.Environ, r.Asking} {
			gitdir.SSHKeys(getenv(environ, name), func(path string) {
				if filepath.IsAbs(path) {
					hide(filepath.Clean(path), name)
				}
			})
		}
	}
	for _, h := range homes {
		c := sshConfig{home: h, files: map[string]bool{}}
		c.read(h + "/.ssh/config")
		slices.Sort(c.keys)
		for _, path := range slices.Compact(c.keys) {
			if !policy.Inside(path, h+"/.ssh") {
				hide(path, "ssh's settings")
			}
		}
	}
	return out
}

// sshConfig reads the keys that a user's settings of ssh name, whatever the host
// (ssh_config(5)).
type sshConfig struct {
	home  string
	files map[string]bool // read already
	keys  []string
}

const maxSSHConfigs = 64

func (c *sshConfig) read(path string) {
	if c.files[path] || len(c.files) == maxSSHConfigs {
		return
	}
	c.files[path] = true
	text, err := readSmall(path)
	if err != nil {
		return // ssh could not read it either, or it is beyond what people write
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := strings.IndexAny(line, " \t=")
		if end < 0 {
			continue
		}
		value := strings.TrimLeft(line[end:], " \t=")
		switch strings.ToLower(line[:end]) {
		case "identityfile":
			if path := c.path(strings.Trim(value, `"`)); path != "" {
				c.keys = append(c.keys, strings.TrimSuffix(path, ".pub")) // its other half
			}
		case "include":
			for _, pattern := range strings.Fields(value) {
				if pattern = strings.Trim(pattern, `"`); !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "~") {
					pattern = c.home + "/.ssh/" + pattern
				}
				files, _ := filepath.Glob(c.path(pattern)) // ssh passes over what is no pattern
				for _, f := range files {
					c.read(f)
				}
			}
		}
	}
}

// path is a clean absolute path; "" for one that depends on the host or on where
// ssh is started.
func (c *sshConfig) path(value string) string {
	for _, home := range [...]string{"~", "%d", "${HOME}"} {
		if rest, ok := strings.CutPrefix(value, home+"/"); ok {
			value = c.home + "/" + rest
		}
	}
	if !strings.HasPrefix(value, "/") || strings.ContainsAny(value, "%$") {
		return ""
	}
	return filepath.Clean(value)
}
