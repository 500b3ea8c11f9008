package main

import (
	"bufio"
	"os"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/staged"
)

// show prints what a keep would do.
func (f *keepFlags) show(run *staged.Run, paths []string) int {
	scan, err := run.Scan()
	if err != nil {
		return fail(err)
	}
	var chosen []staged.Change
	for _, c := range scan.Changes {
		if len(paths) == 0 || policy.InsideAny(run.PathOf(c.Root, c.Path), paths) {
			chosen = append(chosen, c)
		}
	}
	if f.asJSON {
		out := make([]change, 0, len(chosen))
		for _, c := range chosen {
			out = append(out, changeOf(run, c))
		}
		return printJSON(struct {
			ID      string   `json:"id"`
			Changes []change `json:"changes"`
		}{run.ID, out})
	}
	// What the command wrote is shown to a person: a terminal must not act on it.
	var text func(string) string
	if isTerminal(os.Stdout) {
		text = printable
	}
	w := bufio.NewWriter(os.Stdout)
	if colours(os.Stdout) {
		c := &colourWriter{to: w}
		if err = run.Diff(c, chosen, text); err == nil {
			err = c.flush()
		}
	} else {
		err = run.Diff(w, chosen, text)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return fail(err)
	}
	for _, c := range chosen {
		if c.Conflict != "" {
			warn("%s: %s", run.PathOf(c.Root, c.Path), c.Conflict)
		}
	}
	printLeft(run, scan.Left)
	return 0
}

// colourWriter colours the lines of a diff.
type colourWriter struct {
	to   *bufio.Writer
	rest string
}

func (c *colourWriter) Write(b []byte) (int, error) {
	c.rest += string(b)
	for {
		line, rest, ok := strings.Cut(c.rest, "\n")
		if !ok {
			return len(b), nil
		}
		c.rest = rest
		code := ""
		switch {
		case strings.HasPrefix(line, "diff "):
			code = "1"
		case strings.HasPrefix(line, "@@"):
			code = "36"
		case strings.HasPrefix(line, "+"):
			code = "32"
		case strings.HasPrefix(line, "-"):
			code = "31"
		}
		if code != "" {
			line = "\x1b[" + code + "m" + line + "\x1b[0m"
		}
		if _, err := c.to.WriteString(line + "\n"); err != nil {
			return 0, err
		}
	}
}

func (c *colourWriter) flush() error {
	_, err := c.to.WriteString(c.rest)
	return err
}
