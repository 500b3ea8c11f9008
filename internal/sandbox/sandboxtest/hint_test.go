//go:build linux

package sandboxtest

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"bawn/internal/tools/listen"
)

// C5: on a terminal, where bawn passes on what the command writes, a read of a
// hidden place is told as a denial; a file's own mode is none.
func TestC5_ErrorTextOnATerminal(t *testing.T) {
	EachLauncher(t, func(t *testing.T, launcher string) {
		for _, c := range []struct{ name, command, want string }{
			{"hidden", "cat ~/.ssh/id", `denied reading "HOME/.ssh/id" (by its error text): SSH keys are hidden from sandboxed commands`},
			{"its own mode", "cat $PWD/locked", ""},
			{"missing", "cat $PWD/nothing", ""},
			{"no failure", "cat ~/.ssh/id; true", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				b := New(t, launcher)
				Write(t, b.Home+"/.ssh/id", "x")
				Write(t, b.Workspace+"/locked", "x")
				if err := os.Chmod(b.Workspace+"/locked", 0); err != nil {
					t.Fatal(err)
				}
				s := openTTY(t)
				b.Env = append(b.Env, "TERM=xterm")
				s.start(t, b.command("sh", "-c", c.command))
				code := s.code(t)
				text := s.text()
				if want := strings.ReplaceAll(c.want, "HOME", b.Home); want != "" && !strings.Contains(text, want) || want == "" && strings.Contains(text, "denied reading") {
					t.Errorf("exit %d, want %q:\n%s", code, want, text)
				}
			})
		}
	})
}

// C5, N4: a service of the host's loopback that a command looked for on the
// sandbox's own is told with what lets it in, and that does; a port on which
// nobody listens is none of bawn's.
func TestC5_N4_LoopbackOfTheHostOnATerminal(t *testing.T) {
	EachLauncher(t, func(t *testing.T, launcher string) {
		service := listen.On(t, "127.0.0.1", func(c net.Conn) { c.Close() })
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		closed.Close()
		const told = "(by its error text)"
		run := func(addr string, flags ...string) (code int, text string) {
			b := New(t, launcher)
			b.Env, b.Flags = append(b.Env, "TERM=xterm"), append(b.Flags, flags...)
			s := openTTY(t)
			s.start(t, b.command("curl", "-sS", "http://"+addr+"/"))
			return s.code(t), s.text()
		}
		port := strconv.Itoa(int(service.Port()))
		if code, text := run(service.String()); code != 7 || !strings.Contains(text, "denied localhost:"+port+" "+told+": localhost is this machine's loopback; --allow-local-port "+port) {
			t.Errorf("exit %d:\n%s", code, text)
		}
		if code, text := run(service.String(), "--allow-local-port", port); code == 7 || strings.Contains(text, told) {
			t.Errorf("with the port allowed, exit %d:\n%s", code, text)
		}
		if code, text := run(closed.Addr().String()); code != 7 || strings.Contains(text, told) {
			t.Errorf("a closed port, exit %d:\n%s", code, text)
		}
	})
}
