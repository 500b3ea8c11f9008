package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// world is a home, a store and a place.
type world struct {
	Store
	p        Place
	settings string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	state := filepath.Join(home, ".local/state/bawn")
	for _, dir := range []string{home, state} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &world{
		Store{state},
		Place{Home: home, Getenv: func(string) string { return "" }, Program: "/usr/bin/bawn", Shims: state + "/shims"},
		home + "/.config/bawn/config.toml",
	}
}

func good() error { return nil }

// make sets an agent up, as it is planned.
func (w *world) make(t *testing.T, agent string, changes []Change, verify func() error) error {
	t.Helper()
	held, err := w.Hold()
	if err != nil {
		return err
	}
	defer held.Close()
	if changes == nil {
		if changes, err = Plan(Find(agent), w.p, w.settings); err != nil {
			return err
		}
	}
	return held.Apply(Find(agent), w.p, changes, verify)
}

func (w *world) apply(t *testing.T, agent string) error {
	t.Helper()
	return w.make(t, agent, nil, good)
}

func (w *world) undo(t *testing.T, agent string) []Undone {
	t.Helper()
	held, err := w.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	list, err := held.Undo(Find(agent), w.p, w.settings)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (w *world) tree(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(w.p.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, w.Dir) {
			return err
		}
		in, err := d.Info()
		if err != nil {
			return err
		}
		text := in.Mode().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(data)
		}
		out[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(a, b map[string]string) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// path is the file of an agent's settings.
func (w *world) path(agent string) string { return Find(agent).files(w.p)[0].path }

// What was there before is there again, byte for byte, with its mode, whether
// there were files or none, for one agent after another.
func TestUndoRestoresEveryByte(t *testing.T) {
	for _, there := range []bool{false, true} {
		w := newWorld(t)
		if there {
			write(t, w.path("claude"), "{\n\t\"model\": \"opus\",   \"hooks\": {\"PreToolUse\": []},\n\t\"env\": {\"A\": \"b\"} }")
			write(t, w.path("gemini"), "// mine\r\n{\r\n  \"a\": [1, 2,], // two\r\n}\r\n")
			write(t, w.path("cursor"), "{ \"version\": 1, \"hooks\": { \"preToolUse\": [ { \"command\": \"x\" } ] } }\n")
			write(t, w.path("crush"), "{}")
			write(t, w.path("codex"), "# mine\n[[environments]]\nid = \"a\"\nprogram = \"b\"")
			write(t, w.settings, "# mine\n[sandbox]\nenabled = false # not yet\n")
		}
		before := w.tree(t)
		for _, agent := range Names() {
			for range 2 {
				if err := w.apply(t, agent); err != nil {
					t.Fatal(err)
				}
			}
		}
		after := w.tree(t)
		if same(before, after) {
			t.Fatal("nothing was written")
		}
		for _, agent := range Names() {
			changes, err := Plan(Find(agent), w.p, w.settings)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				if c.Changed() {
					t.Errorf("%s: %s would be changed again", agent, c.Path)
				}
			}
		}
		for _, agent := range Names() {
			if len(w.undo(t, agent)) == 0 {
				t.Errorf("%s: nothing was taken back", agent)
			}
		}
		if got := w.tree(t); !same(before, got) {
			t.Errorf("before %v\nafter  %v", before, got)
		}
		if _, err := os.Lstat(filepath.Join(w.Dir, recordName)); !errors.Is(err, fs.ErrNotExist) {
			t.Error("the record is left")
		}
		if w.undo(t, "claude") != nil {
			t.Error("taken back twice")
		}
	}
}

// The user's entries, comments and order stay, and what was written since
// stays too when bawn's entries are taken out.
func TestPeoplesEntriesStay(t *testing.T) {
	w := newWorld(t)
	path := w.path("gemini")
	write(t, path, "{\n    // my theme\n    \"theme\": \"dark\", // best\n    \"hooks\": {\n        \"BeforeTool\": [\n            {\"matcher\": \"x\"} // keep\n        ]\n    }\n}\n")
	if err := w.apply(t, "gemini"); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	for _, want := range []string{"    // my theme\n    \"theme\": \"dark\", // best\n", "{\"matcher\": \"x\"}, // keep\n            {\n", "hook gemini --shims"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	write(t, path, strings.Replace(got, `"dark"`, `"light"`, 1))
	list := w.undo(t, "gemini")
	if len(list) != 2 || !strings.Contains(list[0].What, "taken out") {
		t.Errorf("%+v", list)
	}
	got = read(t, path)
	if strings.Contains(got, "bawn") || !strings.Contains(got, `"light"`) || !strings.Contains(got, `{"matcher": "x"}`) || !strings.Contains(got, "// my theme") {
		t.Errorf("left:\n%s", got)
	}
}

// A bawn that moved replaces its entry, and does not add a second.
func TestMovedProgram(t *testing.T) {
	for _, agent := range []string{"claude", "gemini", "cursor", "crush", "codex"} {
		w := newWorld(t)
		if err := w.apply(t, agent); err != nil {
			t.Fatal(err)
		}
		w.p.Program, w.p.Shims = "/opt/bawn/bin/bawn", w.Dir+"/shims"
		if err := w.apply(t, agent); err != nil {
			t.Fatal(err)
		}
		got := read(t, w.path(agent))
		if strings.Contains(got, "/usr/bin/bawn") || agent != "codex" && strings.Count(got, "/opt/bawn/bin/bawn") != 1 {
			t.Errorf("%s:\n%s", agent, got)
		}
		w.undo(t, agent)
		if _, err := os.Lstat(w.path(agent)); err == nil {
			t.Errorf("%s: the file is left:\n%s", agent, read(t, w.path(agent)))
		}
	}
}

// What cannot be changed safely is refused before anything is written.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ agent, text, why string }{
		{"claude", "{", "unexpected EOF"},
		{"claude", "[]", "no JSON object"},
		{"claude", "{\"a\": 1} // x\n", "plain JSON"},
		{"claude", "{\"a\": 1,}", "plain JSON"},
		{"claude", "{\"env\": {\"CLAUDE_CODE_SHELL_PREFIX\": \"/mine\"}}", "already"},
		{"claude", "{\"env\": []}", "no object"},
		{"claude", "{\"hooks\": {\"PreToolUse\": {}}}", "no list"},
		{"claude", "{\"disableAllHooks\": true}", "disableAllHooks"},
		{"claude", "{\"sandbox\": {\"enabled\": true}}", "sandbox.enabled"},
		{"claude", "{\"hooks\": {}, \"hooks\": {}}", "twice"},
		{"gemini", "\xef\xbb\xbf{}", "byte order mark"},
		{"gemini", "{\"a\": 1} x", "invalid"},
		{"codex", "default = \"mine\"\n", "line 1 sets default"},
		{"codex", "default = \n", ""},
		{"codex", "# x\ninclude_local = true\n", "line 2 sets include_local"},
	} {
		w := newWorld(t)
		write(t, w.path(c.agent), c.text)
		before := w.tree(t)
		if err := w.apply(t, c.agent); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s %q: %v, want %q", c.agent, c.text, err, c.why)
		}
		if !same(before, w.tree(t)) {
			t.Errorf("%s %q: written", c.agent, c.text)
		}
	}
	w := newWorld(t)
	write(t, w.settings, "[sandbox]\nenabeld = true\n")
	if err := w.apply(t, "claude"); err == nil || !strings.Contains(err.Error(), "enabeld") {
		t.Errorf("bad settings of bawn's: %v", err)
	}
	w.p.Project = w.p.Home
	if err := w.apply(t, "codex"); err == nil || !strings.Contains(err.Error(), "--project") {
		t.Errorf("a project of Codex: %v", err)
	}
}

