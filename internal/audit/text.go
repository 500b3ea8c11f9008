package audit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

func exitText(code int) string { return "exit " + strconv.Itoa(code) }

// What is the record in two words or three.
func (r Record) What() string {
	switch r.Kind {
	case Started:
		return "start"
	case Decided:
		return r.Verdict + " " + r.Action
	case Connection:
		return "closed"
	case Written:
		return "wrote"
	case Process:
		return "process"
	case Ended:
		return exitText(r.Code)
	}
	return string(r.Kind)
}

// Text is the rest of the record on one line, for people. It may hold what a
// terminal acts on.
func (r Record) Text() string {
	var b strings.Builder
	add := func(format string, a ...any) {
		if b.Len() > 0 {
			b.WriteString("  ")
		}
		fmt.Fprintf(&b, format, a...)
	}
	switch r.Kind {
	case Started:
		add("%s", r.Command)
		add("(%s, %s, in %s)", r.Tier, r.Place, r.Dir)
	case Opened:
		add("file %d", r.File)
	case Process:
		if r.Inside == 0 {
			add("%d more", r.Count)
			break
		}
		add("%d  %s", r.Inside, r.Command)
		add("started by %d", r.Parent)
		if r.Count > 1 {
			add("%d times", r.Count)
		}
	case Ended:
		add("after %s", ShortTime(r.Duration))
		if r.Denied > 0 {
			add("%d denied", r.Denied)
		}
	default:
		add("%s", r.Target)
		if r.Command != "" {
			add("by %s", r.Command)
		}
	}
	if r.Kind == Connection {
		add("%s up, %s down, %s", Size(r.Up), Size(r.Down), ShortTime(r.Duration))
	}
	if r.Rule.ID != "" {
		add("%s", r.Rule.ID)
	}
	if r.Rule.Origin.File != "" {
		add("(%s)", r.Rule.Origin)
	}
	if r.Error != "" {
		add("%s", r.Error)
	}
	return b.String()
}

// ShortTime is a duration as a person reads it.
func ShortTime(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// Size is a number of bytes as a person reads it.
func Size(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	x, unit := float64(n), 0
	for x >= 999.5 && unit < 4 {
		x /= 1000
		unit++
	}
	return fmt.Sprintf("%.3g %cB", x, " kMGT"[unit])
}
