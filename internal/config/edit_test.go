package config

import (
	"testing"

	"bawn/internal/policy"
)

func TestSetTierKeepsTheRest(t *testing.T) {
	for _, tt := range []struct{ name, before, after string }{
		{"empty", "", "[sandbox]\ndefault_tier = \"airlock\"\n"},
		{"replaced", "# mine\n[sandbox]\ndefault_tier   =  'open'   # my choice\ntmp = \"host\"\n", "# mine\n[sandbox]\ndefault_tier   =  \"airlock\"   # my choice\ntmp = \"host\"\n"},
		{"first in its table", "[sandbox] # all\ntmp = \"host\"\n", "[sandbox] # all\ndefault_tier = \"airlock\"\ntmp = \"host\"\n"},
		{"no line after the header", "[sandbox]", "[sandbox]\ndefault_tier = \"airlock\"\n"},
		{"other table only", "[permissions]\nmode = \"ask\"", "[permissions]\nmode = \"ask\"\n\n[sandbox]\ndefault_tier = \"airlock\"\n"},
		{"table below only", "[sandbox.proxy]\nenabled = false\n", "[sandbox.proxy]\nenabled = false\n\n[sandbox]\ndefault_tier = \"airlock\"\n"},
		{"comment only", "# nothing yet\n", "# nothing yet\n\n[sandbox]\ndefault_tier = \"airlock\"\n"},
		{"carriage returns", "[sandbox]\r\ntmp = \"host\"\r\n", "[sandbox]\r\ndefault_tier = \"airlock\"\r\ntmp = \"host\"\r\n"},
		{"dotted", "sandbox.tmp = \"host\"\n", "sandbox.default_tier = \"airlock\"\nsandbox.tmp = \"host\"\n"},
		{"dotted, there", "sandbox.default_tier = \"open\"\n", "sandbox.default_tier = \"airlock\"\n"},
		{"inline", "sandbox = { tmp = \"host\" }\n", "sandbox = { default_tier = \"airlock\", tmp = \"host\" }\n"},
		{"inline, there", "sandbox = { tmp = \"host\", default_tier = \"open\" }\n", "sandbox = { tmp = \"host\", default_tier = \"airlock\" }\n"},
		{"inline, empty", "sandbox = {}\n", "sandbox = { default_tier = \"airlock\"}\n"},
		{"in a string", "[permissions]\ndeny = [\"\"\"[sandbox]\"\"\"]\n", ""},
	} {
		got, err := SetTier([]byte(tt.before), policy.Airlock, "f.toml")
		if tt.after == "" {
			if err == nil {
				t.Errorf("%s: taken: %q", tt.name, got)
			}
			continue
		}
		if err != nil || string(got) != tt.after {
			t.Errorf("%s: %v\ngot  %q\nwant %q", tt.name, err, got, tt.after)
		}
	}
}

// enabled is set the same way, in the user's own file.
func TestSetEnabled(t *testing.T) {
	for before, after := range map[string]string{
		"":                                      "[sandbox]\nenabled = true\n",
		"[sandbox]\nenabled = false # x\n":      "[sandbox]\nenabled = true # x\n",
		"[sandbox.proxy]\nenabled = false\n":    "[sandbox.proxy]\nenabled = false\n\n[sandbox]\nenabled = true\n",
		"[sandbox]\ndefault_tier = \"airlock\"": "[sandbox]\nenabled = true\ndefault_tier = \"airlock\"",
	} {
		if got, err := SetEnabled([]byte(before), true, "f.toml"); err != nil || string(got) != after {
			t.Errorf("%q: %q, %v", before, got, err)
		}
	}
	if _, err := SetEnabled([]byte("[sandbox]\nenabled = 1\n"), true, "f.toml"); err == nil {
		t.Error("a file that is not understood is changed")
	}
}
