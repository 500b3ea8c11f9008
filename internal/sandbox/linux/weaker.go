//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// Fallback is the Backend for --allow-weaker. It starts the boundary of the
// launchers wherever one of them can work, whichever was asked for; only where
// neither can does it start the command under Landlock alone. The zero
// Launcher is Auto; Notice, if set, is told in full lines what was done
// instead of what was asked.
type Fallback struct {
	Launcher Launcher
	Notice   func(line string)
}

// Start implements sandbox.Backend.
func (f Fallback) Start(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	p, err := Backend{Launcher: f.Launcher}.Start(spec, stdio)
	if !errors.Is(err, sandbox.ErrUnavailable) {
		return p, err
	}
	if f.Launcher != Auto {
		asked := err
		p, err = Backend{}.Start(spec, stdio)
		if err == nil {
			f.say(fmt.Sprintf("%v; another launcher works and is used: it holds more than the weaker mode", asked))
		}
		if !errors.Is(err, sandbox.ErrUnavailable) {
			return p, err
		}
	}
	// What failed must be the machine, not this one description: a command
	// that ran before must not be able to choose the weaker mode for the next.
	for _, l := range []Launcher{Native, Bwrap} {
		if tryMinimal(l) == nil {
			return nil, fmt.Errorf("%v (%s works here for a smaller sandbox, so --allow-weaker does not apply)", err, l)
		}
	}
	if spec.Guard.Only.On {
		return nil, &policy.RefusedError{
			What: "weaker mode", Why: "this command may write some names only, which the weaker mode cannot hold",
			Lift: spec.Guard.Only.Rule.Lift,
		}
	}
	p, abi, weaker := startWeaker(spec, stdio)
	if weaker != nil {
		var u *sandbox.Unavailable
		if errors.As(weaker, &u) {
			return nil, &sandbox.Unavailable{Mechanism: err.Error(), Reason: u.Error()}
		}
		return nil, weaker
	}
	for _, line := range WeakerNotice(abi, spec.Guard.On) {
		f.say(line)
	}
	if layered(spec.Mounts) {
		f.say("weaker mode: private caches are read-only, since a copy needs mounts")
	}
	return p, nil
}

// WeakerGuard says why the weaker mode could not have the name guard here. It
// has no user namespace in which it could be privileged to read its callers.
func WeakerGuard() error { return weakerGuard("/proc/sys/kernel/yama/ptrace_scope") }

func weakerGuard(setting string) error {
	text, err := os.ReadFile(setting)
	if err != nil {
		return nil // no Yama
	}
	if scope := strings.TrimSpace(string(text)); scope != "0" && scope != "1" {
		return fmt.Errorf("the weaker mode's name guard needs %s to be 0 or 1, and it is %s", setting, scope)
	}
	return nil
}

func (f Fallback) say(line string) {
	if f.Notice != nil {
		f.Notice(line)
	}
}

// WeakerNotice says what the weaker mode takes away and what it does not
// cover, with this version of Landlock and with the name guard or without.
func WeakerNotice(abi int, guarded bool) []string {
	open := []string{
		"names, sizes and dates of hidden files can be seen",
		"modes and dates of your files can be changed, protected ones too",
		"your processes and their command lines can be seen, and those without privileges slowed down",
	}
	if !guarded {
		open = append(open, "protected names in the workspace (.git/config, .git/hooks, .bawn, and what protect lists) can be changed")
	}
	open = append(open, "if bawn's own processes are all killed, the command goes on, confined")
	if abi < stage.LandlockSignal {
		open = append(open, "your other processes can be signalled, and what the command starts may outlive it")
	}
	return []string{
		"weaker mode: no namespaces can be made here, so Landlock and a system call filter hold the command alone: " +
			"no network (not even loopback), no sockets, no /tmp (TMPDIR is a private folder, removed at the end)",
		"weaker mode does not cover: " + strings.Join(open, "; "),
	}
}

// tryMinimal starts the smallest sandbox that has all the namespaces.
func tryMinimal(l Launcher) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := Backend{Launcher: l}.Start(sandbox.Spec{
		Args: []string{"/bin/true"}, Dir: "/",
		Mounts: []sandbox.Mount{{Op: sandbox.OpProc, Target: "/proc"}, {Op: sandbox.OpDev, Target: "/dev"}},
	}, sandbox.Stdio{In: null, Out: null, Err: null})
	if err != nil {
		return err
	}
	p.Kill()
	return p.Close()
}

