package main

import (
	"fmt"
	"strings"

	"bawn/internal/config"
	"bawn/internal/policy"
)

// configManPage is bawn-config(5): the files, their layers and every key, from
// the table that the reader of the files has.
func configManPage() string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	text := func(s string) string { return roff(line(strings.ReplaceAll(s, "`", ""))) }
	p(`.TH BAWN\-CONFIG 5 "" "bawn" "File Formats"`)
	p(".SH NAME\nbawn\\-config \\- settings of bawn")
	p(".SH DESCRIPTION")
	p("%s", text("bawn needs no settings. Its files are TOML; a key or value that is not understood refuses the run, with file, line and column. "+
		"Lists add up over all layers; of a single value the strongest layer's counts. 'bawn config' prints every value that holds and where it comes from, "+
		"'bawn config check' reads the files and says what is wrong."))
	p(".SH FILES\nThe weakest layer first; variables and flags stand above all but the last.")
	for _, f := range [][2]string{
		{"/etc/bawn/config.toml", "defaults for everybody on the machine"},
		{policy.UserFile, "the user's settings (in $XDG_CONFIG_HOME/bawn where that is set)"},
		{"~/.config/bawn/allowed.toml", "hosts that were allowed or denied for good; bawn writes it"},
		{".bawn/config.toml", "a project's settings: they tighten, and widen once 'bawn trust' has them; some things never"},
		{"/etc/bawn/requirements.toml", "the same keys: what may be at most"},
	} {
		p(".TP\n.I %s\n%s.", roff(f[0]), text(f[1]))
	}
	for _, t := range config.Tables() {
		p(".SH [%s]\n%s", roff(strings.ToUpper(t[0])), text(t[1]))
		for _, k := range config.Keys() {
			if k.Table != t[0] {
				continue
			}
			p(".TP\n.B %s\n%s", roff(k.Name), text(k.Doc))
			for _, row := range [][2]string{{"Values", strings.Join(k.Words, ", ")}, {"Default", k.Default}, {"Variable", k.Env}, {"Example", k.Name + " = " + k.Example}} {
				if row[1] != "" {
					p(".br\n%s", roff(row[0]+": "+row[1]))
				}
			}
		}
	}
	p(".SH SEE ALSO\n.BR bawn (1)")
	return b.String()
}
