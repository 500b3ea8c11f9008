package screen

import (
	"bytes"
	"testing"
)

func BenchmarkScan(b *testing.B) {
	for name, line := range map[string]string{
		"plain":  "some/path/in/a/workspace.go:123: a line of a build that says something\r\n",
		"styled": "    1234 \x1b[32mok\x1b[m   bawn/internal/something/or/other  0.123s  — a line of a build\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			in := bytes.Repeat([]byte(line), 50)
			s := &scanner{rows: 20, cols: 80}
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				s.out = s.out[:0]
				s.scan(in)
			}
		})
	}
}
