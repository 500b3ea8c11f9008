package importer

// Reasons that several tools share.
const (
	whyUnixSockets = "the host's sockets stay out of reach"
	whyOwnProxy    = "bawn's own egress checks every connection; a proxy behind it is [sandbox.proxy] upstream"
	whyLoopback    = "commands serve and call on a loopback of their own"
	whyNoTLS       = "bawn does not open TLS"
	whyWeaker      = "a weaker boundary is asked for at each run (--allow-weaker)"
	whyReadable    = "everything but credentials is readable; what hidden names has no exceptions inside"
	whyMasked      = "bawn hides it and has no masked copy"
	whyNoFiles     = "bawn's rules for files hold in every tier but open"
	whyPty         = "a terminal is passed on"
	whyOwnTools    = "bawn needs no such program"
	whyMac         = "bawn refuses it in every tier but open"
)

// srt reads the settings of the Anthropic sandbox runtime, version 0.0.78.
func (b *builder) srt(root *node) {
	b.object(root, "", map[string]handler{
		"network": b.table(b.srtNetwork()), "filesystem": b.table(b.srtFiles()), "credentials": b.credentials(),
		"ignoreViolations":             b.says(none, "bawn reports what it denies, and nothing is left out"),
		"enableWeakerNestedSandbox":    b.says(none, whyWeaker),
		"enableWeakerNetworkIsolation": b.says(none, whyMac),
		"allowAppleEvents":             b.says(none, whyMac),
		"allowPty":                     b.says(superseded, whyPty),
		"ripgrep":                      b.says(none, whyOwnTools), "seccomp": b.says(none, whyOwnTools), "bwrapPath": b.says(none, "bawn takes bubblewrap from /usr/bin or /bin alone"),
		"socatPath": b.says(none, whyOwnTools), "javaAgentJarPath": b.says(none, whyOwnTools),
		"mandatoryDenySearchDepth": b.says(superseded, "protected names hold at any depth, without a search"),
		"windows":                  b.says(none, "bawn has no sandbox on Windows"),
		"git":                      b.says(none, "git's own settings belong into git's files"),
		"$schema":                  b.ignore,
	})
	// Its list is all that is allowed; bawn's is added to the built-in hosts.
	b.set("sandbox.default_domains", "false", "only what network.allowedDomains names", 0, "")
}

func (b *builder) srtNetwork() map[string]handler {
	return map[string]handler{
		"allowedDomains":          b.hosts("sandbox.allowed_domains"),
		"deniedDomains":           b.hosts("sandbox.denied_domains"),
		"deniedDomainReasons":     b.says(none, "a denial names its rule"),
		"deniedResolvedAddresses": b.says(partly, "private and internal addresses are refused unless allow_private names the host; other ranges are not"),
		"strictAllowlist":         b.says(partly, "an unlisted host is asked about in a session; with --no-prompt it is denied"),
		"allowUnixSockets":        b.says(none, whyUnixSockets),
		"allowAllUnixSockets":     b.says(none, whyUnixSockets),
		"allowLocalBinding":       b.says(superseded, whyLoopback),
		"allowMachLookup":         b.says(none, whyMac),
		"httpProxyPort":           b.says(none, whyOwnProxy),
		"socksProxyPort":          b.says(none, whyOwnProxy),
		"mitmProxy":               b.says(none, whyNoTLS),
		"tlsTerminate":            b.says(none, whyNoTLS),
		"filterRequest":           b.says(none, whyNoTLS),
		"parentProxy":             b.says(partly, "bawn takes the proxy of the environment, or [sandbox.proxy] upstream; a URL may hold a password and is not copied"),
	}
}

// hosts is a handler for a list of rules about hosts.
func (b *builder) hosts(key string) handler {
	return b.each(func(s string, n *node, path string) { b.host(key, s, path, n.line) })
}

func (b *builder) srtFiles() map[string]handler {
	return map[string]handler{
		"denyRead":   b.places("sandbox.hidden"),
		"denyWrite":  b.places("sandbox.protect"),
		"allowRead":  b.says(partly, whyReadable),
		"allowWrite": b.each(func(s string, n *node, path string) { b.folder(s, path, n.line) }),
		"allowGitConfig": b.flag(func(on bool, n *node, path string) {
			if on {
				b.set("sandbox.unprotect", ".git/config", path, n.line, "")
				return
			}
			b.remark(superseded, path, n.line, ".git/config is protected")
		}),
		"disabled": b.flag(func(on bool, n *node, path string) {
			if on {
				b.remark(none, path, n.line, whyNoFiles)
			}
		}),
	}
}

func (b *builder) places(key string) handler {
	return b.each(func(s string, n *node, path string) {
		if s == "" {
			b.remark(strange, path, n.line, "an empty path")
			return
		}
		b.place(key, s, path, n.line, "")
	})
}

func (b *builder) folder(s, from string, line int) {
	if s == "" {
		b.remark(strange, from, line, "an empty path")
		return
	}
	b.writable(s, from, line)
}

// credentials are files and variables that are denied or masked.
func (b *builder) credentials() handler {
	item := func(name, key string, place bool) handler {
		return func(n *node, path string) {
			if n.kind != list {
				b.wrong(n, path, list)
				return
			}
			for _, e := range n.list {
				v, mode := e.get(name), e.get("mode")
				if v == nil || v.kind != text || v.text == "" || mode == nil || mode.kind != text {
					b.remark(strange, path, e.line, "an entry needs "+name+" and mode")
					continue
				}
				why := ""
				if mode.text != "deny" {
					why = whyMasked
				}
				if place {
					b.place(key, v.text, path, v.line, why)
				} else {
					b.set(key, v.text, path, v.line, why)
				}
				for _, m := range e.members {
					if m.name != name && m.name != "mode" {
						b.remark(none, path+"."+m.name, m.line, whyMasked)
					}
				}
			}
		}
	}
	return b.table(map[string]handler{
		"files": item("path", "sandbox.hidden", true), "envVars": item("name", "sandbox.env_drop", false),
		"allowPlaintextInject": b.says(none, whyMasked), "aws": b.says(none, whyMasked), "sigv4": b.says(none, whyMasked), "awsCredentialPairs": b.says(none, whyMasked),
	})
}