const landlock Launcher = stage.Landlock

// startWeaker starts the command under Landlock, and says which version.
func startWeaker(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, int, error) {
	abi, err := stage.LandlockABI()
	switch {
	case err != nil:
		return nil, 0, &sandbox.Unavailable{Mechanism: string(landlock), Reason: "not in this kernel: " + err.Error()}
	case abi < stage.MinLandlock:
		return nil, 0, &sandbox.Unavailable{Mechanism: string(landlock), Reason: fmt.Sprintf(
			"version %d is needed (Linux 6.2), this kernel has %d", stage.MinLandlock, abi)}
	}
	temp, err := makeTemp()
	if err != nil {
		return nil, 0, err
	}
	p, err := launchWeaker(withTemp(spec, temp), stdio, abi)
	if err != nil {
		_ = stage.RemoveTemp(temp)
		return nil, 0, err
	}
	return weakerProcess{p, temp}, abi, nil
}

// makeTemp makes the folder that stands for the private temp. Its name tells
// nothing, and only this user may enter it.
func makeTemp() (string, error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err == nil {
		base, err = filepath.Abs(base)
	}
	if err != nil {
		return "", fmt.Errorf("private temp folder: %w", err)
	}
	dir, err := os.MkdirTemp(base, "bawn-")
	if err != nil {
		return "", fmt.Errorf("private temp folder: %w", err)
	}
	return dir, nil
}

// withTemp adds the private temp to the steps and points the variables at it.
func withTemp(spec sandbox.Spec, temp string) sandbox.Spec {
	mounts := make([]sandbox.Mount, len(spec.Mounts), len(spec.Mounts)+1)
	copy(mounts, spec.Mounts)
	spec.Mounts = append(mounts, sandbox.Mount{Op: sandbox.OpTmpfs, Target: temp, Source: temp, Mode: 0o700})
	env := make([]string, 0, len(spec.Env)+1)
	for _, e := range spec.Env {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "TMPDIR":
			continue
		case "TMP", "TEMP", "TEMPDIR":
			e = name + "=" + temp
		}
		env = append(env, e)
	}
	spec.Env = append(env, "TMPDIR="+temp)
	return spec
}

// launchWeaker starts the stage from a thread of its own, whose signals stay
// among what it starts; the thread ends here.
func launchWeaker(spec sandbox.Spec, stdio sandbox.Stdio, abi int) (*process, error) {
	data, err := sandbox.MarshalSpec(spec)
	if err != nil {
		return nil, err
	}
	files, done, err := standardFiles(spec.TTY, stdio)
	if err != nil {
		return nil, err
	}
	defer done()
	var p *process
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		if abi >= stage.LandlockSignal {
			if err = stage.ScopeSignals(); err != nil {
				return
			}
		}
		// Not by launch: the child takes over what this thread is confined to.
		p, err = child{
			mechanism: landlock,
			path:      "/proc/self/exe",
			args:      []string{"bawn: sandbox"},
			files:     append(files, make([]uintptr, 2)...),
			// No parent-death signal: the stage sees the end of the control
			// socket and ends what it started first.
			sys: &syscall.SysProcAttr{Setsid: true},
		}.fork()
	}()
	<-ended
	if err != nil {
		return nil, err
	}
	if err := p.describe(data, spec.Guard); err != nil {
		return nil, err
	}
	if err := p.await(landlock); err != nil {
		return nil, err
	}
	return p, nil
}

// weakerProcess is a command without namespaces: killing its stage would free
// what it started, so the stage is told to end instead.
type weakerProcess struct {
	*process
	temp string
}

// Kill implements sandbox.Process.
func (p weakerProcess) Kill() {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.closed {
		_ = unix.Shutdown(p.control, unix.SHUT_RDWR)
	}
}

// Close implements sandbox.Process.
func (p weakerProcess) Close() error {
	err := p.process.Close()
	// Gone already, unless the stage was killed.
	if e := stage.RemoveTemp(p.temp); err == nil && e != nil {
		err = fmt.Errorf("remove the private temp folder %q: %w", p.temp, e)
	}
	return err
}
