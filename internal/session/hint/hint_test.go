package hint

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bawn/internal/policy"
)

func testContext(t testing.TB) Context {
	t.Helper()
	homes := []string{"/home/u"}
	p, err := policy.New(policy.Config{
		Tier: policy.Guarded, Workspace: "/ws", Homes: homes, Guard: true, Hidden: policy.Credentials(homes, func(string) string { return "" }),
		Network: policy.NetworkConfig{LocalPorts: []uint16{9000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return Context{
		Policy:  p,
		Real:    func(path string) (string, error) { return path, nil },
		Outside: func(string, bool) bool { return true },
		Listens: func(port uint16) bool { return port == 5432 || port == 9000 },
	}
}

func (d Denial) say() string {
	switch {
	case d.Port != 0:
		return fmt.Sprintf("connect %s:%d", d.Host, d.Port)
	case d.Host != "":
		return "resolve " + d.Host
	case d.Write:
		return "write " + d.Path
	}
	return "read " + d.Path
}

func say(list []Denial) string {
	var out []string
	for _, d := range list {
		out = append(out, d.say())
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

type sample struct{ name, want, text string }

// samples are the texts of real programs, with what they tell.
func samples(t testing.TB) (out []sample) {
	t.Helper()
	data, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(data), "\n=== ")[1:] {
		head, text, _ := strings.Cut(block, "\n")
		name, want, ok := strings.Cut(head, ": ")
		_, text, more := strings.Cut(text, "\n") // without the command
		if !ok || !more {
			t.Fatalf("not a sample: %q", head)
		}
		out = append(out, sample{name, want, text})
	}
	if len(out) < 100 {
		t.Fatalf("only %d samples", len(out))
	}
	return out
}

func TestRealPrograms(t *testing.T) {
	c := testContext(t)
	programs := map[string]bool{}
	for _, s := range samples(t) {
		if got := say(Find([]byte(s.text), c)); got != s.want {
			t.Errorf("%s: %s, want %s\n%s", s.name, got, s.want, s.text)
		}
		if name, _, _ := strings.Cut(s.name, "-"); s.want != "none" {
			programs[name] = true
		}
	}
	if len(programs) < 20 {
		t.Errorf("texts of %d programs are understood: %v", len(programs), programs)
	}
}

// The same texts about what the policy allows tell of nothing, nor do those
// about what the user could not do outside either.
func TestNoFalseClaims(t *testing.T) {
	allowed := strings.NewReplacer("/home/u", "/ws/u", "/srv/", "/ws/srv/", "/etc/", "/ws/etc/", "evil.test", "github.com", "5432", "9000")
	c := testContext(t)
	poor := c
	poor.Outside, poor.Listens = func(string, bool) bool { return false }, nil
	asked := c
	asked.Asks = true
	open := c
	var err error
	if open.Policy, err = policy.New(policy.Config{Tier: policy.Open, Workspace: "/ws"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples(t) {
		if got := say(Find([]byte(allowed.Replace(s.text)), c)); got != "none" {
			t.Errorf("%s, allowed: %s\n%s", s.name, got, allowed.Replace(s.text))
		}
		if got := say(Find([]byte(s.text), poor)); got != "none" && !strings.HasPrefix(got, "resolve ") {
			t.Errorf("%s, not possible outside either: %s", s.name, got)
		}
		if got := say(Find([]byte(s.text), asked)); strings.HasPrefix(got, "resolve ") {
			t.Errorf("%s, where a person may have allowed it: %s", s.name, got)
		}
		if got := say(Find([]byte(s.text), open)); got != "none" {
			t.Errorf("%s, without a sandbox: %s", s.name, got)
		}
	}
}

func TestTexts(t *testing.T) {
	c := testContext(t)
	c.Real = func(path string) (string, error) {
		if rest, ok := strings.CutPrefix(path, "/ws/link"); ok {
			return "/home/u/.ssh" + rest, nil
		}
		if policy.Inside(path, "/home/u/.ssh") {
			t.Errorf("a hidden place was looked into: %s", path)
		}
		return path, nil
	}
	for _, tt := range []struct{ text, want string }{
		{"", "none"},
		{"cat: /ws/link/id: Permission denied", "read /ws/link/id"},
		{"cat: /home/u/my file: Permission denied\ncat: '/home/u/.ssh/a b': Permission denied", "read /home/u/.ssh/a b"},
		{"cat: /home/u/.ssh/../.profile: Permission denied", "none"},
		{"cat: /home/u/.ssh/id: No such file or directory", "none"},
		{"/usr/bin/tool: Read-only file system", "none"},   // its own path
		{"tool: /usr/bin/tool: Permission denied", "none"}, // an ordinary file
		{"cp: cannot open '/ws/x' for reading: Permission denied (list is /home/u/.ssh/config)", "none"},
		{"cat: /home/u/.netrc: Permission denied\r\ncat: /home/u/.netrc: Permission denied\r\n", "read /home/u/.netrc"},
		{"\x1b[31mcat: \x1b]0;title\x07/home/u/.netrc\x1b[0m: Permission denied", "read /home/u/.netrc"},
		{"tool: saved /home/u/.netrc: PERMISSION DENIED", "write /home/u/.netrc"},
		{"touch: /proc/x: Read-only file system", "write /proc/x"},
		{strings.Repeat("x", maxLine) + ": /home/u/.netrc: Permission denied", "none"},
		{"cat: /home/u/.netrc: Permission denied\n" + strings.Repeat("y\n", MaxText), "none"},
		{"getaddrinfo ENOTFOUND evil.test", "resolve evil.test"},
		{"getaddrinfo ENOTFOUND github.com", "none"},
		{"getaddrinfo ENOTFOUND ", "none"},
		{"Could not connect to Redis at 127.0.0.1:5432: Connection refused", "connect localhost:5432"},
		{"connect to [::1]:5432 and 127.0.0.1:5432: connection refused", "connect localhost:5432"},
		{"HTTPConnectionPool(host='localhost', port=5432): [Errno 111] Connection refused", "connect localhost:5432"},
		{"dial tcp 127.0.0.1:5433: connect: connection refused", "none"},  // nobody listens there
		{"dial tcp 127.0.0.1:54321: connect: connection refused", "none"}, // nor there
		{"dial tcp 203.0.113.1:5432: connect: connection refused", "none"},
		{"Serving on localhost:5432", "none"},
		{"localhost5432: connection refused", "none"},
		{"localhost 5432.1.2.3: connection refused", "none"},
		{"localhost:99999999999: connection refused", "none"},
		{"localhost: connection refused", "none"},
	} {
		if got := say(Find([]byte(tt.text), c)); got != tt.want {
			t.Errorf("%.200q: %s, want %s", tt.text, got, tt.want)
		}
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "cat: /home/u/.ssh/%d: Permission denied\n", i)
	}
	if got := Find([]byte(many.String()), c); len(got) != maxFound {
		t.Errorf("%d denials of one text", len(got))
	}
}

func TestTail(t *testing.T) {
	var tail Tail
	var all strings.Builder
	for i := range 40_000 {
		text := fmt.Sprintf("line %d\n", i)
		all.WriteString(text)
		if n, err := tail.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		if i%997 != 0 {
			continue
		}
		if got, end := string(tail.Bytes()), all.String()[max(0, all.Len()-MaxText):]; got != end {
			t.Fatalf("after %d lines %d bytes are kept that are not the end", i, len(got))
		}
	}
	big := strings.Repeat("z", 3*MaxText)
	tail.Write([]byte(big))
	if got := tail.Bytes(); len(got) != MaxText || cap(got) > 4*MaxText {
		t.Errorf("%d bytes are kept in %d", len(got), cap(got))
	}
}

// Whatever a command writes: what is told is denied by the policy, by that very
// rule, and named in the text.
func FuzzFind(f *testing.F) {
	for _, s := range samples(f) {
		f.Add([]byte(s.text))
	}
	c := testContext(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		found := Find(text, c)
		if len(found) > maxFound {
			t.Fatalf("%d denials", len(found))
		}
		for _, d := range found {
			var want policy.Decision
			if d.Host != "" {
				host, err := policy.ParseHost(d.Host)
				if err != nil {
					t.Fatal(err)
				}
				if want = c.Policy.Network().DecideName(host); d.Port != 0 {
					want = c.Policy.Network().Decide(policy.Connect{Host: host, Port: d.Port})
				}
			} else if want = c.Policy.Decide(policy.Write{Path: d.Path}); !d.Write {
				want = c.Policy.Decide(policy.Read{Path: d.Path})
			}
			if want.Verdict == policy.Allow || want.Rule != d.Rule {
				t.Fatalf("%s is told as denied by %q: %v", d.say(), d.Rule.ID, want)
			}
		}
	})
}
