//go:build linux

package sandboxtest

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"bawn/internal/policy"
)

//go:embed testdata/*.c
var attackSources embed.FS

var (
	toolsOnce sync.Once
	toolsDir  string
	toolsErr  error
)

// tool is the path of a program from testdata, compiled once.
func tool(t *testing.T, name string) string {
	t.Helper()
	toolsOnce.Do(func() {
		if toolsDir, toolsErr = os.MkdirTemp("", "attack-"); toolsErr != nil {
			return
		}
		for _, n := range []string{"probe", "kernel", "reach", "reap", "over", "old", "fresh"} {
			src, err := attackSources.ReadFile("testdata/" + n + ".c")
			if err != nil {
				toolsErr = err
				return
			}
			cmd := exec.Command("gcc", "-O1", "-static", "-x", "c", "-o", filepath.Join(toolsDir, n), "-")
			cmd.Stdin = strings.NewReader(string(src))
			if out, err := cmd.CombinedOutput(); err != nil {
				toolsErr = fmt.Errorf("compile %s.c: %w\n%s", n, err, out)
				return
			}
		}
	})
	if toolsErr != nil {
		t.Fatal(toolsErr)
	}
	return filepath.Join(toolsDir, name)
}

// prober is a running probe: each call is one operation where it runs.
type prober struct {
	t      *testing.T
	box    *Box
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	err    strings.Builder
	queued []wish
}

// wish is an operation with the answers that are right.
type wish struct {
	line     int
	op, args string
	answers  string
}

// probeIn starts the probe in a sandbox. The pipe to it is the handshake:
// when an answer is there, the operation is done.
func probeIn(t *testing.T, b *Box) *prober {
	t.Helper()
	args := append(append(b.running(), "-q"), b.Flags...)
	return startProbe(t, b, append(args, "--", tool(t, "probe")))
}

// probeOut starts the probe on the host: the control.
func probeOut(t *testing.T, b *Box) *prober {
	t.Helper()
	return startProbe(t, b, []string{tool(t, "probe")})
}

func startProbe(t *testing.T, b *Box, argv []string) *prober {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	p := &prober{t: t, box: b, cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = b.Workspace, b.Environ(), &p.err
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			p.flush()
		}
		p.in.Close()
		_ = p.cmd.Wait()
		cancel()
	})
	return p
}

// want queues an operation whose answer must be one of those listed ("a|b").
// Queued operations are done, in order, by the next flush, do, text or end.
func (p *prober) want(answers, op string, args ...string) {
	_, _, line, _ := runtime.Caller(1)
	p.queued = append(p.queued, wish{line, op, strings.Join(args, "\t"), answers})
}

// flush does what is queued; call it before the host changes something.
func (p *prober) flush() {
	p.t.Helper()
	queue := p.queued
	p.queued = nil
	sent := make(chan error, 1)
	go func() {
		w := bufio.NewWriter(p.in)
		for _, q := range queue {
			fmt.Fprintf(w, "%s\t%s\n", q.op, q.args)
		}
		sent <- w.Flush()
	}()
	for _, q := range queue {
		got, content, _ := strings.Cut(p.answer(q), "\t")
		if !slices.Contains(strings.Split(q.answers, "|"), got) {
			p.t.Errorf("line %d: %s: %s %.60q, want %s", q.line, p.short(q), got, content, q.answers)
		}
	}
	if err := <-sent; err != nil {
		p.t.Fatal(err)
	}
}

func (p *prober) answer(q wish) string {
	p.t.Helper()
	if !p.out.Scan() {
		p.in.Close()
		_ = p.cmd.Wait()
		p.t.Fatalf("%s: the probe is gone: %s", p.short(q), p.err.String())
	}
	return p.out.Text()
}

func (p *prober) short(q wish) string {
	s := q.op + " " + strings.ReplaceAll(q.args, "\t", " ")
	return strings.NewReplacer(p.box.Workspace, "$WS", p.box.Home, "~").Replace(s)
}

// do runs one operation and returns "ok", or the name of its errno; after
// "ok" and a tab stands what it read.
func (p *prober) do(op string, args ...string) string {
	p.t.Helper()
	p.flush()
	q := wish{op: op, args: strings.Join(args, "\t")}
	if _, err := fmt.Fprintf(p.in, "%s\t%s\n", q.op, q.args); err != nil {
		p.t.Logf("%s: %v", p.short(q), err)
	}
	return p.answer(q)
}

// text runs an operation that must succeed and returns what it read.
func (p *prober) text(op string, args ...string) string {
	p.t.Helper()
	got, content, _ := strings.Cut(p.do(op, args...), "\t")
	if got != "ok" {
		p.t.Errorf("%s: %s, want ok", p.short(wish{op: op, args: strings.Join(args, " ")}), got)
	}
	return strings.TrimSpace(content)
}

// end does what is queued and waits for the run's end.
func (p *prober) end() {
	p.t.Helper()
	p.flush()
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the run ended with %v: %s", err, p.err.String())
	}
}

// denied is every errno by which a write may be refused.
const denied = "EACCES|EROFS|EPERM|EBUSY|EXDEV|EEXIST|ENOTDIR|EISDIR"

// listing describes every name below the roots: kind, mode, size, content.
func listing(t *testing.T, roots ...string) []string {
	t.Helper()
	var out []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && strings.HasSuffix(path, "/bawn/log") {
				return fs.SkipDir // the supervisor writes it
			}
			if strings.HasSuffix(path, "/bawn/guard.lock") {
				return nil // and makes this
			}
			st, err := os.Lstat(path)
			if err != nil {
				return err
			}
			text := ""
			switch {
			case st.Mode()&fs.ModeSymlink != 0:
				text, err = os.Readlink(path)
			case st.Mode().IsRegular() && st.Mode().Perm()&0o400 != 0:
				var data []byte
				data, err = os.ReadFile(path)
				text = string(data)
			}
			out = append(out, fmt.Sprintf("%s %v %q", path, st.Mode(), text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sort.Strings(out)
	return out
}

// sameListing fails the test where a listing changed.
func sameListing(t *testing.T, before, after []string) {
	t.Helper()
	old := map[string]bool{}
	for _, l := range before {
		old[l] = true
	}
	for _, l := range after {
		if !old[l] {
			t.Errorf("new or changed on the host: %s", l)
		}
		delete(old, l)
	}
	for l := range old {
		t.Errorf("gone or changed on the host: %s", l)
	}
}

// exists reports whether a name is there on the host.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mkdir makes a folder and those above it on the host.
func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// symlink makes a link and the folders above it on the host.
func symlink(t *testing.T, text, path string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.Symlink(text, path); err != nil {
		t.Fatal(err)
	}
}

// secretPlaces are the credential places below a home, none inside another.
func secretPlaces(home string) []policy.PathRule {
	var out []policy.PathRule
	rules := policy.Credentials([]string{home}, func(string) string { return "" })
next:
	for _, r := range rules {
		if !policy.Inside(r.Path, home) {
			continue
		}
		for _, o := range rules {
			if o.Path != r.Path && policy.Inside(r.Path, o.Path) {
				continue next
			}
		}
		out = append(out, r)
	}
	return out
}

// mode is a tier or fixed mode as a test runs it.
type mode struct {
	name  string
	flags []string
}

// sandboxed are the tiers and modes that have a boundary.
var sandboxed = []mode{
	{"guarded", []string{"--tier", "guarded"}},
	{"airlock", []string{"--tier", "airlock"}},
	{"read-only", []string{"--sandbox", "read-only"}},
	{"workspace-write", []string{"--sandbox", "workspace-write"}},
}
