package export

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"bawn/internal/audit"
)

//go:embed page.css
var css string

// Limits of a page: what lies beyond is counted.
const (
	maxPageRuns    = 500
	maxPageRecords = 200 // of one run
	maxBars        = 12
	buckets        = 40
)

// HTML writes one page that needs nothing else: no script, no address is
// loaded from anywhere.
func HTML(w io.Writer, records []audit.Record) error {
	p := &page{}
	p.add(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>bawn log</title><style>%s</style></head><body><main>
`, raw(css))
	runs := audit.Runs(records)
	p.head(records, runs)
	p.overTime(records)
	p.add("<div class=pair>\n")
	p.bars("denied", "Denied most often", "deny", "", count(records, func(r *audit.Record) (string, int64) {
		if r.Verdict == "deny" {
			return r.Action + " " + r.Target, 1
		}
		return "", 0
	}))
	p.bars("traffic", "Most bytes, up and down", "allow", "B", count(records, func(r *audit.Record) (string, int64) {
		if r.Kind == audit.Connection {
			return r.Target, r.Up + r.Down
		}
		return "", 0
	}))
	p.add("</div>\n")
	p.runs(runs)
	p.add("</main></body></html>\n")
	_, err := io.WriteString(w, p.b.String())
	return err
}

// page writes HTML: every argument is escaped unless it is raw.
type page struct{ b strings.Builder }

type raw string

func (p *page) add(format string, a ...any) {
	for i, x := range a {
		switch v := x.(type) {
		case raw:
			a[i] = string(v)
		case string:
			a[i] = html.EscapeString(printable(v))
		case fmt.Stringer:
			a[i] = html.EscapeString(printable(v.String()))
		}
	}
	fmt.Fprintf(&p.b, format, a...)
}

func (p *page) head(records []audit.Record, runs []audit.RunRecords) {
	allowed, denied, up, down := 0, 0, int64(0), int64(0)
	for i := range records {
		switch r := &records[i]; {
		case r.Verdict == "allow":
			allowed++
		case r.Verdict == "deny":
			denied++
		case r.Kind == audit.Connection:
			up, down = up+r.Up, down+r.Down
		}
	}
	p.add("<h1>bawn log</h1>\n")
	if len(records) > 0 {
		p.add("<p class=dim>%s to %s</p>\n", shown(records[0].Time), shown(records[len(records)-1].Time))
	} else {
		p.add("<p class=dim>no records</p>\n")
	}
	p.add("<div class=tiles>\n")
	for _, t := range [][2]string{
		{"runs", fmt.Sprint(len(runs))}, {"allowed", fmt.Sprint(allowed)}, {"denied", fmt.Sprint(denied)},
		{"sent", audit.Size(up)}, {"received", audit.Size(down)},
	} {
		p.add("<div class=tile id=n-%s><b>%s</b><span>%s</span></div>\n", t[0], t[1], t[0])
	}
	p.add("</div>\n")
}

func shown(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// overTime draws how many decisions there were in each part of the time.
func (p *page) overTime(records []audit.Record) {
	var decisions []audit.Record
	for _, r := range records {
		if r.Verdict != "" {
			decisions = append(decisions, r)
		}
	}
	if len(decisions) == 0 {
		return
	}
	begin := decisions[0].Time
	span := max(decisions[len(decisions)-1].Time.Sub(begin), time.Second)
	var allow, deny [buckets]int
	top := 1
	for _, r := range decisions {
		i := min(max(int(int64(r.Time.Sub(begin))*buckets/int64(span+1)), 0), buckets-1)
		if r.Verdict == "deny" {
			deny[i]++
		} else {
			allow[i]++
		}
		top = max(top, allow[i]+deny[i])
	}
	const width, height = 20, 160
	p.add("<section><h2>Decisions over time</h2><p class=legend><i class=allow></i>allowed <i class=deny></i>denied</p>\n")
	p.add("<svg id=time viewBox=\"0 0 %d %d\" preserveAspectRatio=none role=img aria-label=\"Decisions over time\">\n", buckets*width, height)
	for i := range buckets {
		a, d := allow[i]*height/top, deny[i]*height/top
		if deny[i] > 0 { // one of many is still seen
			d = max(d, 2)
		}
		at := shown(begin.Add(span * time.Duration(i) / buckets))
		p.add("<g><title>%s: %d allowed, %d denied</title>", at, allow[i], deny[i])
		p.add("<rect class=allow x=%d y=%d width=%d height=%d /><rect class=deny x=%d y=%d width=%d height=%d /></g>\n",
			i*width+1, height-a, width-2, a, i*width+1, height-a-d, width-2, d)
	}
	p.add("</svg><p class=\"axis dim\"><span>%s</span><span>%s</span></p></section>\n", shown(begin), shown(begin.Add(span)))
}

// counted is one bar.
type counted struct {
	name string
	n    int64
}

// count adds up by name, the most first.
func count(records []audit.Record, of func(*audit.Record) (string, int64)) []counted {
	sums := map[string]int64{}
	for i := range records {
		if name, n := of(&records[i]); name != "" {
			sums[name] += n
		}
	}
	var out []counted
	for name, n := range sums {
		out = append(out, counted{name, n})
	}
	slices.SortFunc(out, func(a, b counted) int {
		if a.n != b.n {
			return int(max(min(b.n-a.n, 1), -1))
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}

func (p *page) bars(id, title, class, unit string, list []counted) {
	p.add("<section id=%s><h2>%s</h2>\n", id, title)
	if len(list) == 0 {
		p.add("<p class=dim>nothing</p>\n")
	}
	for i, c := range list {
		if i == maxBars {
			p.add("<p class=dim>and %d more</p>\n", len(list)-i)
			break
		}
		n := fmt.Sprint(c.n)
		if unit == "B" {
			n = audit.Size(c.n)
		}
		p.add("<div class=bar><span title=\"%s\">%s</span><b>%s</b><i class=%s style=\"width:%d%%\"></i></div>\n", c.name, c.name, n, class, max(1, c.n*100/max(1, list[0].n)))
	}
	p.add("</section>\n")
}

func (p *page) runs(runs []audit.RunRecords) {
	p.add("<section><h2>Runs</h2>\n")
	left := 0
	if left = len(runs) - maxPageRuns; left > 0 {
		p.add("<p class=dim>the last %d of %d</p>\n", maxPageRuns, len(runs))
		runs = runs[left:]
	}
	for _, r := range slices.Backward(runs) {
		class := "ok"
		switch {
		case r.Denied() > 0:
			class = "deny"
		case r.End.Code != 0:
			class = "failed"
		}
		p.add("<details id=\"run-%s\"><summary><time>%s</time><em class=%s>%s</em><code>%s</code>", r.ID, shown(r.Time()), class, r.Outcome(), r.Command())
		if n := r.Denied(); n > 0 {
			p.add("<strong>%d denied</strong>", n)
		}
		p.add("</summary>\n")
		if tree := audit.Tree(r); tree != "" {
			p.add("<pre>%s</pre>\n", tree)
		}
		p.add("<table>\n")
		rows := slices.DeleteFunc(slices.Clone(r.Records), func(x audit.Record) bool { return x.Kind == audit.Process })
		for i, x := range rows {
			if i == maxPageRecords {
				p.add("<tr><td colspan=3 class=dim>and %d more records</td></tr>\n", len(rows)-i)
				break
			}
			p.add("<tr><td class=dim>+%s</td><td class=\"%s\">%s</td><td>%s", audit.ShortTime(x.Time.Sub(r.Time())), x.Verdict, x.What(), x.Text())
			if x.Verdict == "deny" && x.Rule.Text != "" {
				p.add("<br><span class=dim>%s", x.Rule.Text)
				if x.Rule.Lift != "" {
					p.add("; %s", x.Rule.Lift)
				}
				p.add("</span>")
			}
			p.add("</td></tr>\n")
		}
		p.add("</table></details>\n")
	}
	p.add("</section>\n")
}
