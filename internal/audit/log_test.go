package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bawn/internal/policy"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openLog(t testing.TB, state string) *Log {
	t.Helper()
	l, err := Open(state)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// verified fails the test unless the log is whole.
func verified(t testing.TB, state string) Verified {
	t.Helper()
	v, err := Verify(state, "")
	must(t, err)
	for _, p := range v.Problems {
		t.Errorf("%v", p)
	}
	if t.Failed() {
		t.FailNow()
	}
	return v
}

// problems fails the test unless verify finds something that says this.
func problems(t testing.TB, state, want string) {
	t.Helper()
	v, err := Verify(state, "")
	must(t, err)
	for _, p := range v.Problems {
		if strings.Contains(p.String(), want) {
			return
		}
	}
	t.Errorf("no problem says %q: %v", want, v.Problems)
}

func all(t testing.TB, state string) (out []Record) {
	t.Helper()
	must(t, Scan(state, Filter{}, func(_ []byte, r *Record) bool { out = append(out, *r); return true }))
	return out
}

var sample = Record{Kind: Decided, Run: "0123456789abcdef", Verdict: "deny", Action: Connect, Target: "evil.test:443", Command: "curl", PID: 7, Rule: policy.Rule{
	ID: "host:unlisted", Text: "evil.test is not on the list", Lift: "allow it", Origin: policy.Origin{File: "/c/config.toml", Line: 3},
}}

func TestAppendAndVerify(t *testing.T) {
	state := t.TempDir()
	if v := verified(t, state); v.Records != 0 {
		t.Errorf("%+v", v)
	}
	l, other := openLog(t, state), openLog(t, state) // as two processes have it
	for i := range 10 {
		must(t, []*Log{l, other}[i%2].Append(sample))
	}
	v := verified(t, state)
	if v.Records != 11 || v.Seq != 11 || v.Files != 1 || len(v.Head) != 64 {
		t.Errorf("%+v", v)
	}
	// The head that was printed earlier is still in the chain; another is not.
	must(t, l.Append(sample))
	if again, err := Verify(state, v.Head); err != nil || !again.Known {
		t.Errorf("%+v %v", again, err)
	}
	if again, err := Verify(state, strings.Repeat("0", 64)); err != nil || again.Known {
		t.Errorf("%+v %v", again, err)
	}
	for name, mode := range map[string]os.FileMode{".": 0o700, "head": 0o600, "000001.jsonl": 0o600} {
		if st, err := os.Stat(filepath.Join(state, Folder, name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, st.Mode(), err)
		}
	}
	if l.Append(Record{Kind: "other"}) == nil {
		t.Error("a record of no kind was written")
	}
	if _, err := Open("relative"); err == nil {
		t.Error("a relative folder was taken")
	}
}

// Every way to change what was written shows, also after more was appended.
func TestVerifyShows(t *testing.T) {
	type files struct{ log, head string }
	edit := func(f func(lines []string) []string) func(*testing.T, files) {
		return func(t *testing.T, at files) {
			data, err := os.ReadFile(at.log)
			must(t, err)
			lines := f(strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n"))
			must(t, os.WriteFile(at.log, []byte(strings.TrimSuffix(strings.Join(lines, ""), "\n")+"\n"), 0o600))
		}
	}
	for name, tt := range map[string]struct {
		damage      func(*testing.T, files)
		now, onward string
	}{
		"edited":       {edit(func(l []string) []string { l[3] = strings.Replace(l[3], "deny", "allow", 1); return l }), "was changed", "was changed"},
		"last edited":  {edit(func(l []string) []string { l[6] = strings.Replace(l[6], "deny", "allow", 1); return l }), "do not end as the head says", "was changed"},
		"taken out":    {edit(func(l []string) []string { return append(l[:3], l[4:]...) }), "1 records before this one are missing", "1 records before this one are missing"},
		"put in":       {edit(func(l []string) []string { return append(l[:3:3], l[2:]...) }), "records were put in", "records were put in"},
		"exchanged":    {edit(func(l []string) []string { l[3], l[4] = l[4], l[3]; return l }), "missing", "missing"},
		"tail cut":     {edit(func(l []string) []string { return l[:5] }), "2 records are missing at the end", "2 records before this one are missing"},
		"all cut":      {func(t *testing.T, at files) { must(t, os.Truncate(at.log, 0)) }, "7 records are missing at the end", "7 records before this one are missing"},
		"removed":      {func(t *testing.T, at files) { must(t, os.Remove(at.log)) }, "7 records are missing at the end", "7 records before this one are missing"},
		"no record":    {edit(func(l []string) []string { l[3] = "{}\n"; return l }), "version 0", "version 0"},
		"head removed": {func(t *testing.T, at files) { must(t, os.Remove(at.head)) }, "head file", "begins anew"},
		"head emptied": {func(t *testing.T, at files) { must(t, os.Truncate(at.head, 0)) }, "records do not end", "begins anew"},
		"head spoilt":  {func(t *testing.T, at files) { must(t, os.WriteFile(at.head, []byte("x"), 0o600)) }, "head file", "begins anew"},
		"head and tail": {func(t *testing.T, at files) {
			edit(func(l []string) []string { return l[:5] })(t, at)
			must(t, os.Remove(at.head))
		}, "head file", "begins anew"},
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			l := openLog(t, state)
			for range 6 {
				must(t, l.Append(sample))
			}
			verified(t, state)
			l.Close()
			tt.damage(t, files{filepath.Join(state, Folder, "000001.jsonl"), filepath.Join(state, Folder, "head")})
			problems(t, state, tt.now)
			must(t, openLog(t, state).Append(sample))
			must(t, openLog(t, state).Append(sample))
			problems(t, state, tt.onward)
		})
	}
}

