//go:build unix

package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// scanned runs one scanner over the pieces, with the alternate screen taken
// and left as a Screen does, and puts what came out into one text.
type scanned struct{ out, host, reply string }

func scanAll(plain bool, pieces ...[]byte) (scanned, *scanner) {
	s := &scanner{rows: 20, cols: 80, plain: plain, at: position{y: 1}}
	for _, p := range pieces {
		for len(p) > 0 {
			n, why := s.scan(p)
			p = p[n:]
			switch why {
			case atAlternate:
				s.out = append(s.out, "<alt>"...)
				s.composed = true
			case atMain:
				s.out = append(s.out, "<main>"...)
				s.composed = false
				if s.reset {
					s.resetAll()
				}
			}
		}
	}
	s.flush()
	return scanned{string(s.out), string(s.host), string(s.reply)}, s
}

func TestScanner(t *testing.T) {
	for _, c := range []struct{ name, in, out, host, reply string }{
		{name: "text", in: "hello\r\nworld\t\b\a", out: "hello\r\nworld\t\b\a"},
		{name: "UTF-8", in: "für 日本 🦀 e\u0301", out: "für 日本 🦀 e\u0301"},
		{name: "not UTF-8", in: "a\xe4b\xff\xe2\x82c", out: "a\xe4b\xff\xe2c"},
		{name: "not UTF-8 before a control", in: "a\xe4\n\xe2\x82\x1b[mb\xe4", out: "a\xe4\x00\x00\x00\n\xe2\x00\x00\x00\x1b[mb\xe4"},
		{name: "styles", in: "\x1b[1;38:2::1:2:3mx\x1b[m\x1b[0;31m", out: "\x1b[1;38:2::1:2:3mx\x1b[m\x1b[0;31m"},
		{name: "moves", in: "\x1b[A\x1b[2B\x1b[3;4H\x1b[5G\x1b[K\x1b[2K\x1b[L\x1bM", out: "\x1b[A\x1b[2B\x1b[3;4H\x1b[5G\x1b[K\x1b[2K\x1b[L\x1bM"},

		// C1 controls
		{name: "C1 in one byte", in: "a\x9b31mb\x90q\x9c", out: "a31mbq"},
		{name: "C1 in two bytes", in: "a\u009b31mb\u0090q\u009c", out: "a31mbq"},
		{name: "the twins of C1", in: "a\u00a0b", out: "a\u00a0b"},

		// The footer
		{name: "reset of the margins", in: "\x1b[r", out: "\x1b[1;20r"},
		{name: "margins of its own", in: "\x1b[3;10r", out: "\x1b[3;10r"},
		{name: "margins over the footer", in: "\x1b[3;24r", out: "\x1b[3;20r"},
		{name: "margins without a line", in: "\x1b[21;24r", out: ""},
		{name: "the last row", in: "\x1b[20;5Hx", out: "\x1b[20;5Hx"},
		{name: "row of the footer", in: "\x1b[24;5Hx\x1b[999;999H\x1b[99;3f\x1b[99d", out: "\x1b[20;5Hx\x1b[20;999H\x1b[20;3H\x1b[20d"},
		{name: "counts", in: "\x1b[99999999999999999999X\x1b[?70000;1049h\x1b[1;99999C\x1b[999999b", out: "\x1b[9999X<alt>\x1b[1;9999C\x1b[1600b"},
		{name: "VPR", in: "\x1b[9e", out: "\x1b[9B"},
		{name: "full reset", in: "\x1bc", out: "\x1bc\x1b[1;20r"},
		{name: "soft reset", in: "\x1b[!p", out: "\x1b[!p\x1b7\x1b[1;20r\x1b8"},
		{name: "DECALN, lines of double width", in: "\x1b#8\x1b#3\x1b#6", out: ""},
		{name: "down, no farther than the last row", in: "\x1b[3B\x1b[99B\x1b[B\x1b[99E\x1b[2A\x1b[5B", out: "\x1b[3B\x1b[16B\r\x1b[2A\x1b[2B"},
		{name: "down below its margins", in: "\x1b[1;5r\x1b[18;1H\n\x1bE\n\x1bEx\x1b[2A\v\f\f\x1b[3;1H\x1b[9B",
			out: "\x1b[1;5r\x1b[18;1H\x1b[?7l\n\x1bE\rx\x1b[2A\v\f\x1b[3;1H\x1b[?7h\x1b[2B"},
		{name: "back below its margins", in: "\x1b[18;1H\x1b7\x1b[1;5r\x1b8\n\n\n\x1b[?7h\x1b[u\x1b[r\x1b[?7l",
			out: "\x1b[18;1H\x1b7\x1b[1;5r\x1b8\x1b[?7l\n\n\x1b8\x1b[?7l\x1b[1;20r\x1b[?7h\x1b[?7l"},
		{name: "origin, reverse wrap", in: "\x1b[?6;45h\x1b[?6$p", out: "", reply: "\x1b[?6;0$y"},
		{name: "132 columns", in: "\x1b[?3h\x1b[?40h\x1b[?69h\x1b[5;20s", out: ""},
		{name: "saved cursor", in: "\x1b7\x1b[s\x1b[u\x1b8", out: "\x1b7\x1b7\x1b8\x1b8"},
		{name: "rectangles", in: "\x1b[1;1;24;80;1;1;1;1$v\x1b[65;1;1;24;80$x\x1b[1;1;24;80$z\x1b[1$}", out: ""},

		// Questions
		{name: "the size by the cursor", in: "\x1b[999;999H\x1b[6n", out: "\x1b[20;999H\x1b[6n"},
		{name: "the size", in: "\x1b[18t", reply: "\x1b[8;20;80t"},
		{name: "allowed questions", in: "\x1b[c\x1b[>c\x1b[5n\x1b[?u\x1b[>q\x1b[?2004$p", out: "\x1b[c\x1b[>c\x1b[5n\x1b[?u\x1b[>q\x1b[?2004$p"},
		{name: "the colours", in: "\x1b]11;?\a\x1b]4;7;?\x1b\\", out: "\x1b]11;?\x1b\\\x1b]4;7;?\x1b\\"},
		{name: "a mode that is dropped", in: "\x1b[?2048$p\x1b[?69$p", reply: "\x1b[?2048;0$y\x1b[?69;0$y"},
		{name: "title report", in: "\x1b[21t\x1b[20t\x1b]l\a", out: ""},
		{name: "answerback", in: "a\x05b", out: "ab"},
		{name: "DECRQSS", in: "\x1bP$qm\x1b\\x", out: "x"},
		{name: "termcap", in: "\x1bP+q544e\x1b\\x", out: "x"},
		{name: "checksum of the screen", in: "\x1b[1;1;1;1;24;80*y", out: ""},
		{name: "printer", in: "\x1b[i\x1b[5i\x1b[?5i", out: ""},

		// Commands to the terminal
		{name: "clipboard", in: "\x1b]52;c;ZWNobwo=\ax\x1b]52;c;?\x1b\\y", out: "xy"},
		{name: "title", in: "\x1b]0;make\a\x1b]2;vi\x1b\\", out: "\x1b[22;0t\x1b]0;make\x1b\\\x1b]2;vi\x1b\\"},
		{name: "title with an end in two bytes", in: "\x1b]0;a\u009c\u009b1mb\a", out: "\x1b[22;0t\x1b]0;a1mb\x1b\\"},
		{name: "long title", in: "\x1b]0;" + strings.Repeat("é", 200) + "\a", out: "\x1b[22;0t\x1b]0;" + strings.Repeat("é", 127) + "\x1b\\"},
		{name: "links", in: "\x1b]8;id=1;https://a.test/\x1b\\x\x1b]8;;\x1b\\", out: "\x1b]8;id=1;https://a.test/\x1b\\x\x1b]8;;\x1b\\"},
		{name: "links to programs", in: "\x1b]8;;file:///tmp/x.desktop\x1b\\x\x1b]8;;\x1b\\\x1b]8;;vscode://x\ay", out: "x\x1b]8;;\x1b\\y"},
		{name: "progress", in: "\x1b]9;4;1;50\a", out: "\x1b]9;4;1;50\x1b\\"},
		{name: "notifications", in: "\x1b]9;Approve?\a\x1b]777;notify;a;b\a\x1b]99;;x\x1b\\", out: ""},
		{name: "colours set", in: "\x1b]10;#000000\a\x1b]11;black\a\x1b]4;1;red\a\x1b]104\a", out: ""},
		{name: "folder", in: "\x1b]7;file:///tmp\a\x1b]133;A\a\x1b]1337;SetMark\a", out: ""},
		{name: "graphics that read files", in: "\x1b_Gt=f,a=T;L2V0Yy9wYXNzd2Q=\x1b\\x", out: "x"},
		{name: "through tmux", in: "\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\x", out: "x"},
		{name: "PM, SOS, screen's title", in: "\x1b^a\x1b\\\x1bXb\x1b\\\x1bkc\x1b\\x", out: "x"},
		{name: "function keys", in: "\x1bP0;1|17/6c73\x1b\\x", out: "x"},
		{name: "window", in: "\x1b[8;5;5t\x1b[3;0;0t\x1b[2t\x1b[22t\x1b[23t\x1b[14t", out: ""},
		{name: "another encoding", in: "\x1b%@\x1b%G\x1b F", out: ""},
		{name: "Linux's palette", in: "\x1b]P1aabbccx\x1b]Ry", out: "xy"},
		{name: "saved modes", in: "\x1b[?1049s\x1b[?1049r", out: ""},

		// Modes
		{name: "modes", in: "\x1b[?2004h\x1b[?25l\x1b[?1000;1006h\x1b[?7777h", out: "\x1b[?2004h\x1b[?25l\x1b[?1000h\x1b[?1006h"},
		{name: "keyboards", in: "\x1b[>1u\x1b[=5;1u\x1b[<u\x1b[>4;2m\x1b[>4n\x1b[>1;2m", out: "\x1b[>1u\x1b[=5;1u\x1b[<u\x1b[>4;2m\x1b[>4n"},

		// The alternate screen
		{name: "there and back", in: "a\x1b[?1049hb\x1b[?1049lc", out: "a<alt>b<main>c"},
		{name: "older kinds", in: "\x1b[?47hb\x1b[?47l\x1b[?1047hd\x1b[?1047l", out: "<alt>b<main><alt>d<main>"},
		{name: "with others", in: "\x1b[?1049;2004h\x1b[?2004;1049l", out: "\x1b[?2004h<alt><main>", host: "\x1b[?2004l"},
		{name: "twice", in: "\x1b[?1049h\x1b[?1049h\x1b[?1049l\x1b[?1049l", out: "<alt><main>"},
		{name: "modes go to the terminal", in: "\x1b[?1049h\x1b[?1002h\x1b[?25l\x1b[6n\x1b]11;?\a\x1b[99;1H\x1b[r", out: "<alt>\x1b[?25l\x1b[6n\x1b[99;1H\x1b[r", host: "\x1b[?1002h\x1b]11;?\x1b\\"},
		{name: "reset from there", in: "\x1b[?1049hx\x1bcy", out: "<alt>x<main>\x1bc\x1b[1;20ry"},

		// Broken sequences
		{name: "new one begins", in: "\x1b[3\x1b[1mx", out: "\x1b[1mx"},
		{name: "cancelled", in: "\x1b[3\x18mx\x1b]0;a\x1ab", out: "mxb"},
		{name: "a line inside", in: "\x1b[3\nmx", out: "\nmx"},
		{name: "too long", in: "\x1b[" + strings.Repeat("1;", 300) + "mx\x1b]0;" + strings.Repeat("a", 5000) + "\ay", out: "xy"},
		{name: "never ended", in: "a\x1b[12", out: "a"},
		{name: "bytes out of order", in: "\x1b[1$2mx\x1b[1?hy", out: "xy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := scanAll(false, []byte(c.in))
			if want := (scanned{c.out, c.host, c.reply}); got != want {
				t.Errorf("%q\n got %q\nwant %q", c.in, got, want)
			}
		})
	}
}

