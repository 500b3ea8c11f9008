package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

// Pending is a setting of the project's file that was not taken.
type Pending struct {
	Key  string
	Item Item
	// Never is set where trusting the file would not help: only the user's or
	// the managed file may say it.
	Never bool
}

// Text says it in a line.
func (p Pending) Text() string {
	why := "waits until the file is trusted (bawn trust)"
	if p.Never {
		why = "is never taken from a project's file"
	}
	text := policy.Quote(p.Item.Text)
	if k := findKey(p.Key); k >= 0 {
		text = showValue(&keys[k], p.Item)
	}
	return fmt.Sprintf("%s = %s (%s) %s", p.Key, text, shown(p.Item.Origin.String()), why)
}

// merge puts the layers together, the weakest first, and clamps the result.
// It is a pure function.
func (l *layers) merge() Config {
	c := Config{workspace: l.workspace, warnings: slices.Clone(l.warnings), files: slices.Clone(l.files)}
	for i := range l.weak {
		c.add(&l.weak[i])
	}
	if l.project != nil {
		c.project = true
		c.trusted = l.trusted
		allowed := c.fromProject(l.project, l.trusted)
		c.add(&allowed)
	}
	for i := range l.strong {
		c.add(&l.strong[i])
	}
	if l.required != nil {
		c.clamp(l.required)
	}
	c.warn()
	return c
}

// add merges a stronger layer into what is there.
func (c *Config) add(v *values) {
	for k := range keys {
		if !v.set[k] {
			continue
		}
		if k == keyTier { // where the strongest does not apply, the next one does
			c.items[k] = append(slices.Clip(c.items[k]), v.items[k]...)
			continue
		}
		if keys[k].Kind.single() || keys[k].Kind == Chords {
			c.items[k] = append([]Item{}, v.items[k]...) // never nil: set
			continue
		}
		c.extend(k, v.items[k])
	}
}

// extend appends the entries that are not there yet: the first to say
// something is its origin.
func (c *Config) extend(k int, items []Item) {
	have := make(map[string]bool, len(c.items[k])+len(items))
	c.items[k] = slices.Grow(slices.Clip(c.items[k]), len(items))
	for _, it := range c.items[k] {
		have[it.Text] = true
	}
	for _, it := range items {
		if !have[it.Text] {
			have[it.Text] = true
			c.items[k] = append(c.items[k], it)
		} else if it.Layer == Flags && (keys[k].Kind == Folders || keys[k].Kind == Hosts) {
			i := slices.IndexFunc(c.items[k], func(old Item) bool { return old.Text == it.Text })
			c.items[k] = slices.Clone(c.items[k]) // a layer's own list may be behind it
			c.items[k][i].typed = true
		}
	}
}

// fromProject returns what of a project's file holds. The rest is noted.
func (c *Config) fromProject(v *values, trusted bool) values {
	out := values{layer: v.layer, file: v.file}
	for k := range keys {
		if !v.set[k] {
			continue
		}
		key := &keys[k]
		for _, it := range v.items[k] {
			switch {
			case key.From == NotProject && !c.stricter(k, it):
				c.pending = append(c.pending, Pending{key.Path(), it, true})
				continue
			case !trusted && !c.stricter(k, it):
				c.pending = append(c.pending, Pending{key.Path(), it, false})
				continue
			}
			out.set[k], out.at[k] = true, v.at[k]
			out.items[k] = append(out.items[k], it)
		}
	}
	return out
}

// stricter reports whether taking a value allows less than what is there, or
// the same: whatever comes from a file that nobody has seen passes here.
func (c *Config) stricter(k int, it Item) bool {
	key := &keys[k]
	switch key.Effect {
	case Tightens:
		// Hiding or freezing what lies outside the repository could take a
		// safety setting away from a tool.
		return key.Kind != Places || c.workspace != "" && policy.Inside(it.Text, c.workspace)
	case Ordered:
		most := key.rank(c.value(k).Text)
		if k == keyTier { // with nobody to ask a weaker layer's may count
			t, _ := c.Tier(true)
			most = min(most, key.rank(t.String()))
		}
		return key.rank(it.Text) <= most
	}
	return false
}

// value is a single key's value, or its default.
func (c *Config) value(k int) Item {
	if n := len(c.items[k]); n > 0 {
		return c.items[k][n-1]
	}
	return Item{Text: keys[k].Default}
}

// clamp holds the result below the managed requirements: of what widens only
// what they name, of ordered values none wider than theirs; what tightens is
// added.
func (c *Config) clamp(r *values) {
	c.required = r
	if r.set[keyTier] {
		c.maxTier = r.items[keyTier][0]
	}
	if r.set[keyMode] {
		c.maxMode = r.items[keyMode][0]
	}
	if k := keyAllowedPaths; r.set[k] {
		c.maxFolders, c.folderLimit, c.foldersBy = true, r.items[k], r.at[k]
	}
	// Single values first: whether the built-in hosts hold decides what the
	// list of hosts begins with.
	for k := range keys {
		if key := &keys[k]; r.set[k] && key.Kind.single() {
			c.clampOne(k, r.items[k][0])
		}
	}
	for k := range keys {
		switch key := &keys[k]; {
		case !r.set[k] || key.Kind.single():
		case key.Effect == Tightens:
			c.extend(k, r.items[k])
		case key.Effect == Widens:
			c.limit(k, r)
		default:
			c.items[k] = r.items[k]
		}
	}
}

