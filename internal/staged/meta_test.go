//go:build linux

package staged

import (
	"encoding/json"
	"reflect"
	"testing"
	"testing/quick"
	"time"
)

// What is written is what a JSON reader finds, whatever the texts are.
func TestMetaIsJSON(t *testing.T) {
	same := func(id, ws, path, command, tier, mode string, dirs []string, dev, ino uint64, born, since, at int64, code int, roots uint8, ended bool) bool {
		m := Meta{ID: id, Workspace: ws, Command: command, Tier: tier, Mode: mode, AddDirs: dirs, Since: since, Code: code}
		m.Started = time.Unix(at%1e10, since%1e9).UTC()
		if ended {
			m.Ended = m.Started.Add(time.Hour)
		}
		for range roots % 4 {
			m.Roots = append(m.Roots, Root{path, dev, ino, born})
		}
		data := appendMeta(nil, &m)
		var got, want Meta
		theirs, err := json.Marshal(m)
		if err != nil {
			return true // a year that RFC 3339 has not
		}
		if err := json.Unmarshal(theirs, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Logf("%v: %s", err, data)
			return false
		}
		if len(want.AddDirs) == 0 {
			want.AddDirs = got.AddDirs[:0:0]
			got.AddDirs = want.AddDirs
		}
		return reflect.DeepEqual(got, want)
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 2000}); err != nil {
		t.Errorf("%.500v", err)
	}
	for _, s := range []string{"", "\"\\\n\t\x00\x1f\x7f", "\xff\xfe", "a\u2028\u202e", "�", "</script>"} {
		if !same(s, s, s, s, s, s, []string{s, s}, 1, 2, 3, 4, 5, 6, 2, true) {
			t.Errorf("%q", s)
		}
	}
}
