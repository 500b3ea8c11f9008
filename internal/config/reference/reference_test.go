package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	toml "github.com/pelletier/go-toml/v2"

	"bawn/internal/config"
)

// The files in docs are what the table says: go generate writes them.
func TestFilesAreUpToDate(t *testing.T) {
	files, err := Files()
	if err != nil || len(files) != 2 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../../../docs", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not up to date (%v): run go generate ./internal/config/reference", name, err)
		}
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range config.Keys() {
		if seen[k.Path()] || (k.Env != "" && seen[k.Env]) {
			t.Errorf("%s or its variable is there twice", k.Path())
		}
		seen[k.Path()], seen[k.Env] = true, true
		if k.Doc == "" || k.Row == "" || k.Example == "" || typeName(k) == "?" {
			t.Errorf("%s is not described: %+v", k.Path(), k)
		}
		if (k.Kind == config.Bool || k.Kind == config.Word) && !slices.Contains(k.Words, k.Default) {
			t.Errorf("the default of %s is not one of its values", k.Path())
		}
	}
	// The keys that the specification names.
	for _, name := range strings.Fields(`enabled default_tier allowed_paths allowed_domains denied_domains default_domains
		allowed_local_ports allow_private exclude escape_hatch_binaries env_keep env_drop protect unprotect hidden tmp caches
		guard launcher precheck install_profile proxy.enabled proxy.upstream`) {
		if !seen["sandbox."+name] {
			t.Errorf("sandbox.%s is missing", name)
		}
	}
}

// loads reports whether bawn takes a text as the user's file.
func loads(t *testing.T, doc string) error {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/bawn", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/bawn/config.toml", []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(config.Options{Environ: []string{"XDG_CONFIG_HOME=" + dir, "HOME=/home/me"}, Workspace: "/nowhere"})
	return err
}

func schema(t *testing.T) object {
	t.Helper()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s object
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s object, doc string) error {
	t.Helper()
	var v object
	if err := toml.Unmarshal([]byte(doc), &v); err != nil {
		return err
	}
	return validate(s, v, "")
}

// Every example of the page is taken, by bawn and by the schema.
func TestExamplesOfThePage(t *testing.T) {
	s := schema(t)
	fences := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(Markdown(), -1)
	if len(fences) < len(config.Keys())+3 {
		t.Fatalf("only %d examples", len(fences))
	}
	for _, f := range fences {
		if err := loads(t, f[1]); err != nil {
			t.Errorf("bawn: %v", err)
		}
		if err := valid(t, s, f[1]); err != nil {
			t.Errorf("schema: %v in\n%s", err, f[1])
		}
	}
}

// The schema refuses the plain mistakes that bawn refuses, and nothing that
// bawn takes.
func TestSchemaAgrees(t *testing.T) {
	s := schema(t)
	for _, tt := range []struct {
		doc string
		ok  bool
	}{
		{"", true},
		{"[sandbox]\n", true},
		{"[sandbox]\nallowed_domains = ['[::1]:80', '*', '*.github.io!']\n", true},
		{"[sandbox]\nprotect = ['app/\\[id\\]', 'a b']\n", true},
		{"[sandbox]\nexclude = ['git push *']\n", true},
		{"[sandbox.proxy]\nupstream = 'http://me:pw@[::1]:3128'\n", true},
		{"[keybindings]\ncycle_sandbox_tier = ['Ctrl+Shift+X', 'alt+-']\n", true},
		{"[sandbox]\nallowed_domain = []\n", false},
		{"[sandbx]\n", false},
		{"default_tier = 'open'\n", false},
		{"[sandbox]\ndefault_tier = 'Open'\n", false},
		{"[sandbox]\nenabled = 'true'\n", false},
		{"[sandbox]\nallowed_domains = 'a.example'\n", false},
		{"[sandbox]\nallowed_domains = ['https://a.example']\n", false},
		{"[sandbox]\nallowed_local_ports = [0]\n", false},
		{"[sandbox]\nallowed_local_ports = [1.5]\n", false},
		{"[sandbox]\nprotect = ['**/x']\n", false},
		{"[sandbox]\nhidden = ['$HOME/x']\n", false},
		{"[sandbox]\nexclude = ['*']\n", false},
		{"[sandbox]\nescape_hatch_binaries = ['deploy']\n", false},
		{"[sandbox]\nenv_keep = ['A=B']\n", false},
		{"[sandbox.proxy]\nupstream = 'socks5://h:1'\n", false},
	} {
		if err := loads(t, tt.doc); (err == nil) != tt.ok {
			t.Errorf("bawn on %q: %v", tt.doc, err)
		}
		if err := valid(t, s, tt.doc); (err == nil) != tt.ok {
			t.Errorf("schema on %q: %v", tt.doc, err)
		}
	}
}

// validate is the part of JSON schema that the schema uses; anything else in
// a schema is an error.
func validate(s object, v any, at string) error {
	for word := range s {
		switch word {
		case "$schema", "title", "description", "default", "type", "properties", "additionalProperties", "items", "enum", "pattern", "minimum", "maximum":
		default:
			return fmt.Errorf("%s: unknown word %q in the schema", at, word)
		}
	}
	kind := reflect.ValueOf(v).Kind()
	want := map[string]reflect.Kind{"object": reflect.Map, "array": reflect.Slice, "string": reflect.String, "boolean": reflect.Bool, "integer": reflect.Int64}[s["type"].(string)]
	if kind != want {
		return fmt.Errorf("%s: %v, want %v", at, kind, s["type"])
	}
	switch v := v.(type) {
	case object:
		props := s["properties"].(object)
		for name, value := range v {
			p, ok := props[name].(object)
			if !ok {
				if s["additionalProperties"] == false {
					return fmt.Errorf("%s: unknown %s", at, name)
				}
				continue
			}
			if err := validate(p, value, at+"."+name); err != nil {
				return err
			}
		}
	case []any:
		for i, value := range v {
			if err := validate(s["items"].(object), value, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case string:
		if words, ok := s["enum"].([]any); ok && !slices.Contains(words, any(v)) {
			return fmt.Errorf("%s: %q is not one of %v", at, v, words)
		}
		if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			return fmt.Errorf("%s: %q does not match %s", at, v, p)
		}
	case int64:
		if low, ok := s["minimum"].(float64); ok && float64(v) < low {
			return fmt.Errorf("%s: %d is too small", at, v)
		}
		if high, ok := s["maximum"].(float64); ok && float64(v) > high {
			return fmt.Errorf("%s: %d is too big", at, v)
		}
	}
	return nil
}
