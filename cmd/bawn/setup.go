package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bawn/internal/config"
	"bawn/internal/config/disk"
	"bawn/internal/frontend/hook"
	"bawn/internal/frontend/setup"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

type setupFlags struct{ project, print, check, uninstall bool }

func (f *setupFlags) specs() []flagSpec {
	return []flagSpec{
		{name: "--project", help: "for this folder's project alone, not for the user", on: func() { f.project = true }},
		{name: "--print", help: "say what would be written, and write nothing", on: func() { f.print = true }},
		{name: "--check", help: "say whether the set-up is there and works", on: func() { f.check = true }},
		{name: "--uninstall", help: "take it back", on: func() { f.uninstall = true }},
	}
}

// setupCommand sets an agent up, or takes that back.
func setupCommand(args []string) int {
	var f setupFlags
	rest, err := parseFlags(args, f.specs())
	name := ""
	if err == nil && len(rest) > 0 {
		name = rest[0]
		rest, err = parseFlags(rest[1:], f.specs())
	}
	a := setup.Find(name)
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"setup"})
	case err != nil:
	case name == "":
		err = errors.New("setup needs an agent: " + strings.Join(setup.Names(), ", "))
	case a == nil:
		err = unknown("agent", name, setup.Names())
	case len(rest) > 0:
		err = fmt.Errorf("setup takes one agent, got %q too", rest[0])
	case count(f.print, f.check, f.uninstall) > 1:
		err = errors.New("--print, --check and --uninstall exclude one another")
	}
	if err != nil {
		return usageError("setup", err)
	}
	if nested() {
		return fail(errNested)
	}
	p, settings, err := f.place()
	if err != nil {
		return fail(err)
	}
	store := setup.Store{Dir: trustState()}
	if f.uninstall {
		return uninstall(store, a, p, settings)
	}
	if f.print || f.check {
		changes, err := setup.Plan(a, p, settings)
		switch {
		case err != nil:
			return fail(err)
		case f.check:
			return checkSetup(a, p, changes)
		}
		printSetup(a, p, changes)
		return 0
	}
	changes, err := write(store, a, p, settings)
	if err != nil {
		return fail(err)
	}
	n := 0
	for _, c := range changes {
		if c.Changed() {
			word := "changed"
			if c.Before == nil {
				word = "made"
			}
			printf("%-8s %s\n", word, printable(c.Path))
			n++
		}
	}
	if n == 0 {
		printLine("nothing to change: it is set up")
	}
	if changes[len(changes)-1].Changed() {
		printf("%-8s the sandbox is on for agents now: enabled = true in %s\n", "", printable(settings))
	}
	printf("%-8s the hook answers, and a command ran in the sandbox\n", "checked")
	if a.Steps != nil {
		printLine(a.Steps(p))
	}
	printf("%s uses it from its next start. To take it back: %s --uninstall\n", a.Title, setupLine(a, p))
	return 0
}

// setupLine is the command that makes a set-up.
func setupLine(a *setup.Agent, p setup.Place) string {
	if p.Project != "" {
		return "bawn setup " + a.Name + " --project"
	}
	return "bawn setup " + a.Name
}

// write makes a set-up, or leaves everything as it was.
func write(s setup.Store, a *setup.Agent, p setup.Place, settings string) ([]setup.Change, error) {
	if err := recent(a); err != nil {
		return nil, err
	}
	if err := replaceable(p.Program); err != nil {
		return nil, err
	}
	held, err := s.Hold()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	changes, err := setup.Plan(a, p, settings)
	if err != nil {
		return nil, err
	}
	if err = makeShims(p); err == nil {
		err = held.Apply(a, p, changes, func() error { return verify(a, p) })
	}
	if err != nil && held.Empty() {
		removeShims(p.Shims)
	}
	return changes, err
}

