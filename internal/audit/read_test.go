package audit

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScanFilters(t *testing.T) {
	state := t.TempDir()
	l := openLog(t, state)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, r := range []Record{
		{Kind: Started, Run: "aaaa", Command: `make "a b"`},
		{Kind: Decided, Run: "aaaa", Verdict: "deny", Action: Connect, Target: "www.evil.test:443", Command: "curl"},
		{Kind: Decided, Run: "aaaa", Verdict: "allow", Action: Connect, Target: "notevil.test:443", Command: "deny"},
		{Kind: Decided, Run: "bbbb", Verdict: "deny", Action: Write, Target: "/home/me/.git/config", Command: "git"},
		{Kind: Decided, Run: "bbbb", Verdict: "deny", Action: Write, Target: "/home/me/.gitx", Command: "git"},
		{Kind: Decided, Run: "bbbb", Verdict: "deny", Action: Connect, Target: "[2001:db8::1]:80", Command: "git"},
		{Kind: Decided, Run: "bbbb", Verdict: "deny", Action: Run, Target: "git push"},
		{Kind: Ended, Run: "bbbb", Code: 1},
		{Kind: Decided, Run: "cccc", Verdict: "allow", Action: Write, Target: "/bad\xff\xfe", Command: "t\xff\xfe"},
	} {
		r.Time = start.Add(time.Duration(i) * time.Second)
		must(t, l.Append(r))
	}
	for _, tt := range []struct {
		f    Filter
		want []uint64
	}{
		{Filter{}, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{Filter{Run: "aa"}, []uint64{2, 3, 4}},
		{Filter{Verdict: "deny"}, []uint64{3, 5, 6, 7, 8}},
		{Filter{Host: "EVIL.test"}, []uint64{3}},
		{Filter{Host: "evil.test:443"}, []uint64{3}},
		{Filter{Host: "[2001:db8::1]"}, []uint64{7}},
		{Filter{Host: "2001:DB8::1"}, []uint64{7}},
		{Filter{Host: "2001:db8::"}, nil},
		{Filter{Host: "[2001:db8::1]:81"}, nil},
		{Filter{Host: "[2001:db8::1]:80"}, []uint64{7}},
		{Filter{Path: "/home/me/.git"}, []uint64{5}},
		{Filter{Path: "/home/me/"}, []uint64{5, 6}},
		{Filter{Path: "/home/me/.gitx/"}, []uint64{6}},
		{Filter{Command: `"a b"`}, []uint64{2}},
		{Filter{Path: "/bad\xff\xfe"}, []uint64{10}},
		{Filter{Command: "t\xff\xfe"}, []uint64{10}},
		{Filter{Command: "git"}, []uint64{5, 6, 7, 8}},
		{Filter{Since: start.Add(6 * time.Second)}, []uint64{8, 9, 10}},
		{Filter{Since: start.Add(5500 * time.Millisecond), Verdict: "deny"}, []uint64{8}},
	} {
		var got []uint64
		must(t, Scan(state, tt.f, func(_ []byte, r *Record) bool { got = append(got, r.Seq); return true }))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.f, got, tt.want)
		}
	}
	for n, want := range map[int][]uint64{0: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 1: {10}, 2: {9, 10}, 4: {7, 8, 9, 10}, 10: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 20: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}} {
		last, err := Last(state, Filter{}, n)
		must(t, err)
		var got []uint64
		for _, r := range last {
			got = append(got, r.Seq)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the last %d: %v", n, got)
		}
	}
	n := 0
	must(t, Scan(state, Filter{}, func([]byte, *Record) bool { n++; return n < 3 }))
	if n != 3 {
		t.Errorf("%d records after yield said no", n)
	}
	must(t, Scan(t.TempDir(), Filter{}, func([]byte, *Record) bool { t.Error("a record of no log"); return false }))
}

// The cheap test leaves out nothing that Match wants.
func TestScanLeavesNothingOut(t *testing.T) {
	text := rapid.StringMatching(`[ab/.:"\\é\x01\[\]]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		r := Record{Seq: 7, Time: time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "time")), 0), Kind: Decided, Run: text.Draw(t, "run"),
			Verdict: rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "verdict"), Action: rapid.SampledFrom([]string{Run, Connect, Write}).Draw(t, "action"),
			Target: text.Draw(t, "target"), Command: text.Draw(t, "command")}
		f := Filter{Run: text.Draw(t, "f.run"), Verdict: rapid.SampledFrom([]string{"", "deny"}).Draw(t, "f.verdict"), Since: time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "since")), 0)}
		switch rapid.IntRange(0, 3).Draw(t, "which") {
		case 0:
			f.Host = text.Draw(t, "host")
		case 1:
			f.Path = text.Draw(t, "path")
		case 2:
			f.Command = text.Draw(t, "f.command")
		}
		line := appendRecord(nil, &r)
		line = line[:len(line)-1]
		back, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		s := scanner{Filter: f, needles: f.needles(), since: f.Since.UTC().AppendFormat(nil, timeFormat)}
		if f.Match(&back) != (s.may(line) && s.wanted(line)) {
			t.Fatalf("%+v: %s", f, line)
		}
	})
}

// Follow sees what is appended, across files, each record once.
func TestFollow(t *testing.T) {
	state := t.TempDir()
	l := openLog(t, state)
	l.limit = 1000
	must(t, l.Append(sample))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []uint64
	must(t, Follow(ctx, state, Filter{}, func(_ []byte, r *Record) bool {
		got = append(got, r.Seq)
		if r.Kind == Decided && r.Seq < 20 {
			must(t, l.Append(sample))
		}
		return r.Seq < 20
	}))
	for i, seq := range got {
		if seq != uint64(i+1) {
			t.Fatalf("%v", got)
		}
	}
	if len(got) < 20 {
		t.Errorf("%v", got)
	}
}

// A million records: go test -bench Million ./internal/audit.
func BenchmarkScanMillion(b *testing.B) {
	state := b.TempDir()
	l := openLog(b, state)
	must(b, l.Append(sample))
	f, err := os.OpenFile(filepath.Join(state, Folder, name(1)), os.O_WRONLY|os.O_APPEND, 0)
	must(b, err)
	var buf []byte
	for i := range 1_000_000 {
		r := sample
		r.Seq, r.Target, r.Prev = uint64(i+3), fmt.Sprintf("h%d.test:443", i%1000), fmt.Sprintf("%064x", i)
		buf = appendRecord(buf, &r)
		if len(buf) > 1<<20 || i == 999_999 {
			_, err := f.Write(buf)
			must(b, err)
			buf = buf[:0]
		}
	}
	size, _ := f.Seek(0, io.SeekCurrent)
	f.Close()
	b.Run("host", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			n := 0
			must(b, Scan(state, Filter{Host: "h77.test"}, func([]byte, *Record) bool { n++; return true }))
			if n != 1000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("verdict", func(b *testing.B) { // every record matches
		b.SetBytes(size)
		for b.Loop() {
			if out, err := Last(state, Filter{Verdict: "deny"}, 100); err != nil || len(out) != 100 {
				b.Fatal(len(out), err)
			}
		}
	})
}
