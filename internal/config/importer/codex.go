package importer

import (
	"slices"
	"strings"
)

// codex reads Codex' config.toml: the older sandbox_mode with its table, or
// else the permission profile that default_permissions names.
func (b *builder) codex(root *node) {
	mode, profile := root.get("sandbox_mode"), root.get("default_permissions")
	write := b.table(map[string]handler{
		"writable_roots":         b.each(func(s string, n *node, path string) { b.folder(s, path, n.line) }),
		"network_access":         b.ignore, // see codexMode
		"exclude_tmpdir_env_var": b.says(superseded, "commands have a temp of their own"),
		"exclude_slash_tmp":      b.says(superseded, "commands have a temp of their own"),
	})
	if mode == nil || mode.text != "workspace-write" {
		write = b.says(superseded, `it counts with sandbox_mode = "workspace-write" alone`)
	}
	b.object(root, "", map[string]handler{
		"sandbox_mode": b.word(func(s string, n *node, path string) {
			b.codexMode(s, root.get("sandbox_workspace_write"), path, n.line)
		}),
		"sandbox_workspace_write": write,
		"default_permissions": b.word(func(s string, n *node, path string) {
			if mode != nil {
				b.remark(superseded, path, n.line, "sandbox_mode stands before it")
				return
			}
			b.codexProfile(s, root.get("permissions"), path, n.line)
		}),
		"permissions": func(n *node, path string) { b.codexOthers(n, path, mode == nil, profile) },
		"approval_policy": b.word(func(s string, n *node, path string) {
			switch s {
			case "untrusted":
				b.set("permissions.mode", "ask", path, n.line, "")
			case "on-request", "on-failure":
				b.set("permissions.mode", "auto", path, n.line, "")
			case "never":
				b.set("permissions.mode", "auto", path, n.line, "what is not sandboxed is still asked about; --no-prompt denies it")
			default:
				b.remark(strange, path+" "+quote(s), n.line, "")
			}
		}),
		"shell_environment_policy": b.codexEnv(),
		"projects":                 b.says(none, "bawn trusts a project's settings by their content (bawn trust)"),
		"profiles":                 b.says(none, "bawn has one set of settings; flags change it for a run"),
		"features":                 b.says(none, "not about bawn's sandbox"),
		"hooks":                    b.says(none, "hooks stay the agent's"),
		"mcp_servers":              b.says(none, "servers stay the agent's"),
	})
	if mode == nil && profile == nil {
		b.remark(partly, "sandbox_mode", 0, "it is not set, and nothing was taken for it: without settings commands run in guarded")
	}
}

// codexMode takes one of the three modes.
func (b *builder) codexMode(s string, table *node, from string, line int) {
	switch s {
	case "read-only":
		b.set("sandbox.default_tier", "airlock", from, line, "the nearest: it has no network, and writes the workspace")
		b.remark(partly, from+" "+quote(s), line, "a file cannot say that nothing is writable; the flag --sandbox read-only does")
	case "workspace-write":
		if net := table.get("network_access"); net != nil && net.kind == boolean && net.text == "true" {
			b.set("sandbox.allowed_domains", "*", "sandbox_workspace_write.network_access", net.line, "every public host")
			return
		} else if net != nil && net.kind != boolean {
			b.wrong(net, "sandbox_workspace_write.network_access", boolean)
		}
		b.set("sandbox.proxy.enabled", "false", from, line, "no network")
	case "danger-full-access":
		b.set("sandbox.default_tier", "open", from, line, "no sandbox at all")
	default:
		b.remark(strange, from+" "+quote(s), line, "")
	}
}

func (b *builder) codexEnv() handler {
	return b.table(map[string]handler{
		"exclude":                  b.copies("sandbox.env_drop", ""),
		"include_only":             b.says(lost, "bawn has no list of all that commands see; env_drop names what they do not"),
		"inherit":                  b.says(none, "commands get the environment without what looks like a secret"),
		"set":                      b.says(none, "variables are set in the shell that starts bawn"),
		"ignore_default_excludes":  b.says(none, "bawn's own rules for secrets hold; env_keep makes exceptions by name"),
		"experimental_use_profile": b.says(none, "shell text runs without start-up files"),
	})
}

// codexOthers tells of the profiles that do not count.
func (b *builder) codexOthers(n *node, path string, counts bool, profile *node) {
	if n.kind != object {
		b.wrong(n, path, object)
		return
	}
	for _, m := range n.members {
		switch {
		case !counts:
			b.remark(superseded, join(path, m.name), m.line, "sandbox_mode stands before it")
		case profile == nil || profile.text != m.name:
			b.remark(none, join(path, m.name), m.line, "it is not the profile that default_permissions names")
		}
	}
}

func (b *builder) codexProfile(name string, all *node, from string, line int) {
	switch name {
	case ":read-only":
		b.codexMode("read-only", nil, from, line)
		return
	case ":workspace":
		b.codexMode("workspace-write", nil, from, line)
		return
	case ":danger-full-access", ":danger-no-sandbox":
		b.codexMode("danger-full-access", nil, from, line)
		return
	}
	p := all.get(name)
	if p == nil {
		b.remark(strange, from+" "+quote(name), line, "no table of [permissions] has this name")
		return
	}
	files := p.get("filesystem")
	if p.get("extends") == nil && !writesWorkspace(files) {
		b.set("sandbox.protect", ".", join("permissions", name)+".filesystem", p.line, "it does not make the workspace writable")
	}
	b.object(p, join("permissions", name), map[string]handler{
		"description":     b.ignore,
		"extends":         b.word(b.codexExtends),
		"workspace_roots": b.codexRoots,
		"filesystem":      b.codexFiles,
		"network":         b.codexNetwork,
	})
	if p.get("network") == nil {
		b.set("sandbox.proxy.enabled", "false", join("permissions", name), p.line, "no network")
	}
}

