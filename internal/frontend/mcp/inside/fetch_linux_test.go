package inside

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What loads code into curl does not get to it: LD_LIBRARY_PATH of a project
// names a folder that commands write to, and web_fetch reaches more than they.
func TestClientEnv(t *testing.T) {
	got := clientEnv([]string{"LD_PRELOAD=/ws/x.so", "LD_LIBRARY_PATH=/ws", "OPENSSL_CONF=/ws/c", "SSLKEYLOGFILE=/ws/k", "CURL_HOME=/ws", "TOKEN=secret",
		"https_proxy=http://127.0.0.1:1", "HTTP_PROXY=x", "NO_PROXY=y", "SSL_CERT_FILE=/etc/ca", "PATH=/bin"})
	want := []string{"https_proxy=http://127.0.0.1:1", "HTTP_PROXY=x", "NO_PROXY=y", "SSL_CERT_FILE=/etc/ca", "PATH=/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A curl that a command could have written is taken where it reaches no more
// than the command.
func TestProgram(t *testing.T) {
	was := curls
	t.Cleanup(func() { curls = was })
	curls = nil
	dir := t.TempDir()
	mine := filepath.Join(dir, "curl")
	if err := os.WriteFile(mine, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "relative:"+dir)
	if got, err := program(false); err != nil || filepath.Base(got) != "curl" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := program(true); err == nil || !strings.Contains(err.Error(), mine) {
		t.Errorf("%q, %v: a curl that can be written", got, err)
	}
	// The same file by a link in a folder that cannot be.
	link := filepath.Join(t.TempDir(), "curl")
	if err := os.Symlink(mine, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(link))
	if got, err := program(true); err == nil {
		t.Errorf("%q by a link", got)
	}
	curls = []string{mine}
	if got, err := program(true); err != nil {
		t.Errorf("%q, %v: the system's", got, err)
	}
}

// Hosts that curl takes for addresses are none that a name server is asked for.
func TestPinnedNumbers(t *testing.T) {
	for _, host := range []string{"127.1", "0x7f.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.0", "a.b.1", "x.0x", "127.1."} {
		u, err := url.Parse("http://" + host + "/")
		if err != nil {
			t.Fatal(err)
		}
		if args, err := pinned(context.Background(), u); err == nil || !strings.Contains(err.Error(), "four numbers") {
			t.Errorf("%s: %q, %v", host, args, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "[fe80::1%25lo]", "169.254.169.254", "127.0.0.1."} {
		u, err := url.Parse("http://" + host + "/")
		if err != nil {
			t.Fatal(err)
		}
		if args, err := pinned(context.Background(), u); err == nil || !strings.Contains(err.Error(), "no public address") {
			t.Errorf("%s: %q, %v", host, args, err)
		}
	}
	for _, host := range []string{"a.example", "1.example", "x0.0xg"} {
		if numeric(host) {
			t.Errorf("%s is taken for an address", host)
		}
	}
	u, _ := url.Parse("http://8.8.8.8/")
	if _, err := pinned(context.Background(), u); err != nil {
		t.Error(err)
	}
}
