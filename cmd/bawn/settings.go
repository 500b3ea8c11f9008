package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/config/told"
	"bawn/internal/config/trust"
	"bawn/internal/counting"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// headless: a saved tier wider than guarded does not apply to one command, on a
// terminal either (SPEC T8; docs/decisions/0012).
const headless = true

// settings is the configuration of one invocation, loaded once, and what the
// command line says besides.
type settings struct {
	config    config.Config
	mode      policy.Mode
	workspace string // real

	profile policy.Profile
	install policy.Install
	preset  *sandbox.Preset // for the agent of bawn wrap
}

// load reads every layer; any setting that cannot be taken is an error, and
// nothing runs then.
func (f *runFlags) load() (*settings, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	c, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	return &settings{config: c, mode: f.mode, workspace: o.Workspace, profile: f.profile}, nil
}

func (f *runFlags) options() (config.Options, error) {
	ws, err := sandbox.Workspace(f.workspace)
	if err != nil {
		return config.Options{}, err
	}
	return config.Options{Environ: os.Environ(), Workspace: ws, Flags: f.settings, Trusted: trustStore().Lookup}, nil
}

func trustStore() trust.Store { return trust.Open(trustState()) }

func trustState() string { return trust.StateDir(os.Getenv, os.Getenv("HOME")) }

// madeState is the state folder for what is kept in it; "" where it has no place,
// or its home would have to be made.
func madeState() string {
	if stateHome() != nil {
		return ""
	}
	return trustState()
}

// stateIn is a folder in it; "" where it has no place, which is not the current
// folder.
func stateIn(name string) string {
	state := madeState()
	if state == "" {
		return ""
	}
	return filepath.Join(state, name)
}

// stateHome says why the state has no home. One that does not exist is not made:
// /nonexistent must not exist.
func stateHome() error {
	home := os.Getenv("HOME")
	if filepath.IsAbs(os.Getenv("XDG_STATE_HOME")) || !filepath.IsAbs(home) {
		return nil
	}
	_, err := os.Stat(home)
	return err
}

var errNoState = errors.New("no folder of bawn's state is known: neither XDG_STATE_HOME nor HOME names a folder by an absolute path; set one of them")

// tier is the one that holds, before anything is inspected.
func (s *settings) tier() policy.Tier {
	if s.mode != policy.NoMode {
		return s.mode.Tier()
	}
	t, _ := s.config.Tier(headless)
	return t
}

// settle makes the policy. guard says whether names that do not exist yet can
// be held on this machine.
func (s *settings) settle(guard bool) (policy.Policy, sandbox.Host, error) {
	return session.Settle(s.config, s.request(guard), headless)
}

// decisions is settle for who asks the policy about a few real paths and about
// hosts, and starts nothing; reads: no path will be written.
func (s *settings) decisions(about []string, reads bool) (policy.Policy, error) {
	r := s.request(guardWorks())
	r.Decisions, r.Reads, r.About = true, reads, about
	p, _, err := session.Settle(s.config, r, headless)
	return p, err
}

// settleTier makes the policy of one command of a session, by which a package
// install has its profile.
func (s *settings) settleTier(t policy.Tier, c session.Command, guard bool) (policy.Policy, sandbox.Host, error) {
	one := *s
	f := runFlags{shell: c.Text, hasShell: c.IsText}
	if err := f.narrowIn(t, &one, c.Args); err != nil {
		return policy.Policy{}, sandbox.Host{}, err
	}
	r := one.request(guard)
	r.Tier, r.Asking = t, c.Environ
	return session.SettleTier(s.config, r)
}

// request is what no file can say.
func (s *settings) request(guard bool) sandbox.Request {
	r := sandbox.Request{Mode: s.mode, Workspace: s.workspace, Environ: os.Environ(), Guard: guard, Profile: s.profile, Install: s.install, Preset: s.preset}
	r.Keep(config.UserDir(os.Environ(), ""), trustState(), os.Getenv("XDG_RUNTIME_DIR"))
	return r
}

// notice says a line, but with -q.
func (f *runFlags) notice(line string) {
	if !f.quiet {
		sayLines([]string{line})
	}
}

// sayLines prints notices; one that belongs to the line before is set in.
func sayLines(lines []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, " ") {
			fmt.Fprintln(os.Stderr, line)
		} else {
			warn("%s", line)
		}
	}
}

// notices tells a person what the configuration and the host make worth
// knowing, each line once: what is about the settings alone is not repeated by
// the next run or session either, while they stay as they are.
func (s *settings) notices(say func(line string), more []string) {
	lines, keys := s.settled()
	store := told.Notices(madeState())
	seen, _ := store.Seen(keys...)
	var fresh []string
	for i, line := range lines {
		if !seen[i] && !slices.Contains(lines[:i], line) {
			say(line)
			fresh = append(fresh, keys[i])
		}
	}
	for i, w := range more {
		if !slices.Contains(more[:i], w) && !slices.Contains(lines, w) {
			say(w)
		}
	}
	_ = store.Note(fresh...) // else the next run says it again
}

// settled are the notices that follow from the settings alone, and what each
// depends on.
func (s *settings) settled() (lines, keys []string) {
	add := func(line, content string) {
		lines, keys = append(lines, line), append(keys, told.Key(s.workspace, line, content))
	}
	for _, w := range s.config.Warnings() {
		add(w, "")
	}
	wait, never := 0, 0
	var waiting, refused strings.Builder
	for _, p := range s.config.Pending() {
		if p.Never {
			never++
			refused.WriteString(p.Text() + "\n")
		} else {
			wait++
			waiting.WriteString(p.Text() + "\n")
		}
	}
	const file = ".bawn/config.toml"
	switch {
	case wait == 1:
		add("1 setting of "+file+" waits for trust: bawn trust", waiting.String())
	case wait > 1:
		add(fmt.Sprintf("%d settings of %s wait for trust: bawn trust", wait, file), waiting.String())
	}
	if never > 0 {
		add(plural(never, "setting of "+file+" is", "settings of "+file+" are")+
			" not taken: only your own or the managed file may say that (bawn config)", refused.String())
	}
	return lines, keys
}

var plural = counting.Count

// lift is what would change a decision, with the place that the user's
// settings have here.
func lift(text string) string {
	dir := config.UserDir(os.Environ(), "")
	if dir == "" || os.Getenv("XDG_CONFIG_HOME") == "" {
		return text
	}
	return strings.ReplaceAll(text, policy.UserFile, filepath.Join(dir, "config.toml"))
}
