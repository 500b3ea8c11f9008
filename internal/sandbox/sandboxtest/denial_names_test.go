//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"
)

// A denial names the program whole, though the kernel keeps 15 letters of it;
// a short name as it is; and what a program calls itself cannot speak for bawn.
func TestC5_WholeNamesInDenials(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		script := "#!/bin/sh\n(echo x >.codex) 2>/dev/null\nexit 3\n"
		for _, name := range []string{"a-tool-with-a-long-name", "short"} {
			if err := os.WriteFile(b.Workspace+"/"+name, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			r := b.Run(t, "./"+name)
			if !strings.Contains(r.Stderr, `/.codex" to `+name+": ") {
				t.Errorf("%s: %s", name, r.Stderr)
			}
		}
		evil := "a-program-of-15\x1b[2J\nbawn: fine"
		if err := os.WriteFile(b.Workspace+"/"+evil, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		r := b.Run(t, "./"+evil)
		if strings.Contains(r.Stderr, "\x1b") || strings.Contains(r.Stderr, "\nbawn: fine") || !strings.Contains(r.Stderr, `.codex" to a-program-of-15`) {
			t.Errorf("%q", r.Stderr)
		}
		// And of who asked for a host.
		if err := os.WriteFile(b.Workspace+"/a-client-with-a-long-name", []byte("#!/usr/bin/python3\nimport urllib.request\nurllib.request.urlopen('http://denied.test/')\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		r = b.Run(t, "./a-client-with-a-long-name")
		if !strings.Contains(r.Stderr, "denied denied.test:80 to a-client-with-a-long-name: ") {
			t.Errorf("%s", r.Stderr)
		}
	})
}
