package tui

import "strings"

// helpView is made from the key map and the table of slash commands.
type helpView struct {
	*frame
	list list
}

func (v *helpView) title() string     { return "Help" }
func (v *helpView) refresh()          {}
func (v *helpView) key(k string) bool { return v.list.key(k) }

func (v *helpView) keys() []hint            { return append(v.list.more(), leaves) }
func (v *helpView) lines(w, h int) []string { return v.list.text(helpText(v.o, w), h) }

// helpText is the help as lines, for a page and for a reader.
func helpText(o Options, w int) []string {
	l := o.Look
	var out []string
	head := func(s string) { out = append(out, "", " "+l.as(strong, s)) }
	room := 30
	switch {
	case w < 40:
		room = 3
	case w < 80:
		room = 18
	}
	row := func(left, text string) {
		if width(left) > room-2 {
			out = append(out, "   "+left)
			left = ""
		}
		for _, s := range wrap(text, max(w-room-4, 12)) {
			out = append(out, "   "+l.fill(left, room)+s)
			left = ""
		}
	}
	head("Keys")
	for a := NoAction + 1; a < numActions; a++ {
		if k := o.Keys.spelled(a); k != "" {
			row(k, actions[a].doc)
		}
	}
	head("Input line")
	row("text", "runs as a command")
	row("!text", "runs as a command that has no way to the network; open, without a sandbox, leaves it")
	row("text &", "runs as a task, while others run")
	for _, c := range slashes {
		row(strings.TrimSpace("/"+c.name+" "+c.args), c.doc)
	}
	if !o.Plain {
		row("Tab, Up, Down", "completes a slash command; older lines")
		row("Ctrl+C, Ctrl+D", "empties the line; ends the session")
	}
	head("Questions")
	row("n, Esc", "no")
	row("y", "yes, this once")
	row("s", "yes, for this session")
	row("a", "yes, always: it is saved in your settings")
	if o.Plain {
		row("Enter", "gives the answer; by itself it is no")
		return out
	}
	row("arrows, j, k, Enter", "choose and pick an answer")
	row("N", "no to all that wait")
	row("Tab", "later: the question goes on waiting")
	row("Space, PgUp, PgDn", "read a long one")
	head("Pages")
	row("arrows, j, k, g, G, Space, PgUp, PgDn, Home, End", "move")
	row("Enter", "does what the last line says")
	row("/, p", "network: filter, pause")
	row("a, d", "network: allow or deny a host; denied: a allows one")
	row("t", "policy: try a rule")
	row("x", "tasks: end one; a second time kills it")
	row("Backspace", "back to the list")
	row("Esc, q", "leave")
	return out
}
