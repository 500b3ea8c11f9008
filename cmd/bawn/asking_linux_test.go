//go:build !race

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
)

// F4: what the environment of an attached command names is hidden from it, though
// the session's does not name it, and from the commands that it has run beside
// itself; from others it is not.
func TestF4_AttachedEnvironment(t *testing.T) {
	b, s := opened(t)
	if err := s.SetPermission(policy.AutoMode); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(b.Home), "other")
	files := map[string]string{
		other + "/pgpass": "PGPASSFILE=", other + "/db": "DB_PASSWORD_FILE=", other + "/conf/gh/hosts.yml": "XDG_CONFIG_HOME=",
		other + "/home/.ssh/id": "HOME=", b.Workspace + "/kube": "KUBECONFIG=",
	}
	plain, names := b.Env, ""
	for path, name := range files {
		sandboxtest.Write(t, path, "SECRET\n")
		value := path
		for _, end := range []string{"/gh/hosts.yml", "/.ssh/id"} {
			value = strings.TrimSuffix(value, end)
		}
		b.Env, names = append(b.Env, name+value), names+" "+path
	}
	for range 2 { // before and after one that is asked by another
		if r := run(t, b, "-c", "cat"+names); strings.Contains(r.Stdout, "SECRET") || strings.Count(r.Stderr, "Permission denied") != len(files) {
			t.Errorf("attached: %q %q", r.Stdout, r.Stderr)
		}
		if r := run(t, b, "-c", sandboxtest.Binary()+" run -c 'cat"+names+"'"); strings.Contains(r.Stdout, "SECRET") || strings.Count(r.Stderr, "Permission denied") != len(files) {
			t.Errorf("beside it: %q %q", r.Stdout, r.Stderr)
		}
		attached := b.Env
		b.Env = plain
		if r := run(t, b, "-c", "cat"+names); strings.Count(r.Stdout, "SECRET") != len(files) {
			t.Errorf("without: %q %q", r.Stdout, r.Stderr)
		}
		b.Env = attached
	}
}
