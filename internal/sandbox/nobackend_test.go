package sandbox

import (
	"errors"
	"strings"
	"testing"
)

// T10: where there is no backend the refusal says why, and the way out.
func TestT10_NoBackend(t *testing.T) {
	for goos, way := range map[string]string{"windows": "WSL2", "freebsd": "open tier"} {
		err := NoBackend(goos)
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(strings.ToLower(err.Error()), goos) || !strings.Contains(NoBackendHint(goos), way) {
			t.Errorf("%s: %v; %s", goos, err, NoBackendHint(goos))
		}
	}
}
