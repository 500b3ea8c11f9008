package policy

import "strings"

// cache is one tool's store: the variable that moves it, or its place below
// the home.
type cache struct {
	tool string
	id   string // in the rule's name
	env  string // names the folder itself
	base string // names a folder that sub lies in; used if env is unset
	sub  string
	home string // below the home if neither variable is set
}

// caches is the one table of tool caches that a guarded command may write
// (SPEC F1, DECISIONS "Caches").
var caches = [...]cache{
	{tool: "XDG", id: "xdg", env: "XDG_CACHE_HOME", home: ".cache"},
	{tool: "Go build", id: "go-build", env: "GOCACHE", home: ".cache/go-build"},
	{tool: "Go module", id: "go-module", env: "GOMODCACHE", base: "GOPATH", sub: "pkg/mod", home: "go/pkg/mod"},
	{tool: "Go checksum", id: "go-checksum", base: "GOPATH", sub: "pkg/sumdb", home: "go/pkg/sumdb"},
	{tool: "npm", id: "npm", env: "npm_config_cache", home: ".npm"},
	{tool: "npm", id: "npm", env: "NPM_CONFIG_CACHE", home: ".npm"},
	{tool: "pnpm", id: "pnpm", base: "PNPM_HOME", sub: "store", home: ".local/share/pnpm/store"},
	{tool: "pnpm", id: "pnpm", home: ".pnpm-store"},
	{tool: "pnpm", id: "pnpm", base: "XDG_STATE_HOME", sub: "pnpm", home: ".local/state/pnpm"},
	{tool: "yarn", id: "yarn", env: "YARN_CACHE_FOLDER", home: ".cache/yarn"},
	{tool: "yarn", id: "yarn", env: "YARN_GLOBAL_FOLDER", home: ".yarn/berry"},
	{tool: "bun", id: "bun", env: "BUN_INSTALL_CACHE_DIR", home: ".bun/install/cache"},
	{tool: "pip", id: "pip", env: "PIP_CACHE_DIR", home: ".cache/pip"},
	{tool: "uv", id: "uv", env: "UV_CACHE_DIR", home: ".cache/uv"},
	{tool: "cargo", id: "cargo", base: "CARGO_HOME", sub: "registry", home: ".cargo/registry"},
	{tool: "cargo", id: "cargo", base: "CARGO_HOME", sub: "git", home: ".cargo/git"},
	{tool: "bawn", id: "bawn", home: ".cache/bawn"},
}

// CacheMode says what guarded commands write of the tools' caches.
type CacheMode uint8

const (
	// PrivateCaches: a copy of the sandbox's own, that all workspaces share.
	PrivateCaches CacheMode = iota
	// SharedCaches: the host's.
	SharedCaches
)

// Caches lists the tool caches below home, or where getenv moves them, as
// writable rules. Values that are not absolute clean paths are ignored.
func Caches(home string, getenv func(string) string, mode CacheMode) []PathRule {
	access := PrivateCopy
	if mode == SharedCaches {
		access = ReadWrite
	}
	out := make([]PathRule, 0, len(caches))
	for _, c := range caches {
		path := ""
		if c.env != "" {
			path = strings.TrimSuffix(getenv(c.env), "/")
		}
		if path == "" && c.base != "" {
			base, _, _ := strings.Cut(getenv(c.base), ":") // GOPATH is a list; its first entry holds the modules
			if base = strings.TrimSuffix(base, "/"); base != "" {
				path = base + "/" + c.sub
			}
		}
		if path == "" {
			path = home + "/" + c.home
		}
		if !IsClean(path) || path == "/" || Inside(home, path) {
			continue
		}
		out = append(out, PathRule{Path: path, Access: access, kind: kindCache, id: c.id, what: c.tool})
	}
	return out
}
