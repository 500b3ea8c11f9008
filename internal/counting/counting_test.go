package counting

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 hosts": Count(0, "host"), "1 host": Count(1, "host"), "2 hosts": Count(2, "host"),
		"0 entries": Count(0, "entry", "entries"), "1 entry": Count(1, "entry", "entries"), "3 entries": Count(3, "entry", "entries"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
