//go:build linux

// Command shot takes pictures of a terminal program for the documentation: it
// runs the program on a pseudo-terminal, types a script, and writes the screen
// as SVG.
//
//	shot [-size 80x24] [-light] [-o FILE] [-keys SCRIPT] -- CMD [ARG…]
//
// The script is a list of steps, a line each: `type "TEXT"` (as a string of Go,
// with \r for Enter and \x1b for Esc), `wait TEXT` until the screen shows it,
// `idle` until it shows the session's empty input line, and `pause DURATION`
// before a key that counts only after a while.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"bawn/internal/tools/vterm"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "shot:", err)
		os.Exit(1)
	}
}

// patience is how long a step may take.
const patience = 20 * time.Second

func run() error {
	size := flag.String("size", "80x24", "columns x lines")
	light := flag.Bool("light", false, "on a light ground")
	out := flag.String("o", "", "the picture; standard output without it")
	keys := flag.String("keys", "", "a file with the script")
	flag.Parse()
	var w, h int
	if _, err := fmt.Sscanf(*size, "%dx%d", &w, &h); err != nil || w < 1 || h < 1 || w > 500 || h > 500 {
		return fmt.Errorf("-size %q: write it as 80x24", *size)
	}
	if flag.NArg() == 0 {
		return errors.New("no command given: shot [flags] -- CMD [ARG…]")
	}
	var script []byte
	if *keys != "" {
		var err error
		if script, err = os.ReadFile(*keys); err != nil {
			return err
		}
	}
	svg, _, err := shoot(exec.Command(flag.Arg(0), flag.Args()[1:]...), w, h, string(script), *light)
	if err != nil {
		return err
	}
	if *out == "" {
		_, err = os.Stdout.WriteString(svg)
		return err
	}
	return os.WriteFile(*out, []byte(svg), 0o644)
}

// shoot plays the script on the command's terminal and draws what is there at
// its end. The command is killed then.
func shoot(cmd *exec.Cmd, w, h int, script string, light bool) (svg, text string, err error) {
	t, err := vterm.Open(w, h)
	if err != nil {
		return "", "", err
	}
	defer t.Close()
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "NO_COLOR=")
	if err := t.Start(cmd); err != nil {
		return "", "", err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	n := 0
	for line := range strings.Lines(script) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := step(t, line); err != nil {
			return "", "", fmt.Errorf("line %d of the script, %q: %w", n, line, err)
		}
	}
	theme := vterm.Dark
	if light {
		theme = vterm.Light
	}
	return t.SVG(theme), t.Text(), nil
}

func step(t *vterm.Terminal, line string) error {
	verb, arg, _ := strings.Cut(line, " ")
	switch verb {
	case "type":
		text, err := strconv.Unquote(arg)
		if err != nil {
			return fmt.Errorf("type takes a quoted text: %w", err)
		}
		return t.Type(text)
	case "wait":
		_, err := t.Wait(patience, func(s string) bool { return strings.Contains(s, arg) })
		return err
	case "idle":
		_, err := t.Wait(patience, func(s string) bool {
			return strings.Contains("\n"+strings.ReplaceAll(s, " ", "")+"\n", "\n>\n")
		})
		return err
	case "pause":
		d, err := time.ParseDuration(arg)
		if err != nil {
			return err
		}
		time.Sleep(d)
		return nil
	}
	return errors.New("a step is type, wait, idle or pause")
}
