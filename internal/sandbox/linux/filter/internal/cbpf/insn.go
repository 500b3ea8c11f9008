// Package cbpf assembles, encodes and checks classic BPF programs for
// seccomp(2). It knows the instruction set and the kernel's limits, and nothing
// about system calls.
package cbpf

import (
	"encoding/binary"
	"fmt"
)

// MaxLen is the longest program the kernel takes (BPF_MAXINSNS,
// linux/bpf_common.h).
const MaxLen = 4096

// InsnSize is the size in bytes of one encoded struct sock_filter.
const InsnSize = 8

// DataSize is the size in bytes of struct seccomp_data, all a program can read.
const DataSize = 64

// The operations a Builder can emit (linux/bpf_common.h), all of which the
// kernel's seccomp_is_const_allow understands: a verdict that loads only the
// number and the architecture is cached per number and costs nothing afterwards.
const (
	opLoad uint16 = 0x20 // BPF_LD|BPF_W|BPF_ABS: A = word at byte offset K
	opAnd  uint16 = 0x54 // BPF_ALU|BPF_AND|BPF_K: A &= K
	opGoto uint16 = 0x05 // BPF_JMP|BPF_JA: skip K instructions
	opRet  uint16 = 0x06 // BPF_RET|BPF_K: verdict K
)

// Cond is the comparison of a conditional jump.
type Cond uint16

const (
	Equal     Cond = 0x15 // BPF_JMP|BPF_JEQ|BPF_K: A == K
	AtLeast   Cond = 0x35 // BPF_JMP|BPF_JGE|BPF_K: A >= K, unsigned
	AnyBitSet Cond = 0x45 // BPF_JMP|BPF_JSET|BPF_K: A & K != 0
)

// Insn is struct sock_filter.
type Insn struct {
	Op     uint16
	Jt, Jf uint8
	K      uint32
}

// Encode gives the bytes of an array of struct sock_filter on a little-endian
// machine, as both architectures bawn supports are.
func Encode(prog []Insn) []byte {
	out := make([]byte, 0, len(prog)*InsnSize)
	for _, in := range prog {
		out = binary.LittleEndian.AppendUint16(out, in.Op)
		out = append(out, in.Jt, in.Jf)
		out = binary.LittleEndian.AppendUint32(out, in.K)
	}
	return out
}

// Decode is the inverse of Encode; its only error is a length that is no
// multiple of InsnSize.
func Decode(raw []byte) ([]Insn, error) {
	if len(raw)%InsnSize != 0 {
		return nil, fmt.Errorf("decode filter: %d bytes is no multiple of %d", len(raw), InsnSize)
	}
	prog := make([]Insn, 0, len(raw)/InsnSize)
	for ; len(raw) > 0; raw = raw[InsnSize:] {
		prog = append(prog, Insn{
			Op: binary.LittleEndian.Uint16(raw),
			Jt: raw[2], Jf: raw[3],
			K: binary.LittleEndian.Uint32(raw[4:]),
		})
	}
	return prog, nil
}

// Check refuses what the kernel would refuse (bpf_check_classic and
// seccomp_check_filter), and any operation a Builder does not emit: the stage
// that loads a bad filter could only die, far from the mistake.
func Check(prog []Insn) error {
	if len(prog) == 0 || len(prog) > MaxLen {
		return fmt.Errorf("check filter: %d instructions, not 1 to %d", len(prog), MaxLen)
	}
	for i, in := range prog {
		left := len(prog) - i - 1 // instructions after this one
		switch in.Op {
		case opLoad:
			if in.K%4 != 0 || in.K >= DataSize {
				return fmt.Errorf("check filter: instruction %d loads from offset %d", i, in.K)
			}
		case opAnd, opRet:
		case opGoto:
			if uint64(in.K) >= uint64(left) {
				return fmt.Errorf("check filter: instruction %d jumps past the end", i)
			}
		case uint16(Equal), uint16(AtLeast), uint16(AnyBitSet):
			if int(in.Jt) >= left || int(in.Jf) >= left {
				return fmt.Errorf("check filter: instruction %d jumps past the end", i)
			}
		default:
			return fmt.Errorf("check filter: instruction %d has unknown operation %#x", i, in.Op)
		}
	}
	if prog[len(prog)-1].Op != opRet {
		return fmt.Errorf("check filter: the last instruction is no return")
	}
	return nil
}
