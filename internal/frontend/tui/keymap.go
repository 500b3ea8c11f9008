package tui

import (
	"fmt"
	"slices"
	"strings"
)

// Action is what a key of the session does.
type Action uint8

// The actions. The key of one can be set in [keybindings] (see package
// config); each has a letter too, after the prefix key, so that all of them
// can be had where a terminal sends no Alt keys or a program owns the others.
const (
	NoAction Action = iota
	CycleTier
	Prefix
	ShowSandbox
	ShowQuestions
	ShowNetwork
	ShowDenied
	ShowPolicy
	ShowTasks
	ShowConfig
	ShowHelp
	numActions
)

// actions is the table: status bar, help and the slash commands follow it.
var actions = [numActions]struct {
	name   string // in [keybindings]
	letter string // after the prefix
	page   Page   // that it opens
	short  string // in the status bar
	doc    string
}{
	CycleTier:     {"cycle_sandbox_tier", "s", NoPage, "tier", "go to the next tier: open, guarded, airlock"},
	Prefix:        {"prefix", "", NoPage, "keys", "the letters of this table follow it, whatever program has the screen"},
	ShowSandbox:   {"show_sandbox", "b", SandboxPage, "", "the tiers, to pick one"},
	ShowQuestions: {"show_questions", "q", QuestionsPage, "", "the questions that wait for an answer"},
	ShowNetwork:   {"show_network", "n", NetworkPage, "", "connections as they happen"},
	ShowDenied:    {"show_denied", "d", DeniedPage, "", "what was refused, and what would lift it"},
	ShowPolicy:    {"show_policy", "p", PolicyPage, "", "the rules that hold, with a box to try them"},
	ShowTasks:     {"show_tasks", "t", TasksPage, "", "the commands of this session"},
	ShowConfig:    {"show_config", "c", ConfigPage, "", "settings of this session"},
	ShowHelp:      {"show_help", "h", HelpPage, "", "this help"},
}

// Keymap says which key does what. The zero value has no keys.
type Keymap struct {
	keys [numActions][]string
}

// NewKeymap asks for the keys of each action: config.Config.Keys. A key that
// has two actions is an error.
func NewKeymap(keys func(action string) []string) (Keymap, error) {
	var m Keymap
	for a := NoAction + 1; a < numActions; a++ {
		for _, k := range keys(actions[a].name) {
			if other := m.Action(k); other != NoAction && other != a {
				return Keymap{}, fmt.Errorf("[keybindings]: %s is the key of both %s and %s; give one of them another", k, actions[other].name, actions[a].name)
			}
			m.keys[a] = append(m.keys[a], k)
		}
	}
	return m, nil
}

// Keys are the keys of an action, the first to be shown.
func (m Keymap) Keys(a Action) []string { return m.keys[a] }

// Action is what a key does, spelled as alt+s.
func (m Keymap) Action(key string) Action {
	for a := range m.keys {
		if slices.Contains(m.keys[a], key) {
			return Action(a)
		}
	}
	return NoAction
}

// AfterPrefix is what a letter does that follows the prefix key.
func AfterPrefix(letter string) Action {
	for a := range actions {
		if actions[a].letter == letter && letter != "" {
			return Action(a)
		}
	}
	return NoAction
}

// Page is the page that an action opens, or NoPage.
func (a Action) Page() Page { return actions[a].page }

// spelled are all the ways to an action, for people.
func (m Keymap) spelled(a Action) string {
	all := slices.Clone(m.keys[a])
	if p := m.keys[Prefix]; len(p) > 0 && actions[a].letter != "" {
		all = append(all, p[0]+" "+actions[a].letter)
	}
	return strings.Join(all, ", ")
}
