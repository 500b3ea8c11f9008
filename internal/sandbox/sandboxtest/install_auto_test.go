//go:build linux

package sandboxtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// F9: when an install in guarded is narrowed without being asked to.
func TestF9_InstallAuto(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		for _, c := range []struct {
			name, user, saved string
			env, flags        []string
			narrow            bool
		}{
			{"no configuration", "", "", nil, nil, true},
			{"off", "[sandbox]\ninstall_profile = \"off\"\n", "", nil, nil, false},
			{"off by the environment", "", "", []string{wide}, nil, false},
			{"hosts by hand", "[sandbox]\nallowed_domains = [\"a.test\"]\n", "", nil, nil, false},
			{"folders by hand", "[sandbox]\nallowed_paths = [\"/opt\"]\n", "", nil, nil, false},
			{"hosts by hand, and on", "[sandbox]\nallowed_domains = [\"a.test\"]\ninstall_profile = \"on\"\n", "", nil, nil, true},
			{"hosts by an answer", "", "allowed_domains = [\"a.test\"]\n", nil, nil, true},
			{"hosts by a flag", "", "", nil, []string{"--allow-domain", "a.test"}, true},
			{"off in airlock", "[sandbox]\ninstall_profile = \"off\"\n", "", nil, []string{"--tier", "airlock"}, true},
		} {
			b := New(t, l)
			root := filepath.Dir(b.Workspace)
			Host(t, b, `mkdir ../bin; printf '#!/bin/sh\necho x >gen.js\n' >../bin/npm; chmod +x ../bin/npm`).OK(t)
			b.Env = append(append(b.Env, "PATH="+root+"/bin:/usr/bin:/bin"), c.env...)
			b.Flags = c.flags
			if c.user != "" {
				Write(t, b.Home+"/.config/bawn/config.toml", c.user)
			}
			if c.saved != "" {
				Write(t, b.Home+"/.config/bawn/allowed.toml", "[sandbox]\n"+c.saved)
			}
			r := b.Run(t, "npm", "ci")
			if (r.Code != 0) != c.narrow || exists(b.Workspace+"/gen.js") == c.narrow || c.narrow && !strings.Contains(r.Stderr, `install_profile = "off"`) {
				t.Errorf("%s: exit %d, %s", c.name, r.Code, r.Stderr)
			}
		}
	})
}
