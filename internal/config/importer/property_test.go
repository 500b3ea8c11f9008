package importer

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	somePaths = []string{".", "/", "~", "~/x", "/srv/a", "/srv/a/**", "//srv/b", "./x", "x/y", "**", "**/*.pem", "../z", "/tmp", "/tmp/a", "/home", "/home/u", "/home/u/k", "$HOME/x", "", "a\u202eb", "/dev/kvm", ":tmpdir", ":root"}
	someHosts = []string{"a.example", "*.a.example", "**.a.example", "github.com", "api.github.com", "*.github.com:443", "a.example:443", "*", "*:80", "localhost", "localhost:80", "127.0.0.1", "127.0.0.1:80", "10.0.0.1", "com", "*.io", "com!", "http://a.example/", "ü.example", "", "[::1]:80", "203.0.113.7"}
	someCmds  = []string{"make *", "make deploy", "npm run x:*", "ls*", "*", "", "rm -rf /", "a && b", "$(x)", "'q w' e", "dd if=", "sudo", "docker:*", "/bin/sh -c *"}
	someRules = func() []string {
		out := []string{"Bash", "Read", "Bash(", "mcp__a", "WebFetch", "Agent(x)"}
		for _, c := range someCmds {
			out = append(out, "Bash("+c+")")
		}
		for _, p := range somePaths {
			out = append(out, "Read("+p+")", "Edit("+p+")", "Write("+p+")")
		}
		for _, h := range someHosts {
			out = append(out, "WebFetch(domain:"+h+")")
		}
		return out
	}()
	someNames = []string{"A_TOKEN", "*_SECRET", "*", "X", "a b", "B_SECRET"}
	someModes = []string{"default", "acceptEdits", "plan", "bypassPermissions", "auto", "dontAsk", "deny", "mask", "read", "write", "none", "allow", "read-only", "workspace-write", "danger-full-access", ":workspace", ":danger-full-access", ":read-only", "p", "never", "on-request", "untrusted", "limited", "full", "proxy", "code", "core"}
)

// shapes are the settings of the tools: a table, or what a value is drawn from.
var shapes = func() map[string]map[string]any {
	files := map[string]any{"denyRead": somePaths, "denyWrite": somePaths, "allowRead": somePaths, "allowWrite": somePaths, "allowGitConfig": true, "disabled": true}
	net := map[string]any{"allowedDomains": someHosts, "deniedDomains": someHosts, "strictAllowlist": true, "allowLocalBinding": true, "httpProxyPort": 1, "allowUnixSockets": somePaths, "allowLocalOutbound": true, "allowLocalOutboundPorts": []int{0, 80, 5432, 70000, -1}}
	cred := map[string]any{"files": []map[string]any{{"path": "~/k", "mode": "deny"}, {"path": "/", "mode": "mask"}, {}}, "envVars": []map[string]any{{"name": "*", "mode": "deny"}, {"name": "A_TOKEN", "mode": "mask", "extract": "x"}}}
	profile := map[string]any{
		"filesystem": map[string]any{":workspace_roots": map[string]any{".": "?", ".git": "?", "**/*.env": "?", "../x": "?"}, "~/x": "?", "/srv/a": "?", ":root": "?", ":tmpdir": "?", "~": "?"},
		"network":    map[string]any{"enabled": true, "domains": map[string]any{"a.example": "?", "*": "?", "**.github.com": "?", "localhost:80": "?"}, "mode": "?"},
		"extends":    "?", "workspace_roots": map[string]any{"~/x": true, "/srv/a": true},
	}
	return map[string]map[string]any{
		"claude": {
			"permissions": map[string]any{"allow": someRules, "ask": someRules, "deny": someRules, "additionalDirectories": somePaths, "defaultMode": "?"},
			"sandbox":     map[string]any{"enabled": true, "autoAllowBashIfSandboxed": true, "excludedCommands": someCmds, "network": net, "filesystem": files, "credentials": cred, "allowUnsandboxedCommands": true},
		},
		"srt":   {"network": net, "filesystem": files, "credentials": cred},
		"fence": {"network": net, "filesystem": files, "command": map[string]any{"deny": someCmds, "allow": someCmds}, "extends": "?", "ssh": map[string]any{"deniedHosts": someHosts}},
		"codex": {
			"sandbox_mode": "?", "approval_policy": "?", "default_permissions": "?", "permissions": map[string]any{"p": profile, "core": profile},
			"sandbox_workspace_write":  map[string]any{"writable_roots": somePaths, "network_access": true},
			"shell_environment_policy": map[string]any{"exclude": someNames, "inherit": "?"},
		},
	}
}()

