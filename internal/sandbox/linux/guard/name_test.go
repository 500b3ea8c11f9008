//go:build linux

package guard

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFullName(t *testing.T) {
	long := "a-program-with-a-long-name"
	for _, tt := range []struct{ comm, exe, cmdline, want string }{
		{"sh", "/bin/dash", "sh\x00-c\x00x", "sh"},
		{long[:15], "/opt/" + long, long + "\x00", long},
		{long[:15], "/opt/" + long + " (deleted)", "x", long},
		{long[:15], "/usr/bin/python3.11", "/usr/bin/python3\x00-I\x00./bin/" + long + "\x00x", long},
		{long[:15], "/usr/bin/python3.11", "python3\x00other\x00", long[:15]},
		{long[:15], "", "", long[:15]},
		{"node-MainThread", "/usr/bin/node", "node\x00x.js", "node-MainThread"},
		{long[:15], "/opt/" + long[:15] + strings.Repeat("x", 100), "", long[:15]},
		{"short", "/opt/short-but-longer", "", "short"},
		{long[:15], "", "a\x00b\x00c\x00d\x00" + long, long[:15]},
	} {
		if got := FullName(tt.comm, tt.exe, []byte(tt.cmdline)); got != tt.want {
			t.Errorf("FullName(%q, %q, %q) = %q, want %q", tt.comm, tt.exe, tt.cmdline, got, tt.want)
		}
	}
}

// Whatever a process writes, it only adds to the name, in bounds.
func TestFullNameAdds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		comm := rapid.StringN(0, -1, commMax).Draw(t, "comm")
		word := rapid.OneOf(rapid.String(), rapid.Map(rapid.String(), func(s string) string { return "/x/" + comm + s }))
		got := FullName(comm, word.Draw(t, "exe"), []byte(strings.Join(rapid.SliceOf(word).Draw(t, "args"), "\x00")))
		if !strings.HasPrefix(got, comm) || len(got) > max(len(comm), nameMax) || got != comm && strings.ContainsAny(got, "/\x00") {
			t.Errorf("%q of %q", got, comm)
		}
	})
}
