package main

// roomy has a frame that is larger than what a command of bawn's needs of its
// stack. To call it grows the stack once, while nearly nothing lies on it; else
// it grows in five steps, of which each looks through all frames and copies them.
//
//go:noinline
func roomy(use bool) (n byte) {
	if use { // never: so it is not cleared either
		var room [48 << 10]byte
		n = fill(&room)
	}
	return n
}

//go:noinline
func fill(b *[48 << 10]byte) byte { b[len(b)/2] = 1; return b[1] }
