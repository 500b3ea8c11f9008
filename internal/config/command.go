package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

// parseCommand reads a pattern for commands, in the form that package plain
// matches.
func parseCommand(k *Key, text string, o policy.Origin) (*plain.Pattern, error) {
	p, err := plain.ParsePattern(text, o)
	if err == nil && k == &keys[keyExclude] {
		_, _, err = plain.ParseExclusion(text, o)
	}
	if err != nil {
		return &plain.Pattern{}, err
	}
	return &p, nil
}

var modifiers = [...]string{"ctrl", "alt", "shift", "super"}

var namedKeys = [...]string{
	"enter", "esc", "tab", "space", "backspace", "delete", "insert", "home", "end", "pgup", "pgdown", "up", "down", "left", "right", "plus",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
}

// parseChord checks a key with its modifiers, as alt+s or ctrl+shift+f6.
func parseChord(text string) (string, error) {
	lower := strings.ToLower(text)
	parts := strings.Split(lower, "+")
	key, mods := parts[len(parts)-1], parts[:len(parts)-1]
	for i, m := range mods {
		if !slices.Contains(modifiers[:], m) {
			return "", fmt.Errorf("%q is not one of ctrl, alt, shift and super%s", m, didYouMean(m, modifiers[:]))
		}
		if slices.Contains(mods[:i], m) {
			return "", fmt.Errorf("%q is named twice", m)
		}
	}
	named := slices.Contains(namedKeys[:], key)
	if !named && (len(key) != 1 || key[0] <= ' ' || key[0] > '~') {
		return "", fmt.Errorf("%q is not a key%s", key, didYouMean(key, namedKeys[:]))
	}
	function := named && key[0] == 'f' && len(key) > 1 && key[1] >= '1' && key[1] <= '9'
	if !function && (len(mods) == 0 || len(mods) == 1 && mods[0] == "shift") {
		return "", errors.New("a key without ctrl, alt or super is text to type, or answers a question")
	}
	if slices.Contains(reservedChords[:], lower) {
		return "", fmt.Errorf("%q is reserved: it stops a command, or is another key to a terminal", lower)
	}
	return lower, nil
}

// reservedChords are keys that a person needs in every program, and those that
// a terminal sends as Tab, Enter, Backspace, Esc or the start of another key.
var reservedChords = [...]string{
	"ctrl+c", "ctrl+d", "ctrl+z", "ctrl+i", "ctrl+m", "ctrl+j", "ctrl+h", "ctrl+[", "alt+[", "alt+shift+o", "alt+esc", "ctrl+enter",
}
