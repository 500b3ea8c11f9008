//go:build linux

package attach

import (
	"bytes"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"bawn/internal/policy"
	"bawn/internal/session"
)

var word = rapid.StringMatching(`[a-zA-Z0-9=/ é\n]{0,20}`)

func drawRequest(t *rapid.T) Request {
	r := Request{
		Dir: "/" + rapid.StringMatching(`[a-z]{1,9}`).Draw(t, "dir"), Env: rapid.SliceOfN(word, 0, 5).Draw(t, "env"), TTY: rapid.Bool().Draw(t, "tty"),
		Tier: rapid.SampledFrom([]policy.Tier{policy.Airlock, policy.Guarded}).Draw(t, "tier"),
	}
	r.Command.Args = rapid.SliceOfN(word, 0, 5).Draw(t, "args")
	if rapid.Bool().Draw(t, "is text") {
		r.Command.IsText, r.Command.Text = true, "x"+word.Draw(t, "text")
	} else {
		r.Command.Args = append([]string{"cmd"}, r.Command.Args...)
	}
	return r
}

func same(a, b Request) bool {
	return a.Dir == b.Dir && a.TTY == b.TTY && a.Tier == b.Tier && a.Command.Text == b.Command.Text && a.Command.IsText == b.Command.IsText &&
		slices.Equal(a.Env, b.Env) && slices.Equal(a.Command.Args, b.Command.Args)
}

// What is read is what was written, and nothing else is read.
func TestRequestIsOneText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := drawRequest(rt)
		data := r.encode()
		got, err := decodeRequest(data)
		if err != nil || !same(got, r) {
			rt.Fatalf("%+v: %+v, %v", r, got, err)
		}
		if _, err := decodeRequest(data[:rapid.IntRange(0, len(data)-1).Draw(rt, "cut")]); err == nil {
			rt.Fatal("a part of it is one")
		}
		if _, err := decodeRequest(append(slices.Clone(data), 0)); err == nil {
			rt.Fatal("more than it is one")
		}
	})
}

func TestRequestsThatAreNone(t *testing.T) {
	good := Request{Command: session.Command{Args: []string{"x"}}, Dir: "/w", Tier: policy.Guarded}
	for name, change := range map[string]func(*Request){
		"open":          func(r *Request) { r.Tier = policy.Open },
		"relative":      func(r *Request) { r.Dir = "w" },
		"dots":          func(r *Request) { r.Dir = "/w/../x" },
		"no command":    func(r *Request) { r.Command.Args = nil },
		"empty command": func(r *Request) { r.Command.Args = []string{""} },
		"text no text":  func(r *Request) { r.Command.Text = "x" },
		"empty text":    func(r *Request) { r.Command.IsText = true },
		"nul":           func(r *Request) { r.Env = []string{"A=\x00"} },
	} {
		r := good
		change(&r)
		if got, err := decodeRequest(r.encode()); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := decodeRequest(good.encode()); err != nil {
		t.Error(err) // the twin
	}
}

func TestEndingIsOneText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := ending{code: rapid.IntRange(0, 255).Draw(rt, "code"), reason: word.Draw(rt, "reason")}
		x.More, x.Written = rapid.IntRange(0, 99).Draw(rt, "more"), rapid.SliceOfN(word, 0, 3).Draw(rt, "written")
		for range rapid.IntRange(0, 3).Draw(rt, "n") {
			x.Denials = append(x.Denials, session.Denial{
				Path: word.Draw(rt, "path"), Host: word.Draw(rt, "host"), Port: rapid.Uint16().Draw(rt, "port"), Count: rapid.IntRange(0, 99).Draw(rt, "count"),
				PID: rapid.IntRange(0, 1<<22).Draw(rt, "pid"), Command: word.Draw(rt, "command"),
				Rule: policy.Rule{ID: word.Draw(rt, "id"), Text: word.Draw(rt, "text"), Lift: word.Draw(rt, "lift"), Origin: policy.Origin{File: word.Draw(rt, "file"), Line: rapid.IntRange(0, 99).Draw(rt, "line")}},
			})
		}
		got, err := decodeEnding(x.encode())
		if err != nil || got.code != x.code || got.reason != x.reason || !slices.Equal(got.Denials, x.Denials) || got.More != x.More || !slices.Equal(got.Written, x.Written) {
			rt.Fatalf("%+v: %+v, %v", x, got, err)
		}
	})
}

// Whatever is read is read one way: it writes the same bytes again.
func FuzzRequest(f *testing.F) {
	f.Add(Request{Command: session.Command{Args: []string{"x", ""}}, Dir: "/w", Env: []string{"A=b"}, TTY: true}.encode())
	f.Add(Request{Command: session.Command{Text: "ls", IsText: true}, Dir: "/", Tier: policy.Guarded}.encode())
	f.Add([]byte{0x80, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRequest(data)
		if err == nil && !bytes.Equal(r.encode(), data) {
			t.Fatalf("%q is %+v", data, r)
		}
		if err == nil && r.Tier > policy.Guarded {
			t.Fatal("open")
		}
		if x, err := decodeEnding(data); err == nil && !bytes.Equal(x.encode(), data) {
			t.Fatalf("%q is %+v", data, x)
		}
	})
}

func pair(t *testing.T) (a, b *wire) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range []**wire{&a, &b} {
		if *w, err = wireOf(fds[i]); err != nil {
			t.Fatal(err)
		}
		c := (*w).c
		t.Cleanup(func() { c.Close() })
	}
	return a, b
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// A message has the descriptors that its kind has, or is none; those that come
// in spite of that are closed.
func TestDescriptorsOfAMessage(t *testing.T) {
	three := func(kind byte) int { return map[byte]int{msgRun: 3}[kind] }
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, c := range []struct {
		kind byte
		n    int
		ok   bool
	}{{msgRun, 3, true}, {msgRun, 0, false}, {msgRun, 2, false}, {msgRun, 4, false}, {msgRun, 9, false}, {msgAck, 0, true}, {msgAck, 1, false}} {
		a, b := pair(t)
		before := openFiles(t)
		files := slices.Repeat([]*os.File{null}, c.n)
		if err := a.send(c.kind, []byte("body"), files...); err != nil {
			t.Fatal(err)
		}
		kind, body, got, err := b.receive(100, three)
		if (err == nil) != c.ok || c.ok && (kind != c.kind || string(body) != "body" || len(got) != c.n) {
			t.Errorf("%+v: %c %q %d, %v", c, kind, body, len(got), err)
		}
		for _, f := range got {
			f.Close()
		}
		if n := openFiles(t); n != before {
			t.Errorf("%+v: %d descriptors are left", c, n-before)
		}
	}
}

// A message is bounded, and one that does not come ends the wait.
func TestMessagesAreBounded(t *testing.T) {
	none := func(byte) int { return 0 }
	a, b := pair(t)
	if err := a.send('z', []byte(strings.Repeat("x", 100))); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := b.receive(100, none); err == nil {
		t.Error("101 bytes were read")
	}
	a, b = pair(t)
	if _, err := a.c.Write([]byte{0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if err := b.c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := b.receive(100, none); err == nil {
		t.Error("half a message was read")
	} else if e, ok := err.(net.Error); !ok || !e.Timeout() {
		t.Error(err)
	}
}
