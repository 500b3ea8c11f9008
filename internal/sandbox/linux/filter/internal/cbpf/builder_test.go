package cbpf

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"pgregory.net/rapid"
)

// run gives a program's verdict on one input word at offset 0.
func run(t interface{ Fatalf(string, ...any) }, prog []Insn, word uint32) uint32 {
	raw := make([]bpf.RawInstruction, len(prog))
	for i, in := range prog {
		raw[i] = bpf.RawInstruction{Op: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	ins, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatalf("program does not disassemble")
	}
	vm, err := bpf.NewVM(ins)
	if err != nil {
		t.Fatalf("program refused: %v", err)
	}
	// The VM loads big-endian.
	v, err := vm.Run([]byte{byte(word >> 24), byte(word >> 16), byte(word >> 8), byte(word)})
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return uint32(v)
}

// spread builds "word == 7 ? 1 : 2" with gaps between the jump and its targets.
func spread(toYes, toNo int) *Builder {
	b := &Builder{}
	yes, no := b.NewLabel(), b.NewLabel()
	b.Load(0)
	b.Jump(Equal, 7, yes, no)
	for range toYes {
		b.Ret(99)
	}
	b.Mark(yes)
	b.Ret(1)
	for range toNo {
		b.Ret(99)
	}
	b.Mark(no)
	b.Ret(2)
	return b
}

func TestJumpsReachAnyDistance(t *testing.T) {
	for _, tc := range []struct {
		toYes, toNo int
		want        int // instructions: a jump that reaches gets no stub
	}{
		{0, 0, 4}, {254, 0, 4 + 254}, {255, 0, 4 + 255 + 2}, {256, 0, 4 + 256 + 2},
		{0, 254, 4 + 254 + 0}, {0, 255, 4 + 255 + 1}, {300, 300, 4 + 600 + 2}, {1000, 2000, 4 + 3000 + 2},
	} {
		prog, err := spread(tc.toYes, tc.toNo).Assemble()
		if err != nil {
			t.Fatal(err)
		}
		if len(prog) != tc.want {
			t.Errorf("gaps %d and %d: %d instructions, want %d", tc.toYes, tc.toNo, len(prog), tc.want)
		}
		if got := run(t, prog, 7); got != 1 {
			t.Errorf("gaps %d and %d: 7 gives %d, want 1", tc.toYes, tc.toNo, got)
		}
		if got := run(t, prog, 8); got != 2 {
			t.Errorf("gaps %d and %d: 8 gives %d, want 2", tc.toYes, tc.toNo, got)
		}
	}
}

// A far jump in one direction with Next in the other: Next is behind the stub.
func TestNextSkipsStub(t *testing.T) {
	for _, far := range []bool{true, false} {
		b := &Builder{}
		l := b.NewLabel()
		b.Load(0)
		if far {
			b.Jump(AtLeast, 10, l, Next)
		} else {
			b.Jump(AtLeast, 10, Next, l)
		}
		b.Ret(1)
		for range 400 {
			b.Ret(99)
		}
		b.Mark(l)
		b.Ret(2)
		prog, err := b.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		for word, atLeast := range map[uint32]bool{9: false, 10: true} {
			want := uint32(1)
			if atLeast == far {
				want = 2
			}
			if got := run(t, prog, word); got != want {
				t.Errorf("far=%v, %d gives %d, want %d", far, word, got, want)
			}
		}
	}
}

// Chains of jumps with random gaps: the program must pick what plain Go picks.
func TestRandomChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "jumps")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 60), n, n).Draw(t, "gaps")
		b := &Builder{}
		b.Load(0)
		hits := make([]Label, n)
		for i := range n {
			hits[i] = b.NewLabel()
			b.Jump(Equal, uint32(i), hits[i], Next)
		}
		b.Ret(1000)
		for _, i := range rapid.Permutation(indices(n)).Draw(t, "order") {
			for range gaps[i] {
				b.Ret(99)
			}
			b.Mark(hits[i])
			b.Ret(uint32(i))
		}
		prog, err := b.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if got := run(t, prog, uint32(i)); got != uint32(i) {
				t.Fatalf("%d gives %d", i, got)
			}
		}
		if got := run(t, prog, uint32(n)); got != 1000 {
			t.Fatalf("no hit gives %d", got)
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestAssembleRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		build func(*Builder)
		want  string
	}{
		"unplaced label": {func(b *Builder) { b.Goto(b.NewLabel()); b.Ret(0) }, "no place"},
		"unknown label":  {func(b *Builder) { b.Goto(5); b.Ret(0) }, "no place"},
		"backwards": {func(b *Builder) {
			l := b.NewLabel()
			b.Mark(l)
			b.Load(0)
			b.Jump(Equal, 1, l, Next)
			b.Ret(0)
		}, "backwards"},
		"itself":       {func(b *Builder) { l := b.NewLabel(); b.Mark(l); b.Goto(l); b.Ret(0) }, "backwards"},
		"twice":        {func(b *Builder) { l := b.NewLabel(); b.Mark(l); b.Mark(l); b.Ret(0) }, "twice"},
		"mark unknown": {func(b *Builder) { b.Mark(3); b.Ret(0) }, "unknown label"},
		"past the end": {func(b *Builder) { l := b.NewLabel(); b.Goto(l); b.Ret(0); b.Mark(l) }, "past the end"},
		"empty":        {func(*Builder) {}, "0 instructions"},
		"no return":    {func(b *Builder) { b.Load(0) }, "no return"},
		"bad offset":   {func(b *Builder) { b.Load(64); b.Ret(0) }, "offset 64"},
		"too long": {func(b *Builder) {
			for range MaxLen + 1 {
				b.Ret(0)
			}
		}, "4097 instructions"},
	} {
		var b Builder
		tc.build(&b)
		if _, err := b.Assemble(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	ret := Insn{Op: opRet}
	for name, prog := range map[string][]Insn{
		"jump true past end":  {{Op: uint16(Equal), Jt: 1}, ret},
		"jump false past end": {{Op: uint16(AtLeast), Jf: 1}, ret},
		"goto past end":       {{Op: opGoto, K: 1}, ret},
		"goto wraps":          {{Op: opGoto, K: 0xffffffff}, ret},
		"unaligned load":      {{Op: opLoad, K: 2}, ret},
		"unknown operation":   {{Op: 0x00}, ret},
		"no return":           {ret, {Op: opAnd}},
	} {
		if Check(prog) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := Check([]Insn{{Op: opLoad, K: 60}, {Op: uint16(Equal)}, ret}); err != nil {
		t.Errorf("good program refused: %v", err)
	}
}

// Whatever passes Check, the virtual machine runs without an error.
func FuzzCheck(f *testing.F) {
	prog, err := spread(3, 300).Assemble()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(Encode(prog))
	f.Add([]byte{6, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		prog, err := Decode(raw)
		if err != nil {
			return
		}
		if !slices.Equal(Encode(prog), raw) {
			t.Fatal("decode and encode changed the bytes")
		}
		if Check(prog) == nil {
			run(t, prog, 7)
		}
	})
}

func TestEncodeIsSockFilter(t *testing.T) {
	in := []Insn{{Op: 0x1122, Jt: 3, Jf: 4, K: 0x55667788}}
	want := []byte{0x22, 0x11, 3, 4, 0x88, 0x77, 0x66, 0x55}
	if got := Encode(in); !slices.Equal(got, want) {
		t.Errorf("encoded % x, want % x", got, want)
	}
	if back, err := Decode(want); err != nil || !reflect.DeepEqual(back, in) {
		t.Errorf("decoded %v, %v", back, err)
	}
	if _, err := Decode(want[:7]); err == nil {
		t.Error("7 bytes decoded")
	}
}
