package config

import (
	"testing"

	"bawn/internal/policy"
)

// What no layer names is bound by the managed requirements as settings are;
// and a project may switch presets off, never on.
func TestRequirementsBoundPresets(t *testing.T) {
	w := newWorld(t)
	hosts := []policy.HostRule{}
	for _, s := range []string{"a.corp.example", "api.example"} {
		h, err := policy.ParseHostRule(s, policy.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, h)
	}
	names := []string{"A_KEY", "B_KEY"}
	if h, e := w.load().Required(hosts, names); len(h) != 2 || len(e) != 2 {
		t.Errorf("without requirements %v, %v", h, e)
	}
	w.write(w.managed+"/requirements.toml", "[sandbox]\nallowed_domains = [\"corp.example\"]\nenv_keep = [\"B_KEY\"]\n")
	if h, e := w.load().Required(hosts, names); len(h) != 1 || h[0].String() != "a.corp.example" || len(e) != 1 || e[0] != "B_KEY" {
		t.Errorf("%v, %v", h, e)
	}
	if len(hosts) != 2 || hosts[1].String() != "api.example" || names[0] != "A_KEY" {
		t.Error("the caller's lists were changed")
	}
	if !w.load().Presets() {
		t.Error("off by themselves")
	}
	w.write(w.userFile(), "[sandbox]\npresets = false\n")
	w.write(w.projectFile(), "[sandbox]\npresets = true\n")
	if w.load().Presets() {
		t.Error("a project switches them on")
	}
	w.write(w.userFile(), "")
	w.write(w.projectFile(), "[sandbox]\npresets = false\n")
	if w.load().Presets() {
		t.Error("a project cannot switch them off")
	}
}
