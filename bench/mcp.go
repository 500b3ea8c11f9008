//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
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
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer in.Close()
	// Not the SDK's client: reading a result is not the server's time.
	out, last := bufio.NewReaderSize(pipe, 4<<20), 0
	ask := func(method, params string, size int) error {
		last++
		if _, err := fmt.Fprintf(in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q,\"params\":%s}\n", last, method, params); err != nil {
			return err
		}
		line, err := out.ReadSlice('\n')
		if err != nil || len(line) < size || bytes.Contains(line[:min(len(line), 200)], []byte(`"error"`)) || bytes.Contains(line[max(0, len(line)-200):], []byte(`"isError"`)) {
			return fmt.Errorf("%s: %.300s, %v", method, line, err)
		}
		return nil
	}
	if err := ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`, 0); err != nil {
		return err
	}
	if _, err := io.WriteString(in, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"); err != nil {
		return err
	}
	call := func(name string, size int, args string) func() error {
		return func() error { return ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args), size) }
	}
	plain := &row{name: "the sandbox itself: true", call: func() error {
		return s.run("/bin/bash", "--noprofile", "--norc", "-c", "--", "true")
	}}
	bash := &row{name: "bash: true", call: call("bash", 0, `{"command":"true"}`)}
	read := &row{name: "read_file: 1 MB", call: call("read_file", 1<<20, `{"path":"big.txt"}`)}
	rows := []*row{
		plain, bash, read,
		{name: "write_file: 1 kB", call: call("write_file", 0, `{"path":"small.txt","content":"`+strings.Repeat("x", 1<<10)+`"}`)},
	}
	if err := measure(rows, runs); err != nil {
		return err
	}
	table("a call of bawn mcp in a warm server", rows, map[string]*row{})
	adds := bash.median() - plain.median()
	verdict(fmt.Sprintf("bash adds %s ms to the sandbox", ms(adds)), adds <= 3*time.Millisecond, "at most 3 ms")
	verdict(fmt.Sprintf("read_file of 1 MB takes %s ms", ms(read.median())), read.median() <= 5*time.Millisecond, "at most 5 ms")
	return nil
}
