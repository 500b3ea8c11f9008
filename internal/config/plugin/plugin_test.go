//go:build unix

package plugin

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bawn/internal/policy"
)

func TestManifest(t *testing.T) {
	const file = "/c/bawn/plugins/p/plugin.json"
	for _, c := range []struct {
		text string
		want string // the paths with their lines, or what the error begins with
	}{
		{`{"permissions":{"paths":["~/.tool","/srv/data/","~"]}}`, "1 /home/u/.tool 1 /srv/data 1 /home/u"},
		{"{\n  \"name\": \"p\", \"version\": \"1\", \"description\": \"d\",\n  \"permissions\": {\n    \"paths\": [\n      \"/a\",\n      \"/b\"\n    ]\n  }\n}\n", "5 /a 6 /b"},
		{`{}`, ""}, {`{"permissions":{}}`, ""}, {`{"permissions":{"paths":[]}}`, ""}, {`{"permissions":{"paths":["/"]}}`, "1 /"},
		{`{"permissions":{"paths":["/\u00e9"]}}`, "1 /é"},
		{"", ":1:1: the manifest ends too early"}, {"{", ":1:2: the manifest ends too early"}, {"[]", ":1:1: an object"}, {`"x"`, ":1:1: an object"}, {"null", ":1:1: an object"},
		{`{"permission":{}}`, `:1:2: unknown key "permission"`}, {`{"permissions":{"path":[]}}`, `:1:17: unknown key "path"`}, {"{\n \"Permissions\":{}}", `:2:2: unknown key`},
		{`{"permissions":{"paths":["/a"]},"permissions":{}}`, `:1:33: "permissions" is given twice`}, {`{"permissions":{"paths":[],"paths":["/a"]}}`, `:1:28: "paths" is given twice`},
		{`{"permissions":[]}`, ":1:16: an object"}, {`{"permissions":{"paths":"/a"}}`, ":1:25: a list"}, {`{"permissions":{"paths":[1]}}`, ":1:26: a folder, which is written as a text"}, {`{"permissions":{"paths":[["/a"]]}}`, ":1:26: a folder"}, {`{"name":1}`, ":1:9: a text"},
		{`{"permissions":{"paths":["a"]}}`, `:1:26: folder "a": not an absolute`}, {`{"permissions":{"paths":["~root/x"]}}`, `:1:26: folder "~root/x": not an absolute`}, {`{"permissions":{"paths":["$HOME/x"]}}`, ":1:26: folder"}, {`{"permissions":{"paths":[""]}}`, `:1:26: folder "": it is empty`},
		{`{"permissions":{"paths":["/a/../b"]}}`, ":1:26: folder"}, {`{"permissions":{"paths":["~/../x"]}}`, ":1:26: folder"}, {`{"permissions":{"paths":["//a"]}}`, ":1:26: folder"}, {`{"permissions":{"paths":["/a//"]}}`, ":1:26: folder"}, {`{"permissions":{"paths":["/a\u0000"]}}`, ":1:26: folder"}, {`{"permissions":{"paths":["/a\n"]}}`, ":1:26: folder"}, {`{"permissions":{"paths":["/\ud800"]}}`, ":1:26: folder"},
		{"{} {}", ":1:4: there is more"}, {"{}x", ":1:3: there is more"}, {`{"name":"a",}`, ":1:"}, {"{\"name\":\"a\"\n,\n\"x\":}", `:3:1: unknown key "x"`}, {"\ufeff{}", ":1:1: an object"}, {`{"name":"a" "version":"1"}`, ":1:13: a comma or }"}, {`{"name" "a"}`, ":1:9: a colon"}, {`{"name":"a\x"}`, ":1:11: not valid JSON"}, {"{\"name\":\"a\n\"}", ":1:11: not valid JSON"}, {`{"name":"a`, ":1:11: the manifest ends"}, {`{"permissions":{"paths":["/a",]}}`, ":1:31: a folder"}, {`{name:"a"}`, ":1:2: a key"}, {"{\"name\":\"\xff\"}", ":1:1: the text is not valid UTF-8"},
		{`{"permissions":{"paths":[` + strings.Repeat(`"/a",`, maxFolders) + `"/a"]}}`, ":1:346: more than 64 folders"},
	} {
		got, err := parse(file, []byte(c.text), "/home/u")
		text := ""
		for _, d := range got {
			text += " " + strconv.Itoa(d.line) + " " + d.path
		}
		text = strings.TrimPrefix(text, " ")
		var e *Error
		if errors.As(err, &e) {
			text = strings.TrimPrefix(err.Error(), file)
			if got != nil {
				t.Errorf("%q: folders besides the error", c.text)
			}
		}
		if err == nil && text != c.want || err != nil && (e == nil || c.want == "" || !strings.HasPrefix(text, c.want)) {
			t.Errorf("%q: %q, %v; want %q", c.text, text, err, c.want)
		}
	}
	if _, err := parse(file, []byte(`{"permissions":{"paths":["~/x"]}}`), ""); err == nil {
		t.Error("~ without a home")
	}
}