func TestDamage(t *testing.T) {
	for in, want := range map[string]bool{
		"text\r\n\x1b[K": false, "\x1b[J": true, "\x1b[2J\x1b[3J": true, "\x1b[?J": true, "\x1bc": true, "\x1b#8": false,
		"\x1b[1;5r\x1b[18H\n\n\n\n": false,
	} {
		if _, s := scanAll(false, []byte(in)); s.damaged != want {
			t.Errorf("%q: damaged %v", in, s.damaged)
		}
	}
}

// A cursor that was saved in a larger terminal is not restored into the footer.
func TestRestoredAfterResize(t *testing.T) {
	s := &scanner{rows: 20, cols: 80}
	s.scan([]byte("\x1b[18;1H\x1b7"))
	s.rows, s.out = 10, nil
	s.scan([]byte("\x1b8"))
	if got := string(s.out); got != "\x1b8\x1b[10d\x1b7" {
		t.Errorf("%q", got)
	}
}

// Undoing and doing again brings a terminal to the same modes.
func TestModesOffAndOn(t *testing.T) {
	in := "\x1b[?1;1002;1006;2004h\x1b[?25l\x1b[>1u\x1b[>5u\x1b[>4;2m\x1b=\x1b[4h\x1b[4 q"
	_, s := scanAll(false, []byte(in))
	off, on := string(s.modes.off(nil, 0)), string(s.modes.on(nil, 0))
	if want := "\x1b[?1l\x1b[?25h\x1b[?1002l\x1b[?1006l\x1b[?2004l\x1b[<2u\x1b[>4m\x1b>\x1b[4l\x1b[0 q"; off != want {
		t.Errorf("off %q", off)
	}
	if _, again := scanAll(false, []byte(on)); string(again.modes.off(nil, 0)) != off {
		t.Errorf("on %q", on)
	}
	if _, clean := scanAll(false, []byte(in), []byte(off)); len(clean.modes.off(nil, 0)) > 0 && string(clean.modes.off(nil, 0)) != "\x1b[0 q" {
		t.Errorf("after off: %q", clean.modes.off(nil, 0))
	}
}