// Any byte of the log or its head that is another one shows, or is missing.
func TestVerifyShowsEachByte(t *testing.T) {
	state := t.TempDir()
	l := openLog(t, state)
	l.limit = 1000
	for range 4 {
		must(t, l.Append(sample))
	}
	for _, n := range []string{name(1), name(2), headName} {
		path := filepath.Join(state, Folder, n)
		data, err := os.ReadFile(path)
		must(t, err)
		for i := range data {
			flipped, without := bytes.Clone(data), slices.Delete(bytes.Clone(data), i, i+1)
			flipped[i] ^= 1
			for _, text := range [][]byte{flipped, without, data[:i]} {
				must(t, os.WriteFile(path, text, 0o600))
				if v, err := Verify(state, ""); err == nil && len(v.Problems) == 0 {
					t.Errorf("%s, byte %d: nothing is found in %q", n, i, text[max(0, i-20):min(len(text), i+20)])
				}
			}
		}
		must(t, os.WriteFile(path, data, 0o600))
		verified(t, state)
	}
}

// Files follow one another, the oldest go, and the chain says that they may.
func TestRotate(t *testing.T) {
	state := t.TempDir()
	l, other := openLog(t, state), openLog(t, state)
	for _, x := range []*Log{l, other} {
		x.limit, x.keep = 2000, 3
	}
	for i := range 60 {
		must(t, []*Log{l, other}[i%2].Append(sample))
	}
	v := verified(t, state)
	files, err := l.files()
	must(t, err)
	if v.Files != 3 || len(files) != 3 || files[0] < 4 || v.Seq != 60+uint64(files[2]) {
		t.Errorf("%+v %v", v, files)
	}
	got := all(t, state)
	if len(got) != v.Records || got[0].Kind != Opened || got[0].FirstFile != files[0]-2 {
		t.Errorf("%+v", got[0])
	}
	must(t, os.Remove(filepath.Join(state, Folder, name(files[1]))))
	problems(t, state, "are missing")
	must(t, os.Remove(filepath.Join(state, Folder, name(files[0]))))
	problems(t, state, "are missing")
}

// An old head does not make bawn write over newer files.
func TestOldHead(t *testing.T) {
	state := t.TempDir()
	l := openLog(t, state)
	l.limit = 2000
	must(t, l.Append(sample))
	head := filepath.Join(state, Folder, headName)
	old, err := os.ReadFile(head)
	must(t, err)
	for range 20 {
		must(t, l.Append(sample))
	}
	before := len(all(t, state))
	must(t, os.WriteFile(head, old, 0o600))
	problems(t, state, "do not end as the head says")
	for range 10 {
		must(t, l.Append(sample))
	}
	if n := len(all(t, state)); n < before+10 {
		t.Errorf("%d records of %d are left", n, before+10)
	}
	if v, err := Verify(state, ""); err != nil || len(v.Problems) == 0 {
		t.Errorf("%+v %v", v, err)
	}
}

