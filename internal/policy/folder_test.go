package policy

import (
	"errors"
	"testing"
)

func TestCheckFolderAgreesWithNew(t *testing.T) {
	c := Config{
		Tier: Guarded, Workspace: "/home/u/w", Homes: []string{"/home/u"},
		Hidden: Credentials([]string{"/home/u"}, func(string) string { return "" }),
	}
	for _, tt := range []struct {
		dir  string
		want bool
	}{
		{"/home/u/shared", true},
		{"/data", true},
		{"/home/u/.ssh", false},
		{"/home/u/.ssh/sub", false},
		{"/home/u/.config", false},
		{"/home/u", false},
		{"/", false},
		{"/home/u/../u/x", false},
		{"relative", false},
	} {
		err := c.CheckFolder(tt.dir)
		if (err == nil) != tt.want || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("CheckFolder(%q) = %v, want allowed %v", tt.dir, err, tt.want)
		}
		with := c
		with.AddDirs = []string{tt.dir}
		if _, newErr := New(with); (newErr == nil) != (err == nil) {
			t.Errorf("New with %q: %v, CheckFolder: %v", tt.dir, newErr, err)
		}
	}
}
