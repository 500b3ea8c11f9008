//go:build linux

package sandboxtest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed testdata/kept.go.text
var keptSource []byte

// envKept is set where the tests run with the program that BuildKept makes.
const envKept = "SANDBOXTEST_KEPT"

// KeptBinary is the path of that program.
func KeptBinary() string { return filepath.Join(filepath.Dir(binary), "kept") }

// BuildKept builds the program, for Main, with one difference: its native
// launcher is a session's keeper. So the suite holds for both.
func BuildKept(dir string) error {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	cmd := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "cmd", "bawn")
	run := filepath.Join(cmd, "run_linux.go")
	source, err := os.ReadFile(run)
	if err != nil {
		return err
	}
	text := string(source)
	for _, change := range [...][2]string{
		{"if launcher != linux.Bwrap && !f.allowWeaker {", "if launcher == linux.Auto && !f.allowWeaker {"}, // no stage ahead
		{"return linux.Backend{Launcher: launcher, Early: early, Gate: gate}", "if launcher == linux.Native {\nreturn gated{kept{}, gate}\n}\nreturn linux.Backend{Launcher: launcher, Early: early, Gate: gate}"},
	} {
		if strings.Count(text, change[0]) != 1 {
			return fmt.Errorf("%s: %q is not there once, where the keeper comes in", run, change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	replace := map[string]string{}
	for name, content := range map[string]string{"run_linux.go": text, "kept_linux.go": string(keptSource)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return err
		}
		replace[filepath.Join(cmd, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-overlay", file, "-o", filepath.Join(dir, "kept"), "bawn/cmd/bawn")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build bawn with a keeper: %w\n%s", err, out)
	}
	return nil
}
