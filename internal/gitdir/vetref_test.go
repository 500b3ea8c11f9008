package gitdir

import (
	"strings"
	"testing"
)

// What passes is no text that git reads as a config with a setting.
func TestVetBranch(t *testing.T) {
	a, b := strings.Repeat("0123456789", 4), strings.Repeat("ab", 20)
	line := a + " " + b + " A <a@b> 1 +0000\tx\n"
	for text, ok := range map[string]bool{
		"": true, a + "\n": true, line: true, line + line: true, b + " " + a + " ": true,
		"\n": false, line + "[core]\n": false, line + "\n[core]\n": false, "[core]\n" + line: false, b + " = x y\n": false, b + "\n " + a + " x\n": false,
		a + "\n" + line: false, a + " " + b + "\n": false, line + "\tfsmonitor = x\n": false, " " + line: false, "\xef\xbb\xbf" + line: false,
	} {
		if err := VetBranch([]byte(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
		if entries, err := parseConfig([]byte(text)); ok && len(entries) > 0 && entries[0].Section != "" {
			t.Errorf("%q: git reads %v (%v)", text, entries, err)
		}
	}
}
