package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"bawn/internal/policy"
)

// envCommand lists what the scrub removes and why; never a value.
func envCommand(args []string) int {
	asJSON := false
	rest, err := parseFlags(args, []flagSpec{jsonFlag(&asJSON)})
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"env"})
	case err != nil:
		return usageError("env", err)
	case len(rest) > 0:
		return usageError("env", fmt.Errorf("env takes no argument, got %q", rest[0]))
	}
	kept, dropped := policy.EnvRules{}.Scrub(os.Environ())
	slices.SortStableFunc(dropped, func(a, b policy.DroppedVar) int { return strings.Compare(a.Name, b.Name) })
	if asJSON {
		type row struct {
			Name   string `json:"name"`
			Reason string `json:"reason"`
			Rule   string `json:"rule"`
		}
		rows := []row{}
		for _, d := range dropped {
			rows = append(rows, row(d))
		}
		enc := json.NewEncoder(os.Stdout)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]any{"removed": rows, "kept": len(kept)}); err != nil {
			return fail(err)
		}
		return 0
	}
	width := 0
	for _, d := range dropped {
		width = max(width, len(printable(d.Name)))
	}
	for _, d := range dropped {
		fmt.Printf("%-*s  %s\n", width, printable(d.Name), printable(d.Reason))
	}
	if len(dropped) > 0 {
		fmt.Println()
	}
	fmt.Printf("%d removed, %d kept\n", len(dropped), len(kept))
	return 0
}
