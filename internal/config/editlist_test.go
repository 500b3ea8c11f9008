package config

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestAddEntriesKeepsTheRest(t *testing.T) {
	host := []Entry{{"sandbox.allowed_domains", "new.example:443"}}
	for _, tt := range []struct{ name, before, after string }{
		{"empty", "", "[sandbox]\nallowed_domains = [\"new.example:443\"]\n"},
		{"no such key", "# mine\n[sandbox]\ntmp = \"host\" # why\n", "# mine\n[sandbox]\nallowed_domains = [\"new.example:443\"]\ntmp = \"host\" # why\n"},
		{"on one line", "[sandbox]\nallowed_domains = ['a.example'] # mine\n", "[sandbox]\nallowed_domains = ['a.example', \"new.example:443\"] # mine\n"},
		{"with a last comma", "[sandbox]\nallowed_domains = [ \"a.example\", ]\n", "[sandbox]\nallowed_domains = [ \"a.example\", \"new.example:443\", ]\n"},
		{"an empty list", "[sandbox]\nallowed_domains = [ ]\n", "[sandbox]\nallowed_domains = [\"new.example:443\" ]\n"},
		{
			"on many lines", "[sandbox]\nallowed_domains = [\n    \"a.example\", # a ] here\n    # and \"here\"\n]\n",
			"[sandbox]\nallowed_domains = [\n    \"a.example\", # a ] here\n    # and \"here\"\n    \"new.example:443\",\n]\n",
		},
		{
			"without a last comma", "[sandbox]\nallowed_domains = [\n\t\"a.example\" # the last, ok\n\t]\n",
			"[sandbox]\nallowed_domains = [\n\t\"a.example\", # the last, ok\n\t\"new.example:443\",\n\t]\n",
		},
		{"an empty list on many lines", "[sandbox]\nallowed_domains = [\n]\n", "[sandbox]\nallowed_domains = [\n  \"new.example:443\",\n]\n"},
		{"carriage returns", "[sandbox]\r\nallowed_domains = [\r\n  'a.example',\r\n]\r\n", "[sandbox]\r\nallowed_domains = [\r\n  'a.example',\r\n  \"new.example:443\",\r\n]\r\n"},
		{"dotted", "sandbox.allowed_domains = [\"a.example\"]\n", "sandbox.allowed_domains = [\"a.example\", \"new.example:443\"]\n"},
		{"inline", "sandbox = { tmp = 'host', allowed_domains = [\"a.example\"] }\n", "sandbox = { tmp = 'host', allowed_domains = [\"a.example\", \"new.example:443\"] }\n"},
		{"inline without it", "sandbox = { tmp = 'host' }\n", "sandbox = { allowed_domains = [\"new.example:443\"], tmp = 'host' }\n"},
		{"three quotes", "[sandbox]\nallowed_domains = [\"\"\"a.example\"\"\", '''b.example''']\n", "[sandbox]\nallowed_domains = [\"\"\"a.example\"\"\", '''b.example''', \"new.example:443\"]\n"},
		{"there already", "[sandbox]\nallowed_domains = ['NEW.example:443']\n", "[sandbox]\nallowed_domains = ['NEW.example:443']\n"},
	} {
		if got, err := AddEntries([]byte(tt.before), host, "f.toml"); err != nil || string(got) != tt.after {
			t.Errorf("%s: %v\ngot  %q\nwant %q", tt.name, err, got, tt.after)
		}
	}
}

func TestAddEntriesOfEveryList(t *testing.T) {
	got, err := AddEntries([]byte("[sandbox]\nallowed_local_ports = [80]\n"), []Entry{
		{"sandbox.allowed_local_ports", "5432"}, {"sandbox.allowed_paths", PlainPath("/srv/a*b \"c\"\\d")}, {"sandbox.allow_private", "in.example"},
		{"sandbox.allowed_paths", "/srv/two"}, {"sandbox.allowed_paths", "/srv/two"},
	}, "f.toml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadAlone(got, "f.toml", "/home/u", "/ws")
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for key, want := range map[string][]string{
		"sandbox.allowed_local_ports": {"80", "5432"}, "sandbox.allowed_paths": {"/srv/a*b \"c\"\\d", "/srv/two"}, "sandbox.allow_private": {"in.example"},
	} {
		if have := textsOf(c.Items(key)); !slices.Equal(have, want) {
			t.Errorf("%s is %q, want %q", key, have, want)
		}
	}
	for _, e := range []Entry{
		{"sandbox.tmp", "host"}, {"permissions.allow", "ls"}, {"sandbox.nothing", "x"}, {"sandbox.allowed_domains", "*.com"},
		{"sandbox.allowed_paths", "relative"}, {"sandbox.allowed_paths", "/a\nb"}, {"sandbox.allowed_local_ports", "0"},
	} {
		if got, err := AddEntries(nil, []Entry{e}, "f.toml"); err == nil {
			t.Errorf("%v was taken: %q", e, got)
		}
	}
}

// Whatever the file, the entry is added to what it says or the file is left alone.
func FuzzAddEntries(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		before, err := ReadAlone(data, "f.toml", "/home/u", "/ws")
		if err != nil {
			return
		}
		for _, e := range []Entry{{"sandbox.allowed_domains", "new.example:443"}, {"sandbox.allowed_paths", "/srv/x y"}, {"sandbox.allowed_local_ports", "8080"}} {
			got, err := AddEntries(data, []Entry{e}, "f.toml")
			if err != nil {
				if strings.Contains(err.Error(), "it would change") {
					t.Fatalf("%q: %v", data, err)
				}
				return
			}
			after, err := ReadAlone(got, "f.toml", "/home/u", "/ws")
			if err != nil {
				t.Fatalf("%q became %q: %v", data, got, err)
			}
			had, has := textsOf(before.Items(e.Key)), textsOf(after.Items(e.Key))
			if slices.Contains(had, e.Value) != bytes.Equal(got, data) || !slices.Contains(has, e.Value) || len(has) > len(had)+1 {
				t.Fatalf("%q became %q: %q, then %q", data, got, had, has)
			}
		}
	})
}
