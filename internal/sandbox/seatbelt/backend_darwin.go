package seatbelt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/seatbelt/stage"
)

// Launcher is what applies a profile: never one that PATH finds.
const Launcher = "/usr/bin/sandbox-exec"

// Backend starts commands under the profile of one policy; of a Spec it takes
// the command alone.
type Backend struct {
	Policy policy.Policy
	Host   sandbox.Host
}

// Start implements sandbox.Backend. When it returns the profile holds.
func (b Backend) Start(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	if len(spec.Args) == 0 || spec.Args[0] == "" {
		return nil, errors.New("no command given")
	}
	if st, err := os.Lstat(Launcher); err != nil || !st.Mode().IsRegular() {
		return nil, &sandbox.Unavailable{Mechanism: "sandbox-exec", Reason: Launcher + " is not there"}
	}
	p := &process{events: make(chan sandbox.Event, 8), done: make(chan struct{}), ended: make(chan struct{})}
	if err := p.start(b, spec, stdio); err != nil {
		p.clean()
		return nil, err
	}
	return p, nil
}

func (p *process) start(b Backend, spec sandbox.Spec, stdio sandbox.Stdio) error {
	run, env, err := p.folders(b, spec)
	if err != nil {
		return err
	}
	streams := []*os.File{stdio.In, stdio.Out, stdio.Err}
	if spec.TTY {
		slave, name, err := p.openTerminal()
		if err != nil {
			return fmt.Errorf("make a terminal: %w", err)
		}
		defer slave.Close()
		run.TTY, streams = name, []*os.File{slave, slave, slave}
	}
	profile, err := p.profile(b, run)
	if err != nil {
		return err
	}
	spec.Env, spec.Mounts, spec.Guard, spec.Net = env, nil, sandbox.Guard{}, sandbox.Network{}
	for _, e := range env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			spec.Path = path
		}
	}
	if p.described, err = sandbox.MarshalSpec(spec); err != nil {
		return err
	}
	if err := p.fork(profile, streams, spec.TTY); err != nil {
		return err
	}
	if err := p.await(); err != nil {
		return err
	}
	// The profile is in the kernel now, and its text holds no secret, but
	// nothing of a run stays.
	_ = os.RemoveAll(filepath.Dir(profile))
	if spec.TTY {
		p.events <- sandbox.Event{Kind: sandbox.EventTTY, TTY: p.master}
		p.master = nil // the receiver's
	} else {
		p.describe()
	}
	go p.watch()
	return nil
}

// folders makes those of the run's own, and the environment that names them.
func (p *process) folders(b Backend, spec sandbox.Spec) (Run, []string, error) {
	mac := b.Policy.MacOS()
	if b.Policy.Temp() == policy.HostTemp {
		return Run{}, environment(spec.Env, b.Policy, "", nil), nil
	}
	temp, err := os.MkdirTemp(mac.Temp, "bawn-run-")
	if err != nil {
		return Run{}, nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	p.made = append(p.made, temp)
	run := Run{Temp: []string{temp}}
	base := filepath.Base(temp)
	// The same name in the folder for caches, if there is one.
	if cache := mac.Cache + "/" + base; os.Mkdir(cache, 0o700) == nil {
		p.made, run.Temp = append(p.made, cache), append(run.Temp, cache)
	}
	var set []string
	for path, text := range b.Host.Copies {
		if filepath.Base(path) != ".npmrc" {
			continue
		}
		if err := os.WriteFile(temp+"/npmrc", []byte(text), 0o600); err != nil {
			return Run{}, nil, fmt.Errorf("copy npm's settings: %w", err)
		}
		set = append(set, "NPM_CONFIG_USERCONFIG="+temp+"/npmrc")
		break
	}
	return run, environment(spec.Env, b.Policy, base, set), nil
}

// profile writes the profile to a file: an argument would be shown to every
// user of the machine, and has a limit.
func (p *process) profile(b Backend, run Run) (string, error) {
	dir, err := os.MkdirTemp(b.Policy.MacOS().Temp, "bawn-profile-")
	if err != nil {
		return "", fmt.Errorf("write the profile: %w", err)
	}
	p.made, run.Hide = append(p.made, dir), dir
	text, err := Profile(b.Policy, b.Host, run)
	if err != nil {
		return "", err
	}
	file := dir + "/profile.sb"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write the profile: %w", err)
	}
	return file, nil
}

// fork starts sandbox-exec, which becomes this program again, inside.
func (p *process) fork(profile string, streams []*os.File, tty bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := closeInherited(); err != nil {
		return err
	}
	specR, specW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer specR.Close()
	p.spec = specW
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer statusW.Close()
	p.status = statusR
	attr := &syscall.ProcAttr{
		Env: []string{stage.Mark + "=" + profile},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: tty},
	}
	for _, f := range append(streams, specR, statusW) {
		attr.Files = append(attr.Files, f.Fd())
	}
	pid, err := syscall.ForkExec(Launcher, []string{Launcher, "-f", profile, self}, attr)
	if err != nil {
		return &sandbox.Unavailable{Mechanism: "sandbox-exec", Reason: err.Error()}
	}
	p.pid = pid
	return nil
}

// await reads the stage's first word.
func (p *process) await() error {
	var first [1]byte
	_, err := io.ReadFull(p.status, first[:])
	switch {
	case err == nil && first[0] == stage.Ready:
		return nil
	case err == nil:
		rest, _ := io.ReadAll(io.LimitReader(p.status, 4<<10))
		_, reason := failure(rest)
		return &sandbox.Unavailable{Mechanism: "sandbox-exec", Reason: reason}
	}
	return &sandbox.Unavailable{Mechanism: "sandbox-exec", Reason: "it ended before the profile held; what it said stands above"}
}

// closeInherited keeps what this process was started with, but for the three
// streams, from the command.
func closeInherited() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("close inherited descriptors: %w", err)
	}
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
