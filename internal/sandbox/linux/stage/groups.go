//go:build linux

package stage

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"bawn/internal/sandbox"
)

// group are the steps below one folder of the root, in order: nothing that one
// of them does shows in those of another.
type group struct {
	top   string
	steps []int
}

// groups are the steps of each folder of the root, the most first; all in one
// group where a step has no such folder.
func groups(mounts []sandbox.Mount) []group {
	var out []group
	at := map[string]int{}
	for i, m := range mounts {
		top, _, _ := strings.Cut(strings.TrimPrefix(m.Target, "/"), "/")
		if top == "" {
			all := group{steps: make([]int, len(mounts))}
			for i := range all.steps {
				all.steps[i] = i
			}
			return []group{all}
		}
		n, ok := at[top]
		if !ok {
			n = len(out)
			at[top], out = n, append(out, group{top: top})
		}
		out[n].steps = append(out[n].steps, i)
	}
	slices.SortStableFunc(out, func(a, b group) int { return len(b.steps) - len(a.steps) })
	return out
}

// outcome is what became of a group.
type outcome struct {
	step int // which failed
	err  error
}

// build carries out the groups on this thread and, as soon as one is free, on
// another one. It returns the error of the first step that failed.
func (b *builder) build(mounts []sandbox.Mount) error {
	all := groups(mounts)
	builders := make([]*builder, len(all))
	for i := range all {
		builders[i] = b.part(i)
	}
	var next atomic.Int32
	outcomes := make(chan outcome, len(all))
	work := func() {
		for {
			n := int(next.Add(1)) - 1
			if n >= len(all) {
				return
			}
			outcomes <- builders[n].steps(mounts, all[n].steps)
		}
	}
	if len(all) > 1 {
		go work()
	}
	work()
	first := outcome{}
	for range all {
		if o := <-outcomes; o.err != nil && (first.err == nil || o.step < first.step) {
			first = o
		}
	}
	for _, p := range builders {
		maps.Copy(b.plain, p.plain)
		p.releaseOwn()
	}
	return first.err
}

// part is a builder for one group: what steps note down is its own.
func (b *builder) part(n int) *builder {
	p := *b
	p.own, p.made, p.content, p.roots = map[string]int{}, maps.Clone(b.made), maps.Clone(b.content), map[string]int{}
	p.plain = map[string]error{}
	p.pool.n, p.frame.n = n<<24, n<<24 // names
	return &p
}

// steps carries out some of the steps, in order.
func (b *builder) steps(mounts []sandbox.Mount, which []int) outcome {
	for _, i := range which {
		m := mounts[i]
		err := b.step(i, m)
		if err != nil && m.Try && vanished(m.Op, err) {
			err = nil
		}
		if err != nil && m.Op == sandbox.OpProc {
			// A container that masks parts of /proc forbids a new one.
			return outcome{i, unavailable(stepError(m, err))}
		}
		if err != nil {
			return outcome{i, stepError(m, err)}
		}
	}
	return outcome{}
}
