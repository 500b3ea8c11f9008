//go:build linux

package staged

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDiff bounds what is shown of a file by its lines, in bytes.
const maxDiff = 1 << 20

// Diff writes what the changes would do to the workspace, in the form of
// git's. text makes a line of content fit to be shown; nil leaves it as it is.
func (r *Run) Diff(w io.Writer, changes []Change, text func(string) string) error {
	if text == nil {
		text = func(s string) string { return s }
	}
	up, ws := make([]int, len(r.Roots)), make([]int, len(r.Roots))
	for n := range r.Roots {
		up[n], ws[n] = -1, -1
	}
	defer func() {
		for _, fd := range append(up, ws...) {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	}()
	for n := range r.Roots {
		var err error
		if ws[n], err = r.openRoot(n); err != nil {
			return err
		}
		if up[n], err = r.openUpper(n); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	for i := range changes {
		c := &changes[i]
		old, oldMode := sideOf(ws[c.Root], c.Path, c.ws)
		now, nowMode := sideOf(up[c.Root], c.Path, c.up)
		if nowMode != "" {
			nowMode = modeText(c.up, keptMode(c))
		}
		path := r.PathOf(c.Root, c.Path)
		if c.Root == 0 {
			path = c.Path
		}
		if err := writeChange(w, text(strconv.Quote(path)), old, now, oldMode, nowMode, text); err != nil {
			return err
		}
	}
	return nil
}

// side is one half of a comparison.
type side struct {
	data []byte
	note string // why there is none to show
}

func sideOf(root int, rel string, st *unix.Stat_t) (s side, mode string) {
	if st == nil || root < 0 {
		return side{}, ""
	}
	mode = modeText(st, st.Mode&0o7777)
	switch kindOf(st) {
	case unix.S_IFREG:
	case unix.S_IFLNK:
		parent, name := split(rel)
		dir, err := openDirIn(root, parent)
		if err != nil {
			return side{note: err.Error()}, mode
		}
		defer unix.Close(dir)
		target, err := readlinkAt(dir, name)
		if err != nil {
			return side{note: err.Error()}, mode
		}
		return side{data: []byte(target)}, mode
	default:
		return side{}, mode
	}
	if st.Size > maxDiff {
		return side{note: fmt.Sprintf("%d bytes", st.Size)}, mode
	}
	f, err := openFile(root, rel)
	if err != nil {
		return side{note: err.Error()}, mode
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDiff+1))
	switch {
	case err != nil:
		return side{note: err.Error()}, mode
	case bytes.IndexByte(data, 0) >= 0:
		return side{note: fmt.Sprintf("binary, %d bytes", st.Size)}, mode
	}
	return side{data: data}, mode
}

func modeText(st *unix.Stat_t, mode uint32) string {
	return fmt.Sprintf("%06o", kindOf(st)|mode)
}

func writeChange(w io.Writer, path string, old, now side, oldMode, nowMode string, text func(string) string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "diff %s\n", path)
	switch {
	case oldMode == "":
		fmt.Fprintf(&b, "new mode %s\n", nowMode)
	case nowMode == "":
		fmt.Fprintf(&b, "deleted mode %s\n", oldMode)
	case oldMode != nowMode:
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", oldMode, nowMode)
	}
	if old.note != "" || now.note != "" {
		note := func(s side, mode string) string {
			switch {
			case mode == "":
				return "nothing"
			case s.note == "":
				return fmt.Sprintf("%d bytes", len(s.data))
			}
			return s.note
		}
		fmt.Fprintf(&b, "not shown: %s, was %s\n", note(now, nowMode), note(old, oldMode))
	} else {
		hunks(&b, lines(old.data), lines(now.data), text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func lines(data []byte) []string {
	out := strings.SplitAfter(string(data), "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

const context = 3

// edit is one line of a comparison: kept (' '), taken away or added.
type edit struct {
	op   byte
	line string
}

// hunks writes the places that differ with the lines around them.
func hunks(b *strings.Builder, old, now []string, text func(string) string) {
	all := edits(old, now)
	for i := 0; i < len(all); {
		if all[i].op == ' ' {
			i++
			continue
		}
		from, to := max(i-context, 0), i
		for quiet := 0; to < len(all) && quiet <= 2*context; to++ {
			if quiet++; all[to].op != ' ' {
				quiet = 0
			}
		}
		for to > i && all[to-1].op == ' ' {
			to--
		}
		to = min(to+context, len(all))
		a, c := 1, 1 // line numbers
		for _, e := range all[:from] {
			if e.op != '+' {
				a++
			}
			if e.op != '-' {
				c++
			}
		}
		n, m := 0, 0
		for _, e := range all[from:to] {
			if e.op != '+' {
				n++
			}
			if e.op != '-' {
				m++
			}
		}
		if n == 0 {
			a--
		}
		if m == 0 {
			c--
		}
		fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", a, n, c, m)
		for _, e := range all[from:to] {
			b.WriteByte(e.op)
			b.WriteString(text(strings.TrimSuffix(e.line, "\n")))
			b.WriteByte('\n')
			if !strings.HasSuffix(e.line, "\n") {
				b.WriteString("\\ No newline at end\n")
			}
		}
		i = to
	}
}

// maxEdits bounds the search for the fewest edits: beyond it what differs is
// shown as replaced whole.
const maxEdits = 1000

// edits finds the fewest lines to take away and add (Myers).
func edits(old, now []string) []edit {
	var head, tail []edit
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		head = append(head, edit{' ', old[0]})
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		tail = append(tail, edit{' ', old[len(old)-1]})
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	out := append(head, middle(old, now)...)
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, tail[i])
	}
	return out
}

func middle(old, now []string) []edit {
	n, m := len(old), len(now)
	limit := min(n+m, maxEdits)
	at := func(v []int, k int) int { return v[k+limit+1] }
	v := make([]int, 2*limit+3)
	var trace [][]int
	found := false
search:
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), v...))
		for k := -d; k <= d; k += 2 {
			x := at(v, k-1) + 1
			if k == -d || k != d && at(v, k-1) < at(v, k+1) {
				x = at(v, k+1)
			}
			for x < n && x-k < m && x-k >= 0 && old[x] == now[x-k] {
				x++
			}
			v[k+limit+1] = x
			if x >= n && x-k >= m {
				found = true
				break search
			}
		}
	}
	var out []edit
	if !found {
		for _, l := range old {
			out = append(out, edit{'-', l})
		}
		for _, l := range now {
			out = append(out, edit{'+', l})
		}
		return out
	}
	x, y := n, m
	for d := len(trace) - 1; d >= 0; d-- {
		v, k := trace[d], x-y
		prev := k - 1
		if k == -d || k != d && at(v, k-1) < at(v, k+1) {
			prev = k + 1
		}
		px := at(v, prev)
		py := px - prev
		for x > px && y > py && x > 0 && y > 0 {
			x, y = x-1, y-1
			out = append(out, edit{' ', old[x]})
		}
		if d == 0 {
			break
		}
		if x == px {
			y--
			out = append(out, edit{'+', now[y]})
		} else {
			x--
			out = append(out, edit{'-', old[x]})
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
