package session

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// listensOnLoopback reports whether somebody listens on a port where the host's
// loopback leads to. It looks at the kernel's list: to connect would be noticed.
func listensOnLoopback(port uint16) bool {
	return listens("/proc/net/tcp", port) || listens("/proc/net/tcp6", port)
}

// listens reads a list of sockets: "0: 0100007F:1F90 00000000:0000 0A …", the
// addresses in the machine's words, 0A for those that listen.
func listens(list string, port uint16) bool {
	f, err := os.Open(list) // #nosec G304 -- one of the two above, or a test's
	if err != nil {
		return false // a hint is left out
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != "0A" {
			continue
		}
		host, at, _ := strings.Cut(fields[1], ":")
		n, err := strconv.ParseUint(at, 16, 16)
		if err != nil || uint16(n) != port {
			continue
		}
		if a := kernelAddr(host); a.IsLoopback() || a.IsUnspecified() {
			return true
		}
	}
	return false
}

func kernelAddr(words string) netip.Addr {
	b, err := hex.DecodeString(words)
	if err != nil || len(b)%4 != 0 {
		return netip.Addr{}
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, _ := netip.AddrFromSlice(b)
	return a.Unmap()
}
