package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bawn/internal/config"
	"bawn/internal/sandbox"
)

// writeJSON writes v for programs, in one line.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printJSON writes v on standard output and returns the exit code.
func printJSON(v any) int {
	if err := writeJSON(os.Stdout, v); err != nil {
		return fail(err)
	}
	return 0
}

// parseAround reads flags before, between and after at most n words.
func parseAround(args []string, specs []flagSpec, n int) (words []string, err error) {
	words, err = parseFlags(args, specs)
	for i := 1; err == nil && i <= n && len(words) > i; i++ {
		var more []string
		more, err = parseFlags(words[i:], specs)
		words = append(words[:i:i], more...)
	}
	return words, err
}

// configSpecs are the flags that are a layer of the settings.
func configSpecs(f *runFlags, asJSON *bool) []flagSpec {
	return append(flagsBut(f.policySpecs(), "--sandbox", "--profile"), jsonFlag(asJSON))
}

// configCommand shows the configuration: what holds, where it comes from,
// which files there are, and which keys.
func configCommand(args []string) int {
	f, asJSON := new(runFlags), false
	words, err := parseAround(args, configSpecs(f, &asJSON), 2)
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"config"})
	case err != nil:
		return usageError("config", err)
	}
	action, rest := "show", []string(nil)
	if len(words) > 0 {
		action, rest = words[0], words[1:]
	}
	most := map[string]int{"show": 0, "path": 0, "check": 1, "keys": 1}
	n, known := most[action]
	switch {
	case !known:
		return usageError("config", unknown("action", action, wordsOf("config")))
	case len(rest) > n:
		return usageError("config", fmt.Errorf("config %s takes no %q", action, rest[n]))
	case action == "path":
		return configPath(f, asJSON)
	case action == "keys":
		return configKeys(rest, asJSON)
	case action == "check" && len(rest) == 1:
		return configCheckFile(f, rest[0])
	}
	s, err := f.load()
	if err != nil {
		return fail(err)
	}
	switch {
	case action == "check":
		for _, file := range s.config.Files() {
			printLine(printable(file))
		}
		if len(s.config.Files()) == 0 {
			printLine("there are no settings files")
		}
		return 0
	case asJSON:
		return printJSON(s.config.Report())
	}
	printText(s.config.Report().Text())
	return 0
}

// configPath prints where the files belong, the weakest layer first.
func configPath(f *runFlags, asJSON bool) int {
	ws, err := sandbox.Workspace(f.workspace)
	if err != nil {
		return fail(err)
	}
	type place struct {
		Layer  string `json:"layer"`
		Path   string `json:"path"`
		Exists bool   `json:"exists"`
	}
	var out []place
	for _, p := range config.Paths(os.Environ(), "", ws) {
		_, err := os.Lstat(p.Path)
		out = append(out, place{p.Layer.String(), p.Path, err == nil})
	}
	if asJSON {
		return printJSON(out)
	}
	for _, p := range out {
		note := ""
		if !p.Exists {
			note = "  (none)"
		}
		printf("%-13s %s%s\n", p.Layer, printable(p.Path), note)
	}
	return 0
}

func configKeys(names []string, asJSON bool) int {
	type row struct {
		Key     string   `json:"key"`
		Default string   `json:"default"`
		Words   []string `json:"words,omitempty"`
		Env     string   `json:"variable,omitempty"`
		Example string   `json:"example"`
		Doc     string   `json:"doc"`
	}
	rows, all := []row{}, []string{}
	for _, k := range config.Keys() {
		all = append(all, k.Path())
		if len(names) == 0 || names[0] == k.Path() || names[0] == k.Name {
			rows = append(rows, row{k.Path(), k.Default, k.Words, k.Env, k.Example, k.Doc})
		}
	}
	if len(rows) == 0 {
		return usageError("config", fmt.Errorf("unknown key %q%s", names[0], suggestion(names[0], all)))
	}
	if asJSON {
		return printJSON(rows)
	}
	if len(names) == 0 {
		printf("%-34s %s\n", "key", "example (bawn config keys KEY says what it means)")
	}
	for _, r := range rows {
		if len(names) == 0 {
			printf("%-34s %s\n", r.Key, r.Example)
			continue
		}
		printf("%s\n%s\n", r.Key, strings.ReplaceAll(r.Doc, "`", ""))
		printf("example   %s\n", r.Example)
		if len(r.Words) > 0 {
			printf("values    %s\n", strings.Join(r.Words, ", "))
		}
		if r.Default != "" {
			printf("default   %s\n", r.Default)
		}
		if r.Env != "" {
			printf("variable  %s\n", r.Env)
		}
	}
	return 0
}

// configCheckFile reads one file as if it were the user's; nothing of it holds.
func configCheckFile(f *runFlags, file string) int {
	ws, err := sandbox.Workspace(f.workspace)
	if err != nil {
		return fail(err)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return fail(err)
	}
	if err := config.CheckFile(abs, os.Getenv("HOME"), ws); err != nil {
		return fail(err)
	}
	printLine(printable(abs))
	return 0
}