// A set-up that does not work leaves nothing behind, and one that worked
// before stays as it was.
func TestFailedVerify(t *testing.T) {
	w := newWorld(t)
	write(t, w.path("claude"), "{}\n")
	broken := errors.New("no user namespaces")
	try := func() error {
		return w.make(t, "claude", nil, func() error {
			if !strings.Contains(read(t, w.path("claude")), "bawn") {
				t.Error("asked before the files were written")
			}
			return broken
		})
	}
	before := w.tree(t)
	if err := try(); !errors.Is(err, broken) {
		t.Error(err)
	}
	after := w.tree(t)
	delete(after, filepath.Dir(w.settings)) // folders may stay
	delete(after, filepath.Dir(filepath.Dir(w.settings)))
	if !same(before, after) {
		t.Errorf("before %v\nafter  %v", before, after)
	}
	if err := w.apply(t, "claude"); err != nil {
		t.Fatal(err)
	}
	works := w.tree(t)
	w.p.Program = "/opt/bawn"
	if err := try(); !errors.Is(err, broken) {
		t.Error(err)
	}
	if got := w.tree(t); !same(works, got) {
		t.Errorf("before %v\nafter  %v", works, got)
	}
	w.undo(t, "claude")
	if got := read(t, w.path("claude")); got != "{}\n" {
		t.Errorf("left %q", got)
	}
}

// Links are followed and stay links; a file that others can write is not
// touched.
func TestLinksAndOwners(t *testing.T) {
	w := newWorld(t)
	dotfiles := filepath.Join(w.p.Home, "dotfiles/claude.json")
	write(t, dotfiles, "{}\n")
	if err := os.MkdirAll(filepath.Dir(w.path("claude")), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dotfiles, w.path("claude")); err != nil {
		t.Fatal(err)
	}
	if err := w.apply(t, "claude"); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(w.path("claude")); err != nil || to != dotfiles || !strings.Contains(read(t, dotfiles), "bawn") {
		t.Errorf("%q, %v", to, err)
	}
	w.undo(t, "claude")
	if got := read(t, dotfiles); got != "{}\n" {
		t.Errorf("left %q", got)
	}
	if err := os.Chmod(dotfiles, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := w.apply(t, "claude"); err == nil || !strings.Contains(err.Error(), "others may write it") {
		t.Error(err)
	}
	if err := os.Remove(dotfiles); err != nil {
		t.Fatal(err)
	}
	if err := w.apply(t, "claude"); err == nil || !strings.Contains(err.Error(), "link to nothing") {
		t.Error(err)
	}
}

// A file that is changed between the plan and the writing is left alone.
func TestChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	write(t, w.path("gemini"), "{}\n")
	changes, err := Plan(Find("gemini"), w.p, w.settings)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.path("gemini"), "{\"theme\": \"new\"}\n")
	if err := w.make(t, "gemini", changes, good); err == nil || !strings.Contains(err.Error(), "meanwhile") {
		t.Error(err)
	}
	if got := read(t, w.path("gemini")); got != "{\"theme\": \"new\"}\n" {
		t.Errorf("left %q", got)
	}
}