func count(list ...bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// place is where the set-up goes.
func (f *setupFlags) place() (setup.Place, string, error) {
	home, err := filepath.Abs(os.Getenv("HOME"))
	dir := config.UserDir(os.Environ(), "")
	if err != nil || os.Getenv("HOME") == "" || dir == "" {
		return setup.Place{}, "", errors.New("HOME names no folder")
	}
	p := setup.Place{Home: home, Getenv: os.Getenv, Shims: shimDir()}
	if p.Program, err = bawnPath(); err != nil {
		return p, "", err
	}
	if f.project {
		p.Project, err = sandbox.Workspace("")
	}
	return p, filepath.Join(dir, "config.toml"), err
}

// bawnPath is bawn by a path that outlives an upgrade: the one in PATH, where
// that is this program.
func bawnPath() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	here, err := os.Stat(exe)
	if err != nil {
		return "", err
	}
	for _, path := range filepath.SplitList(os.Getenv("PATH")) {
		file := filepath.Join(path, "bawn")
		if st, err := os.Stat(file); err == nil && filepath.IsAbs(file) && os.SameFile(st, here) {
			return file, nil
		}
	}
	return exe, nil
}

// recent refuses a version that would not read what setup writes, and so run
// commands outside. One that is not installed is not judged.
func recent(a *setup.Agent) error {
	if a.Name != "codex" {
		return nil
	}
	path, err := exec.LookPath("codex")
	if err != nil {
		return nil
	}
	out, err := try("", nil, nil, path, "--version")
	if err != nil {
		return fmt.Errorf("its version cannot be asked: %w", err)
	}
	if !setup.CodexReads(out) {
		return &policy.RefusedError{
			What: strings.TrimSpace(out), Why: "it is not known to read environments.toml, which Codex does from 0.171.0", Lift: "update Codex",
		}
	}
	return nil
}

// replaceable refuses a program that a sandboxed command could exchange for
// another, which the agent would run outside.
func replaceable(path string) error {
	s, err := new(runFlags).load()
	if err != nil {
		return err
	}
	p, _, err := s.settle(guardWorks())
	if err != nil {
		return err
	}
	real, err := sandbox.RealPath(path)
	if err == nil && p.Files().Lookup(real).Access == policy.ReadWrite {
		err = &policy.RefusedError{What: fmt.Sprintf("bawn at %q", path), Why: "sandboxed commands in this folder may write it", Lift: "install it elsewhere, or start setup in another folder"}
	}
	return err
}

// makeShims makes the links by which bawn is called as a shell, and the record
// of what steers it then.
func makeShims(p setup.Place) error {
	d, err := disk.Make(p.Shims)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, name := range setup.Shims() {
		link := filepath.Join(p.Shims, name)
		if to, err := os.Readlink(link); err == nil && to == p.Program {
			continue
		}
		fresh := filepath.Join(p.Shims, "."+name+".new")
		_ = os.Remove(fresh)
		if err := os.Symlink(p.Program, fresh); err != nil {
			return err
		}
		if err := os.Rename(fresh, link); err != nil {
			return err
		}
	}
	return d.Replace(recordName, record(), 0o600)
}

func removeShims(dir string) {
	for _, name := range append(setup.Shims(), recordName) {
		_ = os.Remove(filepath.Join(dir, name))
		_ = os.Remove(filepath.Join(dir, "."+name+".new")) // of one that was killed
	}
	_ = os.Remove(dir)
}

func uninstall(s setup.Store, a *setup.Agent, p setup.Place, settings string) int {
	held, err := s.Hold()
	if err != nil {
		return fail(err)
	}
	defer held.Close()
	list, err := held.Undo(a, p, settings)
	for _, u := range list {
		printf("%s: %s\n", printable(u.Path), u.What)
	}
	if err != nil {
		return fail(err)
	}
	if held.Empty() {
		removeShims(p.Shims)
	}
	if len(list) == 0 {
		whose := "the user"
		if p.Project != "" {
			whose = "this project"
		}
		printf("nothing to take back: %s is not set up for %s\n", a.Title, whose)
	}
	return 0
}

