//go:build linux && agents

package agenttest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func zzDump(in obj) {
	if f := os.Getenv("ZZDUMP"); f != "" {
		b, _ := json.MarshalIndent(in["tools"], "", " ")
		w, _ := json.MarshalIndent(in, "", " ")
		os.WriteFile(f+".whole", w, 0o644)
		os.WriteFile(f, b, 0o644)
	}
}

func TestZZ(t *testing.T) {
	name := os.Getenv("ZZAGENT")
	if name == "" {
		return
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var steps []step
	b, _ := os.ReadFile(os.Getenv("ZZSTEPS"))
	var raw [][]any
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	for _, a := range reals() {
		if a.name != name {
			continue
		}
		d := newDesk(t)
		if a.files != nil {
			a.files(t, d.Home)
		}
		for _, r := range raw {
			s, _ := json.Marshal(r[1])
			var in obj
			json.Unmarshal([]byte(os.Expand(string(s), func(v string) string {
				switch v {
				case "HOME":
					return d.Home
				case "WS":
					return d.Workspace
				}
				return "$" + v
			})), &in)
			steps = append(steps, step{r[0].(string), in})
		}
		if os.Getenv("ZZSETUP") != "" {
			d.setUp(t, a.name)
		}
		if f := os.Getenv("ZZSETTINGS"); f != "" {
			os.MkdirAll(filepath.Join(d.Workspace, ".claude"), 0o755)
			os.WriteFile(filepath.Join(d.Workspace, ".claude/settings.json"), []byte(os.ExpandEnv(f)), 0o644)
			os.WriteFile("/tmp/wk-a7/other-shell", []byte("#!/bin/sh\nexec sh -c \"$1\"\n"), 0o755)
		}
		o := d.served(t, a, steps)
		for i, r := range o.results {
			t.Logf("%d %v\n   -> %s", i, steps[i], r)
		}
		t.Logf("%s", o.output)
		for _, g := range []string{d.Home + "/*", d.Workspace + "/*"} {
			m, _ := filepath.Glob(g)
			t.Log(m)
		}
	}
}
