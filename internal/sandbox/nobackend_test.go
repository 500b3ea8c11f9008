package sandbox

import (
	"errors"
	"strings"
	"testing"
)

// T10: where there is no backend the refusal says why, and the way out.
func TestT10_NoBackend(t *testing.T) {
	for goos, want := range map[string][2]string{
		"windows": {"windows: Windows has no boundary that bawn can use", "run bawn inside WSL2, or use --tier open (no sandbox)"},
		"freebsd": {"freebsd: there is no backend for this system", "use --tier open (no sandbox), or run bawn on Linux"},
	} {
		err := NoBackend(goos)
		if err.Error() != want[0] || NoBackendHint(goos) != want[1] {
			t.Errorf("%s: %v; %s", goos, err, NoBackendHint(goos))
		}
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(strings.ToLower(err.Error()), goos) {
			t.Errorf("%s: %v; %s", goos, err, NoBackendHint(goos))
		}
	}
}
