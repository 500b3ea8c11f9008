package egress

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// A build with a C library resolves as one without, which releases are, even if
// the environment wants it otherwise.
func TestN6_EveryBuildResolvesAlike(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // there the system is asked in every build
	}
	const child = "BAWN_TEST_RESOLVER"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1", "GODEBUG=netdns=cgo") // read once, at the first look-up
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	asked := false
	r := net.Resolver{PreferGo: resolver.PreferGo, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked = true // only Go's own calls it; nothing leaves
		return nil, errors.New("no server")
	}}
	if _, err := r.LookupNetIP(t.Context(), "ip", "name.invalid."); err == nil || !asked {
		t.Errorf("%v, asked by itself: %v", err, asked)
	}
}
