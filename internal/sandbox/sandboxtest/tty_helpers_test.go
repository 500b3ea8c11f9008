//go:build linux

package sandboxtest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// onTTY starts a run on a terminal of its own.
func (b *Box) onTTY(t *testing.T, args ...string) *screen {
	t.Helper()
	s := openTTY(t)
	b.Env = append(b.Env, "TERM=xterm")
	b.Flags = append(b.Flags, "-q")
	s.start(t, b.command(args...))
	return s
}

// shellTTY starts an interactive shell outside the sandbox, with `bawn`.
func (b *Box) shellTTY(t *testing.T) *screen {
	t.Helper()
	s := openTTY(t)
	b.Flags = append(b.Flags, "-q")
	rc := b.Home + "/rc"
	// An alias and not a function: the job is then bawn alone.
	Write(t, rc, fmt.Sprintf("PS1='ready> '; unset HISTFILE; bind 'set enable-bracketed-paste off'\nalias bawn='%s run --launcher %s %s --'\n",
		Binary(), b.Launcher, strings.Join(b.Flags, " ")))
	cmd := exec.Command("bash", "--noprofile", "--rcfile", rc, "-i")
	cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "TERM=dumb")
	s.start(t, cmd)
	s.wait(t, "ready> ")
	return s
}
