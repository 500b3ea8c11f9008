//go:build linux

package sandboxtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// Credential places that are links, hold links, or lie below one: hidden by
// every name they have, now and when the host makes them during the run.
func TestF4_LinkedCredentials(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		h := b.Home
		outside := filepath.Dir(h) + "/outside"
		Write(t, h+"/dot/ssh/id", "SECRET")
		symlink(t, "dot/ssh", h+"/.ssh") // relative
		Write(t, h+"/dot/gnupg/key", "SECRET")
		symlink(t, h+"/dot/gnupg", h+"/.gnupg") // absolute
		Write(t, h+"/dot/azure/key", "SECRET")
		symlink(t, "azure", h+"/dot/azure2")
		symlink(t, "dot/azure2", h+"/.azure") // a chain
		Write(t, outside+"/docker/config.json", "SECRET")
		symlink(t, outside+"/docker", h+"/.docker")
		Write(t, h+"/dot/netrc", "SECRET")
		symlink(t, "dot/netrc", h+"/.netrc")
		symlink(t, "dot/config", h+"/.config") // the folder above
		Write(t, h+"/dot/config/gh/hosts.yml", "SECRET")
		Write(t, h+"/dot/config/plain", "TWIN")
		// Links inside a credential folder.
		Write(t, h+"/dot/aws-file", "SECRET")
		symlink(t, "../dot/aws-file", h+"/.aws/credentials")
		Write(t, h+"/dot/aws-dir/sso", "SECRET")
		symlink(t, h+"/dot/aws-dir", h+"/.aws/sso")
		Write(t, outside+"/aws-key", "SECRET")
		symlink(t, outside+"/aws-key", h+"/.aws/key")
		symlink(t, "/usr/bin", h+"/.aws/bin") // must not hide the system
		// A link in a cache.
		Write(t, outside+"/hf/token", "SECRET")
		Write(t, outside+"/hf/model", "TWIN")
		symlink(t, outside+"/hf", h+"/.cache/huggingface")
		// Links to nothing yet.
		symlink(t, "dot/kube", h+"/.kube")
		Write(t, h+"/dot/plain", "TWIN")
		Write(t, outside+"/plain", "TWIN")
		before := listing(t, h, outside)

		p := probeIn(t, b)
		for _, path := range []string{
			h + "/.ssh", h + "/.ssh/id", h + "/dot/ssh/id", h + "/.gnupg/key", h + "/dot/gnupg/key", h + "/.azure/key",
			h + "/dot/azure/key", h + "/dot/azure2/key", h + "/.docker/config.json", outside + "/docker/config.json",
			h + "/.netrc", h + "/dot/netrc", h + "/.config/gh/hosts.yml", h + "/dot/config/gh/hosts.yml",
			h + "/.aws/credentials", h + "/dot/aws-file", h + "/.aws/sso/sso", h + "/dot/aws-dir/sso", outside + "/aws-key",
			h + "/.cache/huggingface/token", outside + "/hf/token",
		} {
			p.want("EACCES", "read", path)
			p.want("EACCES|EROFS|EISDIR", "write", path)
			p.want(denied, "unlink", path)
			p.want(denied, "rename", path, b.Workspace+"/got")
		}
		for _, path := range []string{
			h + "/dot/plain", h + "/.config/plain", h + "/dot/config/plain", outside + "/plain", outside + "/hf/model",
			h + "/.cache/huggingface/model", "/usr/share/common-licenses/GPL-3", // no program: one that runs is ETXTBSY first
		} {
			p.want("ok", "read", path)
			p.want("EROFS|EACCES|EPERM", "write", path)
		}
		p.flush()
		sameListing(t, before, listing(t, h, outside))
		// The host makes what the links and the linked folder wait for.
		Write(t, h+"/dot/kube/config", "SECRET")
		Write(t, h+"/dot/config/glab-cli/config.yml", "SECRET")
		Write(t, h+"/dot/config/git/credentials", "SECRET")
		for _, path := range []string{
			h + "/.kube/config", h + "/dot/kube/config", h + "/.config/glab-cli/config.yml",
			h + "/dot/config/glab-cli/config.yml", h + "/.config/git/credentials", h + "/dot/config/git/credentials",
		} {
			p.want("EACCES|ENOENT", "read", path)
			p.want("EACCES|ENOENT|EROFS", "creat", path+"2")
		}
		p.end()
	})
}

