package hostname

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/tools/listen"
)

// tried finds the addresses that curl -v says it dials.
var tried = regexp.MustCompile(`(?m)^\*\s+Trying \[?([0-9a-f.:]+?)\]?:(\d+)\.\.\.`)

// curl runs the real client without any proxy, and returns what it said.
// Alone it has a network namespace of its own in which nothing is up: it then
// shows what it would dial, and no packet leaves.
func curl(t *testing.T, alone bool, urls ...string) string {
	t.Helper()
	args := append([]string{"-q", "-g", "-sS", "-v", "--noproxy", "*", "--max-time", "20", "--"}, urls...)
	cmd := exec.CommandContext(t.Context(), "curl", args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C.UTF-8"}
	if alone {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: syscall.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: syscall.Getgid(), Size: 1}},
		}
	}
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out)
}

// dials are, for each host, the addresses that curl tries for it in a URL. The
// port tells which host an attempt is for.
func dials(t *testing.T, hosts []string) [][]netip.Addr {
	t.Helper()
	var urls []string
	for i, h := range hosts {
		urls = append(urls, fmt.Sprintf("http://%s:%d/", h, 20000+i))
	}
	out := make([][]netip.Addr, len(hosts))
	for _, m := range tried.FindAllStringSubmatch(curl(t, true, urls...), -1) {
		port, err := strconv.Atoi(m[2])
		if i := port - 20000; err == nil && i >= 0 && i < len(hosts) {
			out[i] = append(out[i], netip.MustParseAddr(m[1]).Unmap())
		}
	}
	return out
}

// The address that a spelling is decided on is the one that curl dials; what
// is decided as a name is no address to it.
func TestCurlDialsWhatIsDecided(t *testing.T) {
	spellings := []string{
		"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F.1", "0177.0.0.1", "0177.0x0.00.01", "017700000001", "127.0.0.2",
		"00000000000000000000177.1", "0", "0.0", "0x7f", "4294967295", "1.16777215", "1.2.65535", "[::1]", "[0:0:0:0:0:0:0:0]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]",
		"[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2001:DB8::0001]", "１２７.0.0.1", "①②⑦.1", "127。1", "LOCALHOST", "localhost.", "0x7f.1.", "2130706433.",
		"0xg", "3com", "1.2.3.com", "a.0xg", "xn--bcher-kva.example", "bücher.example", "_a.example", "example.com.",
		"4294967296", "256.1.1.1", "1.2.3.256", "1.16777216", "1.2.3.4.5", "08.1.1.1", "1.1.1.08", "0x", "0x.1", "0x1g.1", "example.1", "127.0.0.1..", "127..1",
		"[127.0.0.1]", "-18446744071578845183", "+127.1", "127.0.0.1%20x", "127.0.0.1%00.example", "0x100000000007f.1", "[fe80::1%25lo]",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		spellings = append(spellings, randomNumbers(r))
	}
	taken := 0
	for i, got := range dials(t, spellings) {
		s := spellings[i]
		a, err := ToASCII(s)
		if err != nil {
			continue // refused: nothing is dialled for it
		}
		taken++
		h, err := policy.ParseHost(a)
		if err != nil {
			t.Fatal(err)
		}
		want, isAddr := h.Addr()
		switch {
		case strings.HasSuffix(s, ".") && len(got) == 0:
			// An address with a dot is a name to this curl; in the URL standard it is the address.
		case isAddr && !slices.Equal(got, []netip.Addr{want}):
			t.Errorf("curl dials %v for %q, which is decided as %v", got, s, want)
		case h.String() == "localhost" && (len(got) == 0 || slices.ContainsFunc(got, func(a netip.Addr) bool { return !a.IsLoopback() })):
			t.Errorf("curl dials %v for %q", got, s)
		case !isAddr && h.String() != "localhost" && len(got) != 0:
			t.Errorf("curl dials %v for %q, which is decided as the name %q", got, s, h)
		}
	}
	if taken < 40 {
		t.Errorf("only %d of %d spellings are taken", taken, len(spellings))
	}
}

// The spellings of loopback reach a server there.
func TestCurlReachesLoopback(t *testing.T) {
	at := listen.On(t, "127.0.0.1", func(c net.Conn) {
		if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
			io.WriteString(c, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhere\n")
		}
	})
	for _, s := range []string{"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::ffff:127.0.0.1]"} {
		if h := mustHost(t, s); h.String() != "127.0.0.1" {
			t.Errorf("%q is decided as %q", s, h)
		}
		if out := curl(t, false, fmt.Sprintf("http://%s:%d/", s, at.Port())); !strings.Contains(out, "\nhere\n") {
			t.Errorf("curl does not reach %q:\n%s", s, out)
		}
	}
}

// randomNumbers writes what may be an IPv4 address: one to five numbers of all
// bases and sizes.
func randomNumbers(r *rand.Rand) string {
	var parts []string
	for range 1 + r.IntN(5) {
		v := uint64(r.IntN(300))
		if r.IntN(3) == 0 {
			v = r.Uint64() >> (24 + r.IntN(40))
		}
		parts = append(parts, fmt.Sprintf([]string{"%d", "%#x", "%#o", "0%d", "00%o", "%#X"}[r.IntN(6)], v))
	}
	return strings.Join(parts, ".")
}

// The C library's reader of addresses agrees, spelling by spelling: what it
// takes as an address is that address here, or refused, and never a name.
func TestGetaddrinfoAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var spellings []string
	for i := range 4000 {
		s := randomNumbers(r)
		if i%2 == 0 { // any text of the same letters
			b := make([]byte, 1+r.IntN(14))
			for j := range b {
				b[j] = "01278.9.xXafg"[r.IntN(13)]
			}
			s = string(b)
		}
		spellings = append(spellings, s)
	}
	const reader = `
import socket, sys
for line in sys.stdin:
    try: print(socket.getaddrinfo(line.rstrip("\n").encode(), 80, socket.AF_INET, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)[0][4][0])
    except OSError: print()
`
	cmd := exec.Command("python3", "-c", reader)
	cmd.Stdin = strings.NewReader(strings.Join(spellings, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(spellings) {
		t.Fatalf("%d answers to %d questions", len(lines), len(spellings))
	}
	addresses := 0
	for i, s := range spellings {
		h, err := policy.ParseHost(s)
		a, isAddr := h.Addr()
		switch {
		case isAddr && !strings.HasSuffix(s, ".") && a.String() != lines[i]:
			t.Errorf("%q is decided as %v, getaddrinfo reads %q", s, a, lines[i])
		case err == nil && !isAddr && lines[i] != "":
			t.Errorf("%q is decided as the name %q, getaddrinfo reads %q", s, h, lines[i])
		case isAddr:
			addresses++
		}
	}
	if addresses < 500 {
		t.Errorf("only %d of %d spellings are addresses", addresses, len(spellings))
	}
}