// writesWorkspace reports whether a profile lets commands write it.
func writesWorkspace(files *node) bool {
	for _, name := range [...]string{":workspace_roots", ":project_roots", ":root"} {
		v := files.get(name)
		if v != nil && v.kind == object {
			v = v.get(".")
		}
		if v != nil && v.text == "write" {
			return true
		}
	}
	return false
}

func (b *builder) codexExtends(s string, n *node, path string) {
	if s == ":workspace" {
		b.remark(superseded, path, n.line, "the workspace is writable, commands have a temp of their own")
		return
	}
	b.remark(none, path+" "+quote(s), n.line, "it is not followed: what it says is not here")
}

func (b *builder) codexRoots(n *node, path string) {
	if n.kind != object {
		b.wrong(n, path, object)
		return
	}
	for _, m := range n.members {
		if m.kind == boolean && m.text == "true" {
			b.folder(m.name, path, m.line)
			continue
		}
		b.remark(superseded, path+" "+quote(m.name), m.line, "it is switched off")
	}
}

func (b *builder) codexFiles(n *node, path string) {
	if n.kind != object {
		b.wrong(n, path, object)
		return
	}
	for _, m := range n.members {
		name := join(path, m.name)
		switch m.name {
		case "glob_scan_max_depth":
			b.remark(superseded, name, m.line, "bawn scans nothing")
		case "allow_limited_git_writes":
			b.remark(superseded, name, m.line, "ordinary git works; its control files are protected")
		case ":workspace_roots", ":project_roots":
			b.codexAccess("", m.node, name)
		default:
			b.codexAccess(m.name, m.node, name)
		}
	}
}

// codexAccess takes what a profile says of a path ("" for the workspace), or
// of what is below it.
func (b *builder) codexAccess(base string, n *node, from string) {
	if n.kind == object {
		for _, m := range n.members {
			p := m.name
			switch {
			case base != "" && p == ".":
				p = base
			case base != "":
				p = strings.TrimRight(base, "/") + "/" + p
			}
			if m.kind != text {
				b.wrong(m.node, join(from, m.name), text)
				continue
			}
			b.codexPath(p, m.text, join(from, m.name), m.line)
		}
		return
	}
	if n.kind != text {
		b.wrong(n, from, text)
		return
	}
	if base == "" {
		base = "."
	}
	b.codexPath(base, n.text, from, n.line)
}

func (b *builder) codexPath(p, access, from string, line int) {
	if !slices.Contains([]string{"read", "write", "deny", "none"}, access) {
		b.remark(strange, from+" "+quote(access), line, "")
		return
	}
	special, below, _ := strings.Cut(p, "/")
	if p == "" || strings.HasPrefix(p, ":") {
		switch {
		case below == "" && (special == ":tmpdir" || special == ":slash_tmp"):
			b.remark(superseded, from, line, "commands have a temp of their own")
		case special == ":root" && below == "" && access == "read", special == ":minimal" && access == "read":
			b.remark(superseded, from, line, "everything but credentials is readable")
		default:
			g := none
			if access == "deny" || access == "none" {
				g = lost
			}
			b.remark(g, from+" "+quote(access), line, "bawn has no such place")
		}
		return
	}
	switch access {
	case "write":
		b.folder(p, from, line)
	case "read":
		if p == "." {
			return // writesWorkspace said so
		}
		b.place("sandbox.protect", p, from, line, "")
	default:
		b.place("sandbox.hidden", p, from, line, "")
	}
}

func (b *builder) codexNetwork(n *node, path string) {
	enabled, domains := n.get("enabled"), n.get("domains")
	on := enabled != nil && enabled.kind == boolean && enabled.text == "true"
	b.object(n, path, map[string]handler{
		"enabled": b.flag(func(bool, *node, string) {}),
		"domains": func(n *node, path string) {
			if n.kind != object {
				b.wrong(n, path, object)
				return
			}
			for _, m := range n.members {
				// **.x is x and all below it, which is bawn's plain x.
				pattern := m.name
				if rest, ok := strings.CutPrefix(pattern, "**."); ok {
					pattern = rest
				}
				switch {
				case m.kind == text && m.text == "allow":
					b.host("sandbox.allowed_domains", pattern, path, m.line)
				case m.kind == text && (m.text == "deny" || m.text == "none"):
					b.host("sandbox.denied_domains", pattern, path, m.line)
				default:
					b.remark(strange, join(path, m.name), m.line, "")
				}
			}
		},
		"mode":         b.says(none, "bawn sees hosts and ports, not methods"),
		"unix_sockets": b.says(none, whyUnixSockets), "dangerously_allow_all_unix_sockets": b.says(none, whyUnixSockets),
		"allow_local_binding": b.says(superseded, whyLoopback),
		"proxy_url":           b.says(none, whyOwnProxy), "socks_url": b.says(none, whyOwnProxy), "enable_socks5": b.says(none, whyOwnProxy),
		"enable_socks5_udp": b.says(none, "no UDP leaves"), "allow_upstream_proxy": b.says(none, whyOwnProxy),
		"dangerously_allow_non_loopback_proxy": b.says(none, whyOwnProxy),
	})
	switch {
	case !on:
		b.set("sandbox.proxy.enabled", "false", path+".enabled", n.line, "no network")
	case domains != nil && domains.kind == object:
		b.set("sandbox.default_domains", "false", path+".domains", domains.line, "only what it names")
	default:
		b.set("sandbox.allowed_domains", "*", path+".enabled", enabled.line, "every public host")
	}
}
