package tui

import (
	"fmt"
	"slices"
	"strings"

	"bawn/internal/session"
)

// maxNamed is how many commands are named at most before the session ends.
const maxNamed = 8

// leave ends the session when its person says so. Commands that would end with
// it are named first, and the second time in a row ends them, as in a shell.
func (a *app) leave() {
	running := runningTasks(a.s.State())
	if !slices.ContainsFunc(running, func(t session.Task) bool { return !slices.Contains(a.named, t.ID) }) {
		a.quit = true
		return
	}
	a.named = nil
	lines := []string{plural(len(running), "command still runs and ends", "commands still run and end") + " with the session: Ctrl+D or /quit once more"}
	for i, t := range running {
		a.named = append(a.named, t.ID)
		switch {
		case i < maxNamed:
			lines = append(lines, fmt.Sprintf("task %d: %s", t.ID, t.Command))
		case i == maxNamed:
			lines = append(lines, fmt.Sprintf("and %d more: /tasks", len(running)-maxNamed))
		}
	}
	w := a.cols
	if w == 0 { // plain form
		w = plainColumns(a.tty)
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(a.o.Look.as(faint, "bawn: ") + a.o.Look.cut(a.o.Look.safe(line), max(w-6, 20)) + "\n")
	}
	a.print(b.String())
}

func runningTasks(st session.State) (out []session.Task) {
	for _, t := range st.Tasks {
		if t.Ended.IsZero() {
			out = append(out, t)
		}
	}
	return out
}
