//go:build unix

package screen

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"bawn/internal/tty"
)

// watcher is a shell that waits for this process to die, and then undoes what
// was done to the terminal: kill -9 leaves no time for that here. It reads
// what to write from a pipe, one line for each change, and does nothing after
// an empty one. Where there is no shell, there is no watcher.
type watcher struct {
	cmd  *exec.Cmd
	pipe int
	last string
}

// watchScript sets the modes of before, its arguments, only if they are still
// this process's own: a shell that goes on with the terminal has set its own
// already.
const watchScript = `exec 3>&1
own=$(stty -g <&3)
while IFS= read -r line; do undo=$line; done
[ -n "$undo" ] || exit
printf "$undo"
[ "$(stty -g <&3)" != "$own" ] || stty "$@" <&3`

// sttyModes are the arguments of stty for the modes that a raw terminal has
// otherwise (cfmakeraw). The named ones are the same for every stty; the form
// of stty -g is not.
func sttyModes(s *term.State) []string {
	var args []string
	flag := func(on bool, name string) {
		if !on {
			name = "-" + name
		}
		args = append(args, name)
	}
	flag(s.Iflag&unix.IGNBRK != 0, "ignbrk")
	flag(s.Iflag&unix.BRKINT != 0, "brkint")
	flag(s.Iflag&unix.PARMRK != 0, "parmrk")
	flag(s.Iflag&unix.ISTRIP != 0, "istrip")
	flag(s.Iflag&unix.INLCR != 0, "inlcr")
	flag(s.Iflag&unix.IGNCR != 0, "igncr")
	flag(s.Iflag&unix.ICRNL != 0, "icrnl")
	flag(s.Iflag&unix.IXON != 0, "ixon")
	flag(s.Oflag&unix.OPOST != 0, "opost")
	flag(s.Lflag&unix.ECHO != 0, "echo")
	flag(s.Lflag&unix.ECHONL != 0, "echonl")
	flag(s.Lflag&unix.ICANON != 0, "icanon")
	flag(s.Lflag&unix.ISIG != 0, "isig")
	flag(s.Lflag&unix.IEXTEN != 0, "iexten")
	flag(s.Cflag&unix.PARENB != 0, "parenb")
	for size, name := range map[uint64]string{unix.CS5: "cs5", unix.CS6: "cs6", unix.CS7: "cs7", unix.CS8: "cs8"} {
		if uint64(s.Cflag)&unix.CSIZE == size {
			args = append(args, name)
		}
	}
	return append(args, "min", strconv.Itoa(int(s.Cc[unix.VMIN])), "time", strconv.Itoa(int(s.Cc[unix.VTIME])))
}

// startWatcher starts one for a terminal that is raw now, and was as saved.
func startWatcher(terminal *os.File, saved *term.State) *watcher {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	pipe, err := unix.FcntlInt(w.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	w.Close()
	if err != nil {
		return nil
	}
	_ = unix.SetNonblock(pipe, true) // nothing waits for the shell
	cmd := exec.Command("/bin/sh", append([]string{"-c", watchScript, "sh"}, sttyModes(saved)...)...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin:/run/current-system/sw/bin"}
	cmd.Stdin, cmd.Stdout = r, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals of the terminal are not for it
	if cmd.Start() != nil {
		_ = unix.Close(pipe)
		return nil
	}
	return &watcher{cmd: cmd, pipe: pipe}
}

// undo says what is to be written if this process dies.
func (w *watcher) undo(seq string) {
	if w == nil || seq == w.last {
		return
	}
	w.last = seq
	var line strings.Builder
	for _, c := range []byte(seq) {
		fmt.Fprintf(&line, `\%03o`, c)
	}
	line.WriteByte('\n')
	_, _ = unix.Write(w.pipe, []byte(line.String()))
}

// close ends the watcher, which undoes nothing then.
func (w *watcher) close() {
	if w == nil {
		return
	}
	w.undo("")
	_ = unix.Close(w.pipe)
	_ = w.cmd.Wait()
}

// Undoing all that a Screen and a command can have done, without knowing what: on
// the main screen, and where the alternate one may be shown.
const (
	undoMain      = tty.UndoModes + tty.UndoMargins + "\x1b[J"
	undoAlternate = tty.UndoModes + "\x1b[?1049l" + undoMain
)

// report tells the watcher what there is to undo.
func (s *Screen) report() {
	if s.scan.told = true; s.o.Plain || s.closed {
		return
	}
	undo := undoMain
	if s.held || s.emu != nil {
		undo = undoAlternate
	}
	if s.scan.modes.style != nil {
		undo += tty.DefaultShape
	}
	if s.scan.titled {
		undo += tty.OldTitle
	}
	s.watch.undo(undo)
}
