//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/tui/screen"
	"bawn/internal/tools/tempdir"
)

// screenRows measures the session's screen: how fast plain output passes
// through it, how long a key takes while output floods, and what it costs
// when nothing happens.
func screenRows() error {
	dir, remove, err := tempdir.Folder("")
	if err != nil {
		return err
	}
	defer remove()
	file := filepath.Join(dir, "text")
	var text bytes.Buffer
	for i := 0; text.Len() < 64<<20; i++ {
		fmt.Fprintf(&text, "%8d \x1b[32mok\x1b[m   bawn/internal/something/or/other  0.%03ds  — a line of a build\n", i, i%1000)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return err
	}
	size := float64(text.Len()) / 1e6
	rows := []struct {
		name string
		run  func(tty *os.File) error
		got  []float64
	}{
		{name: "bare relay", run: func(tty *os.File) error { return relayed(tty, "cat", file) }},
		{name: "screen", run: func(tty *os.File) error { return screened(tty, "cat", file) }},
		{name: "script", run: func(tty *os.File) error {
			cmd := exec.Command("script", "-qc", "cat "+file, os.DevNull)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			return cmd.Run()
		}},
	}
	for i := range 6 {
		for j := range rows {
			r := &rows[j]
			if r.name == "script" {
				if _, err := exec.LookPath("script"); err != nil {
					continue
				}
			}
			t, err := newTerminal()
			if err != nil {
				return err
			}
			go io.Copy(io.Discard, t.master)
			begin := time.Now()
			err = r.run(t.slave)
			took := time.Since(begin).Seconds()
			t.close()
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if i > 0 {
				r.got = append(r.got, size/took)
			}
		}
	}
	fmt.Printf("\nscreen: %.0f MB of coloured text (median and best of 5)\n", size)
	base := median(rows[0].got)
	for _, r := range rows {
		if len(r.got) > 0 {
			fmt.Printf("  %-12s %6.0f MB/s  %6.0f MB/s  %.2f x bare relay\n", r.name, median(r.got), slices.Max(r.got), median(r.got)/base)
		}
	}
	for _, row := range []struct{ name, flood, answer string }{
		{"main screen", `yes 'some line of output'`, `\nkey%d.\n`},
		{"alternate screen", `while :; do printf '\033[5;1Hsome line of output %s' $RANDOM; done`, `\033[8;1Hkey%d.`},
	} {
		script := "stty -echo -icanon; " + row.flood + ` & n=0; while IFS= read -rn1 k; do n=$((n+1)); printf '` + row.answer + `' $n; done`
		if row.name != "main screen" {
			script = `printf '\033[?1049h'; ` + script
		}
		for _, bare := range []bool{false, true} {
			if err := keyLatency(row.name, script, bare); err != nil {
				return err
			}
		}
	}
	return idleScreen()
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// terminal is a pty that stands for the user's.
type terminal struct{ master, slave *os.File }

func newTerminal() (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	}
	if err != nil {
		master.Close()
		return nil, err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		master.Close()
		return nil, err
	}
	return &terminal{master, slave}, nil
}

func (t *terminal) close() {
	t.slave.Close()
	t.master.Close()
}

// command starts args in a terminal of its own.
func command(args ...string) (*exec.Cmd, *os.File, error) {
	t, err := newTerminal()
	if err != nil {
		return nil, nil, err
	}
	cmd, err := t.start(args...)
	t.slave.Close()
	return cmd, t.master, err
}

// relayed is the least that a program between two terminals can do.
func relayed(tty *os.File, args ...string) error {
	s, err := screen.Open(tty, screen.Options{Plain: true}) // for the raw modes alone
	if err != nil {
		return err
	}
	defer s.Close()
	cmd, master, err := command(args...)
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := master.Read(buf)
		if err != nil {
			break
		}
		if _, err := tty.Write(buf[:n]); err != nil {
			return err
		}
	}
	master.Close()
	return cmd.Wait()
}

