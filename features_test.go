package bawn_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// testNames are the tests and fuzz targets of the module, of every platform.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	for _, f := range sources(t) {
		if !f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				have[fn.Name.Name] = true
			}
		}
	}
	return have
}

// commandNames are the program's commands, from its own list.
func commandNames(t *testing.T) (out []string) {
	t.Helper()
	for _, f := range sources(t) {
		if f.test || !below(f.pkg, "bawn/cmd/bawn") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			if !ok {
				return true
			}
			if fn.Name.Name != "commands" || fn.Recv != nil {
				return false
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				row, ok := n.(*ast.CompositeLit)
				if !ok || len(row.Elts) != 4 {
					return true
				}
				if name, ok := row.Elts[0].(*ast.BasicLit); ok && name.Kind == token.STRING {
					text, err := strconv.Unquote(name.Value)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, text)
				}
				return true
			})
			return false
		})
	}
	if len(out) < 15 {
		t.Fatalf("only the commands %q were found", out)
	}
	return out
}

// docs/features.md has every row, each with tests that are there or with the
// word that it is not finished.
func TestFeatures(t *testing.T) {
	data, err := os.ReadFile("docs/features.md")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for letter, last := range map[string]int{"T": 10, "F": 12, "E": 2, "N": 12, "C": 9} {
		for i := range last {
			wanted[fmt.Sprintf("%s%d", letter, i+1)] = true
		}
	}
	commands := commandNames(t)
	for _, name := range commands {
		wanted["`bawn "+name+"`"] = true
	}
	for _, name := range []string{"mcp", "learn", "keep", "discard"} { // of SPEC, by name
		if !slices.Contains(commands, name) {
			t.Errorf("there is no command bawn %s", name)
		}
	}
	for _, name := range []string{"`bawn`", "flags of bawn run", "where bawn run asks", "exit codes", "files", "configuration keys", "the Go library"} {
		wanted[name] = true
	}
	have, rows := testNames(t), map[string]bool{}
	quoted := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| row ") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		if len(cells) != 4 {
			t.Errorf("not four cells: %q", line)
			continue
		}
		name := strings.TrimSpace(cells[0])
		if rows[name] || !wanted[name] {
			t.Errorf("%s is there twice, or no row", name)
		}
		rows[name] = true
		tests := quoted.FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 && !strings.Contains(cells[3], "unfinished: ") {
			t.Errorf("%s has neither a test nor the word that it is unfinished", name)
		}
		for _, q := range tests {
			if !have[q[1]] {
				t.Errorf("%s: there is no test %s", name, q[1])
			}
		}
	}
	for name := range wanted {
		if !rows[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// C9: what people must know before they rely on bawn is on its first page.
func TestC9_LimitsAreSaid(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, limits, _ := strings.Cut(string(data), "\n## What it does not do\n")
	limits, _, _ = strings.Cut(limits, "\n## ")
	limits = strings.Join(strings.Fields(limits), " ")
	for _, want := range []string{
		"not a virtual machine", "An allowed host can be sent anything", "Install scripts run inside, under the same rules",
		"outside the sandbox as an exclusion or escape hatch, has your full permissions", "docs/threat-model.md",
	} {
		if !strings.Contains(limits, want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}
