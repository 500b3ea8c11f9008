//go:build unix && !darwin

package sandbox

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A user that the password file does not have is not without a home.
func TestHomesIn(t *testing.T) {
	t.Parallel()
	dir, uid := t.TempDir(), os.Getuid()
	const other = 4242
	if uid == 0 {
		uid = 4241
	}
	for name, owner := range map[string]int{"mine": uid, "theirs": other, "theirs/in": uid, "domain": 0, "domain/me": uid, "domain/they": other, "domain/deep": 0, "domain/deep/me": uid} {
		path := dir + "/home/" + name
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() != 0 {
			continue // all of it is this user's
		}
		if err := os.Chown(path, owner, 0); err != nil {
			t.Fatal(err)
		}
	}
	for path, to := range map[string]string{dir + "/home/link": "domain/me", dir + "/home/file": ""} {
		var err error
		if to == "" {
			err = os.WriteFile(path, nil, 0o600)
		} else {
			err = os.Symlink(to, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	owned := []string{dir + "/home/domain/me", dir + "/home/mine"}
	if os.Getuid() != 0 {
		owned = []string{dir + "/home/domain", dir + "/home/mine", dir + "/home/theirs"}
	}
	me := strings.Replace("me:x:UID:1::/elsewhere:/bin/sh", "UID", strconv.Itoa(uid), 1)
	for name, c := range map[string]struct {
		passwd string
		want   []string
	}{
		"an entry":           {"root:x:0:0::/root:/bin/sh\n" + me + "\n", []string{"/elsewhere"}},
		"no newline":         {me, []string{"/elsewhere"}},
		"after a long line":  {"x:" + strings.Repeat("x", 1<<20) + "\n" + me, []string{"/elsewhere"}},
		"no entry":           {"root:x:0:0::/root:/bin/sh\n", owned},
		"cut":                {"root:", owned},
		"of another service": {"+::::::\n", owned},
	} {
		file := dir + "/passwd"
		if err := os.WriteFile(file, []byte(c.passwd), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := homesIn(uid, file, dir+"/home"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := homesIn(uid, dir+"/none", dir+"/none"); len(got) > 0 {
		t.Errorf("nothing there: %q", got)
	}
	if got := homesIn(0, dir+"/none", dir+"/none"); !slices.Equal(got, []string{"/root"}) {
		t.Errorf("root: %q", got)
	}
}
