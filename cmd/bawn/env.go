package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/policy"
)

// envCommand lists what the scrub removes and why; never a value.
func envCommand(args []string) int {
	f, asJSON := new(runFlags), false
	rest, err := parseFlags(args, append(f.folderSpecs(), jsonFlag(&asJSON)))
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"env"})
	case err != nil:
		return usageError("env", err)
	case len(rest) > 0:
		return usageError("env", fmt.Errorf("env takes no argument, got %q", rest[0]))
	}
	s, err := f.load()
	if err != nil {
		return fail(err)
	}
	kept, dropped := s.config.Env().Scrub(os.Environ())
	slices.SortStableFunc(dropped, func(a, b policy.DroppedVar) int { return strings.Compare(a.Name, b.Name) })
	type row struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
		Rule   string `json:"rule"`
		Origin string `json:"origin"`
	}
	rows, width := []row{}, 0
	for _, d := range dropped {
		r := row{d.Name, d.Reason, d.Rule, policy.Origin{}.String()}
		if d.Rule == policy.EnvUserDrop {
			r.Origin = dropOrigin(s.config.Items("sandbox.env_drop"), d.Name)
		}
		rows, width = append(rows, r), max(width, len(printable(d.Name)))
	}
	// What the settings keep although it would go shows as well.
	keptBy := []row{}
	_, without := policy.EnvRules{Drop: s.config.Env().Drop}.Scrub(os.Environ())
	for _, d := range without {
		if !slices.ContainsFunc(dropped, func(g policy.DroppedVar) bool { return g.Name == d.Name }) {
			keptBy = append(keptBy, row{d.Name, "kept by env_keep: " + d.Reason, "env:user-keep", dropOrigin(s.config.Items("sandbox.env_keep"), d.Name)})
		}
	}
	if asJSON {
		return printJSON(map[string]any{"removed": rows, "kept": len(kept), "kept_by_settings": keptBy})
	}
	for _, r := range append(rows, keptBy...) {
		width = max(width, len(printable(r.Name)))
	}
	show := func(r row) {
		by := ""
		if r.Origin != (policy.Origin{}).String() {
			by = " (" + r.Origin + ")"
		}
		printf("%-*s  %s%s\n", width, printable(r.Name), printable(r.Reason), printable(by))
	}
	for _, r := range rows {
		show(r)
	}
	if len(rows) > 0 {
		printLine()
	}
	for _, r := range keptBy {
		show(r)
	}
	if len(keptBy) > 0 {
		printLine()
	}
	printf("%d removed, %d kept\n", len(rows), len(kept))
	return 0
}

// dropOrigin is where the first entry that matches a variable stands.
func dropOrigin(items []config.Item, name string) string {
	for _, it := range items {
		if _, dropped := (policy.EnvRules{Drop: []string{it.Text}}).Scrub([]string{name + "="}); len(dropped) > 0 && dropped[0].Rule == policy.EnvUserDrop {
			return it.Origin.String()
		}
	}
	return policy.Origin{}.String()
}
