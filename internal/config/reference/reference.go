// Package reference writes what the table of keys says: the page for people
// and the schema for editors.
package reference

import (
	_ "embed" // the page's fixed text
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"bawn/internal/config"
)

//go:generate go run ./gen ../../../docs

//go:embed intro.md
var intro string

// Files returns the content of each file below docs, by name.
func Files() (map[string][]byte, error) {
	schema, err := Schema()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"configuration.md": []byte(Markdown()), "config.schema.json": schema}, nil
}

// Markdown is the page about configuration.
func Markdown() string {
	var b strings.Builder
	b.WriteString(intro)
	for _, t := range config.Tables() {
		fmt.Fprintf(&b, "\n### `[%s]`\n\n%s\n", t[0], t[1])
		for _, k := range config.Keys() {
			if k.Table != t[0] {
				continue
			}
			fmt.Fprintf(&b, "\n#### `%s`\n\n%s\n\n```toml\n[%s]\n%s = %s\n```\n\n", k.Name, k.Doc, k.Table, k.Name, k.Example)
			fmt.Fprintf(&b, "| type | default | variable | from a project's file |\n|---|---|---|---|\n")
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", typeName(k), defaultText(k), variable(k), fromProject(k))
		}
	}
	return b.String()
}

func typeName(k config.Key) string {
	switch k.Kind {
	case config.Bool:
		return "`true` or `false`"
	case config.Word:
		out := make([]string, len(k.Words))
		for i, w := range k.Words {
			out[i] = "`" + strconv.Quote(w) + "`"
		}
		return "one of " + strings.Join(out, ", ")
	case config.Proxy:
		return "`\"env\"`, `\"none\"` or a URL"
	case config.Address:
		return "`\"none\"` or an address"
	case config.Folders:
		return "list of folders"
	case config.Places:
		return "list of files and folders"
	case config.Hosts:
		return "list of hosts"
	case config.Ports:
		return "list of ports"
	case config.Names:
		return "list of variable names, `*` for any text"
	case config.Commands:
		return "list of commands"
	case config.Programs:
		return "list of absolute paths"
	case config.Chords:
		return "list of keys"
	}
	return "?"
}

func defaultText(k config.Key) string {
	switch {
	case k.Kind == config.Bool:
		return "`" + k.Default + "`"
	case k.Default == "":
		return "`[]`"
	case k.Kind == config.Chords:
		return "`[" + strconv.Quote(k.Default) + "]`"
	}
	return "`" + strconv.Quote(k.Default) + "`"
}

func variable(k config.Key) string {
	if k.Env == "" {
		return "none"
	}
	return "`" + k.Env + "`"
}

func fromProject(k config.Key) string {
	switch {
	case k.Effect == config.Tightens && k.Kind == config.Places:
		return "yes; untrusted, only inside the workspace"
	case k.Effect == config.Tightens:
		return "yes, also untrusted"
	case k.Effect == config.Ordered && k.From == config.Project:
		return "if trusted; stricter also untrusted"
	case k.Effect == config.Ordered:
		return "only stricter"
	case k.From == config.Project:
		return "if trusted"
	}
	return "never"
}

type object = map[string]any

// Schema is the JSON schema of a file. It takes everything that bawn takes;
// bawn is stricter about what a pattern cannot say.
func Schema() ([]byte, error) {
	root := table("bawn's configuration", nil)
	for _, t := range config.Tables() {
		at := root
		for _, name := range strings.Split(t[0], ".") {
			props := at["properties"].(object)
			if props[name] == nil {
				props[name] = table(t[1], nil)
			}
			at = props[name].(object)
		}
		for _, k := range config.Keys() {
			if k.Table == t[0] {
				at["properties"].(object)[k.Name] = property(k)
			}
		}
	}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "bawn config.toml"
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}

func table(doc string, props object) object {
	if props == nil {
		props = object{}
	}
	return object{"type": "object", "description": doc, "additionalProperties": false, "properties": props}
}

// Patterns for the entries of lists, as JSON schema (ECMAScript) and Go read
// them alike.
const (
	pathPattern    = `^([^*?\[\]{}$\\]|\\[*?\[\]{}$\\])+$`
	hostPattern    = `^[^\s/!]+!?$`
	commandPattern = `^ *[^\s*].*$`
	programPattern = `^/[^*?\[\]{}$\\]+$`
	namePattern    = `^[^=\s?\[\]$][^=?\[\]]*$`
	chordPattern   = `^([A-Za-z]+\+)*[!-~]+$`
	proxyPattern   = `^(env|none|http://.+:[0-9]+/?)$`
)

func property(k config.Key) object {
	doc := strings.ReplaceAll(k.Doc, "`", "")
	text := func(pattern string) object { return object{"type": "string", "pattern": pattern} }
	list := func(item object) object { return object{"type": "array", "items": item} }
	var p object
	switch k.Kind {
	case config.Bool:
		p = object{"type": "boolean", "default": k.Default == "true"}
	case config.Word:
		p = object{"type": "string", "enum": k.Words, "default": k.Default}
	case config.Proxy:
		p = text(proxyPattern)
		p["default"] = k.Default
	case config.Address:
		p = text(`^(none|https?://[^/?#@]+(/[^?#]*)?)$`)
		p["default"] = k.Default
	case config.Folders, config.Places:
		p = list(text(pathPattern))
	case config.Hosts:
		p = list(text(hostPattern))
	case config.Ports:
		p = list(object{"type": "integer", "minimum": 1, "maximum": 65535})
	case config.Names:
		p = list(text(namePattern))
	case config.Commands:
		p = list(text(commandPattern))
	case config.Programs:
		p = list(text(programPattern))
	case config.Chords:
		p = list(text(chordPattern))
	}
	p["description"] = doc
	return p
}
