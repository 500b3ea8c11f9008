//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// probed is how a real sandbox by one launcher went. An err that is not
// ErrUnavailable means that it was made but did not do its work.
type probed struct {
	err   error
	leaks bool // it was made, and does not do what it is for
	took  time.Duration
}

func (p probed) detail() string {
	var u *sandbox.Unavailable
	switch {
	case p.err == nil:
		return fmt.Sprintf("runs and holds (%d ms)", p.took.Milliseconds())
	case errors.As(p.err, &u):
		return u.Reason
	}
	why, _, _ := strings.Cut(p.err.Error(), "; ")
	return why
}

// fix is what to do about err: refusals say it themselves.
func (p probed) fix() string {
	_, lift, said := strings.Cut(p.err.Error(), "; ")
	switch {
	case os.Getenv("BAWN_SANDBOXED") != "":
		return "run the doctor outside of the sandbox: this is inside of one"
	case strings.Contains(p.err.Error(), "No space left on device"): // bubblewrap's words
		return mountMaxFix
	case errors.Is(p.err, sandbox.ErrUnavailable):
		return fix()
	case p.leaks:
		return "report this: the boundary does not hold on this machine"
	case said:
		return lift
	}
	return "see to what it says, and report what cannot be explained"
}

// probeScript looks from inside, allowed and denied in pairs. The exit codes
// are the indexes of probeFailures.
const probeScript = `
echo in >in || exit 1
read -r line <"$1/visible" || exit 2
(echo out >"$1/new") 2>/dev/null && exit 3
said=$( { read -r line <"$1/.ssh/key"; } 2>&1) && exit 4
case $said in *[Pp]ermission\ denied*) ;; *) exit 5;; esac
exit 0
`

var probeFailures = [...]string{
	1: "a write in the workspace fails", 2: "a file outside cannot be read", 3: "a write outside the workspace passes",
	4: "a hidden file can be read", 5: "a hidden file does not say \"permission denied\"",
}

// probe runs a command in a real sandbox, with a workspace and a home made for
// it, and sees from both sides whether the boundary holds.
func probe(l Launcher) (p probed) {
	start := time.Now()
	defer func() { p.took = time.Since(start) }()
	if err := CheckLimits(); err != nil {
		return probed{err: err}
	}
	if noProc() { // nor could the folder be removed again
		return probed{err: unstartable(unix.ENOENT)}
	}
	root, done, err := sandbox.TrialFolder("bawn-doctor-")
	if err != nil {
		return probed{err: fmt.Errorf("make a folder to try it in: %w; let TMPDIR name one that can be written", err)}
	}
	defer func() {
		if e := stage.RemoveTemp(root); p.err == nil && e != nil {
			p.err = fmt.Errorf("remove %q: %w", root, e)
		}
		done()
	}()
	ws, home := root+"/ws", root+"/home"
	for _, f := range []struct{ path, text string }{
		{ws, ""}, {home, ""}, {home + "/.ssh", ""}, {home + "/.ssh/key", "secret\n"}, {home + "/visible", "visible\n"},
	} {
		if f.text == "" {
			err = os.Mkdir(f.path, 0o700)
		} else {
			err = os.WriteFile(f.path, []byte(f.text), 0o600)
		}
		if err != nil {
			return probed{err: fmt.Errorf("%w; let TMPDIR name a folder with room", err)}
		}
	}
	code, err := runProbe(l, ws, []string{"HOME=" + home, "PATH=/usr/bin:/bin", "LC_ALL=C"},
		[]string{"/bin/sh", "-c", probeScript, "sh", home})
	if err != nil {
		return probed{err: err}
	}
	if code > 0 && code < len(probeFailures) {
		return probed{err: errors.New(probeFailures[code]), leaks: true}
	}
	if code != 0 {
		return probed{err: fmt.Errorf("the command ended with %d", code), leaks: true}
	}
	if b, err := os.ReadFile(ws + "/in"); err != nil || string(b) != "in\n" {
		return probed{err: errors.New("a write in the workspace does not arrive"), leaks: true}
	}
	if _, err := os.Lstat(home + "/new"); err == nil {
		return probed{err: errors.New(probeFailures[3]), leaks: true}
	}
	return probed{}
}

func runProbe(l Launcher, ws string, env, args []string) (code int, err error) {
	cfg, host, err := sandbox.Inspect(sandbox.Request{Tier: policy.Guarded, Caches: policy.SharedCaches, Workspace: ws, Environ: env})
	if err != nil {
		return 0, err
	}
	pol, err := policy.New(cfg)
	if err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	spec := sandbox.Plan(pol, host, sandbox.Command{Args: args, Environ: env})
	p, err := Backend{Launcher: l}.Start(spec, sandbox.Stdio{In: null, Out: null, Err: null})
	if err != nil {
		return 0, err
	}
	limit := time.AfterFunc(probeLimit, p.Kill)
	defer limit.Stop()
	for {
		ev, err := p.Next()
		switch {
		case err != nil:
			_ = p.Close()
			return 0, err
		case ev.Kind == sandbox.EventFailed:
			_ = p.Close()
			return 0, errors.New(ev.Reason)
		case ev.Kind == sandbox.EventExited:
			return ev.Code, p.Close()
		}
	}
}
