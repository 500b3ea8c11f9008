package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Against says what settings of a project take away from a set-up, a line
// each: hooks that are off, another shell. Where hooks are off nothing of
// bawn's is asked any more, so only a person who looks can tell.
func Against(a *Agent, project string) (out []string) {
	if a.Name != "claude" {
		return nil
	}
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json"} {
		path := filepath.Join(project, name)
		say := func(what string) { out = append(out, fmt.Sprintf("%q %s", path, what)) }
		data, _, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		d := new(document)
		if err == nil {
			d, err = parseJSON(data)
		}
		if err != nil {
			say("cannot be judged: " + err.Error())
			continue
		}
		if d.isTrue("disableAllHooks") {
			say("turns all hooks off: file tools are not held, and nobody refuses where another shell is set")
		}
		if v, err := d.text("env", "CLAUDE_CODE_SHELL_PREFIX"); err != nil || v != "" && !strings.HasSuffix(v, "/shims/claude-shell") {
			say("sets another shell prefix: commands run without a sandbox, or are refused")
		}
		if v, err := d.text("env", "CLAUDE_CODE_SHELL"); err != nil || v != "" {
			say("sets another shell")
		}
		if d.isTrue("sandbox", "enabled") {
			say("turns on a sandbox in which bawn cannot make one: commands are refused")
		}
	}
	return out
}
