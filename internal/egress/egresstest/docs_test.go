//go:build linux

package egresstest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/page"
)

const root = "../../.."

// fence is a fenced block of a page.
type fence struct {
	page, lang string
	line       int // of its first line
	text       []string
	next       *fence // the one below, if nothing but blank lines is between
}

func (f *fence) at() string { return fmt.Sprintf("%s:%d", f.page, f.line) }

func fences(t *testing.T, page string) (out []*fence) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var open *fence
	beside := false
	for i, line := range strings.Split(string(data), "\n") {
		mark, found := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case found && open == nil:
			open = &fence{page: page, lang: mark, line: i + 2}
			if beside {
				out[len(out)-1].next = open
			}
		case found:
			out, open, beside = append(out, open), nil, true
		case open != nil:
			open.text = append(open.text, line)
		default:
			beside = beside && strings.TrimSpace(line) == ""
		}
	}
	if open != nil {
		t.Errorf("%s: the block is not closed", open.at())
	}
	return out
}

// shown is a command of the docs, with the output that stands below it.
type shown struct{ at, command, output string }

var (
	commentAtEnd = regexp.MustCompile(`\s+# .*$`)
	description  = regexp.MustCompile(`\s{2,}.*$`)
	programs     = regexp.MustCompile(`^(bawn|fence|go|make|scripts/\S+)( |$)`)
)

// commands are those of a block; ok is whether it is one of commands at all.
func (f *fence) commands() (out []shown, ok bool) {
	transcript := false
	for _, line := range f.text {
		transcript = transcript || strings.HasPrefix(line, "$ ")
	}
	for i, line := range f.text {
		at := fmt.Sprintf("%s:%d", f.page, f.line+i)
		switch {
		case transcript:
			if command, found := strings.CutPrefix(line, "$ "); found {
				out = append(out, shown{at: at, command: commentAtEnd.ReplaceAllString(command, "")})
			} else if len(out) == 0 {
				return nil, false
			} else {
				out[len(out)-1].output += line + "\n"
			}
		case f.lang == "sh" && line != "":
			out = append(out, shown{at: at, command: commentAtEnd.ReplaceAllString(line, "")})
		case line == "":
		case !programs.MatchString(line):
			return nil, false
		default:
			out = append(out, shown{at: at, command: description.ReplaceAllString(line, "")})
		}
	}
	return out, len(out) > 0
}

// try runs a command of the docs, or what stands for it, and compares.
func (d *desk) try(t *testing.T, c shown, used map[string]bool) {
	t.Helper()
	if file, ok := strings.CutPrefix(c.command, "cat ~/"); ok {
		sandboxtest.Write(t, filepath.Join(d.Home, file), c.output) // what it shows is the file of the commands below
		return
	}
	e, listed := docsExamples[c.command]
	used[c.command] = true
	if e.skip != "" {
		return
	}
	run := e.run
	if run == nil {
		run = []string{c.command}
	}
	if !listed && regexp.MustCompile(`\[|…|\b[A-Z]{2,}\b`).MatchString(c.command) {
		t.Errorf("%s: %q holds a place for something: list what to run in docsExamples", c.at, c.command)
		return
	}
	for _, text := range run {
		code, out := d.run(t, text, e)
		if code != e.code {
			t.Errorf("%s: %s\nexit %d, want %d\n%s", c.at, text, code, e.code, out)
		}
		if c.output != "" && !d.matches(c.output, out) {
			t.Errorf("%s: %s\nsays\n%swhere the page has\n%s", c.at, text, out, c.output)
		}
		if !strings.Contains(out, e.says) {
			t.Errorf("%s: %s\nlacks %q\n%s", c.at, text, e.says, out)
		}
	}
}

func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	files, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(files) < 15 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		out = append(out, "docs/"+filepath.Base(f))
	}
	return out
}

