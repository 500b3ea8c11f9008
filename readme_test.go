package bawn_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
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
