package importer

import "strings"

// claude reads Claude Code's settings.json.
func (b *builder) claude(root *node) {
	whyManaged := "what may be at most is said in /etc/bawn/requirements.toml"
	mode, modeFrom, modeLine := "", "", 0
	b.object(root, "", map[string]handler{
		"$schema": b.ignore,
		"permissions": b.table(map[string]handler{
			"allow": b.each(b.claudeRule("allow")), "ask": b.each(b.claudeRule("ask")), "deny": b.each(b.claudeRule("deny")),
			"additionalDirectories": b.each(func(s string, n *node, path string) { b.folder(s, path, n.line) }),
			"defaultMode": b.word(func(s string, n *node, path string) {
				switch s {
				case "default", "acceptEdits", "manual":
					b.set("permissions.mode", "ask", path, n.line, "")
				case "bypassPermissions":
					mode, modeFrom, modeLine = "bypass", path, n.line
				default:
					b.remark(none, path+" "+quote(s), n.line, "bawn's modes are ask, auto and bypass")
				}
			}),
			"disableBypassPermissionsMode":        b.says(none, whyManaged),
			"blockReadsOutsideWorkingDirectories": b.says(lost, "bawn has no list of what may be read: everything but credentials is"),
		}),
		"sandbox": b.table(map[string]handler{
			"enabled": b.flag(func(on bool, n *node, path string) {
				if on {
					b.set("sandbox.enabled", "true", path, n.line, "")
					return
				}
				b.set("sandbox.enabled", "false", path, n.line, "")
			}),
			"failIfUnavailable": b.says(superseded, "without a sandbox no command runs"),
			"autoAllowBashIfSandboxed": b.flag(func(on bool, n *node, path string) {
				switch {
				case on && mode == "":
					mode, modeFrom, modeLine = "auto", path, n.line
				case !on:
					b.remark(superseded, path, n.line, "commands without a rule are asked about")
				}
			}),
			"allowUnsandboxedCommands": b.flag(func(on bool, n *node, path string) {
				if on {
					b.remark(none, path, n.line, "only what exclude names runs outside, after a question")
					return
				}
				b.remark(superseded, path, n.line, "only what exclude names runs outside")
			}),
			"excludedCommands": b.each(func(s string, n *node, path string) { b.command("sandbox.exclude", s, path, n.line, ":*") }),
			"network":          b.claudeNetwork(), "filesystem": b.claudeFiles(whyManaged), "credentials": b.credentials(),
			"ignoreViolations":             b.says(none, "bawn reports what it denies, and nothing is left out"),
			"enableWeakerNestedSandbox":    b.says(none, whyWeaker),
			"enableWeakerNetworkIsolation": b.says(none, whyMac),
			"allowAppleEvents":             b.says(none, whyMac),
			"allowNestedUserNamespaces":    b.says(none, whyWeaker),
			"ripgrep":                      b.says(none, whyOwnTools), "bwrapPath": b.says(none, "bawn takes bubblewrap from /usr/bin or /bin alone"), "socatPath": b.says(none, whyOwnTools),
		}),
		"env":                             b.says(none, "variables are set in the shell that starts bawn"),
		"hooks":                           b.says(none, "hooks stay the agent's"),
		"allowManagedPermissionRulesOnly": b.says(none, whyManaged),
		"allowManagedHooksOnly":           b.says(none, whyManaged),
		"disableBypassPermissionsMode":    b.says(none, whyManaged),
	})
	if mode != "" {
		b.set("permissions.mode", mode, modeFrom, modeLine, "")
	}
}

func (b *builder) claudeNetwork() handler {
	h := b.srtNetwork()
	delete(h, "filterRequest")
	delete(h, "deniedDomainReasons")
	h["allowManagedDomainsOnly"] = b.says(none, "what may be at most is said in /etc/bawn/requirements.toml")
	return func(n *node, path string) {
		strict := n.get("strictAllowlist")
		hosts := n.get("allowedDomains")
		switch {
		case strict != nil && strict.kind == boolean && strict.text == "true":
			b.set("sandbox.default_domains", "false", path+".strictAllowlist", strict.line, "")
		case hosts != nil:
			b.remark(partly, path+".allowedDomains", hosts.line, "bawn's built-in hosts are allowed besides (default_domains = false drops them)")
		}
		b.object(n, path, h)
	}
}

