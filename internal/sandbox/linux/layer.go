//go:build linux

package linux

import (
	"os"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// makeStores makes the folders in which layers are kept.
func makeStores(mounts []sandbox.Mount) error {
	for _, m := range mounts {
		if m.Op != sandbox.OpLayer {
			continue
		}
		if err := os.MkdirAll(m.Source+"/"+sandbox.OwnFolder, 0o700); err != nil {
			return &policy.RefusedError{What: "private caches", Why: err.Error(), Lift: `make room for them, or set caches = "shared"`}
		}
	}
	return nil
}

// layered reports whether there is a layer to make.
func layered(mounts []sandbox.Mount) bool {
	for _, m := range mounts {
		if m.Op == sandbox.OpLayer || m.Op == sandbox.OpStaged {
			return true
		}
	}
	return false
}

// unstaged refuses a staged run where no overlay can be made.
func unstaged(mounts []sandbox.Mount, why string) error {
	for _, m := range mounts {
		if m.Op == sandbox.OpStaged {
			return &policy.RefusedError{What: "--stage", Why: why, Lift: "run it without --stage, or where the native launcher works (bawn doctor)"}
		}
	}
	return nil
}

const bwrapPlain = "private caches: the bwrap launcher cannot lay a copy over the host's caches: they begin without their content"

// plainFolders shows folders without the host's content in the place of
// layers, which bubblewrap cannot make. There is nothing to hide or hold in
// them; and bubblewrap would make what is not there, through links that earlier
// commands left.
func plainFolders(mounts []sandbox.Mount) (out []sandbox.Mount, any bool) {
	if !layered(mounts) {
		return mounts, false
	}
	plain := map[string]bool{} // mount points → whether one of those
	for _, m := range mounts {
		switch m.Op {
		case sandbox.OpLayer:
			plain[m.Target] = true
			m.Op, m.Source = sandbox.OpBind, m.Source+"/"+sandbox.OwnFolder
		case sandbox.OpBind, sandbox.OpTmpfs, sandbox.OpSkeleton:
			plain[m.Target] = false
		case sandbox.OpMask, sandbox.OpPin:
			if inPlain(m.Target, plain) {
				continue
			}
		}
		out = append(out, m)
	}
	return out, true
}

// inPlain finds the deepest mount above path.
func inPlain(path string, plain map[string]bool) bool {
	for d := policy.Parent(path); d != "/"; d = policy.Parent(d) {
		if p, ok := plain[d]; ok {
			return p
		}
	}
	return false
}
