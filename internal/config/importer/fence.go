package importer

import (
	"strconv"
	"strings"
)

// fence reads the settings of fence, by the schema in its repository.
func (b *builder) fence(root *node) {
	extends := false
	network, files := b.srtNetwork(), b.srtFiles()
	for _, name := range [...]string{"deniedDomainReasons", "deniedResolvedAddresses", "strictAllowlist", "allowMachLookup", "mitmProxy", "tlsTerminate", "filterRequest", "parentProxy"} {
		delete(network, name)
	}
	delete(files, "disabled")
	network["allowLocalOutbound"] = b.says(partly, "bawn lets in single ports of the host's loopback: allowed_local_ports")
	network["allowLocalOutboundPorts"] = b.eachOf(number, func(s string, n *node, path string) { b.set("sandbox.allowed_local_ports", s, path, n.line, "") })
	network["upstreamProxy"] = b.says(none, "bawn has no proxy for unlisted hosts alone: it asks about them or denies them")
	network["defaultAction"] = b.word(func(s string, n *node, path string) {
		if s == "deny" {
			b.remark(partly, path, n.line, "an unlisted host is asked about in a session; with --no-prompt it is denied")
			return
		}
		b.remark(none, path+" "+quote(s), n.line, "bawn has no proxy for unlisted hosts alone: it asks about them or denies them")
	})
	whyList := "bawn has no list of what may be read: everything but credentials is"
	files["defaultDenyRead"] = b.says(lost, whyList)
	files["strictDenyRead"] = b.says(lost, whyList)
	files["allowExecute"] = b.says(superseded, "everything but credentials is readable and can be run")
	files["wslInterop"] = b.says(none, "bawn starts no programs of Windows")
	whySSH := "bawn decides by host and port, not by what is said over the connection"
	b.object(root, "", map[string]handler{
		"$schema": b.ignore,
		"extends": b.word(func(s string, n *node, path string) {
			extends = true
			b.remark(none, path+" "+quote(s), n.line, "it is not followed; 'fence config show' prints everything as one file, which --from takes")
		}),
		"network": b.table(network), "filesystem": b.table(files),
		"command": b.table(map[string]handler{
			"deny":                                b.each(b.fenceDeny),
			"allow":                               b.says(none, "of bawn's rules for a command the strictest holds: an exception to a deny is written as a narrower deny"),
			"useDefaults":                         b.says(lost, "its built-in list of commands does not stand in the file"),
			"runtimeExecPolicy":                   b.says(none, "rules for commands are about what the agent runs, not about what a command starts"),
			"acceptSharedBinaryCannotRuntimeDeny": b.says(none, "rules for commands are about what the agent runs, not about what a command starts"),
		}),
		"devices": b.says(none, "commands have the usual devices and no others"),
		"ssh":     b.table(map[string]handler{"allowedHosts": b.says(none, whySSH), "deniedHosts": b.hosts("sandbox.denied_domains"), "allowedCommands": b.says(none, whySSH), "deniedCommands": b.says(lost, whySSH), "allowAllCommands": b.says(none, whySSH), "inheritDeny": b.says(none, whySSH)}),
		"macos":   b.says(none, whyMac), "allowPty": b.says(superseded, whyPty), "forceNewSession": b.says(superseded, whyPty),
	})
	if !extends {
		b.set("sandbox.default_domains", "false", "only what network.allowedDomains names", 0, "")
	}
}

// fenceDeny takes a rule: the first words of a command.
func (b *builder) fenceDeny(s string, n *node, path string) {
	for w := range strings.FieldsSeq(s) {
		if strings.HasSuffix(w, "=") {
			b.remark(lost, path+" "+quote(s), n.line, strconv.Quote(w)+" means any later word that begins so; bawn's patterns are whole words")
			return
		}
	}
	b.setAs("permissions.deny", strings.TrimRight(s, " ")+" *", s, path, n.line, "")
}
