package bawn_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sourceFile is one parsed Go file of the module, of whatever platform.
type sourceFile struct {
	name string // relative to the module root, with slashes
	pkg  string // import path
	ast  *ast.File
	test bool
}

func (f sourceFile) imports() []string {
	var out []string
	for _, i := range f.ast.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			panic(err)
		}
		out = append(out, p)
	}
	return out
}

func sources(t *testing.T) []sourceFile {
	t.Helper()
	var out []sourceFile
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		out = append(out, sourceFile{slash, path.Join("bawn", path.Dir(slash)), f, strings.HasSuffix(base, "_test.go")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d files were found", len(out))
	}
	return out
}

// below reports whether a package is root or one of those below it.
func below(pkg, root string) bool { return pkg == root || strings.HasPrefix(pkg, root+"/") }

func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return first != "bawn" && !strings.Contains(first, ".")
}

// arrows are the imports of the module that are allowed: package (and what is
// below it, unless it has a line of its own) → the packages, each with what is
// below it. A package that is missing here fails the test: a new one needs a
// place in the house.
var arrows = map[string][]string{
	"bawn":                                        {"bawn/internal"},
	"bawn/cmd/bawn":                               {"bawn/internal"},
	"bawn/bench":                                  {"bawn/internal/policy", "bawn/internal/sandbox", "bawn/internal/frontend/tui/screen", "bawn/internal/tools/tempdir"},
	"bawn/internal/policy":                        {},
	"bawn/internal/gitdir":                        {},
	"bawn/internal/hostname":                      {"bawn/internal/policy"},
	"bawn/internal/config":                        {"bawn/internal/policy", "bawn/internal/hostname", "bawn/internal/shell/plain"},
	"bawn/internal/shell":                         {"bawn/internal/policy", "bawn/internal/shell/plain"},
	"bawn/internal/shell/plain":                   {"bawn/internal/policy"},
	"bawn/internal/approval":                      {"bawn/internal/policy"},
	"bawn/internal/audit":                         {"bawn/internal/policy", "bawn/internal/config/disk"},
	"bawn/internal/egress":                        {"bawn/internal/policy"},
	"bawn/internal/egress/egresstest":             {},
	"bawn/internal/egress/transparent":            {"bawn/internal/policy", "bawn/internal/egress"},
	"bawn/internal/sandbox":                       {"bawn/internal/policy", "bawn/internal/gitdir"},
	"bawn/internal/sandbox/linux":                 {"bawn/internal/policy", "bawn/internal/sandbox"},
	"bawn/internal/sandbox/linux/stage/netns":     {},
	"bawn/internal/sandbox/linux/guard/rules":     {"bawn/internal/policy", "bawn/internal/gitdir", "bawn/internal/sandbox/linux/guard"},
	"bawn/internal/sandbox/linux/guard":           {"bawn/internal/policy", "bawn/internal/sandbox/linux/filter"},
	"bawn/internal/sandbox/linux/filter":          {},
	"bawn/internal/sandbox/linux/filter/gen":      {"bawn/internal/sandbox/linux/filter"},
	"bawn/internal/sandbox/linux/filter/internal": {"bawn/internal/sandbox/linux/filter/internal"},
	"bawn/internal/sandbox/seatbelt":              {"bawn/internal/policy", "bawn/internal/sandbox"},
	"bawn/internal/watch":                         {},
	"bawn/internal/staged":                        {"bawn/internal/policy", "bawn/internal/config/disk"},
	"bawn/packaging":                              {},
	"bawn/internal/sandbox/sandboxtest":           {"bawn/internal"},
	"bawn/internal/session": {
		"bawn/internal/policy", "bawn/internal/config", "bawn/internal/shell", "bawn/internal/approval", "bawn/internal/audit",
		"bawn/internal/egress", "bawn/internal/sandbox", "bawn/internal/hostname", "bawn/internal/tty",
	},
	"bawn/internal/frontend":              {"bawn/internal"},
	"bawn/internal/frontend/tui/screen":   {"bawn/internal/tty"},
	"bawn/internal/tty":                   {},
	"bawn/internal/frontend/mcp/protocol": {},
	"bawn/internal/tools":                 {},
	"bawn/internal/counting":              {},
}

// backends may be named only by those who wire the program together, and by
// themselves: everybody else knows the interface.
var backends = []string{"bawn/internal/sandbox/linux", "bawn/internal/sandbox/seatbelt"}

func place(pkg string) (string, bool) {
	for p := pkg; p != "." && p != "bawn"; p = path.Dir(p) {
		if _, ok := arrows[p]; ok {
			return p, true
		}
	}
	return "bawn", pkg == "bawn"
}

func TestImportsGoDown(t *testing.T) {
	for _, f := range sources(t) {
		if f.test {
			continue // tests may look from above
		}
		room, ok := place(f.pkg)
		if !ok {
			t.Errorf("%s: package %s has no place in the list of arrows", f.name, f.pkg)
			continue
		}
		for _, imp := range f.imports() {
			if !below(imp, "bawn") {
				continue
			}
			allowed := below(imp, room) && room != "bawn" && room != "bawn/internal/sandbox"
			for _, a := range arrows[room] {
				allowed = allowed || below(imp, a)
			}
			if !allowed {
				t.Errorf("%s imports %s: the arrow from %s is not in the list", f.name, imp, room)
			}
			for _, b := range backends {
				wires := f.pkg == "bawn" || f.pkg == "bawn/cmd/bawn" || below(f.pkg, b) || f.pkg == "bawn/internal/sandbox/sandboxtest" || f.pkg == "bawn/bench"
				if below(imp, b) && !wires {
					t.Errorf("%s names the backend %s", f.name, imp)
				}
			}
			if imp == "bawn" && f.pkg != "bawn" {
				t.Errorf("%s imports the library, which stands above it", f.name)
			}
		}
	}
}

