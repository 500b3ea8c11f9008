package audit

import "testing"

// A head is read back as it was written, and nothing that differs by a byte is.
func TestParseTip(t *testing.T) {
	for _, at := range []tip{{}, {file: 1, size: 5, seq: 7}, {file: 1234567, size: 1 << 40, seq: 1 << 60, hash: [32]byte{1, 31: 255}}} {
		text := at.text()
		if got, ok := parseTip(text); !ok || got != at {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
		for i := range text {
			spoilt := append([]byte{}, text...)
			for _, c := range []byte{' ', 'x', 'F', '\n'} {
				if spoilt[i] = c; c == text[i] {
					continue
				}
				if got, ok := parseTip(spoilt); ok && got == at {
					t.Errorf("%q is read as %+v", spoilt, got)
				}
			}
			if _, ok := parseTip(text[:i]); ok {
				t.Errorf("%q is read", text[:i])
			}
		}
		if _, ok := parseTip(append(text, 'x')); ok {
			t.Error("with more behind it is read")
		}
	}
}

func BenchmarkParseTip(b *testing.B) {
	text := tip{file: 1, size: 12345, seq: 99}.text()
	for b.Loop() {
		parseTip(text)
	}
}

// Each head is as long as the place for one.
func TestHeadLength(t *testing.T) {
	for _, tip := range []tip{{}, {file: 999999, size: 999999999999, seq: 9999999999999999}} {
		if got := int64(len(tip.text())); got != headLength {
			t.Errorf("%q: %d bytes, not %d", tip.text(), got, headLength)
		}
	}
}
