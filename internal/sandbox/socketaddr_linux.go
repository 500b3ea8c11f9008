package sandbox

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// SocketAddr reads an address of /proc/net/tcp and tcp6, as in "0100007F:1F90":
// 32-bit words in the machine's order, and the port (proc(5)).
func SocketAddr(s string) (netip.AddrPort, bool) {
	words, port, _ := strings.Cut(s, ":")
	var b []byte
	for ; len(words) >= 8; words = words[8:] {
		w, err := strconv.ParseUint(words[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, false
		}
		b = binary.NativeEndian.AppendUint32(b, uint32(w))
	}
	addr, ok := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok && words == "" && err == nil
}
