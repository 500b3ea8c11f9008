package filter

import _ "embed"

// Strings, not slices: they stay in read-only memory and cost no package init.
var (
	//go:embed base_amd64.bpf
	base string
	//go:embed noinet_amd64.bpf
	noInet string
	//go:embed guard_amd64.bpf
	guard string
	//go:embed guardremovals_amd64.bpf
	guardRemovals string
)
