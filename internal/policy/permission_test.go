package policy

import "testing"

func TestParsePermissionMode(t *testing.T) {
	for m := AskMode; m <= BypassMode; m++ {
		if got, err := ParsePermissionMode(m.String()); got != m || err != nil {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if m, err := ParsePermissionMode("Auto"); err == nil || m != AskMode {
		t.Errorf("Auto: %v, %v", m, err)
	}
}