func screened(tty *os.File, args ...string) error {
	s, err := screen.Open(tty, screen.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	s.SetFooter([]string{"guarded · 0 denied"}, nil)
	cmd, master, err := attached(s, args...)
	if err != nil {
		return err
	}
	err = cmd.Wait()
	s.Drain(1)
	master.Close()
	return err
}

// attached starts a command on the screen. Its terminal is attached first, or
// what it writes at once would have no margins.
func attached(s *screen.Screen, args ...string) (*exec.Cmd, *os.File, error) {
	t, err := newTerminal()
	if err != nil {
		return nil, nil, err
	}
	defer t.slave.Close()
	if err := s.Attach(1, t.master); err != nil {
		return nil, nil, err
	}
	cmd, err := t.start(args...)
	return cmd, t.master, err
}

// start starts a command that has t as its terminal.
func (t *terminal) start(args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.slave, t.slave, t.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return cmd, cmd.Start()
}

// keyLatency types keys while output floods, and waits for each to be seen; bare
// is without a screen between the command and the terminal.
func keyLatency(name, script string, bare bool) error {
	t, err := newTerminal()
	if err != nil {
		return err
	}
	defer t.close()
	seen := make(chan time.Time, 1)
	var next atomic.Int32
	go func() {
		buf := make([]byte, 64<<10)
		n := 0
		for {
			got, err := t.master.Read(buf[n:])
			if err != nil {
				return
			}
			n += got
			if bytes.Contains(buf[:n], fmt.Appendf(nil, "key%d.", next.Load())) {
				select {
				case seen <- time.Now():
				default:
				}
				n = 0
			} else if n > 16 { // the text may be cut
				n = copy(buf, buf[n-16:n])
			}
		}
	}()
	var cmd *exec.Cmd
	if bare {
		cmd, err = t.start("bash", "-c", script)
	} else {
		var s *screen.Screen
		if s, err = screen.Open(t.slave, screen.Options{}); err != nil {
			return err
		}
		defer s.Close()
		s.SetFooter([]string{"guarded"}, nil)
		var master *os.File
		if cmd, master, err = attached(s, "bash", "-c", script); err == nil {
			defer master.Close()
			defer s.Drain(1)
		}
	}
	if err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond) // until the flood runs
	var got []float64
	for i := range 50 {
		next.Store(int32(i + 1))
		begin := time.Now()
		if _, err := t.master.WriteString("k"); err != nil {
			return err
		}
		select {
		case at := <-seen:
			got = append(got, at.Sub(begin).Seconds()*1000)
		case <-time.After(2 * time.Second):
			return fmt.Errorf("a key was not seen within two seconds on the %s", name)
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	_ = cmd.Wait()
	slices.Sort(got)
	if bare {
		name += ", without bawn,"
	}
	fmt.Printf("  a key while the %s floods: median %.2f ms, 95 of 100 in %.2f ms, worst of %d %.2f ms\n", name, median(got), got[len(got)*95/100], len(got), got[len(got)-1])
	return nil
}

// idleScreen is the processor time of a screen on which nothing happens.
func idleScreen() error {
	t, err := newTerminal()
	if err != nil {
		return err
	}
	defer t.close()
	go io.Copy(io.Discard, t.master)
	s, err := screen.Open(t.slave, screen.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	s.SetFooter([]string{"guarded"}, nil)
	cmd, _, err := attached(s, "sleep", "60")
	if err != nil {
		return err
	}
	switches := func() string {
		b, _ := os.ReadFile("/proc/self/status")
		_, v, _ := strings.Cut(string(b), "\nvoluntary_ctxt_switches:")
		v, _, _ = strings.Cut(v, "\n")
		return strings.TrimSpace(v)
	}
	time.Sleep(time.Second)
	var a, b unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &a)
	before := switches()
	time.Sleep(3 * time.Second)
	_ = unix.Getrusage(unix.RUSAGE_SELF, &b)
	used := time.Duration(b.Utime.Nano() + b.Stime.Nano() - a.Utime.Nano() - a.Stime.Nano())
	fmt.Printf("  idle for 3 s: %v of processor time, main thread woken %s → %s times\n", used.Round(10*time.Microsecond), before, switches())
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	s.Drain(1) // closes master
	return nil
}
