package audit

import "strings"

// TraceParent returns a W3C trace context header if it is a valid one of any
// version that is known, and "" otherwise.
func TraceParent(s string) string {
	f := strings.Split(s, "-")
	if len(f) != 4 || f[0] != "00" || !isHex(f[1], 32) || !isHex(f[2], 16) || !isHex(f[3], 2) ||
		strings.Trim(f[1], "0") == "" || strings.Trim(f[2], "0") == "" {
		return ""
	}
	return s
}

func isHex(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }
