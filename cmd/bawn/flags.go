package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/policy"
)

// flagSpec is one flag. Exactly one of the setters is given; list flags may
// be repeated.
type flagSpec struct {
	name string // with its dashes
	arg  string // the value's name in help; "" for a switch
	help string
	on   func()
	set  func(string) error
	// optional reports whether the next word is this flag's value; without
	// it a value is always taken.
	optional func(string) bool
}

// jsonFlag is --json, where a command has it.
func jsonFlag(on *bool) flagSpec {
	return flagSpec{name: "--json", help: "print JSON, for programs", on: func() { *on = true }}
}

// flagError leaves out what a refusal is about where that is the flag itself,
// which parseFlags names.
func flagError(err error) error {
	var refused *policy.RefusedError
	if errors.As(err, &refused) {
		return errors.New(refused.Why + "; " + refused.Lift)
	}
	return err
}

var errHelp = errors.New("help asked for")

// parseFlags reads flags up to "--" or the first word that is not one, and
// returns the rest untouched: nothing after it is ever read as a flag.
func parseFlags(args []string, specs []flagSpec) (rest []string, err error) {
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			return args[1:], nil
		}
		if len(a) < 2 || a[0] != '-' {
			return args, nil
		}
		if a == "-h" || a == "--help" {
			return nil, errHelp
		}
		name, value, hasValue := strings.Cut(a, "=")
		f := findFlag(name, specs)
		if f == nil {
			var names []string
			for _, s := range specs {
				names = append(names, s.name)
			}
			return nil, fmt.Errorf("unknown flag %q%s", name, suggestion(name, names))
		}
		args = args[1:]
		if f.arg == "" {
			if hasValue {
				return nil, fmt.Errorf("%s takes no value", name)
			}
			f.on()
			continue
		}
		if !hasValue {
			switch {
			case f.optional != nil && (len(args) == 0 || !f.optional(args[0])):
				f.on()
				continue
			case len(args) == 0 || args[0] == "--":
				return nil, fmt.Errorf("%s needs a value: %s %s", name, name, f.arg)
			}
			value, args = args[0], args[1:]
		}
		if err := f.set(value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil, nil
}

// flagWords are the words of args before the rest that parseFlags returned,
// without the "--" between.
func flagWords(args, rest []string) []string {
	flags := args[:len(args)-len(rest)]
	if n := len(flags); n > 0 && flags[n-1] == "--" {
		flags = flags[:n-1]
	}
	return flags
}

// withoutFlag leaves out one flag, and its value, of words that parseFlags took.
func withoutFlag(words []string, specs []flagSpec, flag string) (out []string) {
	for i := 0; i < len(words); i++ {
		name, _, hasValue := strings.Cut(words[i], "=")
		n := 1
		if f := findFlag(name, specs); f != nil && f.arg != "" && !hasValue && i+1 < len(words) && (f.optional == nil || f.optional(words[i+1])) {
			n = 2
		}
		if name != flag {
			out = append(out, words[i:i+n]...)
		}
		i += n - 1
	}
	return out
}

func findFlag(name string, specs []flagSpec) *flagSpec {
	for i := range specs {
		if specs[i].name == name {
			return &specs[i]
		}
	}
	return nil
}

// flagsBut are the flags but for some.
func flagsBut(specs []flagSpec, names ...string) []flagSpec {
	return slices.DeleteFunc(specs, func(s flagSpec) bool { return slices.Contains(names, s.name) })
}

// unknown refuses a word that is none of those known.
func unknown(what, word string, known []string) error {
	last := len(known) - 1
	return fmt.Errorf("unknown %s %q: it is %s or %s%s", what, word, strings.Join(known[:last], ", "), known[last], suggestion(word, known))
}

// suggestion names the nearest known word, if one is near.
func suggestion(word string, known []string) string {
	best := config.Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
