//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcp measures calls of a warm server beside the same sandbox without it.
func (b *bench) mcp(runs int) error {
	home, ws, err := b.home()
	if err != nil {
		return err
	}
	env := environ(home, ws)
	line := strings.Repeat("x", 63) + "\n"
	if err := os.WriteFile(filepath.Join(ws, "big.txt"), []byte(strings.Repeat(line, 1<<20/len(line))), 0o644); err != nil {
		return err
	}
	s, err := newSession(env, ws)
	if err != nil {
		return err
	}
	defer s.keeper.Close()
	cmd := exec.Command(b.bawn, "mcp")
	cmd.Dir, cmd.Env, cmd.Stderr = ws, env, os.Stderr
	ctx := context.Background()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	defer cs.Close()
	call := func(name string, size int, args map[string]any) func() error {
		return func() error {
			res, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
			if err != nil {
				return err
			}
			text, ok := res.Content[0].(*sdk.TextContent)
			if res.IsError || !ok || len(text.Text) < size {
				return fmt.Errorf("%s: %+v", name, res)
			}
			return nil
		}
	}
	plain := &row{name: "the sandbox itself: true", call: func() error {
		return s.run("/bin/bash", "--noprofile", "--norc", "-c", "--", "true")
	}}
	bash := &row{name: "bash: true", call: call("bash", 0, map[string]any{"command": "true"})}
	read := &row{name: "read_file: 1 MB", call: call("read_file", 1<<20, map[string]any{"path": "big.txt"})}
	rows := []*row{
		plain, bash, read,
		{name: "write_file: 1 kB", call: call("write_file", 0, map[string]any{"path": "small.txt", "content": strings.Repeat("x", 1<<10)})},
	}
	if err := measure(rows, runs); err != nil {
		return err
	}
	table("a call of bawn mcp in a warm server", rows, map[string]*row{})
	fmt.Printf("  bash adds %s ms to the sandbox (target 3); read_file takes %s ms (target 5)\n", ms(bash.median()-plain.median()), ms(read.median()))
	return nil
}
