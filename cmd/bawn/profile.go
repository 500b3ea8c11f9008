package main

import (
	"errors"

	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

// installs are the package installs that the command is, if it is nothing
// else.
func (f *runFlags) installs(args []string) []plain.Install {
	if f.hasShell {
		in, _ := plain.InstallsText(f.shell)
		return in
	}
	if in, ok := plain.InstallOf(args); ok {
		return []plain.Install{in}
	}
	return nil
}

// narrow gives a package install its profile: in airlock always, in guarded
// as the configuration says, or because --profile asks for it (SPEC F9).
func (f *runFlags) narrow(s *settings, args []string) error { return f.narrowIn(s.tier(), s, args) }

func (f *runFlags) narrowIn(tier policy.Tier, s *settings, args []string) error {
	asked := f.profile == policy.InstallProfile
	if f.profile != policy.NoProfile && !asked {
		return nil
	}
	installs := f.installs(args)
	switch {
	case asked && len(installs) == 0:
		return &policy.RefusedError{
			What: "--profile install", Why: "the command is not a package install that bawn recognises, or does more than that",
			Lift: "name the tool alone, as in: bawn run --profile install -- npm ci",
		}
	case asked:
	case len(installs) == 0, tier == policy.Open, tier == policy.Guarded && !s.config.NarrowInstalls(), s.mode == policy.ReadOnlyMode:
		return nil
	}
	s.profile, s.install = policy.InstallProfile, plain.Profile(installs)
	for _, it := range s.config.Items("sandbox.allowed_domains") {
		if r, err := hostname.ParseRule(it.Text, it.Origin); err == nil && it.Typed() {
			s.install.Hosts = append(s.install.Hosts, r)
		}
	}
	if asked {
		s.install.Lift = "leave --profile install out"
	}
	return nil
}

// errCheckInstall: what the profile opens is what the command is.
var errCheckInstall = errors.New("--profile install depends on the command: only run knows it, as in: bawn check run --profile install -- npm ci")
