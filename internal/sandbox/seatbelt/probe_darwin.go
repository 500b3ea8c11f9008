package seatbelt

import (
	"errors"
	"fmt"
	"os"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Hint is the way out where no sandbox can be made.
const Hint = "a program that is in a sandbox already cannot start another: run bawn outside it, or use --tier open (no sandbox)"

// Probe tries the boundary with a command that does nothing.
func Probe() error {
	dir, done, err := sandbox.TrialFolder("bawn-doctor-")
	if err != nil {
		return err
	}
	defer done()
	defer os.RemoveAll(dir)
	config, host, err := sandbox.Inspect(sandbox.Request{Tier: policy.Airlock, Workspace: dir, Environ: os.Environ(), Guard: true})
	if err != nil {
		return err
	}
	p, err := policy.New(config)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	spec := sandbox.Plan(p, host, sandbox.Command{Args: []string{"/usr/bin/true"}, Environ: os.Environ()})
	run, err := Backend{p, host}.Start(spec, sandbox.Stdio{In: null, Out: null, Err: null})
	if err != nil {
		return err
	}
	defer run.Close()
	for {
		ev, err := run.Next()
		switch {
		case err != nil:
			return err
		case ev.Kind == sandbox.EventFailed:
			return errors.New(ev.Reason)
		case ev.Kind == sandbox.EventExited && ev.Code != 0:
			return fmt.Errorf("true ended with %d", ev.Code)
		case ev.Kind == sandbox.EventExited:
			return nil
		}
	}
}