// Every command in the documents is run, with the exit code and the output that
// they give it; what cannot be run here is in docsExamples with its reason.
func TestDocs_EveryCommandRuns(t *testing.T) {
	w := NewWorld(t)
	used := map[string]bool{}
	count := 0
	for _, page := range pages(t) {
		var output *fence // of the block above
		for _, f := range fences(t, page) {
			if f == output {
				continue
			}
			switch f.lang {
			case "", "sh", "console":
			case "toml", "json", "go":
				continue // TestDocs_Files and the library's own tests
			default:
				t.Errorf("%s: a block in %q: say here what is done with it", f.at(), f.lang)
				continue
			}
			list, ok := f.commands()
			if !ok {
				if used[f.text[0]] = true; docsTexts[f.text[0]] == "" {
					t.Errorf("%s: a block that is neither commands nor listed in docsTexts: %q", f.at(), f.text[0])
				}
				continue
			}
			if len(list) == 1 && list[0].output == "" && f.next != nil && f.next.lang == "" {
				output = f.next
				list[0].output = strings.Join(output.text, "\n") + "\n"
			}
			count += len(list)
			t.Run(f.at(), func(t *testing.T) {
				d := newDesk(t, w)
				for _, c := range list {
					d.try(t, c, used)
				}
			})
		}
	}
	// The examples of the help, and so of the manual page.
	help, err := exec.Command(sandboxtest.Binary(), "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(helpNames(string(help)), "session") {
		out, err := exec.Command(sandboxtest.Binary(), "help", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		_, examples, ok := strings.Cut(string(out), "\nExamples:\n")
		if !ok {
			continue
		}
		examples, _, _ = strings.Cut(examples, "\n\n")
		t.Run("help "+name, func(t *testing.T) {
			d := newDesk(t, w)
			for line := range strings.Lines(examples) {
				count++
				d.try(t, shown{at: "help " + name, command: strings.TrimSpace(line)}, used)
			}
		})
	}
	for command := range docsExamples {
		if !used[command] {
			t.Errorf("docsExamples has %q, and no page does", command)
		}
	}
	for text := range docsTexts {
		if !used[text] {
			t.Errorf("docsTexts has %q, and no page does", text)
		}
	}
	if count < 60 {
		t.Errorf("only %d commands were found", count)
	}
}

// The error that the documents show is what such a file gives.
func TestDocs_ErrorMessage(t *testing.T) {
	d := newDesk(t, NewWorld(t))
	sandboxtest.Write(t, filepath.Join(d.Home, ".config/bawn/config.toml"), "[sandbox]\nalowed_domains = [\"example.com\"]\n")
	for _, f := range fences(t, "docs/configuration.md") {
		if strings.Contains(f.text[0], "alowed_domains") {
			want := strings.Join(f.text, "\n")
			code, out := d.run(t, "bawn run -- true", example{})
			if out = strings.ReplaceAll(out, d.Home, "~"); code != 125 || !strings.Contains(out, want) {
				t.Errorf("%s: exit %d\n%s\nwant\n%s", f.at(), code, out, want)
			}
			return
		}
	}
	t.Error("the page shows none")
}

// helpNames are the commands that `bawn help` lists.
func helpNames(help string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^  bawn ([a-z]+) `).FindAllStringSubmatch(help, -1) {
		out = append(out, m[1])
	}
	return out
}

var (
	inlineCode = regexp.MustCompile("`(bawn [^`]+)`")
	inlineFlag = regexp.MustCompile(`(?:^| )(--?[a-z][a-z-]*)`)
)

// What the text names between backquotes is there: each subcommand, and each of
// its flags.
func TestDocs_InlineCommandsExist(t *testing.T) {
	help := map[string]string{}
	out, err := exec.Command(sandboxtest.Binary(), "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(helpNames(string(out)), "session") {
		text, err := exec.Command(sandboxtest.Binary(), "help", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		help[name] = string(text)
	}
	count := 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inlineCode.FindAllStringSubmatch(string(data), -1) {
			count++
			words := strings.Fields(m[1])[1:]
			if words[0] == "--" {
				continue
			}
			if strings.HasPrefix(words[0], "-") {
				words = append([]string{"session"}, words...)
			}
			text, ok := help[words[0]]
			if !ok {
				t.Errorf("%s: `%s`: there is no such command", page, m[1])
				continue
			}
			own, _, _ := strings.Cut(strings.Join(words[1:], " "), " -- ")
			for _, f := range inlineFlag.FindAllStringSubmatch(own, -1) {
				if !regexp.MustCompile(`(?m)^  (.*, )?` + regexp.QuoteMeta(f[1]) + `( |$)`).MatchString(text) {
					t.Errorf("%s: `%s`: %s has no flag %s", page, m[1], words[0], f[1])
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d were found", count)
	}
}

// mcpServers are the commands that an agent's settings start as MCP servers; nil
// if the text is something else.
func mcpServers(t *testing.T, text string) (out []string) {
	t.Helper()
	var settings struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for _, s := range settings.Servers {
		out = append(out, s.Command+" "+strings.Join(s.Args, " "))
	}
	return out
}

// The files that the documents show are understood.
func TestDocs_Files(t *testing.T) {
	w := NewWorld(t)
	count := 0
	for _, page := range pages(t) {
		for _, f := range fences(t, page) {
			d := newDesk(t, w)
			text := strings.Join(f.text, "\n") + "\n"
			switch f.lang {
			case "toml":
				file := filepath.Join(d.Home, ".config/bawn/config.toml")
				sandboxtest.Write(t, file, text)
				if code, out := d.run(t, "bawn config check "+file, example{}); code != 0 {
					t.Errorf("%s: exit %d: %s\n%s", f.at(), code, out, text)
				}
			case "json":
				if servers := mcpServers(t, text); servers != nil {
					for _, command := range servers {
						if code, out := d.run(t, command+" </dev/null", example{}); code != 0 {
							t.Errorf("%s: %s: exit %d: %s", f.at(), command, code, out)
						}
					}
					break
				}
				sandboxtest.Write(t, filepath.Join(d.Home, ".example/x"), "x")
				const try = "bawn run -q -- sh -c 'echo y >~/.example/x'"
				if code, out := d.run(t, try, example{}); code != 2 {
					t.Errorf("%s: before there is a plugin: exit %d: %s", f.at(), code, out)
				}
				sandboxtest.Write(t, filepath.Join(d.Home, ".config/bawn/plugins/example/plugin.json"), text)
				if code, out := d.run(t, try, example{}); code != 0 {
					t.Errorf("%s: exit %d: %s\n%s", f.at(), code, out, text)
				}
			default:
				continue
			}
			count++
		}
	}
	if count < 30 {
		t.Errorf("only %d were found", count)
	}
}

// docs/features.md has every flag of bawn run.
func TestDocs_FlagsOfRun(t *testing.T) {
	help, err := exec.Command(sandboxtest.Binary(), "help", "run").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^  (--?[A-Za-z][a-z-]*)`).FindAllStringSubmatch(string(help), -1) {
		want = append(want, m[1])
	}
	_, row, _ := strings.Cut(page.Text(t, "docs/features.md"), "\n| flags of bawn run | ")
	row, _, _ = strings.Cut(row, " | ")
	for _, text := range page.Code(row) {
		got = append(got, strings.Fields(text)...)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the row has %q, the help %q", got, want)
	}
}
