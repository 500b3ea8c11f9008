package setup

import (
	"bytes"
	"testing"

	"github.com/tailscale/hujson"
)

// Whatever stands in a file of an agent: it is refused, or bawn's part is put
// in, once, and taken out again, and what is written is valid.
func FuzzFile(f *testing.F) {
	names := Names()
	for i := range names {
		for _, text := range []string{
			"", "{}", "{\"a\": [1, // x\n], /* c */ \"hooks\": {\"PreToolUse\": [], \"BeforeTool\": [{\"m\": 1}]}, \"env\": {\"A\": \"b\"},}\r\n",
			"{\"hooks\": 1, \"hooks\": {}}", "default = \"x\"\n[[environments]]\nid = \"y\"\n", codexBegin + "\nx = 1\n" + codexEnd + "\ny = \"\"\"\n" + codexEnd + "\n\"\"\"\n",
		} {
			f.Add(uint8(i), []byte(text))
		}
	}
	p := Place{Home: "/home/u", Getenv: func(string) string { return "" }, Program: "/usr/bin/bawn", Shims: "/home/u/.local/state/bawn/shims"}
	f.Fuzz(func(t *testing.T, agent uint8, data []byte) {
		a := Find(names[int(agent)%len(names)])
		for _, file := range a.files(p) {
			if file.whole {
				continue
			}
			valid := func(b []byte) {
				t.Helper()
				if a.Name == "codex" {
					if err := checkTOML(b); err != nil {
						t.Fatalf("%q: %v", b, err)
					}
				} else if _, err := hujson.Parse(b); err != nil {
					t.Fatalf("%q: %v", b, err)
				}
			}
			next, err := file.edit(bytes.Clone(data))
			if err != nil {
				continue
			}
			valid(next)
			again, err := file.edit(bytes.Clone(next))
			if err != nil || !bytes.Equal(again, next) {
				t.Fatalf("%s: %q was made %q, and then %q, %v", a.Name, data, next, again, err)
			}
			back, err := file.strip(bytes.Clone(next))
			if err != nil {
				t.Fatalf("%s: %q cannot be taken out: %v", a.Name, next, err)
			}
			if len(back) > 0 {
				valid(back)
			}
			if bytes.Contains(back, []byte("/shims")) && !bytes.Contains(data, []byte("shims")) {
				t.Fatalf("%s: %q is left of %q", a.Name, back, next)
			}
		}
	})
}
