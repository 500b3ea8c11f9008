//go:build linux

package packaging

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The flake names the dependencies by the hash of their sources, which nobody
// could keep right by hand.
func TestFlakeVendorHash(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vendor")
	run(t, "..", nil, "go", "mod", "vendor", "-o", dir)
	h := sha256.New()
	narText(h, "nix-archive-1")
	nar(t, h, dir)
	want := "sha256-" + base64.StdEncoding.EncodeToString(h.Sum(nil))
	text, err := os.ReadFile("../flake.nix")
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`vendorHash = "(.*)"`).FindSubmatch(text)
	if got == nil || string(got[1]) != want {
		t.Errorf("flake.nix has vendorHash %q, the dependencies are %q", got, want)
	}
}

// nar writes a file or folder as Nix archives it (the NAR format of the Nix
// manual): strings with their length, padded to eight bytes.
func nar(t *testing.T, w io.Writer, path string) {
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	narText(w, "(", "type")
	switch {
	case st.IsDir():
		narText(w, "directory")
		list, err := os.ReadDir(path) // sorted by name
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			narText(w, "entry", "(", "name", e.Name(), "node")
			nar(t, w, filepath.Join(path, e.Name()))
			narText(w, ")")
		}
	case st.Mode().IsRegular():
		narText(w, "regular")
		if st.Mode()&0o100 != 0 {
			narText(w, "executable", "")
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		narText(w, "contents", string(text))
	default:
		t.Fatalf("%s is a %v", path, st.Mode())
	}
	narText(w, ")")
}

func narText(w io.Writer, list ...string) {
	for _, s := range list {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = w.Write(n[:])
		_, _ = io.WriteString(w, s)
		_, _ = w.Write(make([]byte, (8-len(s)%8)%8))
	}
}