// draw makes a value of a shape; sometimes one of another type, and sometimes
// with members that nobody knows.
func draw(t *rapid.T, shape any, names *[]string) any {
	if rapid.IntRange(0, 30).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]any{nil, true, 7, "text", []any{}, map[string]any{}}).Draw(t, "other")
	}
	pick := func(list []string) any { return rapid.SampledFrom(list).Draw(t, "text") }
	switch s := shape.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range s {
			if rapid.IntRange(0, 2).Draw(t, "has "+k) > 0 {
				out[k] = draw(t, v, names)
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "unknown") == 0 {
			name := "zz" + strconv.Itoa(len(*names))
			*names = append(*names, name)
			out[name] = rapid.SampledFrom([]any{true, "x", []any{"y"}}).Draw(t, "unknown value")
		}
		return out
	case []string:
		var out []any
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			out = append(out, pick(s))
		}
		return out
	case []int:
		return []any{rapid.SampledFrom(s).Draw(t, "number")}
	case []map[string]any:
		return []any{rapid.SampledFrom(s).Draw(t, "object")}
	case bool:
		return rapid.Bool().Draw(t, "switch")
	case string:
		return pick(someModes)
	}
	return shape
}

// asTOML writes a drawn document.
func asTOML(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for k, e := range v {
			parts = append(parts, tomlString(k)+" = "+asTOML(e))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, asTOML(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return tomlString(v)
	case nil:
		return "0"
	}
	return fmt.Sprint(v)
}

// Whatever a tool's settings say, nothing is opened without a mark, and no
// key is passed over.
func TestNothingUnmarked(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				var unknown []string
				doc, ok := draw(rt, any(shape), &unknown).(map[string]any)
				if !ok {
					return
				}
				var data string
				if name == "codex" {
					for k, v := range doc {
						data += k + " = " + asTOML(v) + "\n"
					}
				} else {
					raw, err := json.Marshal(doc)
					if err != nil {
						rt.Fatal(err)
					}
					data = string(raw)
				}
				checkMarks(rt, name, data)
				got := imported(rt, name, data, false).Text
				for _, u := range unknown {
					// What stands in a table that is replaced by a remark of its own is
					// named by that.
					if name != "codex" && !strings.Contains(got, u) {
						rt.Fatalf("%s is not mentioned\n%s\n%s", u, data, got)
					}
				}
			})
		})
	}
}

func FuzzImport(f *testing.F) {
	for name, shape := range shapes {
		doc := rapid.Custom(func(t *rapid.T) string {
			var names []string
			v := draw(t, any(shape), &names)
			if name == "codex" {
				out := ""
				m, _ := v.(map[string]any)
				for k, e := range m {
					out += k + " = " + asTOML(e) + "\n"
				}
				return out
			}
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		})
		for seed := range 10 {
			f.Add(name, []byte(doc.Example(seed)))
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		x, err := Find(name)
		if err != nil {
			return
		}
		if _, err := Import(x, data, Options{Home: home, UserFile: true}); err != nil {
			if strings.Contains(err.Error(), "without a mark") || strings.Contains(err.Error(), "narrow profile") {
				t.Fatal(err)
			}
			return
		}
		if _, err := Import(x, data, Options{Home: home, IncludeWidening: true}); err != nil {
			t.Fatalf("only with what widens: %v", err)
		}
		checkMarks(t, name, string(data))
	})
}

// value is a node as encoding/json has it.
func value(n *node) any {
	switch n.kind {
	case object:
		out := map[string]any{}
		for _, m := range n.members {
			out[m.name] = value(m.node)
		}
		return out
	case list:
		out := []any{}
		for _, e := range n.list {
			out = append(out, value(e))
		}
		return out
	case boolean:
		return n.text == "true"
	case number:
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil && !math.IsInf(f, 0) {
			panic(err)
		}
		return f
	case null:
		return nil
	}
	return n.text
}

// What is read as plain JSON, encoding/json reads the same; and what it reads,
// unless a key stands twice or some other bound is met.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-0.5e+3,true,null,"\u00e9\ud83d\ude00\n"]}`, `[1,]`, `{"a":1,"a":2}`, "{\"a\":\"\t\"}", `01`, `1.`, `-`, `"\ud800"`, "\ufeff{}", `{"a" :  {"b":[[]]}} `, `1e999`, "\"\u2028\"", `"\/"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := parseJSON(data)
		var want any
		theirs := json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &want)
		switch {
		case err == nil && theirs != nil:
			if strings.Contains(theirs.Error(), "1e") || strings.Contains(theirs.Error(), "number") {
				return // a number too large for a float
			}
			t.Fatalf("read, but %v", theirs)
		case err == nil:
			if got := value(n); !reflect.DeepEqual(got, want) {
				t.Fatalf("%#v, want %#v", got, want)
			}
		case theirs == nil:
			for _, why := range []string{"a second time", "control character", "UTF-8", "surrogate", "nested deeper"} {
				if strings.Contains(err.Error(), why) {
					return
				}
			}
			t.Fatalf("%v, but it is JSON", err)
		}
	})
}
