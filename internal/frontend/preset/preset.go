// Package preset is what bawn knows of coding agents that run in a sandbox as a
// whole (bawn wrap): what each keeps for itself and needs to reach. It is data,
// one file for each agent; what of it holds is decided where policies are made.
package preset

import (
	"embed"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

//go:embed agents/*.toml
var files embed.FS

// names are the agents in the order of the documentation.
var names = [...]string{"claude", "codex", "gemini", "opencode", "copilot", "cursor", "goose", "crush", "aider"}

// Names are the agents that have a preset.
func Names() []string { return append([]string(nil), names[:]...) }

// Commands says where the commands run that an agent starts. The zero value is
// its own sandbox, where its credentials can be read.
type Commands uint8

const (
	Children Commands = iota // they are its own children
	Hooked                   // beside it, once bawn setup has put its hook there
	Shimmed                  // beside it, by a variable that bawn wrap sets
)

// Preset is one file.
type Preset struct {
	Name, Title string
	Commands    Commands

	programs, packages []string
	state, kept        []string
	private            []string
	hosts              []policy.HostRule
	env                []string
	shell, shim        string
}

// Text is the file of an agent; nil if there is none.
func Text(name string) []byte {
	for _, n := range names {
		if n == name {
			data, err := files.ReadFile("agents/" + name + ".toml")
			if err != nil {
				panic(err) // it is part of the program
			}
			return data
		}
	}
	return nil
}

// Read returns the preset of an agent; nil if there is none.
func Read(name string) (*Preset, error) {
	data := Text(name)
	if data == nil {
		return nil, nil
	}
	p, err := parse(name, data)
	if err != nil {
		return nil, fmt.Errorf("preset %s: %w", name, err)
	}
	return p, nil
}

// parse reads a file strictly: every key is there, once, and none besides;
// "private" alone may be missing.
func parse(name string, data []byte) (*Preset, error) {
	p := &Preset{Name: name}
	var commands, shell []string
	var hosts []string
	lists := map[string]*[]string{
		"programs": &p.programs, "packages": &p.packages, "state": &p.state, "kept": &p.kept, "private": &p.private, "hosts": &hosts, "env": &p.env,
	}
	var title []string
	words := map[string]*[]string{"title": &title, "commands": &commands, "shell": &shell}
	seen := map[string]bool{}
	var t unstable.Parser
	t.Reset(data)
	for t.NextExpression() {
		e := t.Expression()
		if e.Kind != unstable.KeyValue {
			return nil, fmt.Errorf("it holds more than keys")
		}
		it := e.Key()
		it.Next()
		key := string(it.Node().Data)
		into, list := lists[key], true
		if into == nil {
			into, list = words[key], false
		}
		v := e.Value()
		switch {
		case into == nil || it.Next() || seen[key]:
			return nil, fmt.Errorf("%q is no key, or stands twice", key)
		case list != (v.Kind == unstable.Array) || !list && v.Kind != unstable.String:
			return nil, fmt.Errorf("%s has another form", key)
		case !list:
			*into = []string{string(v.Data)}
		default:
			for it := v.Children(); it.Next(); {
				if it.Node().Kind != unstable.String || len(it.Node().Data) == 0 {
					return nil, fmt.Errorf("%s is a list of words", key)
				}
				*into = append(*into, string(it.Node().Data))
			}
		}
		seen[key] = true
	}
	if err := t.Error(); err != nil {
		return nil, err
	}
	for key := range lists {
		if !seen[key] && key != "private" {
			return nil, fmt.Errorf("%s is missing", key)
		}
	}
	if !seen["title"] || !seen["commands"] {
		return nil, fmt.Errorf("title or commands is missing")
	}
	p.Title = title[0]
	for _, h := range hosts {
		r, err := hostname.ParseAllowed(h, p.origin())
		if err != nil {
			return nil, err
		}
		if r.Any() {
			return nil, fmt.Errorf("hosts names every host")
		}
		p.hosts = append(p.hosts, r)
	}
	return p, p.check(commands[0], shell)
}

func (p *Preset) check(commands string, shell []string) error {
	switch commands {
	case "children":
	case "hook":
		p.Commands = Hooked
	case "shim":
		p.Commands = Shimmed
	default:
		return fmt.Errorf("commands is %q", commands)
	}
	if (p.Commands == Shimmed) != (len(shell) == 1) {
		return fmt.Errorf("shell goes with commands = \"shim\"")
	}
	if len(shell) == 1 {
		var ok bool
		if p.shell, p.shim, ok = strings.Cut(shell[0], "="); !ok || p.shell == "" || p.shim == "" {
			return fmt.Errorf("shell is %q", shell[0])
		}
	}
	for _, s := range p.state {
		_, usual := place(s)
		if !strings.HasPrefix(usual, "~/.") || usual == "~/." || !policy.IsClean(usual[1:]) {
			return fmt.Errorf("state %q is no hidden folder in the home", s)
		}
	}
	for _, k := range append(p.kept[:len(p.kept):len(p.kept)], p.private...) {
		if strings.HasPrefix(k, "/") || !policy.IsClean("/"+k) {
			return fmt.Errorf("kept or private %q is no name below the state", k)
		}
	}
	for _, e := range p.env {
		if strings.Trim(e, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != "" {
			return fmt.Errorf("env %q is no name of one variable", e)
		}
	}
	return (policy.EnvRules{Keep: p.env}).Validate()
}

func (p *Preset) origin() policy.Origin { return policy.Origin{File: "preset " + p.Name} }

// place splits the place of a folder: VARIABLE/sub or ~/.usual.
func place(s string) (moved, usual string) {
	if moved, usual, ok := strings.Cut(s, " or "); ok {
		return moved, usual
	}
	return "", s
}

// Open is what the preset opens for a user.
func (p *Preset) Open(home string, getenv func(string) string) *sandbox.Preset {
	out := &sandbox.Preset{
		Agent: p.Name, Title: p.Title, Kept: p.kept, Private: p.private, Hosts: p.hosts, Env: p.env, Shell: p.shell, Shim: p.shim, Origin: p.origin(),
	}
	for _, s := range p.state {
		moved, usual := place(s)
		dir := path.Join(home, strings.TrimPrefix(usual, "~/"))
		if name, sub, _ := strings.Cut(moved, "/"); name != "" && filepath.IsAbs(getenv(name)) {
			dir = path.Join(getenv(name), sub)
		}
		if policy.IsClean(dir) {
			out.State = append(out.State, dir)
		}
	}
	return out
}

// Of returns the agent that a program is, by its path without links: the npm
// package that it lies in, else its name. Whether the path is to be trusted is
// for the caller: a project may hold a program of any name.
func Of(real, home string) (*Preset, error) {
	for _, name := range names {
		p, err := Read(name)
		if err != nil {
			return nil, err
		}
		if p.is(real, home) {
			return p, nil
		}
	}
	return nil, nil
}

func (p *Preset) is(real, home string) bool {
	if pkg := npmPackage(real); pkg != "" {
		for _, pattern := range p.packages {
			if ok, _ := path.Match(pattern, pkg); ok {
				return true
			}
		}
		return false
	}
	for _, pattern := range p.programs {
		if rest, below := strings.CutPrefix(pattern, "~/"); below {
			if in, ok := strings.CutPrefix(real, home+"/"); ok {
				if ok, _ := path.Match(rest, in); ok {
					return true
				}
			}
		} else if path.Base(real) == pattern {
			return true
		}
	}
	return false
}

// npmPackage is the name of the package that a file lies in; "" for none.
func npmPackage(real string) string {
	const modules = "/node_modules/"
	i := strings.LastIndex(real, modules)
	if i < 0 {
		return ""
	}
	parts := strings.SplitN(real[i+len(modules):], "/", 3)
	if strings.HasPrefix(parts[0], "@") && len(parts) == 3 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
