package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bawn/internal/frontend/hook"
	"bawn/internal/session"
	"bawn/internal/shell"
)

// Names by which bawn answers as a shell. Setup makes links of these names;
// what stands in them is decided here, once.
const (
	claudeShim = "claude-shell"
	codexShim  = "codex-exec-server"
)

var shells = [...]string{"bash", "sh", "zsh"}

// shimName is the shim that an agent is given.
func shimName(agent string) string {
	if agent == "claude" {
		return claudeShim
	}
	return "bash"
}

// shim is what argv[0] asks for; nil for bawn itself.
func shim(argv0 string) func(args []string) int {
	name := filepath.Base(argv0)
	switch name {
	case claudeShim:
		return claudeShell
	case codexShim:
		return codexServer
	}
	bare, login := strings.CutPrefix(name, "-") // login(1)'s way to ask for that
	for _, s := range shells {
		if bare == s {
			return func(args []string) int { return asShell(s, append(loginFlag(s, login), args...)) }
		}
	}
	return nil
}

func loginFlag(shell string, login bool) []string {
	switch {
	case !login:
		return nil
	case shell == "bash":
		return []string{"--login"} // what begins with -- comes first there
	}
	return []string{"-l"}
}

// shimPlace is the folder of the link by which this program was started. Callers
// may say only its name in argv[0], as script(1) and tmux(1) do.
func shimPlace() string {
	path := os.Args[0]
	if !filepath.IsAbs(path) {
		path = startedAs()
	}
	return filepath.Dir(path)
}

// begin prepares a run for an agent: bawn's own settings come from the record
// beside the shim. off means that no sandbox is asked for here.
func (f *runFlags) begin() (off bool, err error) {
	f.caller, f.noTerminal = os.Environ(), true
	if inSession() { // the agent is in a sandbox, and what it has run goes beside it
		return false, nil
	}
	f.session = "none" // a session runs text or words, not what a shell was given
	if err := useRecord(shimPlace()); err != nil {
		return false, err
	}
	s, err := f.load()
	if err != nil {
		return false, err
	}
	return !s.config.Enabled(), nil
}

// claudeShell is Claude Code's CLAUDE_CODE_SHELL_PREFIX: it gets one argument,
// the text that a shell would be given.
func claudeShell(args []string) int {
	if len(args) != 1 {
		return fail(fmt.Errorf("%s is for Claude Code, which gives it one argument; it got %d", claudeShim, len(args)))
	}
	// The agent's own helpers (MCP servers, hooks) come here too. It marks who
	// is who itself, over whatever a project's settings say.
	if strings.HasSuffix(os.Getenv("AI_AGENT"), "_harness") {
		return execShell("/bin/sh", []string{"-c", args[0]}, os.Environ())
	}
	f := new(runFlags)
	var err error
	if f.workspace, err = agentFolder(os.Getenv("CLAUDE_PID")); err != nil {
		return fail(err)
	}
	sh := "/bin/bash"
	if filepath.Base(os.Getenv("SHELL")) == "zsh" {
		sh = os.Getenv("SHELL")
	}
	off, err := f.begin()
	switch {
	case err != nil:
		return fail(err)
	case off:
		return execShell(sh, []string{"-c", args[0]}, f.caller)
	}
	f.dir, err = os.Getwd()
	if err != nil {
		return fail(err)
	}
	if file := hook.ClaudeState(args[0]); file != "" && !inSession() { // there both have one temp
		done, err := exchange(file)
		if err != nil {
			return fail(err)
		}
		defer done()
		f.exchange = []string{file}
	}
	f.hasShell = true // no start-up file that a variable names
	f.command = session.Command{Text: userText(args[0]), IsText: true}
	words := []string{sh, "--noprofile", "--norc", "-c", "--", args[0]}
	if filepath.Base(sh) == "zsh" {
		words = []string{sh, "-f", "-c", args[0]}
	}
	if inSession() { // it is given the words that run, not the text that is judged
		f.command, f.hasShell = session.Command{Args: words}, false
		f.caller = without(without(f.caller, "BASH_ENV"), "ENV")
	}
	return runArgs(f, words)
}

// userText is the command inside what Claude Code wraps round it: the words
// of the last eval. What is judged is advice; what runs is the whole.
func userText(text string) string {
	list, err := shell.Parse(text)
	if err != nil {
		return text
	}
	for i := len(list) - 1; i >= 0; i-- {
		if name, ok := list[i].Program(); !ok || name != "eval" || len(list[i].Words) != 2 || !list[i].Words[1].Known {
			continue
		}
		return list[i].Words[1].Text
	}
	return text
}

// asShell is a shell for tools that honour SHELL: its words are given to the
// real one, in the sandbox.
func asShell(name string, args []string) int {
	f := new(runFlags)
	real := realShell(name)
	off, err := f.begin()
	switch {
	case err != nil:
		return fail(err)
	case real == "":
		return fail(fmt.Errorf("%q: no such shell in /bin or /usr/bin", name))
	case off:
		return execShell(real, args, f.caller)
	}
	f.caller = append(without(f.caller, "SHELL"), "SHELL="+real)
	f.command = session.Command{Args: append([]string{real}, args...)}
	if text, more, ok := shellText(args); ok && !inSession() {
		f.command = session.Command{Text: text, Args: more, IsText: true}
	}
	return runArgs(f, append([]string{real}, args...))
}

// codexServer is the executor that Codex starts once and gives all its commands
// and patches: one sandbox for all of them.
func codexServer(args []string) int {
	if len(args) != 0 {
		return fail(fmt.Errorf("%s takes no argument, got %q", codexShim, args[0]))
	}
	words := []string{"codex", "exec-server", "--listen", "stdio"}
	f := new(runFlags)
	off, err := f.begin()
	switch {
	case err != nil:
		return fail(err)
	case off:
		dir, err := os.Getwd()
		if err != nil {
			return fail(err)
		}
		return runOpen(dir, words, f.caller)
	}
	f.command = session.Command{Args: words}
	return runArgs(f, words)
}

// shellText finds the text of -c among a shell's arguments.
func shellText(args []string) (text string, more []string, ok bool) {
	for i, a := range args {
		switch {
		case a == "--" || a == "-" || len(a) < 2 || a[0] != '-' && a[0] != '+':
			return "", nil, false
		case a[0] == '-' && a[1] != '-' && strings.Contains(a, "c"):
			for j := i + 1; j < len(args); j++ {
				if args[j] == "--" {
					j++
				} else if len(args[j]) > 1 && (args[j][0] == '-' || args[j][0] == '+') {
					continue
				}
				if j < len(args) {
					return args[j], args[j+1:], true
				}
			}
			return "", nil, false
		}
	}
	return "", nil, false
}

func realShell(name string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/"} {
		if st, err := os.Stat(dir + name); err == nil && st.Mode().IsRegular() {
			return dir + name
		}
	}
	return ""
}

var errNoAgent = errors.New("the agent that started this command cannot be found, so its folder is not known")