// Many set-ups at once lose no record.
func TestTogether(t *testing.T) {
	w := newWorld(t)
	var wait sync.WaitGroup
	for _, agent := range Names() {
		wait.Go(func() {
			if err := w.apply(t, agent); err != nil {
				t.Errorf("%s: %v", agent, err)
			}
		})
	}
	wait.Wait()
	var r records
	if err := json.Unmarshal([]byte(read(t, filepath.Join(w.Dir, recordName))), &r); err != nil || len(r.Agents) != len(Names()) {
		t.Errorf("%d agents, %v", len(r.Agents), err)
	}
}

func TestDamagedRecord(t *testing.T) {
	w := newWorld(t)
	write(t, filepath.Join(w.Dir, recordName), "{")
	if err := w.apply(t, "claude"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

// For any document: what is added is there and valid, the rest means what it
// meant, and taking it out gives that back.
func TestEditProperty(t *testing.T) {
	w := newWorld(t)
	f := Find("gemini").files(w.p)[0]
	value := rapid.SampledFrom([]string{"1", "\"a\"", "[]", "[1, 2]", "[ // x\n]", "{}", "{\"b\": {}}", "null"})
	name := rapid.SampledFrom([]string{"a", "b", "hooks", "x"})
	space := rapid.SampledFrom([]string{"", " ", "\n  ", " // note\n", "/* c */"})
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(space.Draw(t, "s") + "{")
		seen := map[string]bool{}
		n := rapid.IntRange(0, 4).Draw(t, "n")
		for range n {
			k := name.Draw(t, "k")
			if seen[k] {
				continue
			}
			if len(seen) > 0 {
				b.WriteString(",")
			}
			seen[k] = true
			v := value.Draw(t, "v")
			if k == "hooks" {
				v = rapid.SampledFrom([]string{"{}", "{\"BeforeTool\": []}", "{\"BeforeTool\": [{\"m\": 1}], \"Other\": [1]}", "{\"BeforeTool\": [{\"m\": 1},]}"}).Draw(t, "hooks")
			}
			b.WriteString(space.Draw(t, "s") + "\"" + k + "\":" + space.Draw(t, "s") + v + space.Draw(t, "s"))
		}
		if len(seen) > 0 && rapid.Bool().Draw(t, "comma") {
			b.WriteString(",")
		}
		b.WriteString(space.Draw(t, "s") + "}" + space.Draw(t, "s"))
		old := []byte(b.String())
		next, err := f.edit(old)
		if err != nil {
			t.Fatalf("%q: %v", old, err)
		}
		again, err := f.edit(next)
		if err != nil || !bytes.Equal(again, next) {
			t.Fatalf("%q: again %q, %v", next, again, err)
		}
		back, err := f.strip(next)
		if err != nil {
			t.Fatalf("%q: %v", next, err)
		}
		if bytes.Count(next, []byte("//")) < bytes.Count(old, []byte("//")) || bytes.Count(next, []byte("/*")) != bytes.Count(old, []byte("/*")) {
			t.Fatalf("a comment is gone: %q", next)
		}
		if meaning(t, back) != meaning(t, old) {
			t.Fatalf("%q\n%q\n%q", old, next, back)
		}
	})
}

// meaning is a document without empty hooks, which go with bawn's entry.
func meaning(t *rapid.T, data []byte) string {
	std, err := hujson.Standardize(data)
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	var m map[string]any
	if err := json.Unmarshal(std, &m); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	if h, ok := m["hooks"].(map[string]any); ok {
		if l, ok := h["BeforeTool"].([]any); ok && len(l) == 0 {
			delete(h, "BeforeTool")
		}
		if len(h) == 0 {
			delete(m, "hooks")
		}
	}
	out, _ := json.Marshal(m)
	return string(out)
}

func TestCodexReads(t *testing.T) {
	for version, want := range map[string]bool{
		"codex-cli 0.171.0\n": true, "codex-cli 0.172.0-alpha.1": true, "codex-cli 1.0.0": true,
		"codex-cli 0.170.9": false, "codex 0.171.0": false, "": false, "codex-cli 0.171": false,
	} {
		if CodexReads(version) != want {
			t.Errorf("%q: want %v", version, want)
		}
	}
}
