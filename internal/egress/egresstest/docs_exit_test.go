//go:build linux

package egresstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// discarded ends with the code before it, and leaves no layer.
const discarded = "; code=$?; bawn discard; exit $code"

// docsExits are a command for each code that docs/exit-codes.md gives it.
var docsExits = []struct {
	command string
	code    int
	of      string // whose row it is
}{
	{"bawn run -q -- sh -c 'exit 7'", 7, "run"},
	{"bawn run -q -- sh -c 'kill -TERM $$'", 143, "run"},
	{"bawn run -q -- nothing-of-this-name", 127, "run"},
	{"bawn run -q -- ./package.json", 126, "run"},
	{"bawn run --tier nothing -- true", 125, "run"},
	{"bawn wrap --no-prompt -- sh -c 'exit 7'", 7, "wrap"},
	{"bawn wrap", 125, "wrap"},
	{"bawn watch", 125, "watch"},
	{"bawn learn -- sh -c 'exit 7'", 7, "learn"},
	{"bawn learn", 125, "learn"},
	{"bawn mcp </dev/null", 0, "mcp"},
	{"bawn mcp x", 125, "mcp"},
	{"bawn check write x", 0, "check"},
	{"bawn check write /etc/passwd", 1, "check"},
	{"bawn check connect example.org", 2, "check"},
	{"bawn check dance", 125, "check"},
	{"bawn trust", 0, "trust"},
	{"bawn trust --json", 0, "trust"},
	{"mkdir -p .bawn; echo '[sandbox]\nallowed_domains = [\"example.org\"]' >.bawn/config.toml; bawn trust </dev/null", 1, "trust"},
	{"bawn trust --nothing", 125, "trust"},
	{"bawn config", 0, "config"},
	{"mkdir -p ~/.config/bawn; echo x >~/.config/bawn/config.toml; bawn config", 125, "config"},
	{"bawn policy", 0, "policy"},
	{"mkdir -p ~/.config/bawn; echo x >~/.config/bawn/config.toml; bawn policy", 125, "policy"},
	{"bawn doctor", 0, "doctor"}, // 1: TestB125_DoctorNamesTheFix
	{"bawn doctor x", 125, "doctor"},
	{"bawn log", 0, "log"},
	{"bawn run -q -- true; bawn log verify", 0, "log"},
	{"bawn run -q -- true; sed -i s/true/false/ $XDG_STATE_HOME/bawn/log/*.jsonl; bawn log verify", 1, "log"},
	{"bawn log --since never", 125, "log"},
	{"bawn keep", 125, "keep"},
	{"bawn keep --list", 0, "keep"},
	{stageOne + "; bawn keep --diff" + discarded, 0, "keep"},
	{stageOne + "; bawn keep" + discarded, 0, "keep"},
	{stageOne + "; echo mine >staged-one; bawn keep" + discarded, 1, "keep"},
	{"bawn discard", 125, "discard"},
	{stageOne + "; bawn discard", 0, "discard"},
	{"bawn setup claude", 0, "setup"},
	{"bawn setup claude --check", 1, "setup"},
	{"bawn setup nobody", 125, "setup"},
	{"bawn setup claude; bawn setup claude --check", 0, "setup"},
	{"echo '{}' | bawn hook claude", 2, "hook"},
	{"bawn setup claude >x; echo '{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Read\",\"tool_input\":{\"file_path\":\"x\"},\"cwd\":\"'\"$PWD\"'\"}' | bawn hook claude", 0, "hook"},
	{"bawn import claude", 0, "import"},
	{"bawn import srt", 125, "import"},
	{"bawn env", 0, "env"},
	{"bawn env x", 125, "env"},
	{"mkdir -p ~/.config/bawn; echo x >~/.config/bawn/config.toml; bawn env", 125, "env"},
	{"mkdir -p ~/.config/bawn; echo x >~/.config/bawn/config.toml; bawn check write x", 125, "check"},
	{"bawn completion bash", 0, "completion"},
	{"bawn completion x", 125, "completion"},
	{"bawn help", 0, "help"},
	{"bawn help x", 125, "help"},
	{"bawn version", 0, "version"},
	{"bawn version x", 125, "version"},
	{"bawn </dev/null >x", 0, ""}, // no terminal: the help
	{"bawn --tier airlock </dev/null >x", 125, ""},
}

// The exit codes that the page gives are those of the program, and every command
// has its row.
func TestDocs_ExitCodes(t *testing.T) {
	w := NewWorld(t)
	for _, c := range docsExits {
		d := newDesk(t, w)
		if code, out := d.run(t, c.command, example{}); code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s", c.command, code, c.code, out)
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "docs/exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	runCodes, _, _ := strings.Cut(string(data), "| command | code |")
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 2 {
			continue
		}
		for _, m := range regexp.MustCompile("`bawn ?([a-z]*)`").FindAllStringSubmatch(cells[0], -1) {
			if rows[m[1]] != "" {
				t.Errorf("the page has two rows for bawn %s", m[1])
			}
			rows[m[1]] = cells[1]
		}
	}
	rows["run"] = runCodes
	help, err := exec.Command(sandboxtest.Binary(), "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range helpNames(string(help)) {
		if rows[name] == "" {
			t.Errorf("the page has no row for bawn %s", name)
		}
	}
	tried := map[string]bool{"doctor 1": true, "watch 128": true} // TestB125_DoctorNamesTheFix, TestWatchSignal
	for _, c := range docsExits {
		tried[fmt.Sprint(c.of, " ", c.code)] = true
	}
	for name, row := range rows {
		for _, code := range regexp.MustCompile(`\b\d+\b`).FindAllString(row, -1) {
			if name != "run" && !tried[name+" "+code] {
				t.Errorf("nothing tries that bawn %s ends with %s", name, code)
			}
		}
	}
	for _, c := range docsExits {
		codes := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, c.code))
		special := (c.code == 7 || c.code == 143) && strings.Contains(rows[c.of], "128+n") || (c.of == "wrap" || c.of == "learn") && strings.Contains(rows[c.of], "as `bawn run`")
		if !special && !codes.MatchString(rows[c.of]) {
			t.Errorf("%s: the page does not give %d to bawn %s", c.command, c.code, c.of)
		}
	}
}
