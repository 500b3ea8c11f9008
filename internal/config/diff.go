package config

import (
	"fmt"
	"net/url"
	"slices"

	"bawn/internal/hostname"
	"bawn/internal/policy"
)

// Diff says what next allows that c does not, a line for each, for a person
// to read before saying yes. No line means that nothing is widened.
func (c Config) Diff(next Config) []string {
	var out []string
	for k := range keys {
		key := &keys[k]
		switch {
		case key.Kind.single():
			a, b := c.value(k), next.value(k)
			wider := a.Text != b.Text
			if key.Effect == Ordered {
				wider = key.rank(b.Text) > key.rank(a.Text)
			}
			if k == keyTier && !wider {
				a, _ := c.Tier(true)
				if b, it := next.Tier(true); b > a {
					out = append(out, fmt.Sprintf("%s: %q instead of %q where nobody can be asked%s", key.Path(), b, a, at(it)))
				}
			}
			if wider {
				out = append(out, fmt.Sprintf("%s: %s instead of %s%s", key.Path(), showValue(key, b), showValue(key, a), at(b)))
			}
		case key.Kind == Chords:
			if a, b := c.texts(k), next.texts(k); !slices.Equal(a, b) {
				for _, it := range next.items[k] {
					out = append(out, fmt.Sprintf("%s: %s%s", key.Path(), showValue(key, it), at(it)))
				}
			}
		case key.Effect == Tightens:
			for _, it := range missing(c.items[k], next.items[k]) {
				out = append(out, fmt.Sprintf("%s no longer holds %s%s", key.Path(), showValue(key, it), at(it)))
			}
		default:
			for _, it := range missing(next.items[k], c.items[k]) {
				out = append(out, fmt.Sprintf("%s adds %s%s", key.Path(), showValue(key, it), at(it)))
			}
		}
	}
	if c.clampedHosts && !next.clampedHosts {
		out = append(out, "the managed requirements no longer limit the hosts")
	}
	if c.NarrowInstalls() && !next.NarrowInstalls() {
		out = append(out, "package installs get the ordinary profile of guarded, not their narrower one, since a file sets folders or hosts")
	}
	return out
}

// missing returns the entries of a that b has not.
func missing(a, b []Item) []Item {
	have := make(map[string]bool, len(b))
	for _, it := range b {
		have[it.Text] = true
	}
	var out []Item
	for _, it := range a {
		if !have[it.Text] {
			out = append(out, it)
		}
	}
	return out
}

func at(it Item) string {
	if it.Origin == (policy.Origin{}) {
		return ""
	}
	return " (" + shown(it.Origin.String()) + ")"
}

// showValue is a value as it may be printed: quoted, and without a password.
func showValue(k *Key, it Item) string {
	switch k.Kind {
	case Bool, Ports:
		return it.Text
	case Proxy:
		return quoteProxy(it.Text)
	case Hosts:
		text := policy.Quote(it.Text)
		if _, warning := hostname.Display(it.host.Host()); warning != "" {
			text += ", which " + warning + ","
		}
		return text
	}
	return policy.Quote(it.Text)
}

func quoteProxy(text string) string {
	if u, err := url.Parse(text); err == nil {
		return policy.Quote(u.Redacted())
	}
	return `"…"`
}
