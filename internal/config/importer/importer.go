// Package importer turns the settings of other tools into a configuration of
// bawn's: bytes in, text out. It opens no file and reads no variable.
//
// A settings file is anybody's text. What would allow more than bawn allows
// without any file is written as a comment unless the caller asks for it, and
// marked in either case; package config decides what that is, and reads the
// result once more before it is handed out.
package importer

import (
	"fmt"
	"strings"

	"bawn/internal/config"
)

// MaxFile is the size of the largest file that is read, in bytes.
const MaxFile = 1 << 20

const (
	maxDepth   = 32     // nesting of a settings file
	maxEntries = 10_000 // settings and remarks of one file
	maxShown   = 160    // characters of a foreign text in a remark
)

// Tool is a program whose settings can be read.
type Tool struct {
	Name   string
	Places []string // of its file below the home folder, the first that exists counts
	syntax func([]byte) (*node, error)
	read   func(*builder, *node)
}

// Tools returns what can be imported, by name.
func Tools() []Tool {
	return []Tool{
		{"claude", []string{".claude/settings.json"}, parseJSON, (*builder).claude},
		{"codex", []string{".codex/config.toml"}, parseTOML, (*builder).codex},
		{"fence", []string{".config/fence/fence.jsonc", ".config/fence/fence.json", ".fence.jsonc", ".fence.json", "Library/Application Support/fence/fence.jsonc", "Library/Application Support/fence/fence.json"}, parseJSONC, (*builder).fence},
		{"srt", []string{".srt-settings.json"}, parseJSON, (*builder).srt},
	}
}

// Find returns a tool by its name. The error names those there are.
func Find(name string) (Tool, error) {
	var names []string
	for _, t := range Tools() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	known := strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	switch name {
	case "optiq", "o4":
		return Tool{}, fmt.Errorf("bawn does not know the form of %s's settings and does not guess at it; %s can be imported", name, known)
	}
	return Tool{}, fmt.Errorf("%q is not a tool whose settings can be read; %s can be imported", name, known)
}

// Options is what the text of a file is read against.
type Options struct {
	// File is where the settings stand, for the remarks.
	File string
	// Home is the user's home folder, an absolute path.
	Home string
	// UserFile says that the file is the user's own, not a project's: some
	// tools resolve relative paths by that.
	UserFile bool
	// IncludeWidening makes the entries that allow more than bawn's defaults
	// active. Without it they are comments.
	IncludeWidening bool
}

// Result is an imported configuration.
type Result struct {
	Text    string // for config.toml
	Active  int    // settings that hold
	Widens  int    // settings that allow more than the defaults, active or not
	Remarks int    // settings without an equivalent, with half of one, or not understood
}

// Import reads the settings of a tool. Errors name the line.
func Import(t Tool, data []byte, o Options) (Result, error) {
	if len(data) > MaxFile {
		return Result{}, fmt.Errorf("larger than %d bytes", MaxFile)
	}
	root, err := t.syntax(data)
	if err != nil {
		return Result{}, err
	}
	if root.kind != object {
		return Result{}, fmt.Errorf("line %d: the settings of %s are a table of keys, not %s", root.line, t.Name, root.kind)
	}
	b := &builder{tool: t, opt: o, keys: config.Keys(), have: map[string]int{}}
	t.read(b, root)
	if b.full {
		return Result{}, fmt.Errorf("more than %d settings", maxEntries)
	}
	return b.result()
}
