package config

import (
	"fmt"
	"slices"
	"strings"

	"bawn/internal/policy"
)

// parseEnviron reads the BAWN_… variables. A name that is nearly one of them
// is an error, since a rule with a slip in it would silently not hold; other
// unknown names are a warning, since a build may use them.
func parseEnviron(sc scope, environ []string) (values, []string, error) {
	out := values{layer: sc.layer}
	var warnings []string
	for i := len(environ) - 1; i >= 0; i-- {
		name, value, ok := strings.Cut(environ[i], "=")
		if !ok || !strings.HasPrefix(name, "BAWN_") {
			continue
		}
		k := envKey(name)
		if k < 0 {
			// The name is a person's first guess for the tier: taken in silence,
			// BAWN_TIER=airlock would run guarded.
			if name == "BAWN_TIER" && value != "" && !slices.ContainsFunc(environ, isSandboxed) {
				return out, nil, &Error{File: name, Text: "bawn sets it inside the sandbox and does not read it; the tier to start in is BAWN_DEFAULT_TIER"}
			}
			if slices.Contains(otherVariables[:], name) {
				continue
			}
			if n := Nearest(name, envNames()); n != "" {
				return out, nil, &Error{File: shown(name), Text: fmt.Sprintf("unknown variable; did you mean %s?", n)}
			}
			warnings = append(warnings, "the variable "+shown(name)+" means nothing to bawn")
			continue
		}
		if value == "" || out.set[k] {
			continue // set to nothing is not set; of a repeated name the last counts, as in getenv
		}
		o := policy.Origin{File: name}
		for _, text := range splitVariable(&keys[k], value) {
			it, err := sc.item(&keys[k], text, o)
			if err != nil {
				return out, nil, &Error{File: name, Text: shown(err.Error())}
			}
			out.items[k] = append(out.items[k], it)
		}
		out.set[k], out.at[k] = true, o
	}
	return out, warnings, nil
}

// isSandboxed reports whether the entry is the one that bawn sets beside
// BAWN_TIER.
func isSandboxed(entry string) bool { return strings.HasPrefix(entry, "BAWN_SANDBOXED=") }

func envKey(name string) int {
	for i := range keys {
		if keys[i].Env == name && name != "" {
			return i
		}
	}
	return -1
}

func envNames() []string {
	var out []string
	for i := range keys {
		if keys[i].Env != "" {
			out = append(out, keys[i].Env)
		}
	}
	return append(out, otherVariables[:]...)
}

// splitVariable takes a variable's value apart: folders at colons, as in
// PATH, other lists at commas.
func splitVariable(k *Key, value string) []string {
	if k.Kind == Bool {
		switch value {
		case "1":
			return []string{"true"}
		case "0":
			return []string{"false"}
		}
	}
	if k.Kind.single() {
		return []string{value}
	}
	sep := ","
	if k.Kind == Folders || k.Kind == Places || k.Kind == Programs {
		sep = ":"
	}
	var out []string
	for _, s := range strings.Split(value, sep) {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		// The colon of git.config:core.editor parts nothing: read as two
		// entries it would lift every key.
		if n := len(out); k == &keys[keyUnprotect] && n > 0 && out[n-1]+":" == gitConfigKey && !strings.Contains(s, "/") && strings.Contains(s, ".") {
			out[n-1] = gitConfigKey + s
			continue
		}
		out = append(out, s)
	}
	return out
}

// parseFlags reads the settings of the command line.
func parseFlags(sc scope, flags []Flag) (values, error) {
	out := values{layer: sc.layer}
	for _, f := range flags {
		k := findKey(f.Key)
		if k < 0 {
			return out, fmt.Errorf("config: the flag %s sets an unknown key %q", f.Name, f.Key)
		}
		o := policy.Origin{File: f.Name}
		it, err := sc.item(&keys[k], f.Value, o)
		if err != nil {
			return out, &Error{File: f.Name, Text: shown(err.Error())}
		}
		if keys[k].Kind.single() {
			out.items[k] = nil // the last one counts
		}
		out.items[k] = append(out.items[k], it)
		out.set[k], out.at[k] = true, o
	}
	return out, nil
}
