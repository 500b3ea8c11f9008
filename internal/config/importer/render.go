package importer

import (
	"fmt"
	"strings"

	"bawn/internal/config"
)

// mark stands in every line that allows more than the defaults. Before an
// entry that is not active it is a comment up to the entry itself.
const mark = "widens:"

func (b *builder) result() (Result, error) {
	b.keepInstallsNarrow()
	var r Result
	for _, e := range b.entries {
		if e.widens {
			r.Widens++
		}
		if b.active(e) {
			r.Active++
		}
	}
	for g := range b.remarks {
		if group(g) != superseded {
			r.Remarks += len(b.remarks[g])
		}
	}
	r.Text = b.text()
	if err := b.check(r.Text); err != nil {
		return Result{}, err
	}
	return r, nil
}

func (b *builder) active(e entry) bool { return !e.widens || b.opt.IncludeWidening }

// keepInstallsNarrow: a list of folders or hosts written by hand takes the
// narrow profile from package installs (unless it is asked for), which would
// be wider without a line that says so.
func (b *builder) keepInstallsNarrow() {
	for _, e := range b.entries {
		if p := e.key.Path(); p == "sandbox.allowed_paths" || p == "sandbox.allowed_domains" {
			b.set("sandbox.install_profile", "on", "the lists of folders and hosts", 0, "they would end the narrow profile of package installs")
			return
		}
	}
}

// check reads the text once more: what is active and allows more than the
// defaults was marked.
func (b *builder) check(text string) error {
	c, err := alone(b.opt.Home, text)
	if err != nil {
		return fmt.Errorf("the settings do not fit into a file of bawn's: %s", reason(err))
	}
	if wide := c.WiderThanDefaults(); len(wide) > 0 && !b.opt.IncludeWidening {
		return fmt.Errorf("%s %s would allow more than the defaults without a mark", wide[0].Key, quote(wide[0].Value))
	}
	if !c.NarrowInstalls() && !b.opt.IncludeWidening {
		return fmt.Errorf("package installs would lose their narrow profile")
	}
	return nil
}

func (b *builder) text() string {
	var w strings.Builder
	fmt.Fprintf(&w, "# The settings of %s", b.tool.Name)
	if b.opt.File != "" {
		fmt.Fprintf(&w, " (%s)", clip(b.opt.File))
	}
	w.WriteString(", as bawn's.\n")
	if !b.opt.IncludeWidening && b.widens() {
		fmt.Fprintf(&w, "# Lines that begin with %q allow more than bawn does by itself, and do not\n# hold. Take that beginning off those that should.\n", "# "+mark)
	}
	for _, t := range config.Tables() {
		b.keysOf(&w, t[0])
	}
	for g, list := range b.remarks {
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(&w, "\n# %s\n", groupTitles[g])
		for _, m := range list {
			w.WriteString("#   " + config.Printable(m.what) + at(m.line))
			if m.why != "" {
				w.WriteString(": " + config.Printable(m.why))
			}
			w.WriteByte('\n')
		}
	}
	return w.String()
}

func (b *builder) widens() bool {
	for _, e := range b.entries {
		if e.widens {
			return true
		}
	}
	return false
}

func at(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", line)
}

// keysOf writes one table, its keys in the order of the documentation.
func (b *builder) keysOf(w *strings.Builder, table string) {
	header := "\n[" + table + "]\n"
	for i := range b.keys {
		k := &b.keys[i]
		if k.Table != table {
			continue
		}
		var of []entry
		for _, e := range b.entries {
			if e.key == k {
				of = append(of, e)
			}
		}
		if len(of) == 0 {
			continue
		}
		w.WriteString(header)
		header = ""
		if single(k) {
			b.line(w, "", k.Name+" = "+literal(k, of[0].value), of[0])
			continue
		}
		w.WriteString(k.Name + " = [\n")
		for _, e := range of {
			b.line(w, "  ", literal(k, e.value)+",", e)
		}
		w.WriteString("]\n")
	}
}

func (b *builder) line(w *strings.Builder, indent, setting string, e entry) {
	before, note := "", ""
	if e.widens {
		if b.active(e) {
			note = mark + " "
		} else {
			before = "# " + mark + " "
		}
	}
	note += config.Printable(e.from) + at(e.line)
	if e.why != "" {
		note += "; " + e.why
	}
	w.WriteString(indent + before + setting + "  # " + note + "\n")
}
