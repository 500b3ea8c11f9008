package bawn_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The library's lines in README.md compile as they stand.
func TestReadmeLibrary(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(data), "\n```go\n")
	block, _, closed := strings.Cut(block, "\n```\n")
	if !ok || !closed || strings.Count(string(data), "\n```go\n") != 1 {
		t.Fatal("README.md has not one block of Go")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "main.go")
	text := "package main\n\nimport (\n\t\"context\"\n\n\t\"bawn\"\n)\n\nfunc main() {\n\tctx := context.Background()\n" + block + "\n\t_, _, _ = p, out, err\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "testdata/readme/main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", file, "-o", os.DevNull, "./testdata/readme").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
}

var (
	docLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unnamed = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every page of docs/ is reached from README.md by links, and every link
// between pages leads to a file, and to a heading where it names one.
func TestDocLinks(t *testing.T) {
	pages := map[string]string{}
	read := func(page string) string {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for todo := []string{"README.md"}; len(todo) > 0; todo = todo[1:] {
		page := todo[0]
		if _, done := pages[page]; done {
			continue
		}
		pages[page] = read(page)
		for _, m := range docLink.FindAllStringSubmatch(pages[page], -1) {
			name, at, _ := strings.Cut(m[1], "#")
			if strings.Contains(name, ":") {
				continue
			}
			to := page
			if name != "" {
				to = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", page, m[1])
				continue
			}
			if filepath.Ext(to) != ".md" {
				continue
			}
			todo = append(todo, to)
			found := at == ""
			for _, h := range heading.FindAllStringSubmatch(read(to), -1) {
				id := strings.ReplaceAll(unnamed.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
				found = found || id == at
			}
			if !found {
				t.Errorf("%s: %s has no such heading", page, m[1])
			}
		}
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		all, err := filepath.Glob(pattern)
		if err != nil || len(all) == 0 {
			t.Fatal(pattern, err)
		}
		for _, page := range all {
			if _, ok := pages[page]; !ok {
				t.Errorf("no page links to %s", page)
			}
		}
	}
}

var (
	codeWord = regexp.MustCompile("`([^`\n]+)`")
	repoFile = regexp.MustCompile(`^(?:cmd|internal|scripts|bench|docs|packaging|testdata|changelog)/[\w./-]*\w$|^\w+_test\.go$`)
	testWord = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w*$`)
	makeWord = regexp.MustCompile(`^make ([a-z-]+)`)
)

// What the pages call a file of the tree, a test or a target of make is there.
func TestPagesNameWhatIsThere(t *testing.T) {
	tests, named := testNames(t), 0
	rules, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "changelog/*.md", "changelog/unreleased/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatal(pattern, err)
		}
		for _, page := range pages {
			data, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range codeWord.FindAllStringSubmatch(string(data), -1) {
				there, word := true, m[1]
				switch {
				case repoFile.MatchString(word):
					_, err := os.Stat(word)
					there = err == nil
				case testWord.MatchString(word):
					there = tests[word]
				case makeWord.MatchString(word):
					there = strings.Contains("\n"+string(rules), "\n"+makeWord.FindStringSubmatch(word)[1]+":")
				default:
					continue
				}
				if named++; !there {
					t.Errorf("%s: there is no %s", page, word)
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d names were found", named)
	}
}