func printSetup(a *setup.Agent, p setup.Place, changes []setup.Change) {
	for _, c := range changes {
		if !c.Changed() {
			continue
		}
		printLine(printable(c.Path))
		for _, line := range c.Added() {
			printLine("  + " + printable(line))
		}
	}
	printf("%s\n  + links to %s\n", printable(p.Shims), printable(p.Program))
	if a.Steps != nil {
		printLine(a.Steps(p))
	}
}

// checkSetup says whether all of a set-up is there, and tries it.
func checkSetup(a *setup.Agent, p setup.Place, changes []setup.Change) int {
	code := 0
	say := func(name, problem string) {
		result := "ok"
		if problem != "" {
			result, code = "fail", 1
		}
		printf("%s  %s\n", paint(result, colours(os.Stdout)), printable(strings.TrimSpace(name+"  "+problem)))
	}
	for _, c := range changes {
		problem := ""
		if c.Changed() {
			problem = "is not as setup leaves it: " + setupLine(a, p)
		}
		say(c.Path, problem)
	}
	if dir, err := sandbox.Workspace(""); err == nil {
		for _, line := range setup.Against(a, dir) {
			say("this project", line+"; bawn wrap -- "+a.Name+" holds there too")
		}
	}
	problem := ""
	for _, name := range setup.Shims() {
		if to, err := os.Readlink(filepath.Join(p.Shims, name)); err != nil || to != p.Program {
			problem = fmt.Sprintf("%s does not lead to %s: %s", name, p.Program, setupLine(a, p))
		}
	}
	say(p.Shims, problem)
	if problem = ""; code == 0 {
		if err := verify(a, p); err != nil {
			problem = err.Error()
		}
		say("a command in the sandbox", problem)
	}
	return code
}

// verifyLimit ends a hook that hangs.
const verifyLimit = 30 * time.Second

// verify runs the hook as the agent will, and one command in the sandbox.
func verify(a *setup.Agent, p setup.Place) error {
	dir, done, err := sandbox.TrialFolder("bawn-setup-")
	if err != nil {
		return err
	}
	defer done()
	defer os.RemoveAll(dir)
	// A shim takes the agent's own folder for the workspace, and is started by
	// this process here.
	back, err := os.Getwd()
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		return err
	}
	defer os.Chdir(back)
	shim := filepath.Join(p.Shims, shimName(a.Name))
	var env []string
	if h := hook.Find(a.Name); h != nil && a.Name != "codex" {
		if v := h.ShimVariable(); v != "" {
			env = append(env, v+"="+shim)
		}
		if h.Project != "" {
			env = append(env, h.Project+"="+dir)
		}
		words := p.Hook(a.Name)
		out, err := try(dir, env, h.Sample(hook.Shell, "true", dir), words...)
		if err == nil && (h.ShimVariable() == "") != strings.Contains(out, "--workspace") {
			err = fmt.Errorf("it answered %q about a command", out)
		}
		if err != nil {
			return fmt.Errorf("the hook: %w", err)
		}
		secret := filepath.Join(p.Home, ".ssh", "id_bawn")
		if out, err = try(dir, env, h.Sample(hook.Read, secret, dir), words...); err == nil && !strings.Contains(out, "refused") {
			err = fmt.Errorf("it answered %q about %q", out, secret)
		}
		if err != nil {
			return fmt.Errorf("the hook: %w", err)
		}
	}
	switch a.Name {
	case "claude":
		_, err = try(dir, []string{"CLAUDE_PID=" + strconv.Itoa(os.Getpid()), "AI_AGENT=claude-code_agent"}, nil, shim, "true")
	case "goose":
		_, err = try(dir, nil, nil, shim, "-c", "true")
	default:
		_, err = try(dir, nil, nil, p.Program, "run", "--workspace", dir, "-c", "true")
	}
	return err
}

// try runs a program and returns what it printed.
func try(dir string, env []string, stdin []byte, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), verifyLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var out, errb bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), bytes.NewReader(stdin), &out, &errb
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(words[0]), err, strings.TrimSpace(errb.String()))
	}
	return out.String(), nil
}
