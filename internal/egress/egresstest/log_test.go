//go:build linux

package egresstest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Connections are in the log: who was allowed by which rule, with the bytes,
// and who was denied; names that were only asked for too.
func TestC5_ConnectionsAreRecorded(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.settings(t, "[sandbox]\nallowed_domains = ['allowed.test']\n")
		if !b.reaches(t, "allowed.test") || b.reaches(t, "evil.test") {
			t.Fatal("the twins")
		}
		data, err := os.ReadFile(b.State + "/bawn/log/000001.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		type record struct {
			Kind, Verdict, Action, Target, Command, Addr string
			Inside, Down                                 int
			Rule                                         struct {
				ID, File string
				Line     int
			}
		}
		var allowed, ended, denied, tree int
		for line := range strings.Lines(string(data)) {
			var r record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			switch {
			case r.Kind == "process" && r.Command == "curl":
				tree++
			case r.Kind == "connection" && r.Target == "allowed.test:18080" && r.Down > 0 && strings.HasSuffix(r.Addr, ":18080"):
				ended++
			case r.Action != "connect" || r.Kind != "decision":
			case r.Verdict == "allow" && r.Target == "allowed.test:18080" && r.Command == "curl" && r.Inside > 1 && r.Rule.Line == 2 && r.Rule.File == b.Home+"/.config/bawn/config.toml":
				allowed++
			case r.Verdict == "deny" && r.Target == "evil.test:18080" && r.Command == "curl":
				denied++
			}
		}
		if allowed != 1 || ended != 1 || denied != 1 || tree != 2 {
			t.Errorf("%s: %d allowed, %d ended, %d denied, %d processes in\n%s", l, allowed, ended, denied, tree, data)
		}
	}
}
