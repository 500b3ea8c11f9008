package sandbox

import (
	"slices"
	"strings"

	"bawn/internal/policy"
)

// npmKeys are the settings that hold no secret; every other line is dropped,
// since a key that is not known may be a credential.
var npmKeys = [...]string{
	"audit", "cafile", "ca", "color", "engine-strict", "fetch-retries", "fetch-timeout", "foreground-scripts", "fund",
	"ignore-scripts", "init-author-email", "init-author-name", "init-author-url", "init-license", "init-version",
	"legacy-peer-deps", "loglevel", "maxsockets", "min-release-age", "package-lock", "prefer-offline", "progress",
	"registry", "replace-registry-host", "save-exact", "save-prefix", "script-shell", "strict-ssl", "update-notifier",
}

// cleanNpmrc keeps the lines of an .npmrc whose keys are known to be
// harmless and whose values hold no login.
func cleanNpmrc(text string) string {
	var b strings.Builder
	for _, line := range lines(text) {
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		known := slices.Contains(npmKeys[:], key) ||
			strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry") && !strings.Contains(key, "//")
		if ok && known && !holdsLogin(value) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// cleanPypirc keeps section names, index lists and repository addresses. A
// key may end with = or :, and a value may go on in indented lines.
func cleanPypirc(text string) string {
	var b strings.Builder
	keep := false
	for _, line := range lines(text) {
		trimmed := strings.TrimSpace(line)
		value := trimmed
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
			continue
		case line[0] == ' ' || line[0] == '\t':
			// The value above goes on: an index or an address has no key in it.
			if !keep || strings.Contains(strings.ReplaceAll(trimmed, "://", ""), "=") {
				continue
			}
		case trimmed[0] == '[':
			if keep = false; strings.HasSuffix(trimmed, "]") && !holdsLogin(trimmed) {
				b.WriteString(trimmed + "\n")
			}
			continue
		default:
			i := strings.IndexAny(trimmed, "=:")
			if i < 0 {
				keep = false
				continue
			}
			key := strings.ToLower(strings.TrimSpace(trimmed[:i]))
			if keep = key == "index-servers" || key == "repository"; !keep {
				continue
			}
			value = trimmed[i+1:]
		}
		if holdsLogin(value) {
			keep = false
			continue
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// lines splits at every kind of line end that npm and Python know.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029
	})
}

// holdsLogin reports whether a value holds the user part or the query of an
// address, a comment, a variable whose value is not known here, or what looks
// like a credential anywhere.
func holdsLogin(value string) bool {
	if strings.Contains(value, "//") && strings.ContainsAny(value, "@?#;") || strings.Contains(value, "${") {
		return true
	}
	if strings.ContainsAny(value, "#;") || policy.HasControl(strings.ReplaceAll(value, "\t", " ")) {
		return true
	}
	for word := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"'`)) {
		if _, dropped := (policy.EnvRules{}).Scrub([]string{"X=" + strings.Trim(word, `"'`)}); len(dropped) > 0 {
			return true
		}
	}
	_, dropped := policy.EnvRules{}.Scrub([]string{"X=" + value})
	return len(dropped) > 0
}
