//go:build linux

package staged_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"
)

// What a command makes between the judgement of a keep and its rename waits for
// that: a config beside a HEAD that comes at this moment is judged.
func TestKeepTakesTurns(t *testing.T) {
	t.Parallel()
	b := box(t)
	direct := *b
	direct.Flags = []string{"-q"}
	direct.Sh(t, "mkdir -p x/objects x/refs").OK(t)
	b.Sh(t, "echo ref: refs/heads/x >x/HEAD").OK(t)
	var cmd *exec.Cmd
	code, out := stopped(t, b, "judged", func() {
		cmd = direct.Command("sh", "-c", "echo ready; printf '[core]\\n\\tfsmonitor = /bin/evil\\n' >x/config")
		from, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(from).ReadString('\n'); line != "ready\n" {
			t.Fatal(line, err)
		}
		// It waits for its turn, or nothing keeps it.
		for end := time.Now().Add(sandboxtest.Limit); !exists(b.Workspace+"/x/config") && !waits(t); {
			if time.Now().After(end) {
				t.Fatal("the command neither waits nor goes on")
			}
		}
	})
	if code != 0 || !exists(b.Workspace+"/x/HEAD") {
		t.Errorf("the keep: exit %d\n%s", code, out)
	}
	err := cmd.Wait()
	if config, _ := os.ReadFile(b.Workspace + "/x/config"); err == nil || len(config) > 0 { // an empty one says nothing
		t.Errorf("settings that nobody judged: %v, %q", err, config)
	}
}

// waits reports whether somebody waits for an open file description lock that
// is taken for one byte (proc_locks(5)).
func waits(t *testing.T) bool {
	t.Helper()
	data, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "-> OFDLCK") {
			return true
		}
	}
	return false
}
