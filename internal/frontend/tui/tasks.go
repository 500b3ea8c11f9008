package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"bawn/internal/session"
)

// tasksView lists the commands of the session, and shows what a background
// one has written.
type tasksView struct {
	*frame
	all    []session.Task
	list   list
	output []string // of the task under the cursor, if it is looked at
	task   int      // whose
	scroll list
}

// maxOutput is how much of a task's output is read at a time, in bytes.
const maxOutput = 64 << 10

func (v *tasksView) title() string {
	if v.task != 0 {
		return fmt.Sprintf("Output of task %d", v.task)
	}
	return "Tasks: " + fmt.Sprint(len(v.all))
}

func (v *tasksView) refresh() {
	v.all = v.State().Tasks
	if v.task != 0 {
		v.read()
	}
}

// read gets the end of the output. Who looks at its end stays there.
func (v *tasksView) read() {
	b, err := v.Output(v.task, maxOutput)
	if err != nil {
		v.note, v.task = err.Error(), 0
		return
	}
	end := v.scroll.at >= len(v.output)-1
	v.output = v.o.Look.plainLines(string(b))
	if end {
		v.scroll.at = len(v.output) - 1
	}
}

// plainLines are the lines of what a program wrote to a terminal, without its
// colours and moves; of a line that was written over, the last text.
func (l Look) plainLines(s string) []string {
	lines := strings.Split(strings.TrimSuffix(ansi.Strip(s), "\n"), "\n")
	for i, s := range lines {
		s = strings.TrimSuffix(s, "\r")
		s = s[strings.LastIndexByte(s, '\r')+1:]
		lines[i] = l.safe(strings.ReplaceAll(s, "\t", "    "))
	}
	return lines
}

func (v *tasksView) key(k string) bool {
	if v.task != 0 {
		switch {
		case v.scroll.key(k):
		case k == "esc" || k == "backspace" || k == "q":
			v.task, v.output = 0, nil
		case k == "x":
			v.stop(v.task)
		default:
			return false
		}
		return true
	}
	switch {
	case v.list.key(k):
	case k == "enter" && v.list.at < len(v.all):
		v.task, v.output, v.scroll = v.all[v.list.at].ID, nil, list{}
		v.read()
	case k == "x" && v.list.at < len(v.all):
		v.stop(v.all[v.list.at].ID)
	default:
		return false
	}
	return true
}

func (v *tasksView) stop(id int) {
	if err := v.Stop(id); err != nil {
		v.note = err.Error()
		return
	}
	v.note = fmt.Sprintf("task %d was asked to end; x again kills it", id)
}

func (v *tasksView) keys() []hint {
	if v.task != 0 {
		return []hint{{"x", "stop"}, {"backspace", "back"}}
	}
	return []hint{{"enter", "output"}, {"x", "stop"}, leaves}
}

func (v *tasksView) lines(w, h int) []string {
	l := v.o.Look
	var out []string
	if v.task != 0 {
		from, to := v.scroll.window(len(v.output), h)
		for _, s := range v.output[from:to] {
			out = append(out, l.cut(" "+s, w))
		}
		return out
	}
	if len(v.all) == 0 {
		return []string{"", " No command has run yet."}
	}
	from, to := v.list.window(len(v.all), h)
	for i := from; i < to; i++ {
		out = append(out, v.list.row(l, i, v.row(v.all[i], w-2), w))
	}
	return out
}

func (v *tasksView) row(t session.Task, w int) string {
	l := v.o.Look
	state := "running"
	switch {
	case t.Reason != "":
		state = "not run"
	case !t.Ended.IsZero():
		state = fmt.Sprintf("exit %d", t.Code)
	}
	left := fmt.Sprintf("%3d  %-8s  ", t.ID, state)
	if w >= 56 {
		left += fmt.Sprintf("%-10s  ", kindWord(t.Kind))
	}
	if w >= 76 {
		took := ""
		if !t.Ended.IsZero() {
			took = shortTime(t.Ended.Sub(t.Started))
		}
		left += fmt.Sprintf("%-7s  %6s  ", t.Tier, took)
	}
	right := ""
	if t.Denied > 0 {
		right = fmt.Sprintf("  %d denied", t.Denied)
	}
	if t.Output > 0 && w >= 76 {
		right = "  " + size(t.Output) + right
	}
	text := t.Command
	if t.Reason != "" {
		text += "  (" + t.Reason + ")"
	}
	return left + l.fill(l.safe(text), max(4, w-width(left)-width(right))) + right
}

func kindWord(k session.TaskKind) string {
	switch k {
	case session.Foreground:
		return "foreground"
	case session.Background:
		return "background"
	case session.Attached:
		return "attached"
	case session.Inner:
		return "inner"
	}
	return ""
}