const writerEnv = "AUDIT_TEST_WRITER" // the state folder, in a child process

// The child appends for ever, and tells of each record once it is there.
func TestMain(m *testing.M) {
	state := os.Getenv(writerEnv)
	if state == "" {
		os.Exit(m.Run())
	}
	l, err := Open(state)
	if err != nil {
		panic(err)
	}
	l.limit, l.keep = 100_000, 1000
	for i := 0; ; i++ {
		r := sample
		r.Target = strings.Repeat("x", i*37%900) // lines lie across the kernel's pages
		r.PID = os.Getpid()
		r.Inside = i + 1
		if err := l.Append(r); err != nil {
			panic(err)
		}
		if _, err := fmt.Println(i + 1); err != nil {
			panic(err)
		}
	}
}

// Writers that are killed at any moment leave a whole log, with every record
// that they were told is there.
func TestKilledWriters(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	state := t.TempDir()
	acked := map[int]int{}
	rounds := 80
	for round := range rounds {
		var work sync.WaitGroup
		var mu sync.Mutex
		for w := range 2 {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), writerEnv+"="+state)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			work.Go(func() {
				last, stop := 0, round%7*3+w+1
				for s := bufio.NewScanner(out); s.Scan(); {
					if n, err := strconv.Atoi(s.Text()); err == nil {
						last = n
					}
					if last == stop { // then at some instruction of the next ones
						time.AfterFunc(time.Duration(round*13+w*7)*time.Microsecond%(300*time.Microsecond), func() { cmd.Process.Kill() })
					}
				}
				_ = cmd.Wait()
				mu.Lock()
				acked[cmd.Process.Pid] = last
				mu.Unlock()
			})
		}
		work.Wait()
		verified(t, state)
	}
	must(t, openLog(t, state).Append(sample))
	v := verified(t, state)
	have := map[int]int{}
	for _, r := range all(t, state) {
		have[r.PID] = max(have[r.PID], r.Inside)
	}
	for pid, n := range acked {
		if n == 0 {
			t.Errorf("writer %d wrote nothing", pid)
		}
		if have[pid] < n || have[pid] > n+1 {
			t.Errorf("writer %d was told of %d records, %d are there", pid, n, have[pid])
		}
	}
	if len(acked) != 2*rounds {
		t.Errorf("%d writers", len(acked))
	}
	t.Logf("%d records in %d files", v.Records, v.Files)
}

// Half a line at the end, as of a write that was killed in its middle, is no
// record, and the next one does not begin on it.
func TestHalfALine(t *testing.T) {
	state := t.TempDir()
	l := openLog(t, state)
	must(t, l.Append(sample))
	path := filepath.Join(state, Folder, name(1))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(`{"v":1,"seq":3,"time":"20`)
	must(t, err)
	f.Close()
	if v := verified(t, state); v.Records != 2 || len(all(t, state)) != 2 {
		t.Errorf("%+v", v)
	}
	must(t, l.Append(sample))
	if v := verified(t, state); v.Records != 3 {
		t.Errorf("%+v", v)
	}
}

// What is written is JSON that any reader takes, and comes back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 60, 200)
		count := rapid.IntRange(0, 1<<40)
		r := Record{
			Seq: uint64(count.Draw(t, "seq")), Time: time.Unix(int64(count.Draw(t, "time")>>8), 123456000).UTC(), Kind: rapid.SampledFrom(kinds[:]).Draw(t, "kind"),
			Run: text.Draw(t, "run"), Command: text.Draw(t, "command"), Dir: text.Draw(t, "dir"), Tier: text.Draw(t, "tier"), Place: text.Draw(t, "place"),
			Trace: text.Draw(t, "trace"), Denied: count.Draw(t, "denied"), Error: text.Draw(t, "error"),
			Duration: time.Duration(count.Draw(t, "duration")) * time.Microsecond, File: count.Draw(t, "file"), FirstFile: count.Draw(t, "first"),
			Verdict: text.Draw(t, "verdict"), Action: text.Draw(t, "action"), Target: text.Draw(t, "target"), Via: text.Draw(t, "via"), Addr: text.Draw(t, "addr"),
			Up: int64(count.Draw(t, "up")), Down: int64(count.Draw(t, "down")), PID: count.Draw(t, "pid"), Inside: count.Draw(t, "inside"), Parent: count.Draw(t, "parent"),
			Rule: policy.Rule{ID: text.Draw(t, "id"), Text: text.Draw(t, "text"), Lift: text.Draw(t, "lift"), Origin: policy.Origin{File: text.Draw(t, "rule"), Line: count.Draw(t, "line")}},
			Prev: strings.Repeat("0", 64),
		}
		if r.Kind == Ended {
			r.Code = count.Draw(t, "code")
		}
		want := r
		for _, s := range []*string{&want.Run, &want.Command, &want.Dir, &want.Tier, &want.Place, &want.Trace, &want.Error, &want.Verdict, &want.Action,
			&want.Target, &want.Via, &want.Addr, &want.Rule.ID, &want.Rule.Text, &want.Rule.Lift, &want.Rule.Origin.File} {
			*s = strings.ToValidUTF8(policy.Redact(*s), "\ufffd")
		}
		line := appendRecord(nil, &r)
		if line[len(line)-1] != '\n' || strings.Count(string(line), "\n") != 1 {
			t.Fatalf("%q is not one line", line)
		}
		line = line[:len(line)-1]
		var any map[string]any
		if err := json.Unmarshal(line, &any); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got, err := Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n%+v\n%+v", line, got, want)
		}
	})
}

