package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The last lines are those that a scan from the beginning ends with, whatever
// else stands in the files and wherever a window begins.
func TestLastLinesAreTheEnd(t *testing.T) {
	state := t.TempDir()
	l := openLog(t, state)
	must(t, l.Append(sample))
	rec := func(i int) []byte {
		r := sample
		r.Seq, r.Target, r.Prev = uint64(i+3), fmt.Sprintf("h%d.test:443", i%97), fmt.Sprintf("%064x", i)
		r.Time = time.Date(2026, 1, 2, 3, 0, i, 0, time.UTC)
		if i%3 == 0 {
			r.Verdict = "allow"
		}
		return appendRecord(nil, &r)
	}
	seq := 0
	lines := func(n int) (out []byte) {
		for range n {
			out = append(out, rec(seq)...)
			seq++
		}
		return out
	}
	junk := bytes.Repeat([]byte("verdict deny h7.test "), 1+chunk*2/21)
	first := slices.Concat(lines(7000), junk, []byte("\n"), lines(10), []byte("\n\n{\n"), lines(3000))
	for i, text := range [][]byte{first, lines(20), nil, slices.Concat(lines(5000), rec(1)[:100])} {
		f, err := os.OpenFile(filepath.Join(state, Folder, name(i+1)), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		must(t, err)
		_, err = f.Write(text)
		must(t, err)
		must(t, f.Close())
	}
	for _, f := range []Filter{
		{}, {Verdict: "deny"}, {Host: "h7.test"}, {Host: "none.test"}, {Since: time.Date(2026, 1, 2, 5, 0, 0, 0, time.UTC)},
		{Verdict: "allow", Host: "test", Since: time.Date(2026, 1, 2, 3, 50, 0, 0, time.UTC)},
	} {
		all, err := LastLines(state, f, 0)
		must(t, err)
		record := func(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"v":1`)) } // the end of a long line is none
		for _, n := range []int{1, 2, 19, 100, 5003, 20_000} {
			got, err := LastLines(state, f, n)
			must(t, err)
			want := all[max(0, len(all)-n):]
			if n > len(all) {
				other := func(line []byte) bool { return !record(line) }
				got, want = slices.DeleteFunc(got, other), slices.DeleteFunc(slices.Clone(want), other)
			}
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%+v, %d: %d lines, want %d", f, n, len(got), len(want))
			}
		}
	}
	for _, text := range [][]byte{junk, junk[:chunk+maxRecord], junk[:chunk], []byte("\n"), nil, lines(1)[:50]} {
		must(t, os.WriteFile(filepath.Join(state, Folder, name(4)), text, 0o600))
		if got, err := LastLines(state, Filter{}, 3); err != nil || len(got) != 3 {
			t.Errorf("%d bytes at the end: %d lines, %v", len(text), len(got), err)
		}
	}
}
