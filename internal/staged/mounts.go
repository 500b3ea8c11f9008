//go:build linux

package staged

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// CheckMounts refuses folders in which something is mounted: the overlay shows
// the folder's own file system alone. The kernel refuses them itself when the
// overlay is made, since what the sandbox's user namespace got mounted is locked there
// (clone_private_mount: EINVAL). So a run asks only to say why it did not start.
func CheckMounts(roots []string) error {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		at := unescapeMount(f[4])
		for _, r := range roots {
			if strings.HasPrefix(at, r+"/") {
				return fmt.Errorf("%s is mounted inside it, and would not be seen", at)
			}
		}
	}
	return nil
}

// unescapeMount reads the octal escapes of proc(5).
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
