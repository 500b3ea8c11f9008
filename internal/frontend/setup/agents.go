package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Place is where an agent is set up.
type Place struct {
	Home    string
	Getenv  func(string) string
	Project string // real path; "" sets the agent up for the user
	Program string // bawn
	Shims   string // the folder of shims
}

// file is one file of an agent: what setup makes of it, and what is left
// without setup's part. Both are pure.
type file struct {
	path  string
	root  string // the project that holds it, by its real path; "" for the user's
	whole bool   // all of it is bawn's
	edit  func(old []byte) ([]byte, error)
	strip func(old []byte) ([]byte, error)
}

// Agent is an agent that can be set up.
type Agent struct {
	Name, Title string
	// Steps are what a person must do besides, "" for nothing.
	Steps func(p Place) string

	project bool // it reads settings of a project
	files   func(p Place) []file
}

// Find returns the agent of a name; nil if there is none.
func Find(name string) *Agent {
	for _, a := range agents() {
		if a.Name == name {
			return &a
		}
	}
	return nil
}

// Names are the agents in the order of the documentation.
func Names() (out []string) {
	for _, a := range agents() {
		out = append(out, a.Name)
	}
	return out
}

// Shims are the names of the links in the folder of shims.
func Shims() []string { return []string{"claude-shell", "codex-exec-server", "bash", "sh", "zsh"} }

// command is a hook as shell text; args as words.
func (p Place) command(agent string) string {
	return quote(p.Program) + " hook " + agent + " --shims " + quote(p.Shims)
}

func (p Place) args(agent string) []string { return []string{"hook", agent, "--shims", p.Shims} }

// Hook is what an agent runs for each event: the program and its words.
func (p Place) Hook(agent string) []string { return append([]string{p.Program}, p.args(agent)...) }

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ours recognises a hook of setup's in the text of a list entry, whatever path
// bawn had then.
func ours(agent string) func(string) bool {
	words, _ := json.Marshal([]string{"hook", agent, "--shims"})
	exec := strings.Trim(string(words), "[]")
	return func(text string) bool {
		return strings.Contains(text, " hook "+agent+" --shims ") || strings.Contains(text, exec)
	}
}

// dir is a folder that a variable may move.
func (p Place) dir(variable, usual string) string {
	if v := p.Getenv(variable); filepath.IsAbs(v) {
		return v
	}
	return filepath.Join(p.Home, usual)
}

// either is a place of the project's, or the user's.
func (p Place) either(project, user string) string {
	if p.Project != "" {
		return filepath.Join(p.Project, project)
	}
	return user
}

type obj = map[string]any

func agents() []Agent {
	return []Agent{
		{Name: "claude", Title: "Claude Code", project: true, files: claudeFiles},
		{Name: "codex", Title: "Codex", files: codexFiles, Steps: func(Place) string {
			return "Codex's own sandbox cannot start inside bawn's: until it is off, commands fail. Its questions stay. Start it so:\n" +
				"  codex --sandbox danger-full-access"
		}},
		{Name: "gemini", Title: "Gemini CLI", project: true, files: func(p Place) []file {
			return []file{hooked(p, "gemini", p.either(".gemini/settings.json", p.Home+"/.gemini/settings.json"), obj{
				"matcher": "run_shell_command|read_file|read_many_files|write_file|replace|list_directory|glob|grep_search|search_file_content|web_fetch|google_web_search",
				"hooks":   []obj{{"name": "bawn", "type": "command", "command": p.command("gemini"), "timeout": 10000}},
			}, "hooks", "BeforeTool")}
		}},
		{Name: "opencode", Title: "opencode", project: true, files: func(p Place) []file {
			return []file{own(p.either(".opencode/plugins/bawn.js", filepath.Join(p.dir("XDG_CONFIG_HOME", ".config"), "opencode/plugins/bawn.js")), opencodePlugin(p), ours("opencode"))}
		}},
		{Name: "copilot", Title: "Copilot CLI", project: true, files: func(p Place) []file {
			return []file{own(p.either(".github/hooks/bawn.json", filepath.Join(p.dir("COPILOT_HOME", ".copilot"), "hooks/bawn.json")), pretty(obj{
				"version": 1, "hooks": obj{"preToolUse": []obj{{"type": "command", "bash": p.command("copilot"), "timeoutSec": 10}}},
			}), ours("copilot"))}
		}, Steps: func(p Place) string {
			return "Copilot CLI asks about paths outside the project, and bawn is one: allow its folder once, or start it so:\n" +
				"  copilot --add-dir " + quote(filepath.Dir(p.Program))
		}},
		{Name: "cursor", Title: "Cursor", project: true, files: func(p Place) []file {
			f := hooked(p, "cursor", p.either(".cursor/hooks.json", p.Home+"/.cursor/hooks.json"), obj{
				"command": p.command("cursor"), "matcher": "Shell|Read|Write|Edit|StrReplace|Delete|Grep|Glob", "timeout": 10, "failClosed": true,
			}, "hooks", "preToolUse")
			f.edit = also(f.edit, func(d *document) error {
				if v, err := d.at("version"); v != nil || err != nil {
					return err
				}
				return d.set(1, "version")
			})
			return []file{f}
		}},
		{Name: "goose", Title: "goose", project: true, files: gooseFiles, Steps: func(p Place) string {
			return "goose reads its shell from the environment: put this where you start it from, or its commands are refused:\n" +
				"  export GOOSE_SHELL=" + quote(filepath.Join(p.Shims, "bash"))
		}},
		{Name: "crush", Title: "Crush", project: true, files: func(p Place) []file {
			return []file{hooked(p, "crush", p.either("crush.json", filepath.Join(p.dir("XDG_CONFIG_HOME", ".config"), "crush/crush.json")), obj{
				"name": "bawn", "matcher": "^(bash|agent|agentic_fetch|view|write|edit|multiedit|ls|glob|grep|fetch|download|sourcegraph)$",
				"command": p.command("crush"), "timeout": 10,
			}, "hooks", "PreToolUse")}
		}},
	}
}