func TestDir(t *testing.T) {
	for _, c := range []struct{ home, xdg, want string }{
		{"/home/u", "", "/home/u/.config/bawn/plugins"}, {"/home/u", "/x/", "/x/bawn/plugins"}, {"/home/u", "rel", "/home/u/.config/bawn/plugins"}, {"/home/u", "/a/../b", "/home/u/.config/bawn/plugins"},
		{"", "", ""}, {"rel", "", ""}, {"/", "", ""}, {"", "/x", "/x/bawn/plugins"}, {"/home/u", "/", "/home/u/.config/bawn/plugins"},
	} {
		if got := Dir(c.home, func(string) string { return c.xdg }); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// plugins makes a folder of plugins in which a is sound.
func plugins(t *testing.T) Source {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Dir: root + "/plugins", Home: "/home/u", UID: os.Getuid(), Writable: []string{root + "/ws"}}
	for _, d := range []string{"/plugins/a", "/ws/evil"} {
		if err := os.MkdirAll(root+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s.Dir+"/a/plugin.json", `{"permissions":{"paths":["~/.a"]}}`)
	write(t, root+"/ws/evil/plugin.json", `{"permissions":{"paths":["/evil"]}}`)
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	good := Folder{Path: "/home/u/.a", Plugin: "a", Origin: policy.Origin{Line: 1}}
	for _, c := range []struct {
		name    string
		change  func(*Source) error
		folders int // of which the first is a's
		problem string
	}{
		{"as it is", func(*Source) error { return nil }, 1, ""},
		{"no folder", func(s *Source) error { s.Dir += "x"; return nil }, 0, ""},
		{"no name", func(s *Source) error { s.Dir = ""; return nil }, 0, ""},
		{"files and hidden entries between", func(s *Source) error {
			write(t, s.Dir+"/README", "x")
			return os.Mkdir(s.Dir+"/.git", 0o755)
		}, 1, ""},
		{"without a manifest", func(s *Source) error { return os.Mkdir(s.Dir+"/b", 0o755) }, 1, ""},
		{"a bad manifest beside", func(s *Source) error {
			if err := os.Mkdir(s.Dir+"/b", 0o755); err != nil {
				return err
			}
			write(t, s.Dir+"/b/plugin.json", `{"x":1}`)
			return nil
		}, 1, `plugins/b/plugin.json:1:2: unknown key "x"`},
		{"plugin that links to the workspace", func(s *Source) error { return os.Symlink("../ws/evil", s.Dir+"/b") }, 1, "a symbolic link"},
		{"manifest that links to the workspace", func(s *Source) error {
			_ = os.Mkdir(s.Dir+"/b", 0o755)
			return os.Symlink("../../ws/evil/plugin.json", s.Dir+"/b/plugin.json")
		}, 1, "a symbolic link"},
		{"manifest that is a folder", func(s *Source) error { return os.MkdirAll(s.Dir+"/b/plugin.json", 0o755) }, 1, "not a regular file"},
		{"folder of plugins that links to the workspace", func(s *Source) error {
			if err := os.RemoveAll(s.Dir); err != nil {
				return err
			}
			return os.Symlink("ws", s.Dir)
		}, 0, "sandboxed commands may write"},
		{"folder of plugins in the workspace", func(s *Source) error { s.Writable = []string{filepath.Dir(s.Dir)}; return nil }, 0, "sandboxed commands may write"},
		{"a writable place in the folder of plugins", func(s *Source) error { s.Writable = []string{s.Dir + "/a"}; return nil }, 0, "sandboxed commands may write"},
		{"folder of plugins that others may write", func(s *Source) error { return os.Chmod(s.Dir, 0o777) }, 0, "others may write it"},
		{"the same with the sticky bit", func(s *Source) error { return os.Chmod(s.Dir, os.ModeSticky|0o777) }, 0, "others may write it"},
		{"plugin that the group may write", func(s *Source) error { return os.Chmod(s.Dir+"/a", 0o775) }, 0, "others may write it"},
		{"manifest that the group may write", func(s *Source) error { return os.Chmod(s.Dir+"/a/plugin.json", 0o664) }, 0, "others may write it"},
		{"a name that would not show", func(s *Source) error { return os.Mkdir(s.Dir+"/b\x1b[2J", 0o755) }, 1, `plugin "b\x1b[2J": not read`},
		{"manifest too long", func(s *Source) error {
			write(t, s.Dir+"/a/plugin.json", strings.Repeat(" ", maxManifest)+"{}")
			return nil
		}, 0, "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := plugins(t)
			dir := s.Dir
			if err := c.change(&s); err != nil {
				t.Fatal(err)
			}
			got, problems := Load(s)
			good.Origin.File = dir + "/a/plugin.json"
			if len(got) != c.folders || c.folders > 0 && got[0] != good {
				t.Errorf("folders %+v", got)
			}
			if (len(problems) == 0) != (c.problem == "") || c.problem != "" && !strings.Contains(problems[0].Error(), c.problem) {
				t.Errorf("problems %q, want %q", problems, c.problem)
			}
		})
	}
}

// What another user owns is not read; the test can make it as root only.
func TestLoadOwner(t *testing.T) {
	s := plugins(t)
	if os.Getuid() == 0 {
		for _, p := range []string{"/a/plugin.json", "/a", ""} {
			s := plugins(t)
			if err := os.Chown(s.Dir+p, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			if got, problems := Load(s); len(got) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "it belongs to user 65534") {
				t.Errorf("%q of another user: %+v, %q", p, got, problems)
			}
			s.UID = 65534
			if got, _ := Load(s); len(got) != 1 {
				t.Errorf("%q of the user: %+v", p, got)
			}
		}
		return
	}
	s.UID++
	if got, problems := Load(s); len(got) != 0 || len(problems) != 1 {
		t.Errorf("of another user: %+v, %q", got, problems)
	}
}

func TestLoadMany(t *testing.T) {
	s := plugins(t)
	for i := range maxPlugins {
		if err := os.Mkdir(s.Dir+"/p"+strconv.Itoa(i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, problems := Load(s); got != nil || len(problems) != 1 {
		t.Errorf("%+v, %q", got, problems)
	}
}

// Whatever a manifest holds: no crash, and only clean absolute paths on lines
// that exist.
func FuzzManifest(f *testing.F) {
	for _, s := range []string{"", "{}", `{"name":"x","permissions":{"paths":["~/.tool","/srv"]}}`, `{"permissions":{"paths":["~/../x"]}}`, "{\n\"permissions\":\n{\"paths\":[\n\"/a\"]}}", `{"permissions":{"paths":["\ud800/"]}}`, `{"permissions":{"paths":["/\ud83d\ude00\/\"\u0061"]}}`, `{"name":"\u00zz"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse("f", data, "/home/u")
		if err != nil && got != nil {
			t.Fatal("folders besides an error")
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Column < 1 || policy.HasControl(e.Text) || e.Line > 1+strings.Count(string(data), "\n")) {
			t.Fatalf("error %q", err)
		}
		// Whatever is taken is JSON, with these very paths.
		var m struct {
			Permissions struct{ Paths []string }
		}
		if jsonErr := json.Unmarshal(data, &m); err == nil && (jsonErr != nil || len(m.Permissions.Paths) != len(got)) {
			t.Fatalf("taken: %+v; as JSON: %+v, %v", got, m, jsonErr)
		}
		for i, d := range got {
			if path, why := folder(m.Permissions.Paths[i], "/home/u"); path != d.path || why != "" {
				t.Fatalf("%q is %+v", m.Permissions.Paths[i], d)
			}
			if !policy.IsClean(d.path) || policy.HasControl(d.path) || d.line < 1 || d.line > 1+strings.Count(string(data), "\n") {
				t.Fatalf("%+v", d)
			}
		}
	})
}
