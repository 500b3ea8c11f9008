//go:build linux

package sandboxtest

import (
	"path/filepath"
	"testing"

	"bawn/internal/tools/tempdir"
)

// T1, T7: what each tier and mode may write, by what arrives on the host.
func TestT1_T7_WhatIsWritable(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, c := range []struct {
			mode
			// w: arrives on the host; p: works, but privately; -: refused.
			ws, cache, tmp, home, system byte
			tier                         string
		}{
			{sandboxed[0], 'w', 'w', 'p', '-', '-', "guarded"},
			{sandboxed[1], 'w', '-', 'p', '-', '-', "airlock"},
			{sandboxed[2], '-', '-', 'p', '-', '-', "read-only"},
			{sandboxed[3], 'w', 'w', 'p', '-', '-', "workspace-write"},
			{mode{"default", nil}, 'w', 'w', 'p', '-', '-', "guarded"},
			{mode{"mode wins", []string{"--tier", "open", "--sandbox", "read-only"}}, '-', '-', 'p', '-', '-', "read-only"},
			{mode{"open", []string{"--tier", "open"}}, 'w', 'w', 'w', 'w', 'w', ""},
			{mode{"danger-full-access", []string{"--sandbox", "danger-full-access"}}, 'w', 'w', 'w', 'w', 'w', ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				b := New(t, l)
				b.Flags = c.flags
				b.Env = []string{"XDG_STATE_HOME="} // pnpm's store is where it is by default
				root := filepath.Dir(b.Home)
				tmp := tempdir.ForTest(t, "/tmp")
				mkdir(t, b.Workspace+"/sub")
				mkdir(t, root+"/system")
				caches := []string{
					".cache", ".npm", ".cargo/registry", ".cargo/git", "go/pkg/mod", "go/pkg/sumdb", ".local/share/pnpm/store",
					".local/state/pnpm", ".pnpm-store", ".yarn/berry", ".bun/install/cache", ".cache/bawn",
				}
				for _, d := range caches {
					mkdir(t, b.Home+"/"+d)
				}
				check := func(want byte, dir string) {
					t.Helper()
					arrived := exists(dir + "/new")
					if arrived != (want == 'w') {
						t.Errorf("%s: arrived %v, want %c", dir, arrived, want)
					}
				}
				p := probeIn(t, b)
				answer := func(want byte) string {
					if want == '-' {
						return "EROFS|EACCES|EPERM"
					}
					return "ok"
				}
				p.want(answer(c.ws), "creat", b.Workspace+"/new")
				p.want(answer(c.ws), "creat", b.Workspace+"/sub/new")
				for _, d := range caches {
					p.want(answer(c.cache), "creat", b.Home+"/"+d+"/new")
				}
				if c.tmp == 'w' {
					p.want("ok", "creat", tmp+"/new")
				} else {
					p.want("ENOENT", "creat", tmp+"/new")
					p.want("ok", "mkdir", tmp)
					p.want("ok", "creat", tmp+"/new")
				}
				p.want(answer(c.home), "creat", b.Home+"/new")
				p.want(answer(c.home), "creat", b.Home+"/.cargo/new")
				p.want(answer(c.system), "creat", root+"/system/new")
				p.want("ok", "read", "/etc/passwd")
				p.want("ok", "read", b.Workspace)
				if c.tier != "" {
					// E2: what the command is told.
					if got := p.text("getenv", "BAWN_TIER") + " " + p.text("getenv", "BAWN_SANDBOXED"); got != c.tier+" 1" {
						t.Errorf("variables: %s", got)
					}
				} else {
					p.want("ENODATA", "getenv", "BAWN_SANDBOXED")
				}
				p.end()
				check(c.ws, b.Workspace)
				check(c.ws, b.Workspace+"/sub")
				for _, d := range caches {
					check(c.cache, b.Home+"/"+d)
				}
				check(c.tmp, tmp)
				check(c.home, b.Home)
				check(c.home, b.Home+"/.cargo")
				check(c.system, root+"/system")
			})
		}
	})
}

// Caches that do not exist yet work privately and are not left behind; those
// whose parents exist in part as well.
func TestF1_F11_AbsentCaches(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, d := range []string{".bun/install", ".yarn", ".local/share/pnpm", "go/pkg", ".cargo"} {
			mkdir(t, b.Home+"/"+d)
		}
		before := listing(t, b.Home)
		p := probeIn(t, b)
		for _, d := range []string{".npm", ".cargo/registry", ".pnpm-store"} {
			p.want("ok", "creat", b.Home+"/"+d+"/new")
		}
		p.want("EROFS", "creat", b.Home+"/.cargo/config.toml")
		p.end()
		sameListing(t, before, listing(t, b.Home))
	})
}
