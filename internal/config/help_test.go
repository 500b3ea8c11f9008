package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// world is a machine's files: a managed folder, a home and a workspace.
type world struct {
	t                        testing.TB
	root, managed, home, dir string
	environ                  []string
	flags                    []Flag
	trust                    map[string]bool
}

func newWorld(t testing.TB) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, managed: root + "/etc/bawn", home: root + "/home", dir: root + "/home/work", trust: map[string]bool{}}
	w.mkdir(w.dir)
	return w
}

func (w *world) mkdir(dir string) {
	w.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(path, text string) string {
	w.t.Helper()
	w.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) userFile() string    { return w.home + "/.config/bawn/config.toml" }
func (w *world) savedFile() string   { return w.home + "/.config/bawn/allowed.toml" }
func (w *world) projectFile() string { return w.dir + "/.bawn/config.toml" }

func (w *world) options() Options {
	return Options{
		Environ: append([]string{"HOME=" + w.home}, w.environ...), Workspace: w.dir, Flags: w.flags,
		Trusted: func(_ string, b []byte) (bool, error) { return w.trust[string(b)], nil },
		managed: w.managed, managedOwner: os.Geteuid(),
	}
}

// load reads everything; the configuration must be right.
func (w *world) load() Config {
	w.t.Helper()
	c, err := Load(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// refused wants the run refused, with a text that holds each word.
func (w *world) refused(words ...string) {
	w.t.Helper()
	_, err := Load(w.options())
	if err == nil {
		w.t.Fatalf("nothing was refused; want %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("the refusal says %q, without %q", err, word)
		}
	}
}

// trustProject is a person's yes to the project's file as it is.
func (w *world) trustProject() {
	w.t.Helper()
	o := w.options()
	o.Trusted = nil
	r, err := LoadReview(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.trust[string(r.Content)] = true
}

// connect decides a connection as a run under the configuration would.
func connect(t testing.TB, c Config, hostPort string) policy.Verdict {
	t.Helper()
	n, err := policy.NewNetwork(c.Network())
	if err != nil {
		t.Fatal(err)
	}
	h, port, err := policy.SplitHostPort(hostPort)
	if err != nil {
		t.Fatal(err)
	}
	return n.Decide(policy.Connect{Host: h, Port: port}).Verdict
}

func texts(items []Item) string {
	var out []string
	for _, it := range items {
		out = append(out, it.Text)
	}
	return strings.Join(out, " ")
}

func contains(list []string, part string) bool {
	for _, s := range list {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

func netipPort(a netip.Addr, port uint16) netip.AddrPort { return netip.AddrPortFrom(a, port) }

// protect is what holds of the rules for protected names that were found.
func protect(c Config, found []policy.PathRule) []policy.PathRule {
	var out []policy.PathRule
	_, places := c.Unprotect()
	for _, r := range found {
		if !slices.ContainsFunc(places, func(p string) bool { return policy.Inside(r.Path, p) }) {
			out = append(out, r)
		}
	}
	return append(out, c.Protect()...)
}
