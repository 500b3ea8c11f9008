package config

import (
	"errors"
	"path"
	"path/filepath"

	"bawn/internal/policy"
)

// ReadAlone reads a text as the user's file over the defaults, without any
// other layer and without looking at the disk: what a file that is not in its
// place yet would mean. The folders are absolute, or "" if unknown; file names it in errors, which are *Error.
func ReadAlone(data []byte, file, home, workspace string) (Config, error) {
	if len(data) > maxFile {
		return Config{}, errors.New("config: the text is too long for a file of settings")
	}
	for _, dir := range [...]string{home, workspace} {
		if dir != "" && !path.IsAbs(dir) && !filepath.IsAbs(dir) {
			return Config{}, errors.New("config: a folder that is not absolute")
		}
	}
	v, err := parseFile(scope{layer: User, home: home, workspace: workspace}, file, data)
	if err != nil {
		return Config{}, err
	}
	l := layers{workspace: workspace, weak: []values{v}}
	return l.merge(), nil
}

// WiderThanDefaults returns the settings that allow more than bawn does
// without any file, or that steer it elsewhere. Hosts that the built-in ones
// cover are not among them.
func (c Config) WiderThanDefaults() []Setting {
	var out []Setting
	for k := range keys {
		key := &keys[k]
		for _, it := range c.items[k] {
			if key.wider(it) {
				out = append(out, Setting{Key: key.Path(), Value: it.Text, Layer: it.Layer.String(), Origin: it.Origin.String(), list: !key.Kind.single()})
			}
		}
	}
	return out
}

// wider reports whether one entry allows more than the key's default.
func (k *Key) wider(it Item) bool {
	switch k.Effect {
	case Tightens:
		return false
	case Ordered:
		return k.rank(it.Text) < 0 || k.rank(it.Text) > k.rank(k.Default)
	case Widens:
		return k != &keys[keyAllowed] || !builtIn(it.host)
	}
	return it.Text != k.Default
}

// builtIn reports whether the built-in hosts cover a rule.
func builtIn(r policy.HostRule) bool {
	for _, h := range policy.DefaultHosts() {
		if hostWithin(r, h) {
			return true
		}
	}
	return false
}

// Printable is a text as it may be printed: every character takes one place
// and none acts on the terminal or ends a line.
func Printable(s string) string { return shown(s) }
