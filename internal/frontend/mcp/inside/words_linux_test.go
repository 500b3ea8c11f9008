package inside

import (
	"strings"
	"testing"
)

// A value in curl's configuration stays one: it has one line, and no quote of
// its own ends it. What curl tells of a response is read whatever it is.
func FuzzCurl(f *testing.F) {
	f.Add("http://x/\"\nurl = \"file:///etc/passwd", []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nLocation: /x\r\n\r\n"))
	f.Add(`\`, []byte("HTTP/2\n:"))
	f.Fuzz(func(t *testing.T, value string, text []byte) {
		q := configQuote(value)
		body := strings.NewReplacer(`\\`, "", `\"`, "").Replace(q[1 : len(q)-1])
		if strings.ContainsAny(q, "\r\n") || strings.Contains(body, `"`) || strings.HasSuffix(body, `\`) {
			t.Fatalf("%q is %s", value, q)
		}
		if h := parseHead(text); strings.ContainsAny(h.kind+h.location, "\r\n") {
			t.Fatalf("%q is %+v", text, h)
		}
	})
}
