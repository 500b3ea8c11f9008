//go:build linux

package sandboxtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// notYet lists what the attacks in this package's files cannot hold, or
// that needs a part of bawn that is not there yet. A row
// names the part that is tested already, and the test to write is the row's
// own: remove the row with it.
var notYet = []struct{ id, missing, tested string }{
	{"A64", "undo and snapshots", ""},
	{"A67", "names in other case made during the run on a disk without case, which this kernel cannot mount; macOS", "TestA67_CaseInsensitive"},
	{"A68", "read globs (secrets/*.env): need the config key hidden", "TestF4_ExistingCredentials"},
	{"A69", "a bind mount or second mount of the home's disk shows the home under another path; hard links to a key", "TestA69_OtherNamesForASecret"},
	{"A70", "none with mounts; sockets as standard streams are the caller's own choice", "TestA70_InheritedDescriptors"},
	{"A80", "the audit log and its descriptor", "TestA80_OwnState"},
	{"A88", "agent forwarding on request", "TestA88_SSHAgent"},
	{"A90", "the open tier, which has no boundary, reaches them: documented", "TestA90_AbstractSockets"},
	{"A103", "denied programs: the network part needs the egress", ""},
	{"A130", "env_keep, env_drop and the upstream proxy's password: need config and egress", "TestA130_A131_Environment"},
	{"A149", "a name hidden by a glob, moved in the workspace: needs the config key hidden", "TestF4_A149_CacheSecretNextRun"},
	{"F12", "sockets bound to a relative path, or after the run began, in a folder that stays visible: need the guard on connect", "TestF12_A85_HostSockets"},
	{"F4", "a linked ~/.config outside the home: names made in it during the run", "TestF4_LinkedCredentials"},
	{"F5", "tmp = \"host\" and one temp per session: need config and sessions", "TestF5_PrivateTemp"},
	{"F6", "allowed_paths, and the limits on file tools: need config", "TestF6_RefusedFolders"},
	{"T1", "Alt+S, saved tiers, untrusted folders: need the session", "TestT1_T7_WhatIsWritable"},
}

// Every test that a row names is there, so that a row cannot claim more.
func TestNotYetNamesRealTests(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), "attack_") {
			continue
		}
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(data), -1) {
			have[m[1]] = true
		}
	}
	for _, r := range notYet {
		if r.id == "" || r.missing == "" || r.tested != "" && !have[r.tested] {
			t.Errorf("row %+v", r)
		}
	}
}