func (b *builder) claudeFiles(whyManaged string) handler {
	h := b.srtFiles()
	delete(h, "allowGitConfig")
	h["denyRead"] = b.each(func(s string, n *node, path string) { b.claudePlace("sandbox.hidden", s, path, n.line) })
	h["denyWrite"] = b.each(func(s string, n *node, path string) { b.claudePlace("sandbox.protect", s, path, n.line) })
	h["allowWrite"] = b.each(func(s string, n *node, path string) { b.folder(b.claudePath(s), path, n.line) })
	h["allowManagedReadPathsOnly"] = b.says(none, whyManaged)
	return b.table(h)
}

// claudePath resolves a path of the sandbox's lists: //x is the older way to
// write /x, and a relative one in the user's file is below ~/.claude.
func (b *builder) claudePath(s string) string {
	switch {
	case strings.HasPrefix(s, "//"):
		return s[1:]
	case s == "" || s[0] == '/' || s[0] == '~' || !b.opt.UserFile:
		return s
	}
	return "~/.claude/" + strings.TrimPrefix(s, "./")
}

func (b *builder) claudePlace(key, s, from string, line int) {
	if s == "" {
		b.remark(strange, from, line, "an empty path")
		return
	}
	b.place(key, b.claudePath(s), from, line, "")
}

// claudeRule takes one rule of a list: Tool or Tool(what).
func (b *builder) claudeRule(verdict string) func(string, *node, string) {
	return func(s string, n *node, path string) {
		tool, what, ok := strings.Cut(s, "(")
		if ok {
			what, ok = strings.CutSuffix(what, ")")
			if !ok {
				b.remark(strange, path+" "+quote(s), n.line, "a bracket is missing")
				return
			}
		}
		from := path + " " + tool
		switch {
		case tool == "Bash":
			b.claudeBash(verdict, what, s, path, n.line)
		case tool == "Read" || tool == "Edit" || tool == "Write" || tool == "MultiEdit" || tool == "NotebookEdit":
			b.claudeFile(verdict, tool, what, s, path, n.line)
		case tool == "WebFetch" && strings.HasPrefix(what, "domain:") && verdict != "ask":
			key := "sandbox.denied_domains"
			if verdict == "allow" {
				key = "sandbox.allowed_domains"
			}
			b.host(key, strings.TrimPrefix(what, "domain:"), from, n.line)
		case tool == "WebFetch" && strings.HasPrefix(what, "domain:"):
			b.remark(superseded, path+" "+quote(s), n.line, "hosts that are not listed are asked about")
		default:
			b.remark(none, path+" "+quote(s), n.line, "not about commands, files or hosts of a sandbox")
		}
	}
}

// denied is the group of a rule that was not taken.
func denied(verdict string) group {
	if verdict == "deny" {
		return lost
	}
	return none
}

func (b *builder) claudeBash(verdict, what, rule, path string, line int) {
	if what == "" || what == "*" || what == ":*" {
		why := "a rule for every command: permissions.mode says what happens without a rule"
		if verdict == "ask" {
			b.remark(superseded, path+" "+quote(rule), line, "commands without a rule are asked about")
			return
		}
		b.remark(denied(verdict), path+" "+quote(rule), line, why)
		return
	}
	b.command("permissions."+verdict, what, path, line, ":*")
}

func (b *builder) claudeFile(verdict, tool, what, rule, path string, line int) {
	show := path + " " + quote(rule)
	read := tool == "Read"
	switch {
	case what == "" || what == "*" || what == "**":
		b.remark(denied(verdict), show, line, "a rule for every file")
		return
	case verdict == "ask":
		b.remark(none, show, line, "bawn asks about commands and hosts; a file is allowed or denied")
		return
	case verdict == "allow" && read:
		b.remark(superseded, show, line, "everything but credentials is readable")
		return
	}
	// //x is /x; /x and ./x begin at the project, as does x/y; a name alone
	// means one at any depth.
	p := what
	switch {
	case strings.HasPrefix(p, "//"):
		p = p[1:]
	case strings.HasPrefix(p, "/"):
		p = strings.TrimLeft(p, "/")
	case strings.HasPrefix(p, "~") || strings.Contains(strings.TrimSuffix(p, "/"), "/"):
	default:
		if verdict == "deny" {
			b.remark(lost, show, line, "taken for the workspace's top alone: the name is not denied deeper down")
		}
	}
	if p == "" {
		p = "."
	}
	switch {
	case verdict == "allow":
		b.writable(p, path+" "+tool, line)
	case read:
		b.place("sandbox.hidden", p, path+" "+tool, line, "")
	default:
		b.place("sandbox.protect", p, path+" "+tool, line, "")
	}
}
