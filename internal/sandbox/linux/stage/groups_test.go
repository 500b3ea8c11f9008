//go:build linux

package stage

import (
	"errors"
	"reflect"
	"testing"

	"bawn/internal/sandbox"
)

func TestGroups(t *testing.T) {
	at := func(targets ...string) (out []sandbox.Mount) {
		for _, target := range targets {
			out = append(out, sandbox.Mount{Target: target})
		}
		return out
	}
	got := groups(at("/tmp", "/home", "/etc/shadow", "/home/u", "/home/u/.ssh", "/etc/passwd"))
	want := []group{{"home", []int{1, 3, 4}}, {"etc", []int{2, 5}}, {"tmp", []int{0}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// What is done to the root concerns all.
	got = groups(at("/home/u", "/", "/etc"))
	if want := []group{{steps: []int{0, 1, 2}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := groups(nil); len(got) != 0 {
		t.Errorf("%v of nothing", got)
	}
}

// Steps that fail in two groups: the error is that of the first.
func TestFirstFailureIsTold(t *testing.T) {
	for range 50 {
		b := builder{made: map[string]bool{"/": false}, trees: []int{-1, -1, -1}}
		err := b.build([]sandbox.Mount{
			{Op: sandbox.OpSeal, Target: "/nothing-a/x"}, {Op: sandbox.OpSeal, Target: "/nothing-b/x"}, {Op: sandbox.OpSeal, Target: "/nothing-b/y"},
		})
		if err == nil || err.Error() != `seal "/nothing-a/x": no such file or directory` {
			t.Fatalf("error %v", err)
		}
	}
}

// Layers that cannot be made in several groups are all told.
func TestPlainLayersOfAllGroups(t *testing.T) {
	b := builder{made: map[string]bool{"/": false}, plain: map[string]error{}}
	for i, p := range []*builder{b.part(0), b.part(1)} {
		p.plain[[...]string{"/a/x", "/b/x"}[i]] = errors.New("none")
		if len(b.plain) != 0 {
			t.Fatal("two threads write one map")
		}
	}
}