func TestPolicyIsPure(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || !below(f.pkg, "bawn/internal/policy") {
			continue
		}
		for _, imp := range f.imports() {
			if !standard(imp) {
				t.Errorf("%s imports %s, which is not in the standard library", f.name, imp)
			}
			switch imp {
			case "os", "os/exec", "os/user", "net", "syscall", "time", "io/ioutil", "path/filepath":
				t.Errorf("%s imports %s: a decision reads no file, clock or environment", f.name, imp)
			}
		}
	}
}

func TestOnlyTheStagesHaveInit(t *testing.T) {
	found := 0
	for _, f := range sources(t) {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Name.Name != "init" || f.test {
				continue
			}
			if f.pkg != "bawn/internal/sandbox/linux/stage" && f.pkg != "bawn/internal/sandbox/seatbelt/stage" {
				t.Errorf("%s has an init function", f.name)
			}
			found++
		}
		for _, imp := range f.ast.Imports {
			if imp.Name != nil && imp.Name.Name == "_" && imp.Path.Value != `"embed"` {
				t.Errorf("%s imports %s for its side effects", f.name, imp.Path.Value)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d init functions, want those of the two stages alone", found)
	}
}

func TestNoCgo(t *testing.T) {
	for _, f := range sources(t) {
		if slices.Contains(f.imports(), "C") {
			t.Errorf("%s uses cgo", f.name)
		}
	}
}

// What every run initialises must stay small: some packages cost a
// millisecond before main begins.
func TestHotPathIsLean(t *testing.T) {
	heavy := []string{"net/http", "crypto/tls", "encoding/json", "regexp", "text/template", "html/template", "encoding/gob", "go/parser", "testing", "flag"}
	for _, pkg := range []string{"bawn", "bawn/internal/session", "bawn/internal/sandbox/linux"} {
		deps := dependencies(t, pkg)
		for _, h := range heavy {
			if deps[h] {
				t.Errorf("%s depends on %s", pkg, h)
			}
		}
	}
	// The program also explains itself to programs, in JSON, and reads command
	// text; the parser for that has the one package that compiles patterns
	// (docs/decisions/0012-command-text.md has what it costs).
	deps := dependencies(t, "bawn/cmd/bawn")
	for _, h := range []string{"net/http", "crypto/tls", "text/template", "html/template", "testing"} {
		if deps[h] {
			t.Errorf("the program depends on %s", h)
		}
	}
	const parser = "mvdan.cc/sh/v3/fileutil"
	for _, imp := range importers(t, "bawn/cmd/bawn", "regexp") {
		if imp != parser {
			t.Errorf("the program depends on regexp by %s too", imp)
		}
	}
	modules := []string{
		"bawn", "golang.org/x/sys", "golang.org/x/net/idna", "golang.org/x/net/dns/dnsmessage", "golang.org/x/net/http2/hpack", "golang.org/x/text",
		"github.com/pelletier/go-toml/v2/unstable", "github.com/pelletier/go-toml/v2/internal",
		"mvdan.cc/sh/v3/syntax", parser, "github.com/fsnotify/fsnotify", "github.com/tailscale/hujson",
		// The session's screen: 0.15 ms before main, in all (docs/decisions/0002-dependencies.md).
		"charm.land/bubbletea/v2", "github.com/charmbracelet/ultraviolet", "github.com/charmbracelet/colorprofile", "golang.org/x/sync/errgroup",
		"github.com/charmbracelet/x/ansi", "github.com/charmbracelet/x/vt", "github.com/charmbracelet/x/term", "github.com/charmbracelet/x/termios",
		"github.com/charmbracelet/x/windows", "github.com/charmbracelet/x/exp/ordered", "github.com/clipperhouse", "github.com/lucasb-eyer/go-colorful",
		"github.com/mattn/go-runewidth", "github.com/muesli/cancelreader", "github.com/rivo/uniseg", "github.com/xo/terminfo",
	}
	for _, imp := range slices.Sorted(maps.Keys(deps)) {
		if !standard(imp) && !slices.ContainsFunc(modules, func(m string) bool { return below(imp, m) }) {
			t.Errorf("the program depends on the module of %s", imp)
		}
	}
}

// importers are the dependencies of pkg that import what.
func importers(t *testing.T, pkg, what string) (out []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, pkg)
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); slices.Contains(f[1:], what) {
			out = append(out, f[0])
		}
	}
	return out
}

func dependencies(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", pkg)
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := map[string]bool{}
	for _, d := range strings.Fields(string(out)) {
		deps[d] = true
	}
	if !deps["fmt"] {
		t.Fatalf("go list knows no dependency of %s: %q", pkg, out)
	}
	return deps
}
