package main

import (
	"errors"
	"path/filepath"
)

// keepFlags are those of `bawn keep` and `bawn discard`.
type keepFlags struct {
	workspace          string
	list, diff, asJSON bool
	force              []string // absolute
}

func (f *keepFlags) specs() []flagSpec {
	return append(f.discardSpecs(),
		flagSpec{name: "--list", help: "list the staged runs, the newest first", on: func() { f.list = true }},
		flagSpec{name: "--diff", help: "show what would change, and keep nothing", on: func() { f.diff = true }},
		flagSpec{name: "--force", arg: "PATH", help: "keep PATH, though the workspace's own was changed\nsince the run began; repeatable", set: func(v string) error {
			if v == "" {
				return errors.New("the path is empty")
			}
			abs, err := filepath.Abs(v)
			f.force = append(f.force, abs)
			return err
		}},
	)
}

func (f *keepFlags) discardSpecs() []flagSpec {
	return []flagSpec{
		{name: "-C", arg: "DIR", help: "the workspace whose newest run is meant (default:\nhere)", set: func(v string) error { f.workspace = v; return nil }},
		jsonFlag(&f.asJSON),
	}
}