// claudeFiles: the prefix puts commands into the sandbox, and keeps the
// agent's own rules about them and its cd; the hook holds the file tools, and
// refuses commands where a project's settings replaced the prefix.
func claudeFiles(p Place) []file {
	const variable = "CLAUDE_CODE_SHELL_PREFIX"
	user := filepath.Join(p.dir("CLAUDE_CONFIG_DIR", ".claude"), "settings.json")
	f := hooked(p, "claude", p.either(".claude/settings.local.json", user), obj{
		"matcher": "Bash|PowerShell|Read|NotebookRead|Write|Edit|MultiEdit|NotebookEdit|Glob|Grep|LS|WebFetch|WebSearch",
		"hooks":   []obj{{"type": "command", "command": p.Program, "args": p.args("claude"), "timeout": 10, "onFailure": "block"}},
	}, "hooks", "PreToolUse")
	isOurs := func(v string) bool { return strings.HasSuffix(v, "/shims/claude-shell") }
	f.edit = also(f.edit, func(d *document) error {
		switch old, err := d.text("env", variable); {
		case err != nil:
			return err
		case old != "" && !isOurs(old):
			return fmt.Errorf("it sets %s to %q already; take that out first", variable, old)
		case d.isTrue("disableAllHooks"):
			return fmt.Errorf("disableAllHooks is true, so no hook would hold; take it out first")
		case d.isTrue("sandbox", "enabled"):
			return fmt.Errorf("sandbox.enabled is true: bawn cannot make a sandbox inside that one; take it out first")
		}
		return d.set(filepath.Join(p.Shims, "claude-shell"), "env", variable)
	})
	f.edit = strict(f.edit)
	f.strip = also(f.strip, func(d *document) error {
		old, err := d.text("env", variable)
		if err != nil || !isOurs(old) {
			return err
		}
		return d.remove("env", variable)
	})
	return []file{f}
}

func gooseFiles(p Place) []file {
	dir := p.either(".agents/plugins/bawn", p.Home+"/.agents/plugins/bawn")
	return []file{
		own(dir+"/plugin.json", pretty(obj{"name": "bawn", "version": "1.0.0", "description": "Commands run in bawn's sandbox"}), func(text string) bool {
			return strings.Contains(text, `"name": "bawn"`)
		}),
		own(dir+"/hooks/hooks.json", pretty(obj{"hooks": obj{"PreToolUse": []obj{{
			"matcher": "^developer__", "hooks": []obj{{"type": "command", "command": p.command("goose"), "timeout": 10, "on_failure": "block"}},
		}}}}), ours("goose")),
	}
}

// hooked adds one entry to a list in a JSON file.
func hooked(p Place, agent, path string, entry obj, names ...string) file {
	return file{
		path: path,
		edit: func(old []byte) ([]byte, error) {
			d, err := parseJSON(old)
			if err != nil {
				return nil, err
			}
			same, err := d.holds(entry, names...)
			if err != nil || same {
				return old, err
			}
			if _, err := d.drop(ours(agent), names...); err != nil {
				return nil, err
			}
			if err := d.add(entry, names...); err != nil {
				return nil, err
			}
			return d.bytes(), nil
		},
		strip: func(old []byte) ([]byte, error) {
			d, err := parseJSON(old)
			if err != nil {
				return nil, err
			}
			if found, err := d.drop(ours(agent), names...); err != nil || !found {
				return old, err
			}
			return d.bytes(), nil
		},
	}
}

// holds reports whether a list has this entry.
func (d *document) holds(entry any, names ...string) (bool, error) {
	want, err := d.value(entry, 0)
	if err != nil {
		return false, err
	}
	want.Minimize()
	all := false
	_, err = d.drop(func(text string) bool {
		all = all || text == want.String()
		return false
	}, names...)
	return all, err
}

// strict refuses what the agent itself would not read: it leaves a whole file
// with a comment out in silence.
func strict(first func([]byte) ([]byte, error)) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		if len(bytes.TrimSpace(old)) > 0 && !json.Valid(old) {
			if _, err := parseJSON(old); err != nil {
				return nil, err
			}
			return nil, errors.New("it has comments or a comma too many, and its agent reads plain JSON alone; take them out first")
		}
		return first(old)
	}
}

// also changes the document that an edit made a little further.
func also(first func([]byte) ([]byte, error), more func(*document) error) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		next, err := first(old)
		if err != nil {
			return nil, err
		}
		d, err := parseJSON(next)
		if err != nil {
			return nil, err
		}
		was := d.bytes() // which an empty file is not
		if err := more(d); err != nil {
			return nil, err
		}
		if now := d.bytes(); !bytes.Equal(now, was) {
			return now, nil
		}
		return next, nil
	}
}

// own is a file that is all bawn's; mine recognises one that an older bawn wrote.
func own(path string, content []byte, mine func(text string) bool) file {
	return file{
		path: path, whole: true,
		edit: func(old []byte) ([]byte, error) {
			if old != nil && !mine(string(old)) {
				return nil, errors.New("somebody else's file is in the place of bawn's; move it away first")
			}
			return content, nil
		},
		strip: func(old []byte) ([]byte, error) {
			if !mine(string(old)) {
				return old, nil
			}
			return nil, nil
		},
	}
}

func pretty(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic(err) // the tables above hold nothing that cannot be written
	}
	return []byte(b.String())
}
