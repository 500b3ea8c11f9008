package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bawn/internal/config"
	"bawn/internal/config/told"
	"bawn/internal/config/trust"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
	"bawn/internal/session"
	"bawn/internal/session/attach"
	"bawn/internal/session/launch"
	"bawn/internal/shell/plain"
)

// newSession makes the session of this folder: the configuration is read once,
// and whatever the workspace says later waits for the next session. notice
// shows a line to the person.
func (f *runFlags) newSession(notice func(string)) (*session.Session, error) {
	s, err := f.load()
	if err != nil {
		return nil, err
	}
	if err := f.checkStage(s); err != nil {
		return nil, err
	}
	f.keys = s.config.Keys
	launcher, err := linux.ParseLauncher(s.config.Launcher())
	if err != nil {
		return nil, err
	}
	if err := linux.CheckLimits(); err != nil {
		return nil, err
	}
	if err := linux.CloseInherited(); err != nil {
		return nil, err
	}
	if !f.quiet {
		s.notices(notice, nil)
	}
	once := toldOnce(notice)
	guard := canGuard(f, s)
	f.enforced = enforcedBy(launcher, guard)
	way, err := f.egress(s)
	if err != nil {
		return nil, err
	}
	log, err := openLog()
	if err != nil {
		return nil, err
	}
	exists, trusted := s.config.Project()
	mode, _ := policy.ParsePermissionMode(s.config.Permissions().Mode)
	tier, _ := s.config.Tier(f.headless)
	past := told.Suggestions(madeState())
	agent, err := f.agentOf(s, guard)
	if err != nil {
		return nil, err
	}
	f.preset = agent
	setup := session.Setup{
		Workspace: s.workspace, Trusted: trusted, Tier: tier, Mode: f.mode, Permission: mode, Environ: hostEnv(f),
		MayPermit: func(m policy.PermissionMode) error { return s.config.AllowMode(m.String()) },
		Settle: func(t policy.Tier, c session.Command) (policy.Policy, sandbox.Host, error) {
			one := *s
			if c.Preset {
				one.preset = agent
			}
			p, host, err := one.settleTier(t, c, guard)
			once(append(p.Warnings(), host.Warnings...))
			return p.WithTierLift(s.tierLift(f.headless)), host, err
		},
		Agent: f.dress, NoAsk: f.unattended, Present: f.present,
		Decide: func(c session.Command, a session.Asking) session.Outcome {
			facts := f.commandFacts(s.config, a.Policy, a.CanAsk, a.CanAsk)
			facts.Dir, facts.Agent, facts.Permissions.Mode = a.Dir, a.Agent, a.Mode
			if a.Stays {
				facts.Exceptions = plain.Exceptions{}
			}
			return launch.Decide(c, facts)
		},
		Shell: shellArgs,
		Program: func(o plain.Outside, p policy.Policy) (string, func(), error) {
			file, err := openProgram(o.Program, programView(p))
			if err != nil {
				return "", nil, err
			}
			path, err := file.executable()
			if err != nil {
				file.close()
				return "", nil, err
			}
			return path, file.close, nil
		},
		Kept:    keptWords(s.workspace),
		Backend: backend(f, launcher, nil, nil), Keeper: newKeeper(launcher),
		Upstream: way.Upstream, ProxyOnly: launcher == linux.Bwrap,
		SaveTier:   func(t policy.Tier) (string, error) { return s.saveTier(t) },
		FreshClone: !(exists && trusted) && session.FreshClone(past, s.workspace, time.Now()),
		Suggested:  func() error { return past.Note(told.Key(s.workspace)) },
		Folder:     stateIn("sessions"),
		Recorder:   func() session.Recorder { return taskRecorder{recorderIn(log, notice)} },
		Notice:     notice,
	}
	if setup.Keeper != nil {
		setup.Stage = f.stageSession(log)
	}
	if dir := config.UserDir(os.Environ(), ""); dir != "" {
		setup.SaveAllowed = func(rule string) error { return config.SaveAllowed(dir, rule) }
		setup.SaveDenied = func(rule string) error { return config.SaveDenied(dir, rule) }
	}
	one, err := session.New(setup)
	if err != nil {
		return nil, err
	}
	for _, at := range f.publish {
		if err := one.Publish(at); err != nil {
			return nil, errors.Join(err, one.Close())
		}
	}
	if f.stage {
		if err := one.Stage(true); err != nil {
			return nil, errors.Join(err, one.Close())
		}
	}
	return one, nil
}

// openSession makes the session of this folder, in which other processes can
// run commands as well.
func (f *runFlags) openSession(notice func(string)) (s *session.Session, end func() error, err error) {
	if s, err = f.newSession(notice); err != nil {
		return nil, nil, err
	}
	door, err := attach.Open(socketFolders(), s)
	if err != nil {
		notice(err.Error() + "; bawn run in other terminals runs by itself")
		return s, s.Close, nil
	}
	// The session first: the sockets of its commands are in the door's folder.
	return s, func() error { return errors.Join(s.Close(), door.Close()) }, nil
}

// toldOnce tells each line once in a session.
func toldOnce(notice func(line string)) func(lines []string) {
	var mu sync.Mutex
	told := map[string]bool{}
	return func(lines []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines {
			if !told[line] && len(told) < 1000 {
				told[line] = true
				notice(line)
			}
		}
	}
}

// enforcedBy says how a sandboxed command is held.
func enforcedBy(l linux.Launcher, guard bool) string {
	how := "namespaces, mounts, a system call filter and the name guard"
	if !guard {
		how = "namespaces, mounts and a system call filter, without the name guard: protected names that do not exist yet are not held"
	}
	if l == linux.Bwrap {
		how = "bubblewrap: " + how
	}
	return how
}

// newKeeper is what starts the keeper, where the launcher has one.
func newKeeper(l linux.Launcher) func() (sandbox.Keeper, error) {
	if l == linux.Bwrap {
		return nil
	}
	return linux.NewKeeper
}

// saveTier keeps a tier in the project's file, unless that waits for trust.
func (s *settings) saveTier(t policy.Tier) (where string, err error) {
	err = trustStore().SaveTier(s.workspace, t, os.Getenv("USER"), time.Now())
	if errors.Is(err, trust.ErrUntrusted) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(s.workspace, ".bawn", "config.toml"), nil
}

// tierLift is how a session's commands are given a network: by its keys and
// slash commands (SPEC N8).
func (s *settings) tierLift(unseen bool) string {
	if unseen { // nobody can switch it
		return "--tier guarded, where this is started, reaches allowed hosts (a session on a terminal has Alt+S)"
	}
	way := "/tier guarded"
	if keys := s.config.Keys("cycle_sandbox_tier"); len(keys) > 0 {
		parts := strings.Split(keys[0], "+")
		for i, part := range parts {
			if part != "" {
				parts[i] = strings.ToUpper(part[:1]) + part[1:]
			}
		}
		way = strings.Join(parts, "+") + " or " + way
	}
	return way + ", in the session, lets new commands reach allowed hosts"
}
