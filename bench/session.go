//go:build linux

package main

import (
	"fmt"
	"io"
	"os"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
)

// session is this process as the supervisor of many commands.
type session struct {
	keeper  sandbox.Keeper
	shared  sandbox.Shared
	request sandbox.Request
}

func newSession(env []string, ws string) (*session, error) {
	k, err := linux.NewKeeper()
	if err != nil {
		return nil, err
	}
	net, err := k.Network(sandbox.Network{Proxy: true, Transparent: true})
	if err != nil {
		k.Close()
		return nil, err
	}
	return &session{k, net, sandbox.Request{Tier: policy.Guarded, Caches: policy.SharedCaches, Workspace: ws, Environ: env, Guard: true}}, nil
}

// run does all that a session does for one command, from the facts of the
// machine to the end of its processes.
func (s *session) run(args ...string) error {
	cfg, host, err := sandbox.Inspect(s.request)
	if err != nil {
		return err
	}
	pol, err := policy.New(cfg)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	out, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	spec := sandbox.Plan(pol, host, sandbox.Command{
		Args: args, Environ: s.request.Environ, Net: sandbox.Network{Proxy: true, Transparent: true},
	})
	p, err := s.shared.Start(spec, sandbox.Stdio{In: null, Out: to, Err: to})
	to.Close()
	if err != nil {
		return err
	}
	defer p.Close()
	for {
		switch ev, err := p.Next(); {
		case err != nil:
			return err
		case ev.Kind == sandbox.EventFailed || ev.Kind == sandbox.EventExited && ev.Code != 0:
			return fmt.Errorf("%d %s", ev.Code, ev.Reason)
		case ev.Kind == sandbox.EventExited:
			_, err := io.Copy(io.Discard, out)
			p.Wait()
			return err
		}
	}
}