// No text makes a record longer than its limits, or carries a secret.
func TestTextIsBounded(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	for _, long := range []string{strings.Repeat("\x01", 1<<20), strings.Repeat("é", 1<<20), strings.Repeat("a "+token, 1000), strings.Repeat(token+" ", maxLook/41-1) + strings.Repeat(" ", 20) + token + " "} {
		r := Record{Kind: Decided, Action: Run, Target: long, Command: long, Dir: long, Error: long, Rule: policy.Rule{ID: long, Text: long, Lift: long, Origin: policy.Origin{File: long}}}
		line := appendRecord(nil, &r)
		if len(line) > maxRecord || strings.Contains(string(line), "a1B2a1B2") {
			t.Errorf("%d bytes: %.200q", len(line), line)
		}
		if _, err := Parse(line[:len(line)-1]); err != nil {
			t.Errorf("%.200q: %v", line, err)
		}
	}
}

// The parser never takes what JSON does not, and never panics.
func FuzzParse(f *testing.F) {
	f.Add(strings.TrimSpace(string(appendRecord(nil, &sample))))
	f.Add(`{"v":1,"new":[{"a":[true,null,-1]}],"time":"2026-01-02T03:04:05.000000Z","command":"\ud83d\ude00\u0000\/"}`)
	f.Fuzz(func(t *testing.T, line string) {
		if _, err := Parse([]byte(line)); err == nil && !json.Valid([]byte(line)) {
			t.Errorf("%q is no JSON", line)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l := openLog(b, b.TempDir())
	for b.Loop() {
		must(b, l.Append(sample))
	}
}

// What one run costs.
func BenchmarkRun(b *testing.B) {
	state := b.TempDir()
	for b.Loop() {
		l, err := Open(state)
		must(b, err)
		must(b, l.Append(Record{Kind: Started, Run: sample.Run, Command: "sh -c 'make test'", Dir: "/home/me/src/project", Tier: "guarded", Place: "sandbox", PID: 4711}))
		must(b, l.Append(Record{Kind: Ended, Run: sample.Run, Duration: time.Second}))
		must(b, l.Close())
	}
}

// The tree has each process below the one that started it, whatever the order
// and even if the numbers make no tree.
func TestTimeline(t *testing.T) {
	run := RunRecords{ID: "a", Records: []Record{{Kind: Started, Command: "make"}}}
	for _, p := range [][3]any{{6, 1, "sh"}, {8, 7, "curl"}, {7, 6, "make"}, {6, 1, "make"}, {20, 20, "loop"}, {31, 30, "a"}, {30, 31, "b"}} {
		run.Records = append(run.Records, Record{Kind: Process, Inside: p[0].(int), Parent: p[1].(int), Command: p[2].(string)})
	}
	run.Records = append(run.Records, Record{Kind: Process, Inside: 7, Parent: 6, Command: "make", Count: 340}, Record{Kind: Process, Count: 12})
	want := "  6  sh → make  +0s\n    7  make (340 times)  +0s\n      8  curl  +0s\n  20  loop  +0s\n  31  a  +0s\n    30  b  +0s\n  and 12 more\n"
	if got := Tree(run); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
