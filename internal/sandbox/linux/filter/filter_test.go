//go:build linux

package filter

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"bawn/internal/sandbox/linux/filter/internal/cbpf"
	"bawn/internal/sandbox/linux/filter/internal/rules"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		childMain(mode)
	}
	os.Exit(m.Run())
}

// A table edited without go generate would ship the old filter.
func TestBlobsAreCurrent(t *testing.T) {
	for _, f := range rules.Filters() {
		for _, a := range rules.Arches {
			name := f.Name + "_" + a.Name + ".bpf"
			blob, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
				continue
			}
			prog, err := rules.Compile(f, a)
			if err != nil {
				t.Error(err)
				continue
			}
			if !bytes.Equal(blob, cbpf.Encode(prog)) {
				t.Errorf("%s is stale: run go generate in this folder", name)
			}
			committed, err := cbpf.Decode(blob)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if err := cbpf.Check(committed); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if a.Name == runtime.GOARCH {
				if got := map[string]string{"base": Base(), "noinet": NoInet(), "guard": Guard(), "guardremovals": GuardRemovals()}[f.Name]; got != string(blob) {
					t.Errorf("%s is not what the package returns on %s", name, a.Name)
				}
			}
		}
	}
}
