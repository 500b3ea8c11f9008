//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// hook measures the answers to an agent's hook, as whole processes: an agent
// waits for one before each of its tools.
func (b *bench) hook(runs int) error {
	home, ws, err := b.home()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		return err
	}
	env := environ(home, ws)
	setup := exec.Command(b.bawn, "setup", "claude")
	setup.Dir, setup.Env = ws, env
	if out, err := setup.CombinedOutput(); err != nil {
		return fmt.Errorf("bawn setup claude: %w\n%s", err, out)
	}
	ask := func(tool string, input map[string]string) *row {
		event, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "session_id": "1", "cwd": ws, "tool_name": tool, "tool_input": input})
		return &row{name: tool, call: func() error {
			if err != nil {
				return err
			}
			cmd := exec.Command(b.bawn, "hook", "claude")
			cmd.Dir, cmd.Env, cmd.Stdin = ws, env, bytes.NewReader(event)
			return cmd.Run()
		}}
	}
	rows := []*row{
		ask("Read", map[string]string{"file_path": ws + "/a.go"}),
		ask("Write", map[string]string{"file_path": ws + "/a.go", "content": "package a\n"}),
		ask("Bash", map[string]string{"command": "go test ./..."}),
	}
	if err := measure(rows, runs); err != nil {
		return err
	}
	table("The answer of a hook (bawn hook claude)", rows, map[string]*row{})
	for _, r := range rows {
		verdict(fmt.Sprintf("a hook's answer to %s: %s ms", r.name, ms(r.median())), r.median() <= 5*time.Millisecond, "at most 5 ms")
	}
	return nil
}
