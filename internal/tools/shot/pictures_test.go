//go:build linux

package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bawn/internal/tools/listen"
)

var update = flag.Bool("update", false, "take the pictures of docs/pictures anew")

const pictures = "../../../docs/pictures"

// homeScript makes a home and a workspace that are the same on every machine, in
// a mount namespace of its own, and runs the rest of its words there.
const homeScript = `set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 none /home
mkdir -p /home/me/.ssh /home/me/work/shop
cd /home/me
echo key >.ssh/id_ed25519
chmod 700 .ssh
cd work/shop
echo '{}' >package.json
cat >build.sh <<'E'
get() { curl -skp -o /dev/null "$@"; }
get https://index.crates.io/it/oa/itoa
get https://static.crates.io/crates/itoa/1.0.15/download
git -c http.sslVerify=false ls-remote -q https://github.com/shop/theme.git 2>/dev/null
get https://telemetry.example.org/v1/install
get https://files.pythonhosted.org/packages/idna
E
exec "$@"`

// TestPictures: the pictures of the documentation are what the program draws,
// but for times, sizes and process ids. With -update it takes them.
func TestPictures(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: the pictures show /home/me, which is made in a mount namespace")
	}
	bawn := filepath.Join(t.TempDir(), "bawn")
	build := exec.Command("go", "build", "-o", bawn, "bawn/cmd/bawn")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	proxy := internet(t)
	scripts, err := filepath.Glob("pictures/*.keys")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".keys")
		t.Run(name, func(t *testing.T) {
			keys, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			run := filepath.Join(t.TempDir(), "run")
			if err := os.Mkdir(run, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("unshare", "-m", "sh", "-c", homeScript, "sh", bawn)
			cmd.Env = []string{"HOME=/home/me", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "XDG_RUNTIME_DIR=" + run, "HTTPS_PROXY=" + proxy}
			svg, text, err := shoot(cmd, 90, 22, string(keys), false)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(pictures, name+".svg")
			if *update {
				if err := os.WriteFile(file, []byte(svg), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if want, got := cells(t, string(old)), cells(t, svg); want != got {
				t.Errorf("%s is not what the program draws; if that is right: make pictures\n--- the picture\n%s--- the program\n%s\n%s", file, want, got, text)
			}
		})
	}
}

// differs is what two runs do not share: times, sizes, processes.
var differs = regexp.MustCompile(`\d+:\d\d(:\d\d)?|\d+(\.\d)?m?s\b|[0-9.]+ k?B\b|process \d+`)

// cells are the texts of a picture with their styles, row by row.
func cells(t *testing.T, svg string) string {
	t.Helper()
	var b strings.Builder
	row := ""
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "text" {
			continue
		}
		var text, style string
		if err := d.DecodeElement(&text, &e); err != nil {
			t.Fatal(err)
		}
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "y":
				if a.Value != row {
					row = a.Value
					b.WriteString("line " + row + "\n")
				}
			case "fill", "font-weight", "opacity":
				style += " " + a.Value
			}
		}
		text = strings.Join(strings.Fields(differs.ReplaceAllString(text, "#")), " ")
		fmt.Fprintf(&b, "  %q%s\n", text, style)
	}
}

// internet is a proxy behind which every host answers, by TLS, and its URL.
func internet(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"*"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	at := listen.On(t, "127.0.0.1", func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		inside := tls.Server(c, config)
		r, err := http.ReadRequest(bufio.NewReader(inside))
		if err != nil {
			return
		}
		size := 3_000 + 40*len(r.URL.Path)*len(r.URL.Path)
		fmt.Fprintf(inside, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", size, strings.Repeat("x", size))
		// The client closes first, with nothing unread: that is no reset.
		_, _ = io.Copy(io.Discard, inside)
	})
	return "http://" + at.String()
}