// pieces are what output is made of, good and bad.
var pieces = []string{
	"a", "text ", "\r\n", "é", "日", "🦀", "\x1b", "[", "]", "?", ";", "1049", "h", "l", "\x1b[?1049h", "\x1b[?1049l", "\x1b[2J", "\x1b[r", "\x1b[1;5r",
	"\x1b7", "\x1b8", "\x1bc", "\x1b]0;t\a", "\x1b]52;c;x\a", "\x1b\\", "\x1bP", "\x1b_G", "\a", "\x18", "\x9b", "\xc2", "\xe2\x82", "\u009b", "\x1b[6n", "\x1b[18t", "\x1b[!p",
	"\x1b[99;99H", "\x1b[>1u", "\x1b[<u", "m", "0", "\x1b[m", "\x1b(0", "\x0e", "\x05", "\x1b]P", "\x1bk",
}

func TestCutsMakeNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "in"), ""))
		cuts := rapid.SliceOf(rapid.IntRange(1, 5)).Draw(t, "cuts")
		checkCuts(t, in, cuts)
	})
}

type fatal interface{ Fatalf(string, ...any) }

func checkCuts(t fatal, in []byte, cuts []int) {
	whole, s := scanAll(false, in)
	var parts [][]byte
	rest := in
	for _, c := range cuts {
		c = min(c, len(rest))
		parts, rest = append(parts, rest[:c]), rest[c:]
	}
	got, _ := scanAll(false, append(parts, rest)...)
	if got != whole {
		t.Fatalf("%q in pieces %q\n got %q\nwhole %q", in, parts, got, whole)
	}
	// What came out says the same to a second scanner: nothing in it is cut,
	// hidden or forbidden. (Set aside: what only marks the switch of screens,
	// and the rows, which are clamped already.)
	if again, _ := scanAll(false, []byte(whole.host)); again.out != whole.host && !s.titled {
		t.Fatalf("%q\nto the terminal %q\nis not what passes: %q", in, whole.host, again.out)
	}
	if bytes.ContainsAny([]byte(whole.out+whole.host), "\x05") || strings.Contains(whole.out+whole.host, "\x1b]52") || strings.Contains(whole.out+whole.host, "\x1bP") {
		t.Fatalf("%q: forbidden in %q", in, whole)
	}
}