func (c *Config) clampOne(k int, most Item) {
	key, have := &keys[k], c.value(k)
	if key.Effect == Ordered && key.rank(have.Text) <= key.rank(most.Text) {
		return
	}
	if have.Origin.File != "" && have.Text != most.Text {
		c.note(key, have, most.Origin)
	}
	c.items[k] = []Item{most}
}

func (c *Config) note(key *Key, it Item, by policy.Origin) {
	text := strconv.Quote(it.Text)
	if key.Kind == Proxy {
		text = quoteProxy(it.Text)
	}
	c.warnings = append(c.warnings, fmt.Sprintf("%s %s (%s) is more than %s allows, and does not hold", key.Path(), text, shown(it.Origin.String()), shown(by.String())))
}

// limit keeps of a widening list what the requirements name.
func (c *Config) limit(k int, r *values) {
	if k == keyAllowed {
		// The built-in hosts are bound as well: they become a part of the list.
		if c.value(keyDefaults).Text == "true" {
			var builtin []Item
			for _, h := range policy.DefaultHosts() {
				builtin = append(builtin, Item{Text: h.String(), host: h})
			}
			c.items[k] = append(builtin, c.items[k]...)
		}
		c.clampedHosts = true
	}
	within := newLimit(&keys[k], r.items[k])
	var kept []Item
	for _, it := range c.items[k] {
		if within(it) {
			kept = append(kept, it)
			continue
		}
		if it.Origin.File != "" {
			c.note(&keys[k], it, r.at[k])
		}
	}
	c.items[k] = kept
}

// newLimit returns whether an entry allows no more than some entry of most.
func newLimit(key *Key, most []Item) func(Item) bool {
	texts := make(map[string]bool, len(most))
	for _, m := range most {
		texts[m.Text] = true
	}
	return func(it Item) bool {
		if texts[it.Text] {
			return true
		}
		return slices.ContainsFunc(most, func(m Item) bool {
			switch key.Kind {
			case Folders, Places:
				return policy.Inside(it.Text, m.Text)
			case Hosts:
				return hostWithin(it.host, m.host)
			}
			return false // the same text, or nothing
		})
	}
}

// hostWithin reports whether rule r matches only what rule m matches.
func hostWithin(r, m policy.HostRule) bool {
	if m.Port() != 0 && m.Port() != r.Port() {
		return false
	}
	if m.Any() {
		// An address needs a rule that names it to be opened at all, so * does
		// not stand for the internal ones.
		return r.Any() || !opensInternal(r)
	}
	if r.Any() {
		return false
	}
	port := max(1, r.Port())
	named := m.Covers(policy.Connect{Host: r.Host(), Port: port})
	if isBelow(r) {
		// What is below a name is covered if the name is, or if the other rule
		// is about what is below the same one.
		return named || isBelow(m) && r.Host() == m.Host()
	}
	return named
}

func isBelow(r policy.HostRule) bool { return strings.HasPrefix(r.String(), "*.") }

// opensInternal reports whether a rule opens something that * does not.
func opensInternal(r policy.HostRule) bool {
	star, err := policy.ParseHostRule("*", policy.Origin{})
	if err != nil {
		return true
	}
	n, err := policy.NewNetwork(policy.NetworkConfig{NoDefaults: true, Allow: []policy.HostRule{star}})
	if err != nil {
		return true
	}
	return n.Decide(policy.Connect{Host: r.Host(), Port: max(1, r.Port())}).Verdict != policy.Allow
}

// warn adds what a person should know about the result.
func (c *Config) warn() {
	for _, it := range c.items[keyAllowed] {
		if it.host.Any() {
			c.warnings = append(c.warnings, fmt.Sprintf("allowed_domains %q (%s) opens every public host", it.Text, shown(it.Origin.String())))
		}
	}
	for _, it := range c.items[keyExclude] {
		if _, w, err := plain.ParseExclusion(it.Text, it.Origin); err == nil && w != "" {
			c.warnings = append(c.warnings, w+" ("+shown(it.Origin.String())+")")
		}
	}
	for _, it := range c.items[keyEscape] {
		if _, w, err := plain.ParseHatch(it.Text, it.Origin); err == nil && w != "" {
			c.warnings = append(c.warnings, w+" ("+shown(it.Origin.String())+")")
		}
	}
	for _, it := range c.items[keyUnprotect] {
		if it.Text == "bawn" || c.workspace != "" && policy.Inside(it.Text, c.workspace+"/"+projectFolder) {
			c.warnings = append(c.warnings, "unprotect "+strconv.Quote(it.Text)+" ("+shown(it.Origin.String())+") lets commands change bawn's own settings of this project")
		}
	}
}
