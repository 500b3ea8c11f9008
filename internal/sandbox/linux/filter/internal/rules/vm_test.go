package rules

import (
	"encoding/binary"

	"bawn/internal/sandbox/linux/filter/internal/cbpf"

	"golang.org/x/net/bpf"
)

// fataler is what testing.TB and *rapid.T share here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// machine runs a compiled filter as the kernel would.
type machine struct{ vm *bpf.VM }

func compiled(t fataler, f Filter, a Arch) machine {
	t.Helper()
	prog, err := Compile(f, a)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return load(t, prog)
}

func load(t fataler, prog []cbpf.Insn) machine {
	t.Helper()
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
	return machine{vm}
}

// verdict runs the program. Seccomp's loads are in the host's order and this
// virtual machine's are big-endian, so every 32-bit half goes in big-endian.
func (m machine) verdict(t fataler, c Call) Action {
	t.Helper()
	var data [cbpf.DataSize]byte
	put := func(offset int, word uint32) { binary.BigEndian.PutUint32(data[offset:], word) }
	put(offsetNr, c.Nr)
	put(offsetArch, c.Audit)
	put(8, 0xdeadbeef) // the instruction pointer, which no verdict may use
	put(12, 0xdeadbeef)
	for i, a := range c.Args {
		put(offsetArgs+8*i, uint32(a))
		put(offsetArgs+8*i+4, uint32(a>>32))
	}
	v, err := m.vm.Run(data[:])
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return Action(v)
}