func FuzzScanner(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte(p), []byte{1})
	}
	f.Add([]byte(strings.Join(pieces, "")), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		var n []int
		for _, c := range cuts {
			n = append(n, int(c%7)+1)
		}
		checkCuts(t, in, n)
	})
}

// Text without sequences passes as it is.
func TestTextIsUntouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool {
			return (r >= 0x20 || r == '\n' || r == '\r' || r == '\t') && (r < 0x7f || r > 0x9f)
		})).Draw(t, "text")
		if got, _ := scanAll(false, []byte(in)); got.out != in {
			t.Fatalf("%q became %q", in, got.out)
		}
	})
}

// No output makes the emulator hang, or panic for good.
func TestEmulatorTakesAnything(t *testing.T) {
	counts := []string{"", "0", "1", "7", "999", "32768", "2147483647", "99999999999999999999"}
	s := &Screen{dirty: true}
	s.scan = scanner{rows: 20, cols: 80, composed: true}
	s.emu = s.newEmulator()
	for final := byte('@'); final < 0x7f; final++ {
		for _, n := range counts {
			s.scan.scan(fmt.Appendf(nil, "\x1b[%s%c\x1b[%s;%s%c\x1b[?%s%cx", n, final, n, n, final, n, final))
			begin := time.Now()
			s.feed(s.scan.out)
			if d := time.Since(begin); d > 5*time.Second {
				t.Errorf("%q takes %v", s.scan.out, d)
			}
			s.scan.out = s.scan.out[:0]
		}
	}
	s.emu.close()
}

// What needs no look is told from the rest at every place of a word.
func TestPlainRun(t *testing.T) {
	for size := range 20 {
		for at := range size + 1 {
			for c := range 256 {
				b := bytes.Repeat([]byte("~"), size)
				want := size
				if at < size {
					b[at] = byte(c)
					if !plainByte[c] {
						want = at
					}
				}
				if got := plainRun(b); got != want {
					t.Fatalf("%q: %d, not %d", b, got, want)
				}
			}
		}
	}
}
