//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// One mebibyte of arbitrary bytes passes through each stream unchanged (B112).
func TestB112_ByteExact(t *testing.T) {
	data := make([]byte, 1<<20)
	rng := rand.NewChaCha8([32]byte{7})
	_, _ = rng.Read(data)
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Workspace+"/err", string(data))
		ctx, cancel := context.WithTimeout(t.Context(), Limit)
		defer cancel()
		var out, errb bytes.Buffer
		cmd := b.command("sh", "-c", "cat; cat err >&2")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), &out, &errb
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		defer stop()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), data) {
			t.Errorf("standard output: %d bytes, or other ones", out.Len())
		}
		if !bytes.Equal(errb.Bytes(), data) {
			t.Errorf("standard error: %d bytes, or other ones", errb.Len())
		}
		if r := b.Run(t, "printf", "abc").OK(t); r.Stdout != "abc" || r.Stderr != "" {
			t.Errorf("no final newline: %q, %q", r.Stdout, r.Stderr)
		}
		if r := b.hostShell(t, "bawn sh -c 'echo out; echo err >&2' >both 2>&1; cat both").OK(t); r.Stdout != "out\nerr\n" {
			t.Errorf("one file for both: %q", r.Stdout)
		}
		// Offsets and append mode belong to the shared description.
		if r := b.hostShell(t, "echo one >log; bawn echo two >>log; (read x; bawn cat) <log; cat log").OK(t); r.Stdout != "two\none\ntwo\n" {
			t.Errorf("shared offsets: %q", r.Stdout)
		}
	})
}

// A descriptor of 0 to 2 that is missing at the start must neither crash bawn
// nor be filled with another file.
func TestClosedStreams(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		const look = `for n in 0 1 2; do test -e /proc/self/fd/$n && readlink /proc/self/fd/$n; done >links; ls /proc/self/fd | wc -l >count; exit 5`
		for _, redirect := range []string{"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"} {
			r := b.hostShell(t, fmt.Sprintf("bawn sh -c '%s' %s; echo $? >code; cat code links", look, redirect))
			lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
			if lines[0] != "5" {
				t.Errorf("%s: exit %q, stderr %q", redirect, lines[0], r.Stderr)
				continue
			}
			for _, link := range lines[1:] {
				if link != "/dev/null" && !strings.HasPrefix(link, "pipe:") && !strings.HasSuffix(link, "/links") {
					t.Errorf("%s: a stream is %q", redirect, link)
				}
			}
		}
		// The twin: with all three, they are the caller's own.
		r := b.hostShell(t, "bawn readlink /proc/self/fd/0 </etc/passwd; bawn sh -c 'readlink /proc/self/fd/2 2>log'").OK(t)
		if want := "/etc/passwd\n" + b.Workspace + "/log\n"; r.Stdout != want {
			t.Errorf("open streams: %q, want %q", r.Stdout, want)
		}
		if r := b.hostShell(t, "bawn cat <&-; bawn sh -c 'echo err >&2' >&-"); r.Stderr != "err\n" || r.Stdout != "" {
			t.Errorf("stdout %q, stderr %q", r.Stdout, r.Stderr)
		}
	})
}

// Write errors and broken pipes are the command's, as outside.
func TestOutputErrors(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, text := range []string{
			"%s sh -c 'echo x; echo $? >&2' >/dev/full",
			"%s yes | head -1; echo ${PIPESTATUS[0]}",
			"%s sh -c 'yes; echo $? >&2' | head -1",
			"seq 100000 | %s head -1; echo ${PIPESTATUS[@]}",
			"%s grep SigBlk /proc/self/status",
		} {
			outside := b.hostShell(t, fmt.Sprintf(text, "env"))
			inside := b.hostShell(t, fmt.Sprintf(text, "bawn"))
			if inside != outside {
				t.Errorf("%s\ninside  %+v\noutside %+v", text, inside, outside)
			}
		}
	})
}

// A reader sees the end when the command closes its output, and a writer when
// it closes its input, though the command goes on.
func TestEarlyEnd(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		r := begin(t, b.command("sh", "-c", "echo first; exec >&-; read x; echo \"$x\" >answer"))
		r.expect(t, "first")
		r.eof(t)
		fmt.Fprintln(r.in, "still here")
		if c := r.code(t); c != 0 {
			t.Errorf("exit %d, stderr %s", c, r.errs)
		}
		if data, _ := os.ReadFile(b.Workspace + "/answer"); string(data) != "still here\n" {
			t.Errorf("answer %q", data)
		}

		r = begin(t, b.command("sh", "-c", "exec <&-; echo closed; until test -e go; do sleep 0.01; done; echo end"))
		r.expect(t, "closed")
		until(t, "a broken pipe", func() bool { _, err := r.in.Write([]byte("x")); return err != nil })
		Write(t, b.Workspace+"/go", "")
		r.expect(t, "end")
		if c := r.code(t); c != 0 {
			t.Errorf("exit %d, stderr %s", c, r.errs)
		}

		r = begin(t, b.command("sh", "-c", "read x; echo \"got $x\"; read y || echo end"))
		fmt.Fprintln(r.in, "a")
		r.expect(t, "got a")
		r.in.Close()
		r.expect(t, "end")
		r.eof(t)
	})
}

// What a command leaves running ends with it, and holds up nobody (B108).
func TestB108_BackgroundChild(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b, mark := New(t, l), sleepMarker()
		start := time.Now()
		r := b.hostShell(t, "bawn sh -c 'sleep "+mark+" & echo done' | cat").OK(t)
		if r.Stdout != "done\n" || time.Since(start) > patience {
			t.Errorf("stdout %q after %v", r.Stdout, time.Since(start))
		}
		if left := processes(mark); len(left) != 0 {
			t.Errorf("left running: %v", left)
		}
	})
}

// The flags of a stream are another process's too: they stay.
func TestNonblockingStream(t *testing.T) {
	const flags = `import fcntl,os,sys; fcntl.fcntl(0,fcntl.F_SETFL,os.O_NONBLOCK|fcntl.fcntl(0,fcntl.F_GETFL)); os.execvp(sys.argv[1],sys.argv[1:])`
	const show = `import fcntl,os; print(bool(fcntl.fcntl(0,fcntl.F_GETFL)&os.O_NONBLOCK))`
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Workspace+"/show.py", show)
		for _, set := range []bool{true, false} {
			cmd := b.command("python3", "show.py")
			if set {
				cmd = exec.Command("python3", append([]string{"-c", flags, cmd.Path}, cmd.Args[1:]...)...)
				cmd.Dir, cmd.Env = b.Workspace, b.Environ()
			}
			r := begin(t, cmd)
			if set {
				r.expect(t, "True")
			} else {
				r.expect(t, "False")
			}
		}
	})
}
