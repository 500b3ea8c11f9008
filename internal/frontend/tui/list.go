package tui

// list is a cursor in rows of which a part shows.
type list struct {
	at, top int
	n       int // rows
	height  int // that show
}

// key moves the cursor.
func (l *list) key(k string) bool {
	switch k {
	case "up", "k":
		l.at--
	case "down", "j":
		l.at++
	case "pgup", "ctrl+b":
		l.at -= l.height
	case "pgdown", "ctrl+f", "space":
		l.at += l.height
	case "home", "g":
		l.at = 0
	case "end", "G":
		l.at = l.n - 1
	default:
		return false
	}
	l.at = max(0, min(l.at, l.n-1))
	return true
}

// window is the part of n rows that shows in h lines, with the cursor in it.
func (l *list) window(n, h int) (from, to int) {
	l.n, l.height = n, max(1, h)
	l.at = max(0, min(l.at, n-1))
	l.top = max(0, min(l.top, l.at, n-l.height))
	l.top = max(l.top, l.at-l.height+1)
	return l.top, min(n, l.top+l.height)
}

// text is the part of a text that shows in h lines. A text has no cursor: its
// first line moves.
func (l *list) text(all []string, h int) []string {
	l.n, l.height = max(1, len(all)-h+1), h
	l.at = max(0, min(l.at, l.n-1))
	return all[l.at:min(len(all), l.at+h)]
}

// more is a hint that a text goes on, if it does.
func (l *list) more() []hint {
	if l.at < l.n-1 {
		return []hint{{"space", "more"}}
	}
	return nil
}

// row draws one: on one line, marked where the cursor is.
func (l *list) row(look Look, i int, s string, w int) string {
	if i == l.at {
		return look.as(chosen, look.fill(" "+s, w))
	}
	return look.cut(" "+s, w)
}

// entry is a line to type into. Only text that shows can be in it.
type entry struct {
	on  bool
	str []rune
}

const maxEntry = 4096 // bytes

func (e *entry) text(s string) {
	for _, r := range s {
		if len(e.str) < maxEntry && !(Look{}).odd(r) {
			e.str = append(e.str, r)
		}
	}
}

// key handles the keys of a line while it is typed into; done says that it is
// finished, by Enter or Esc.
func (e *entry) key(k string) (done bool) {
	switch k {
	case "backspace", "ctrl+h":
		e.str = e.str[:max(0, len(e.str)-1)]
	case "ctrl+u":
		e.str = e.str[:0]
	case "ctrl+w":
		for len(e.str) > 0 && e.str[len(e.str)-1] == ' ' {
			e.str = e.str[:len(e.str)-1]
		}
		for len(e.str) > 0 && e.str[len(e.str)-1] != ' ' {
			e.str = e.str[:len(e.str)-1]
		}
	case "esc", "ctrl+c":
		e.on, e.str = false, nil
		return true
	case "enter":
		e.on = false
		return true
	}
	return false
}

// line shows it, its end always.
func (e *entry) line(l Look, name string, w int) string {
	cursor := ""
	if e.on {
		cursor = l.as(chosen, " ")
	}
	return " " + l.as(strong, name) + " " + l.cutLeft(l.safe(string(e.str)), w-width(name)-4) + cursor
}