// A60: a link in the workspace gives no more than its target has.
func TestA60_LinkInWorkspace(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Home+"/.config/bawn/trust", "{}")
		Write(t, b.State+"/bawn/trust", "x")
		Write(t, b.Home+"/.ssh/id", "SECRET")
		Write(t, b.Home+"/plain", "x")
		Write(t, b.Workspace+"/own/x", "x")
		for name, to := range map[string]string{
			"config": b.Home + "/.config/bawn", "state": b.State + "/bawn", "ssh": "../home/.ssh",
			"plain": b.Home + "/plain", "home": b.Home, "own2": "own",
		} {
			symlink(t, to, b.Workspace+"/"+name)
		}
		before := listing(t, b.Home)
		p := probeIn(t, b)
		ws := b.Workspace
		p.want("EACCES", "creat", ws+"/config/x")
		p.want("EACCES", "write", ws+"/config/trust")
		p.want("EACCES", "read", ws+"/config/trust")
		p.want("EACCES", "write", ws+"/state/trust")
		p.want("EACCES", "truncate", ws+"/state/trust")
		p.want("EACCES", "read", ws+"/ssh/id")
		p.want("EACCES", "read", ws+"/home/.ssh/id")
		p.want("EROFS", "write", ws+"/plain")
		p.want("EROFS", "creat", ws+"/home/new")
		// Made inside, the same.
		p.want("ok", "symlink", b.Home+"/.ssh", ws+"/made")
		p.want("EACCES", "read", ws+"/made/id")
		// Twins.
		p.want("ok", "read", ws+"/plain")
		p.want("ok", "creat", ws+"/own2/new")
		p.end()
		sameListing(t, before, listing(t, b.Home))
	})
}

// A60 in two steps: a command replaces a folder inside a writable cache, or a
// cache inside the workspace, by a link; the next run must not make writable
// what the link leads to. A link that only the user can have made is followed.
func TestA60_PlantedCacheLink(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = []string{"UV_CACHE_DIR=" + b.Workspace + "/uv"}
		outside := filepath.Dir(b.Home) + "/disk"
		mkdir(t, b.Home+"/.config/autostart")
		mkdir(t, b.Home+"/.cache/pip")
		mkdir(t, outside+"/npm")
		symlink(t, outside+"/npm", b.Home+"/.npm") // the user's own: ~ is read-only inside
		p := probeIn(t, b)
		p.want("ok", "rmdir", b.Home+"/.cache/pip")
		p.want("ok", "symlink", b.Home+"/.config/autostart", b.Home+"/.cache/pip")
		p.want("ok", "symlink", b.Home+"/.config", b.Home+"/.cache/go-build")
		p.want("ok", "symlink", "../home/.config/autostart", b.Workspace+"/uv")
		p.want("EROFS", "symlink", b.Home+"/.config", b.Home+"/.pnpm")
		p.end()
		before := listing(t, b.Home+"/.config")
		p = probeIn(t, b)
		p.want("EROFS", "creat", b.Home+"/.config/autostart/evil")
		p.want("EROFS", "creat", b.Home+"/.cache/pip/evil")
		p.want("EROFS", "creat", b.Home+"/.cache/go-build/evil")
		p.want("EROFS", "creat", b.Workspace+"/uv/evil")
		p.want("ok", "creat", b.Home+"/.cache/new")
		p.want("ok", "creat", b.Home+"/.npm/new")
		p.end()
		sameListing(t, before, listing(t, b.Home+"/.config"))
		if !exists(outside + "/npm/new") {
			t.Error("the user's own link to another disk is not followed")
		}
		// It is said, not silent.
		if r := b.Run(t, "true").OK(t); !strings.Contains(r.Stderr, "not writable") {
			t.Errorf("no word about the links: %q", r.Stderr)
		}
	})
}

// Protected files below a linked folder: the run works and they hold (B137).
func TestA60_LinkedSettingsFolder(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		dir := filepath.Dir(b.Home) + "/claude"
		Write(t, dir+"/settings.json", "{}")
		symlink(t, dir, b.Workspace+"/.claude")
		Write(t, b.Workspace+"/cfg/x", "{}")
		symlink(t, b.Workspace+"/cfg/x", b.Workspace+"/.mcp.json")
		// The guard is asked first; without it the mounts hold what is there.
		for guard, says := range map[string]string{"on": "EACCES", "off": "EROFS"} {
			b.Flags = []string{"--guard", guard}
			p := probeIn(t, b)
			p.want("EROFS", "write", b.Workspace+"/.claude/settings.json")
			p.want(says, "write", b.Workspace+"/.mcp.json")
			p.want(says, "write", b.Workspace+"/cfg/x")
			p.want("ok", "read", b.Workspace+"/.claude/settings.json")
			p.want("ok", "creat", b.Workspace+"/cfg/y"+guard)
			p.end()
		}
	})
}
